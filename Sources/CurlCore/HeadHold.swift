import Glibc

/// The connection on which the head of a request waits for its body: libcurl sends the two by two calls, which would
/// leave as two packets, and wake the server twice. It sends what there is of a body right after the head, before it
/// turns to the next transfer.
struct HeadHold {
    private var socket: Int32?

    mutating func hold(_ socket: Int32) {
        release()
        self.socket = socket
        Self.set(socket, true)
    }

    /// What waits goes out, were it the head alone. That the socket was closed meanwhile, or its number is another's by now,
    /// does no harm: nothing waits there.
    mutating func release() {
        guard let socket else { return }
        self.socket = nil
        Self.set(socket, false)
    }

    private static func set(_ socket: Int32, _ isHeld: Bool) {
        var value: Int32 = isHeld ? 1 : 0
        unsafe setsockopt(socket, Int32(IPPROTO_TCP), TCP_CORK, &value, socklen_t(MemoryLayout<Int32>.size))
    }
}
