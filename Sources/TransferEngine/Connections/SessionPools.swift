import CurlCore
import HTTPRules
import SystemIO
import TextFormats
import TransferModel

/// The connections of a session, apart by whom they show themselves as and which proxy they go through: what was agreed
/// with one server or proxy is never used with another.
final class SessionPools {
    private let configuration: SessionConfiguration
    private let tls: TLSSettings
    private let proxies: ProxyChoice
    private let networks: NetworkState
    /// Where connections lead to hosts that `connectTo` does not name.
    private var path = ConnectionPath()
    /// The networks that a task may use which says nothing of them.
    private let usualTerms: NetworkTerms
    /// Directly, without a certificate.
    private let plain: ConnectionPool
    /// Every request goes through `plain`, unless its task has rules of its own.
    private let isPlain: Bool
    private let rules: [ChallengeRule]
    /// The rules about addresses that every request of the session is under.
    let addressRules: [AddressRules]
    /// Requests to one origin may be apart in several pools.
    let limits: HostLimits
    private var others: [Key: ConnectionPool] = [:]
    /// Pools of plain http through a proxy and of hosts that `connectTo` names: the ones last used.
    private var passing: [(key: Key, pool: ConnectionPool)] = []
    /// The client certificates by their place in `clientCertificates`, read when first shown.
    private var identities: [Int: Result<TLSIdentity, TransferError>] = [:]
    private var shown: [Int: String] = [:]
    private var settings: [ProxyServer: ProxySettings] = [:]

    private struct Key: Hashable {
        var identity: Int?
        var refusesToShow = false
        var proxy: ProxyServer?
        /// The networks of a task that may use others than its session's tasks usually may.
        var terms: NetworkTerms?
        /// For what speaks HTTP/1.1 where others speak HTTP/2: libcurl does not keep the two apart.
        var isApart = false
        /// An HTTP proxy is asked for any host's plain http on one connection, and libcurl would count all of them as one
        /// host's. So it would count all hosts for which `connectTo` has the same address.
        var origin: Origin?
        /// Whether `connectTo` has another address for `origin`.
        var isDetour = false
    }

    private static let mostPassing = 64

    init(
        _ configuration: SessionConfiguration, proxies environment: ProxyEnvironment, networks: NetworkState
    ) {
        self.configuration = configuration
        self.networks = networks
        usualTerms = configuration.taskDefaults.networkTerms
        tls = TLSSettings(configuration.tls)
        // No proxy can be asked to connect to a Unix socket of this machine.
        let isOnNetwork = configuration.routing.unixSocket == nil
        proxies = ProxyChoice(isOnNetwork ? configuration.proxy : .none, environment: environment)
        path.family = configuration.routing.addressFamily
        path.unixSocket = configuration.routing.unixSocket
        limits = HostLimits(mostPerHost: configuration.maximumConnectionsPerHost)
        plain = ConnectionPool(tls: tls, path: path, gate: networks.gate(usualTerms), limits: limits)
        addressRules = configuration.addressRules
        rules = configuration.taskDefaults.challenges.filter(ConnectionChallenges.isMeant)
        isPlain =
            proxies.isDirect && configuration.tls.clientCertificates.isEmpty && rules.isEmpty
            && configuration.routing.detours.isEmpty
    }

    var proxyServers: [ProxyServer] { proxies.servers }

    /// Where the session's connections lead in place of the hosts of URLs.
    var routing: ConnectionRouting { configuration.routing }

    /// The proxy that a request to `url` goes through, where it is one that may ask who is there.
    func askingProxy(for url: ResourceURL) -> Origin? {
        guard !proxies.isDirect, let proxy = proxies.proxy(for: url), !proxy.kind.isSOCKS else { return nil }
        return proxy.origin
    }

    /// All pools, with idle connections in them.
    var all: [ConnectionPool] { [plain] + others.values + passing.map(\.pool) }

    func proxy(for url: ResourceURL) -> ProxyServer? { proxies.isDirect ? nil : proxies.proxy(for: url) }

    /// Where a request to `url` finds its connection. Each hop of a redirect asks anew.
    /// `own` are the task's `challenges`; `isApart` is a request in HTTP/1.1 where others may go over HTTP/2.
    func pool(
        for url: ResourceURL, _ own: [ChallengeRule], _ terms: NetworkTerms, isApart: Bool
    ) throws(TransferError) -> ConnectionPool {
        var key = Key()
        key.isApart = isApart && configuration.http.version != .http1
        if isPlain, own.isEmpty, terms == usualTerms { return key.isApart ? try pool(key) : plain }
        if terms != usualTerms { key.terms = terms }
        if url.isSecure { try weigh(challenges(own), url, &key) }
        key.proxy = proxies.proxy(for: url)
        if let proxy = key.proxy, !proxy.kind.isSOCKS, url.schemeIs("http") { key.origin = url.origin }
        if routing.target(of: url) != nil { (key.origin, key.isDetour) = (url.origin, true) }
        return try pool(key)
    }

    func challenges(_ own: [ChallengeRule]) -> ConnectionChallenges {
        ConnectionChallenges(session: rules, task: own)
    }

    func hasCertificate(for url: ResourceURL) -> Bool {
        let (host, port) = (url.host, url.port)
        return configuration.tls.clientCertificates.contains { $0.host.matches(host: host, port: port) }
    }

