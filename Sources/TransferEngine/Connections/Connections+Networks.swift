import AttemptLife
import CurlCore
import Glibc
import SystemIO
package import TransferModel

// Networks come and go while transfers run.

extension Attempt {
    /// Beginning of a message about the attempt's request, `GET https://a.test/f: `; empty for a `data:` URL.
    var requestWords: String {
        let (method, url) = (life.request.method, life.request.url)
        if url.scheme == "data" { return "" }
        return url.isHTTP ? "\(method) \(url.text): " : "\(url.text): "
    }

    /// The networks that the task's requests may use.
    var terms: NetworkTerms { specification.options.values.policies.networkTerms }
}

extension Connections {
    /// What goes over a network that went away, or that its task may not use any more, ends here and now.
    package func networksChanged(to conditions: Conditions) {
        let before = participants.connections.networks.conditions
        participants.connections.networks.conditions = conditions
        cutConnections(all: false)
        endWhatWasCut { attempt, interface in
            let name = before?[interface]?.name ?? conditions[interface]?.name
            guard let network = conditions[interface], let objection = attempt.terms.objection(to: network) else {
                return TransferError(.networkConnectionLost, "the network it used went away (\(name ?? "no name"))")
            }
            return TransferError(
                .networkConnectionLost,
                "the network it used (\(network.name)) is \(objection.rawValue) now, which it may not use")
        }
    }

    /// The machine slept. Whoever was at the other end has given up, or will when the next byte comes.
    package func woke() {
        cutConnections(all: true)
        endWhatWasCut { _, _ in TransferError(.networkConnectionLost, "the machine slept in the middle of it") }
    }

    /// The host that a request goes to first: its own, the one that `connectTo` names in its place, or a proxy; `nil`
    /// for what needs no network.
    package func firstHop(of url: ResourceURL, _ session: SessionIndex) -> String? {
        core.sessions[Int(session.raw)].pools.firstHop(of: url)
    }

    private func cutConnections(all: Bool) {
        for session in core.sessions { for pool in session.allPools { pool.cut(all: all) } }
        for attempt in core.attempts { attempt?.transport.ownPool?.pool.cut(all: all) }
    }

    private func endWhatWasCut(_ error: (Attempt, UInt32) -> TransferError) {
        // All that are cut before the first is ended: with one stream stopped, the socket of the others may be closed, and
        // closed sockets are forgotten.
        let cut = core.attempts.compactMap { attempt -> (Attempt, UInt32)? in
            guard let attempt, attempt.result == nil else { return nil }
            return lostNetwork(of: attempt).map { (attempt, $0) }
        }
        for (attempt, interface) in cut where attempt.result == nil {
            let isSegmented = attempt.streams.segmented != nil
            engine.stopTransfer(attempt)
            attempt.transport.lostNetwork = true
            let failure = error(attempt, interface)
            // One body may go on by itself where an upload stands.
            if isSegmented { fail(attempt, failure) } else { engine.ended(attempt, failure, sawCloseNotify: false) }
        }
    }

    private func lostNetwork(of attempt: Attempt) -> UInt32? {
        if let transfer = attempt.transport.transfer, let lost = core.loop.lostNetwork(of: transfer) { return lost }
        for segment in attempt.streams.segmented?.segments ?? [] {
            if let transfer = segment.transfer, let lost = core.loop.lostNetwork(of: transfer) { return lost }
        }
        return nil
    }

    /// Why the request failed, in words of its own; `nil` where it did not.
    func transportError(_ attempt: Attempt, _ completion: CurlCompletion) -> TransferError? {
        if let failure = attempt.sending.body?.failure { return failure }
        if let error = networkError(attempt, completion) { return error }
        guard var error = completion.error else { return nil }
        if let words = connectionWords(attempt, completion) ?? cutWords(attempt, completion) {
            error.message = "\(attempt.requestWords)\(words)"
        }
        return error
    }

    /// How far an answer had come when the connection was cut; `nil` where it was not cut, or not in one stream.
    private func cutWords(_ attempt: Attempt, _ completion: CurlCompletion) -> String? {
        let url = attempt.life.request.url
        guard let error = completion.error, error.name == .networkConnectionLost, completion.proxyFailure == nil,
            !(completion.receiver is Segment), url.isHTTP
        else { return nil }
        let number = completion.systemError
        let reason = number == 0 ? nil : SystemError(call: "recv", errno: number).reason
        guard attempt.exchange.head != nil else {
            guard completion.code.saysNothingCame else { return nil }
            let words = "\(url.host) port \(url.port) ended the connection without an answer"
            return reason.map { "\(words): \($0)" } ?? words
        }
        let came = attempt.life.offset + attempt.bodyReceived
        var words = TransferError.cutWords
        if let all = attempt.life.announcedLength, all >= came {
            words += SizeText.part(came, of: all)
        } else {
            words += SizeText.of(came)
        }
        if completion.code == .partialFile { return words }
        return "\(words): \(reason ?? error.message)"
    }

    /// Why no connection to the server of an http or https URL could be used, in fewer words than libcurl's; `nil` where
    /// another reason is the cause, or a proxy.
    private func connectionWords(_ attempt: Attempt, _ completion: CurlCompletion) -> String? {
        let url = attempt.life.request.url
        guard url.isHTTP, completion.proxyFailure == nil else { return nil }
        if completion.speaksNoTLS || completion.wasHungUpOn { return completion.error?.message }
        let (host, port) = attempt.session.pools.routing.target(of: url) ?? (url.host, url.port)
        if completion.foundNoAddress { return "no address was found for the host \(host)" }
        if completion.error?.name == .timedOut, !completion.metrics.isProxied {
            let time = Explanation.words(attempt.session.configuration.connectTimeout)
            return "no connection to \(host) port \(port) within \(time) (`connectTimeout`)"
        }
        guard completion.foundNoConnection else { return nil }
        switch completion.systemError {
        case 0: return "\(host) port \(port) cannot be connected to"
        case ECONNREFUSED: return "\(host) port \(port)\(TransferError.refusalWords)"
        case EACCES where Confinement.room != nil:
            return "\(host) port \(port) is none that this confined run connects to: the job's URLs name other ports"
        case let number:
            return "\(host) port \(port) cannot be connected to: \(SystemError(call: "connect", errno: number).reason)"
        }
    }

    /// Why a transfer that never got a connection had none, when that lies with the networks here.
    func networkError(_ attempt: Attempt, _ completion: CurlCompletion) -> TransferError? {
        let url = attempt.life.request.url
        if let objection = completion.objection { return addressError(objection, attempt) }
        if let refusal = completion.refusal, let conditions = participants.connections.networks.conditions {
            var error = TransferError(
                .noPermittedRoute, "to reach \(url.host) takes \(conditions.words(for: refusal))",
                curl: completion.number)
            if case .notAllowed(let objection) = refusal { error.reason = objection }
            return error
        }
        if let error = attempt.session.pools.routingError(of: completion, to: url) { return error }
        guard completion.isUnroutable else { return nil }
        return TransferError(
            .noPermittedRoute, "no network here leads to \(url.host)", curl: completion.number,
            errno: completion.systemError)
    }
}
