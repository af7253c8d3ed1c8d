internal import CLinuxShims
import Glibc

/// How many bytes of a connection the other side has acknowledged, and how many came, as Linux counts them.
package struct TCPCounts: Equatable, Sendable {
    package let acknowledged: Int64
    package let received: Int64

    /// `nil` where the socket is none of TCP, or the kernel does not count.
    package init?(of socket: Int32) {
        var counts = tr_tcp_counts()
        guard unsafe tr_tcp_counts(socket, &counts) == 0 else { return nil }
        (acknowledged, received) = (counts.acknowledged, counts.received)
    }
}

package enum SocketBinding {
    /// Nothing then leaves the socket or comes to it over any other interface.
    package static func bind(_ socket: Int32, to interface: UInt32) -> Bool {
        var index = Int32(bitPattern: interface)
        return unsafe setsockopt(
            socket, SOL_SOCKET, tr_SO_BINDTOIFINDEX, &index, socklen_t(MemoryLayout<Int32>.size)) == 0
    }
}
