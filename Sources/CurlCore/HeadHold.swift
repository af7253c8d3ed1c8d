import Glibc

/// The connection on which the head of a request waits for its body: libcurl sends the two by two calls, which would
/// leave as two packets, and wake the server twice. It sends what there is of a body right after the head, before it
/// turns to the next transfer.
struct HeadHold {
    private enum State {
        case free, awaitsHead(Int32), awaitsBody(Int32)
    }
    private var state = State.free

    mutating func hold(_ socket: Int32) {
        release()
        state = .awaitsHead(socket)
    }

    /// Whether what is sent now is such a head. What comes after it takes it along.
    mutating func holds(_ socket: Int32) -> Bool {
        switch state {
        case .awaitsHead(socket):
            state = .awaitsBody(socket)
            return true
        case .awaitsBody(socket):
            state = .free
            return false
        default: return false
        }
    }

    /// What waits goes out, were it the head alone. That the socket was closed meanwhile, or its number is another's by now,
    /// does no harm: nothing waits there.
    mutating func release() {
        defer { state = .free }
        guard case .awaitsBody(let socket) = state else { return }
        var value: Int32 = 0
        unsafe setsockopt(socket, Int32(IPPROTO_TCP), TCP_CORK, &value, socklen_t(MemoryLayout<Int32>.size))
    }
}
