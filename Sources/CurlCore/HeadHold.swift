internal import CLibcurl
import Glibc

/// The head of a request that waits for its body: libcurl sends the two by two calls, which would leave as two packets, and
/// wake the server twice. It sends what there is of a body right after the head, before it turns to the next transfer.
struct HeadHold {
    /// On which connection a head comes next, or waits.
    private var socket: Int32 = -1
    private var isAwaited = false
    private var head: [UInt8] = []
    /// A connection that carries nothing yet has always room for so many bytes.
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
        let flags = Int32(MSG_NOSIGNAL)
        guard !head.isEmpty, socket == self.socket else {
            return unsafe sendto(socket, piece.baseAddress, piece.count, flags, nil, 0)
        }
        defer { head.removeAll(keepingCapacity: true) }
        let kept = head.count
        let sent = unsafe head.withUnsafeMutableBytes { head in
            unsafe withUnsafeTemporaryAllocation(of: iovec.self, capacity: 2) { parts in
                unsafe parts[0] = iovec(iov_base: head.baseAddress, iov_len: head.count)
                unsafe parts[1] = iovec(
                    iov_base: UnsafeMutableRawPointer(mutating: piece.baseAddress), iov_len: piece.count)
                var message = unsafe msghdr()
                unsafe (message.msg_iov, message.msg_iovlen) = (parts.baseAddress, parts.count)
                return unsafe sendmsg(socket, &message, flags)
            }
        }
        guard sent < kept else { return sent - kept }
        // libcurl believes that the head is gone: nothing may come after a part of it.
        if sent >= 0 || errno == EAGAIN { errno = EIO }
        return -1
    }

    /// What waits goes out, were it the head alone.
    mutating func release() {
        isAwaited = false
        guard !head.isEmpty else { return }
        let none = unsafe UnsafeRawBufferPointer(start: nil, count: 0)
        if unsafe send(none, over: socket) < 0 { shutdown(socket, Int32(SHUT_RDWR)) }
    }

    /// Its number may be another's in a moment.
    mutating func forget(_ socket: Int32) {
        guard socket == self.socket else { return }
        (self.socket, isAwaited) = (-1, false)
        head.removeAll(keepingCapacity: true)
    }
}
