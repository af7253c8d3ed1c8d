internal import CLinuxShims
import Glibc

/// Bytes of a TCP connection, as Linux counts them.
package struct TCPCounts: Equatable, Sendable {
    /// Sent bytes that the other side has acknowledged.
    package let acknowledged: Int64
    /// Bytes received.
    package let received: Int64

    /// `nil` if the socket is not TCP, or the kernel does not count.
    package init?(of socket: Int32) {
        var counts = tr_tcp_counts()
        guard unsafe tr_tcp_counts(socket, &counts) == 0 else { return nil }
        (acknowledged, received) = (counts.acknowledged, counts.received)
    }
}

/// Binds sockets to a network interface.
package enum SocketBinding {
    /// Restricts the socket to one interface, so that it neither sends nor receives over another; returns whether that
    /// worked.
    package static func bind(_ socket: Int32, to interface: UInt32) -> Bool {
        var index = Int32(bitPattern: interface)
        return unsafe setsockopt(
            socket, SOL_SOCKET, tr_SO_BINDTOIFINDEX, &index, socklen_t(MemoryLayout<Int32>.size)) == 0
    }
}
