internal import CLibcurl
import Glibc

/// What libcurl sends of requests with bodies, on its way to the system: a head leaves with the beginning of its body, and a
/// short body from where it was read to.
@safe package struct Sender {
    private var head = HeadHold()
    /// Of a short body, what libcurl believes to have in its own memory, and over which connection it sends that next.
    private var body = DirectBody()
    private var socket: Int32 = -1
    private let room = Room()

    /// Where all short bodies lie while they are sent, which the processor has at hand: of libcurl's memory each transfer has
    /// its own, and has it until it is answered.
    @safe private final class Room {
        let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: longestBody, alignment: 64)
        deinit { unsafe bytes.deallocate() }
    }

    package static let longestBody = 64 << 10
    /// A later one may gather what it sends, and would gather what is not there.
    static let knowsLibcurl = tr_curl_sends_what_it_reads != 0

    package init() {}

    package mutating func awaitHead(over socket: Int32) { head.awaitHead(over: socket) }

    /// Where to read a body to for which libcurl offers its `memory`; `nil` where that is the place.
    package func place(insteadOf memory: UnsafeMutableRawBufferPointer) -> UnsafeMutableRawBufferPointer? {
        guard body.isEmpty else { return nil }
        return unsafe UnsafeMutableRawBufferPointer(rebasing: room.bytes[..<min(Self.longestBody, memory.count)])
    }

    /// That many bytes lie there.
    package mutating func filled(_ count: Int, insteadOf memory: UnsafeMutableRawBufferPointer, over socket: Int32) {
        guard let memory = memory.baseAddress, let place = unsafe room.bytes.baseAddress else { return }
        unsafe body.came(count, in: place, for: memory)
        self.socket = socket
    }

    /// As `send` does it. What does not go now libcurl sends later, from its own memory.
    package mutating func send(_ piece: UnsafeRawBufferPointer, over socket: Int32) -> Int {
        if unsafe head.keeps(piece, for: socket) { return piece.count }
        guard !body.isEmpty, socket == self.socket else { return unsafe head.send(piece, over: socket) }
        guard let bytes = unsafe body.bytes(of: piece) else {
            errno = EIO
            return -1
        }
        let sent = unsafe head.send(bytes, over: socket)
        let reason = errno
        if sent > 0 { body.taken(sent) }
        body.giveBack()
        errno = reason
        return sent
    }

    /// The turn is over: a head whose body is still to come waits no longer.
    package mutating func release() { head.release() }

    /// Nobody sends over it what was to be sent. Its number may be another's in a moment.
    package mutating func forget(_ socket: Int32) {
        head.forget(socket)
        if socket == self.socket { (self.socket, body) = (-1, DirectBody()) }
    }
}
