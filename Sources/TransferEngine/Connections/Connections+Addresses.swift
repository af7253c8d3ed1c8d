import AttemptLife
import HTTPRules
import TransferModel

// Which addresses a session's requests may connect to, and where answers come from.

extension Attempt {
    /// Where the present answer came from. What a name behind a proxy leads to is not known here, so it counts as outside
    /// unless the URL itself has an address.
    var answerSource: AnswerSource {
        if session.configuration.routing.unixSocket != nil { return .inside }
        let url = life.request.url
        if session.pools.proxy(for: url) != nil { return url.isInside ? .inside : .outside }
        guard let address = transport.address.flatMap({ NetworkAddress(literal: $0) }) else { return .unknown }
        return AddressClass.of(address)?.isInside == true ? .inside : .outside
    }

    /// Whether the page that the present answer leads to must not be at an address inside. A page that the job counts is
    /// at the task's own URL.
    func isLed(toPageAt target: ResourceURL, _ next: NextPage) -> Bool {
        guard case .url = next.way else { return false }
        return life.leads(to: target, from: answerSource)
    }
}

extension Connections {
    /// Throws where the operator's policy lets no request go to the URL's host, or to the one where it goes first. Every
    /// request comes by here: a task's own, a redirect, a page, the place of an upload, a checksum file, a token.
    func checkHosts(_ url: ResourceURL, _ attempt: Attempt) throws(TransferError) {
        guard let rules = attempt.session.configuration.policy?.hosts else { return }
        let pools = attempt.session.pools
        var hosts = [(host: url.host, port: url.port)]
        if pools.routing.unixSocket == nil, let target = pools.routing.target(of: url) { hosts.append(target) }
        if let proxy = pools.proxy(for: url) { hosts.append((proxy.host, proxy.port)) }
        guard let refusal = hosts.lazy.compactMap({ rules.refusal(ofHost: $0.host, port: $0.port) }).first else {
            return
        }
        throw TransferError(.addressRefused, "\(attempt.requestWords)\(refusal.message)")
    }

    /// What decides about the addresses of a request's connections; `nil` where all may be connected to. Throws where the
    /// URL's own address is refused: through a proxy no connection would show it.
    func addressLimits(_ request: OutgoingRequest, _ attempt: Attempt) throws(TransferError) -> AddressLimits? {
        let pools = attempt.session.pools
        let url = request.url
        guard let limits = AddressLimits(pools.addressRules, isLedFromPublic: request.isLedFromPublic),
            pools.proxy(for: url) != nil
        else { return AddressLimits(pools.addressRules, isLedFromPublic: request.isLedFromPublic) }
        if let address = pools.addressBehindProxy(of: url), let objection = limits.objection(to: address) {
            throw objection.error(at: url.host, beginning: attempt.requestWords)
        }
        // No server led to the proxy.
        return AddressLimits(pools.addressRules, isLedFromPublic: false)
    }

    /// The error of a request that was not sent because the address was refused.
    func addressError(_ objection: AddressObjection, _ attempt: Attempt) -> TransferError {
        let url = attempt.life.request.url
        let pools = attempt.session.pools
        let host =
            pools.proxy(for: url).map { "the proxy \($0.host)" } ?? pools.firstHop(of: url) ?? url.host
        return objection.error(at: host, beginning: attempt.requestWords)
    }
}

extension SessionPools {
    /// The address that a proxy is asked to connect to; `nil` where it is given a name.
    fileprivate func addressBehindProxy(of url: ResourceURL) -> NetworkAddress? {
        guard let target = routing.target(of: url) else { return url.literalAddress }
        return NetworkAddress(literal: target.host)
    }
}
