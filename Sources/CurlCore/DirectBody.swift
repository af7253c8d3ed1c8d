import Glibc

/// Bytes of a body that the system has put where whoever receives them wants them. libcurl asked for them in its own memory,
/// and hands that over piece by piece; each is taken from where it lies, for in libcurl's memory it never was.
@safe package struct DirectBody {
    /// What libcurl hands over next, and where that lies.
    private var handed: UnsafeMutableRawPointer?
    private var place: UnsafeRawPointer?
    private var count = 0
    /// So many of these were taken before libcurl hands them over.
    private var ahead = 0

    /// libcurl has handed over everything.
    package var isEmpty: Bool { count == 0 }

    package init() {}

    package mutating func came(_ count: Int, in place: UnsafeMutableRawPointer, for handed: UnsafeMutableRawPointer) {
        unsafe (self.handed, self.place) = (handed, UnsafeRawPointer(place))
        (self.count, ahead) = (count, 0)
    }

    /// What libcurl handed over, from where it lies, and what it will hand over after that, up to `most`: it does so by 16 KiB.
    /// Nothing where that was taken already; `nil` where it is not what came last.
    package func bytes(of piece: UnsafeRawBufferPointer, most: Int = 0) -> UnsafeRawBufferPointer? {
        guard unsafe piece.baseAddress == UnsafeRawPointer(handed), piece.count <= count else { return nil }
        guard ahead == 0 else {
            return unsafe piece.count <= ahead ? UnsafeRawBufferPointer(start: place, count: 0) : nil
        }
        return unsafe UnsafeRawBufferPointer(start: place, count: max(piece.count, min(count, most)))
    }

    package mutating func taken(_ count: Int) { taken(count, handed: count) }

    /// libcurl has handed over `piece` bytes; `bytes` of them and of those that follow were taken now.
    package mutating func taken(_ bytes: Int, handed piece: Int) {
        unsafe (handed, place) = (handed.map { unsafe $0 + piece }, place.map { unsafe $0 + piece })
        (count, ahead) = (count - piece, ahead + bytes - piece)
    }

    /// libcurl keeps what nobody took, and hands it over later: it must have that.
    package mutating func giveBack() {
        if let place = unsafe place { unsafe handed?.copyMemory(from: place, byteCount: count) }
        count = 0
    }
}

extension TransferSlot {
    /// What libcurl wants to receive, put where the receiver wants it; `nil` where libcurl looks at what comes: that is only the
    /// bytes of a body of known length that it does not.
    func receiveDirectly(over socket: Int32, for bytes: UnsafeMutableRawPointer, _ count: Int) -> Int? {
        guard direct.isEmpty else {
            // It lost some of them.
            errno = EIO
            return -1
        }
        guard isPlain, isHeadComplete, isLengthTold, let room = unsafe receiver?.room(), let place = room.baseAddress
        else { return nil }
        let came = unsafe recvfrom(socket, place, min(count, room.count), 0, nil, nil)
        if came > 0 { unsafe direct.came(came, in: place, for: bytes) }
        return came
    }

    func receive(direct piece: UnsafeRawBufferPointer) -> BodyReply {
        guard let bytes = unsafe direct.bytes(of: piece, most: Int(clamping: bodyLeft)) else { return .stop }
        let reply = unsafe bytes.isEmpty ? .taken : receiver?.received(body: bytes) ?? .stop
        switch reply {
        case .taken: direct.taken(bytes.count, handed: piece.count)
        case .pause: direct.giveBack()
        case .stop: break
        }
        return reply
    }
}
