internal import CLibcurl
import Glibc

/// The head of a request that waits for its body: libcurl sends the two by two calls, which would leave as two packets, and
/// wake the server twice. It sends what there is of a body right after the head, before it turns to the next transfer.
struct HeadHold {
    /// On which connection a head comes next, or waits.
    private var socket: Int32 = -1
    private var isAwaited = false
    private var head: [UInt8] = []
    /// What the system had no room for, which a connection that carries nothing yet nearly always has; by connection.
    private var rests: [Int32: [UInt8]] = [:]
    /// A longer one is more than what a call costs.
    private static let longest = 2_048

    mutating func awaitHead(over socket: Int32) {
        release()
        (self.socket, isAwaited) = (socket, true)
    }

    /// Whether `piece` is such a head, and kept.
    mutating func keeps(_ piece: UnsafeRawBufferPointer, for socket: Int32) -> Bool {
        guard isAwaited, socket == self.socket else { return false }
        isAwaited = false
        guard piece.count <= Self.longest else { return false }
        unsafe head.append(contentsOf: piece)
        return true
    }

    /// Sends what came after the head along with it, and says how much of that went, or as `send` does what is in the way.
    mutating func send(_ piece: UnsafeRawBufferPointer, over socket: Int32) -> Int {
        if !rests.isEmpty, let rest = rests.removeValue(forKey: socket) { return unsafe send(rest, piece, socket) }
        guard !head.isEmpty, socket == self.socket else {
            return unsafe sendto(socket, piece.baseAddress, piece.count, Int32(MSG_NOSIGNAL), nil, 0)
        }
        defer { head.removeAll(keepingCapacity: true) }
        return unsafe send(head, piece, socket)
    }

    private mutating func send(_ kept: [UInt8], _ piece: UnsafeRawBufferPointer, _ socket: Int32) -> Int {
        let sent = unsafe kept.withUnsafeBytes { kept in
            unsafe withUnsafeTemporaryAllocation(of: iovec.self, capacity: 2) { parts in
                unsafe parts[0] = Self.part(kept)
                unsafe parts[1] = Self.part(piece)
                var message = unsafe msghdr()
                unsafe (message.msg_iov, message.msg_iovlen) = (parts.baseAddress, parts.count)
                return unsafe sendmsg(socket, &message, Int32(MSG_NOSIGNAL))
            }
        }
        guard sent < kept.count else { return sent - kept.count }
        // libcurl believes that the head is gone: nothing else goes before the rest of it.
        if sent >= 0 || errno == EAGAIN {
            rests[socket] = Array(kept[max(0, sent)...])
            errno = EAGAIN
        }
        return -1
    }

    private static func part(_ bytes: UnsafeRawBufferPointer) -> iovec {
        unsafe iovec(iov_base: UnsafeMutableRawPointer(mutating: bytes.baseAddress), iov_len: bytes.count)
    }

    /// What waits goes out, were it the head alone.
    mutating func release() {
        isAwaited = false
        guard !head.isEmpty else { return }
        // Nobody would come for a rest.
        if unsafe send(UnsafeRawBufferPointer(start: nil, count: 0), over: socket) < 0 {
            rests[socket] = nil
            shutdown(socket, Int32(SHUT_RDWR))
        }
    }

    /// Its number may be another's in a moment.
    mutating func forget(_ socket: Int32) {
        if !rests.isEmpty { rests[socket] = nil }
        guard socket == self.socket else { return }
        (self.socket, isAwaited) = (-1, false)
        head.removeAll(keepingCapacity: true)
    }
}
