internal import CLibcurl
package import TransferModel

/// Connections (and TLS sessions) that may be used for one another: one pool per session, later one per TLS identity,
/// credential, proxy and bound interface. Only its loop's thread may touch it.
@safe package final class ConnectionPool {
    let share: UnsafeMutableRawPointer
    /// Whoever closes a connection asks it, `deinit` too: it must live as long as they do.
    let secureEnds = SecureEnds()
    let sockets = PoolSockets()

    package init() throws(TransferError) {
        guard let share = unsafe curl_share_init() else { throw TransferError(.unknown, "libcurl: no memory") }
        unsafe self.share = share
        unsafe tr_share_set_lock(share, CURL_LOCK_DATA_CONNECT)
        unsafe tr_share_set_lock(share, CURL_LOCK_DATA_SSL_SESSION)
    }

    /// After every handle that used it: the loop keeps its handles' pools alive as long as needed.
    deinit { unsafe curl_share_cleanup(share) }
}

@available(*, unavailable)
extension ConnectionPool: Sendable {}

/// How the TLS connections of a pool ended, by their address: libcurl reports a stream that was cut as whole.
final class SecureEnds {
    private var closedInOrder: Set<UInt> = []
    /// Whether any TLS connection was made: without one, no time is spent asking.
    var isUsed = false

    func began(_ connection: UnsafeRawPointer) {
        if !closedInOrder.isEmpty { closedInOrder.remove(UInt(bitPattern: connection)) }
    }
    /// The peer said close_notify.
    func closed(_ connection: UnsafeRawPointer) { closedInOrder.insert(UInt(bitPattern: connection)) }
    func wasClosedInOrder(_ connection: UnsafeRawPointer) -> Bool {
        !closedInOrder.isEmpty && closedInOrder.contains(UInt(bitPattern: connection))
    }
}
