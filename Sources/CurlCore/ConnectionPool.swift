internal import CLibcurl
import TransferModel

/// Connections (and TLS sessions) that may be reused for one another: one pool for each session, client certificate,
/// proxy and address to connect to. These do not change. Used only on the loop's thread.
@safe package final class ConnectionPool {
    /// How the pool's connections are secured.
    package let tls: TLSSettings
    /// The client certificate for servers that ask for one; never sent to a proxy.
    package let identity: TLSIdentity?
    /// Whether a handshake ends when the server asks for a certificate.
    let refusesToShow: Bool
    /// The proxy of the pool's connections; `nil` for direct ones.
    package let proxy: ProxySettings?
    /// Where the pool's connections lead.
    package let path: ConnectionPath
    /// Whether the pool may be released while handles live on that used it.
    let isPassing: Bool
    /// Asked before each connection; `nil` allows all.
    package let gate: (any ConnectionGate)?
    /// libcurl's share object; made for the first transfer, because libcurl may still be loading before.
    private(set) var share: UnsafeMutableRawPointer?
    /// Used by every callback that closes a connection, also during `deinit`, so it must live as long as the
    /// connections.
    let secureEnds = SecureEnds()
    let sockets = PoolSockets()
    /// Limits of connections per host, shared with other pools of the session.
    private let limits: HostLimits?

    package init(
        tls: TLSSettings, identity: TLSIdentity? = nil, refusesToShow: Bool = false, proxy: ProxySettings? = nil,
        path: ConnectionPath = ConnectionPath(), isPassing: Bool = false, gate: (any ConnectionGate)? = nil,
        limits: HostLimits? = nil
    ) {
        self.tls = tls
        self.gate = gate
        self.limits = limits
        self.identity = identity
        self.refusesToShow = refusesToShow
        self.proxy = proxy
        self.path = path
        self.isPassing = isPassing
        limits?.add(self)
    }

    /// Makes the share; call before each transfer. A transfer without a share would use the connections that all
    /// transfers without one have in common.
    func open() throws(TransferError) {
        if unsafe share != nil { return }
        guard let made = unsafe curl_share_init() else { throw TransferError(.unknown, "libcurl: no memory") }
        unsafe tr_share_set_lock(made, CURL_LOCK_DATA_CONNECT)
        unsafe tr_share_set_lock(made, CURL_LOCK_DATA_SSL_SESSION)
        // What was looked up for one family of addresses is no answer to a session that takes any.
        if path.family != .any { unsafe tr_share_set_lock(made, CURL_LOCK_DATA_DNS) }
        unsafe share = made
    }

    /// Notes a new connection; an idle one of the session ends if the host's limit is exceeded.
    func opened(_ socket: Int32, to host: Substring) {
        guard let limits else { return }
        sockets.opened(socket, to: host)
        limits.makeRoom(at: host)
    }

    /// Returns another pool with the same properties, for connections apart from these.
    package func twin() -> ConnectionPool {
        ConnectionPool(
            tls: tls, identity: identity, refusesToShow: refusesToShow, proxy: proxy, path: path, isPassing: isPassing,
            gate: gate, limits: limits)
    }

    /// Cuts the connections that the gate no longer allows, idle ones too; with `all`, every connection that leaves the
    /// machine.
    package func cut(all: Bool = false) {
        guard let gate else { return }
        sockets.cut { all ? false : gate.allows($0, from: $1) }
    }

    /// Ends the idle connections: the process needs their descriptors. They are closed when the next transfer begins.
    package func endIdle() { sockets.endIdle() }

    /// Runs after every handle that used the pool is gone: the loop keeps its handles' pools alive as long as needed.
    deinit {
        sockets.stopListening()
        if let share = unsafe share { unsafe curl_share_cleanup(share) }
    }
}

@available(*, unavailable)
extension ConnectionPool: Sendable {}

/// Facts about the TLS connections of a pool, by their address. libcurl reports a stream that was cut as whole, and
/// says of a refused client certificate only that something failed.
final class SecureEnds {
    private var closedInOrder: Set<UInt> = []
    private var certificates: [UInt: PeerCertificate] = [:]
    /// Transfers whose server asked for a client certificate.
    private var asked: [UInt: TransferSlot] = [:]
    /// Whether any TLS connection was made; without one the lookups are skipped.
    var isUsed = false

    func began(_ connection: UnsafeRawPointer) {
        let key = UInt(bitPattern: connection)
        if !closedInOrder.isEmpty { closedInOrder.remove(key) }
        if !certificates.isEmpty { certificates[key] = nil }
    }
    /// Notes the peer's close_notify.
    func closed(_ connection: UnsafeRawPointer) { closedInOrder.insert(UInt(bitPattern: connection)) }
    func wasClosedInOrder(_ connection: UnsafeRawPointer) -> Bool {
        !closedInOrder.isEmpty && closedInOrder.contains(UInt(bitPattern: connection))
    }

    /// Returns the certificate of a connection, which is the same for all its requests and read once.
    func certificate(of connection: UnsafeRawPointer, _ make: () -> PeerCertificate?) -> PeerCertificate? {
        let key = UInt(bitPattern: connection)
        if let known = certificates[key] { return known }
        let made = make()
        certificates[key] = made
        return made
    }

    func asks(_ connection: UnsafeRawPointer, of slot: TransferSlot) { asked[UInt(bitPattern: connection)] = slot }
    /// Notes the alert with which the peer ended the connection.
    func complained(_ connection: UnsafeRawPointer, alert: Int32) {
        if !asked.isEmpty { asked[UInt(bitPattern: connection)]?.state.tls.alert = alert }
    }
    func forget(_ slot: TransferSlot) {
        if !asked.isEmpty { asked = asked.filter { $0.value !== slot } }
        if !watched.isEmpty { watched = watched.filter { $0.value.slot !== slot } }
    }

    // MARK: Behind an HTTPS proxy

    /// Transfers by the context that was made for the proxy, or for the server behind it.
    private var watched: [UInt: (slot: TransferSlot, isProxy: Bool)] = [:]

    func watch(_ context: UnsafeRawPointer, of slot: TransferSlot, isProxy: Bool) {
        watched[UInt(bitPattern: context)] = (slot, isProxy)
    }
    /// Notes that the handshake ended here because of the peer's certificates.
    func refused(_ context: UnsafeRawPointer, _ verifyResult: Int) {
        guard let (slot, isProxy) = watched[UInt(bitPattern: context)], !isProxy else { return }
        slot.state.tls.refusedCertificate = verifyResult
    }
    func complained(_ context: UnsafeRawPointer, proxyAlert alert: Int32) {
        guard let (slot, isProxy) = watched[UInt(bitPattern: context)], isProxy else { return }
        slot.state.tls.proxyAlert = alert
    }
}
