internal import CLibcurl
package import TransferModel

/// Connections (and TLS sessions) that may be used for one another: one pool per session, later one per TLS identity,
/// credential, proxy and bound interface. Only its loop's thread may touch it.
@safe package final class ConnectionPool {
    let share: UnsafeMutableRawPointer

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
