internal import CLibcurl
import TransferModel

/// Connections (and TLS sessions) that may be used for one another: one pool per session, the certificate it shows and
/// the proxy it goes through. What they have in common does not change. Only its loop's thread may touch it.
@safe package final class ConnectionPool {
    package let tls: TLSSettings
    /// The client certificate that is shown when a server asks for one; never to a proxy.
    package let identity: TLSIdentity?
    /// Whoever asks for a certificate is not spoken with.
    let refusesToShow: Bool
    package let proxy: ProxySettings?
    /// Whether the pool may be let go while handles live on that used it.
    let isPassing: Bool
    /// Asked before a connection is made; without one all are.
    package let gate: (any ConnectionGate)?
    /// There from the first transfer on: before that libcurl may still be loading.
    private(set) var share: UnsafeMutableRawPointer?
    /// Whoever closes a connection asks it, `deinit` too: it must live as long as they do.
    let secureEnds = SecureEnds()
    let sockets = PoolSockets()
    /// Which its connections share with those of other pools.
    private let limits: HostLimits?

    package init(
        tls: TLSSettings, identity: TLSIdentity? = nil, refusesToShow: Bool = false, proxy: ProxySettings? = nil,
        isPassing: Bool = false, gate: (any ConnectionGate)? = nil, limits: HostLimits? = nil
    ) {
        self.tls = tls
        self.gate = gate
        self.limits = limits
        self.identity = identity
        self.refusesToShow = refusesToShow
        self.proxy = proxy
        self.isPassing = isPassing
        limits?.add(self)
    }

    /// Before each transfer: one without a share would take the connections that all others without one have in common.
    func open() throws(TransferError) {
        if unsafe share != nil { return }
        guard let made = unsafe curl_share_init() else { throw TransferError(.unknown, "libcurl: no memory") }
        unsafe tr_share_set_lock(made, CURL_LOCK_DATA_CONNECT)
        unsafe tr_share_set_lock(made, CURL_LOCK_DATA_SSL_SESSION)
        unsafe share = made
    }

    /// A connection is made; one that lies idle beside it ends where it is one too many.
    func opened(_ socket: Int32, to host: Substring) {
        guard let limits else { return }
        sockets.opened(socket, to: host)
        limits.makeRoom(at: host)
    }

    /// Another for connections like these, apart from them.
    package func twin() -> ConnectionPool {
        ConnectionPool(
            tls: tls, identity: identity, refusesToShow: refusesToShow, proxy: proxy, isPassing: isPassing, gate: gate,
            limits: limits)
    }

    /// Cuts the connections that the gate does not let go on, idle ones too; with `all`, whatever leaves the machine.
    package func cut(all: Bool = false) {
        guard let gate else { return }
        sockets.cut { all ? false : gate.allows($0, from: $1) }
    }

    /// After every handle that used it: the loop keeps its handles' pools alive as long as needed.
    deinit {
        sockets.stopListening()
        if let share = unsafe share { unsafe curl_share_cleanup(share) }
    }
}

@available(*, unavailable)
extension ConnectionPool: Sendable {}

/// What is to be known of the TLS connections of a pool, by their address. libcurl reports a stream that was cut as whole,
/// and says of a refused client certificate only that something failed.
final class SecureEnds {
    private var closedInOrder: Set<UInt> = []
    private var certificates: [UInt: PeerCertificate] = [:]
    /// Transfers whose server asked for a certificate of ours.
    private var asked: [UInt: TransferSlot] = [:]
    /// Whether any TLS connection was made: without one, no time is spent asking.
    var isUsed = false

    func began(_ connection: UnsafeRawPointer) {
        let key = UInt(bitPattern: connection)
        if !closedInOrder.isEmpty { closedInOrder.remove(key) }
        if !certificates.isEmpty { certificates[key] = nil }
    }
    /// The peer said close_notify.
    func closed(_ connection: UnsafeRawPointer) { closedInOrder.insert(UInt(bitPattern: connection)) }
    func wasClosedInOrder(_ connection: UnsafeRawPointer) -> Bool {
        !closedInOrder.isEmpty && closedInOrder.contains(UInt(bitPattern: connection))
    }

    /// The same for all requests on a connection: worked out once.
    func certificate(of connection: UnsafeRawPointer, _ make: () -> PeerCertificate?) -> PeerCertificate? {
        let key = UInt(bitPattern: connection)
        if let known = certificates[key] { return known }
        let made = make()
        certificates[key] = made
        return made
    }

    func asks(_ connection: UnsafeRawPointer, of slot: TransferSlot) { asked[UInt(bitPattern: connection)] = slot }
    /// The peer ended the connection with a complaint.
    func complained(_ connection: UnsafeRawPointer, alert: Int32) {
        if !asked.isEmpty { asked[UInt(bitPattern: connection)]?.state.tls.alert = alert }
    }
    func forget(_ slot: TransferSlot) {
        if !asked.isEmpty { asked = asked.filter { $0.value !== slot } }
        if !watched.isEmpty { watched = watched.filter { $0.value.slot !== slot } }
    }

    // MARK: Behind an HTTPS proxy

    /// By the context that was made for the proxy, or for the server behind it.
    private var watched: [UInt: (slot: TransferSlot, isProxy: Bool)] = [:]

    func watch(_ context: UnsafeRawPointer, of slot: TransferSlot, isProxy: Bool) {
        watched[UInt(bitPattern: context)] = (slot, isProxy)
    }
    /// We ended the handshake over the certificates that were shown.
    func refused(_ context: UnsafeRawPointer, _ verifyResult: Int) {
        guard let (slot, isProxy) = watched[UInt(bitPattern: context)], !isProxy else { return }
        slot.state.tls.refusedCertificate = verifyResult
    }
    func complained(_ context: UnsafeRawPointer, proxyAlert alert: Int32) {
        guard let (slot, isProxy) = watched[UInt(bitPattern: context)], isProxy else { return }
        slot.state.tls.proxyAlert = alert
    }
}