    /// Who is shown where a request to `url` goes, and to whom, for a cache that must tell one from another: a
    /// certificate file's name and what the system says of it, for a certificate may be exchanged under its name; and
    /// the address that is connected to in place of the URL's.
    func shownIdentity(for url: ResourceURL, _ own: [ChallengeRule]) -> String? {
        let parts = [shownCertificate(for: url, own), routing.place(of: url)].compactMap { $0 }
        return parts.isEmpty ? nil : parts.joined(separator: " ")
    }

    private func shownCertificate(for url: ResourceURL, _ own: [ChallengeRule]) -> String? {
        guard !(isPlain && own.isEmpty), url.isSecure, !configuration.tls.clientCertificates.isEmpty else { return nil }
        var key = Key()
        // A rule that keeps the request from being sent shows nobody.
        try? weigh(challenges(own), url, &key)
        guard let place = key.identity else { return nil }
        if let known = shown[place] { return known }
        let path = configuration.tls.clientCertificates[place].certificate
        let facts = try? FileFacts.of(path)
        let text = "certificate \(path) \(facts?.size ?? -1) \(facts?.modifiedNanoseconds ?? -1)"
        shown[place] = text
        return text
    }

    private func weigh(
        _ challenges: ConnectionChallenges, _ url: ResourceURL, _ key: inout Key
    ) throws(TransferError) {
        let (host, port) = (url.host, url.port)
        switch challenges.answer(to: .serverTrust, at: url)?.disposition {
        case .cancel: throw TransferError(.cancelled, "a rule of `challenges` cancels where \(host) is to be trusted")
        case .reject:
            throw TransferError(.serverCertificateUntrusted, "a rule of `challenges` rejects whatever \(host) shows")
        case .use, .default, nil: break
        }
        switch challenges.answer(to: .clientCertificate, at: url)?.disposition {
        case .cancel: key.refusesToShow = true
        case .default, .reject: break
        case .use, nil:
            key.identity = configuration.tls.clientCertificates.firstIndex { $0.host.matches(host: host, port: port) }
        }
    }

    private func pool(_ key: Key) throws(TransferError) -> ConnectionPool {
        if key == Key() { return plain }
        if key.origin != nil { return try passingPool(key) }
        if let known = others[key] { return known }
        let pool = try make(key)
        others[key] = pool
        return pool
    }

    private func passingPool(_ key: Key) throws(TransferError) -> ConnectionPool {
        if let place = passing.lastIndex(where: { $0.key == key }) {
            let known = passing[place]
            if place < passing.count - 1 {
                passing.remove(at: place)
                passing.append(known)
            }
            return known.pool
        }
        let pool = try make(key)
        // Whoever still uses the one that goes keeps it until the end.
        if passing.count == Self.mostPassing { passing.removeFirst() }
        passing.append((key, pool))
        return pool
    }

    private func make(_ key: Key) throws(TransferError) -> ConnectionPool {
        var identity: TLSIdentity?
        if let place = key.identity { identity = try self.identity(place) }
        return ConnectionPool(
            tls: tls, identity: identity, refusesToShow: key.refusesToShow, proxy: key.proxy.map { settings(of: $0) },
            path: path(key), isPassing: key.origin != nil, gate: networks.gate(key.terms ?? usualTerms), limits: limits)
    }

    private func path(_ key: Key) -> ConnectionPath {
        guard key.isDetour, let origin = key.origin,
            let (host, port) = routing.target(host: origin.host, port: origin.port)
        else { return path }
        var detour = path
        (detour.host, detour.port) = (host, port)
        return detour
    }

    private func identity(_ place: Int) throws(TransferError) -> TLSIdentity {
        if let known = identities[place] { return try known.get() }
        let read = Result { () throws(TransferError) in
            try TLSIdentity(configuration.tls.clientCertificates[place])
        }
        identities[place] = read
        return try read.get()
    }

    // MARK: Proxies

    private func settings(of proxy: ProxyServer) -> ProxySettings {
        if let known = settings[proxy] { return known }
        // Over HTTP a proxy asks, and `ChallengeResponder` answers.
        let credential = proxy.user == nil && proxy.kind.isSOCKS ? credential(for: proxy) : nil
        let user = proxy.user ?? credential?.user
        let password = proxy.password ?? credential?.password
        let server = ProxyServer(
            kind: proxy.kind, host: proxy.host, port: proxy.port, user: user, password: password)
        let made = ProxySettings(server, authorization: proxy.user.map { Self.basic($0, password) })
        settings[proxy] = made
        return made
    }

    /// The first of the session's credentials that is for this proxy, and may be sent to it.
    private func credential(for proxy: ProxyServer) -> (user: SecretText, password: SecretText)? {
        for credential in configuration.taskDefaults.credentials where credential.isProxyPassword {
            guard credential.host?.matches(host: proxy.host, port: proxy.port) ?? true,
                case .password(let user, let password) = credential.source,
                user.secretBarred(from: proxy.origin) == nil, password.secretBarred(from: proxy.origin) == nil
            else { continue }
            return (user, password)
        }
        return nil
    }

    private static func basic(_ user: SecretText, _ password: SecretText?) -> String {
        "Basic " + Base64.encode("\(user.revealed):\(password?.revealed ?? "")".utf8)
    }
}
