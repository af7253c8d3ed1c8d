package import TransferModel

/// What the client does with a 3xx answer.
package enum RedirectDecision: Sendable {
    /// The answer is the result: it is no redirect, or one that cannot be followed.
    case final
    /// Send the next request to this URL with this method. `keepsBody`: the request's body, if it has one, is sent again.
    case follow(ResourceURL, method: String, keepsBody: Bool)
    /// The policy forbids the redirect; `to` is where it leads. One redirect too many is refused too, but no policy
    /// makes it a result.
    case refuse(to: String, TransferError)
}

/// The job's rules for redirects, hop by hop.
package enum Redirects {
    /// Decides what becomes of an answer with this status and `Location`. `hops` counts the redirects already followed;
    /// `secured` returns the https URL of a request that would go over http, or `nil`; `isFromOutside` tells whether the
    /// answer came from the public Internet.
    package static func decide(
        status: Int, location: @autoclosure () -> String?, method: String, from url: ResourceURL, hops: Int,
        policy: RedirectPolicy, rewrites: RedirectRewrites = .none,
        secured: (ResourceURL) -> ResourceURL? = { _ in nil }, isFromOutside: @autoclosure () -> Bool = false
    ) -> RedirectDecision {
        // Schemes of commands have no redirects: a `Location` there is for the reader of the command's answer.
        guard url.isHTTP, let rewritten = nextMethod(status, method), let location = location(),
            let named = target(location, url)
        else { return .final }
        var target = named
        do throws(TransferError) {
            if !rewrites.isEmpty, let other = try rewrites.target(for: named) { target = other }
        } catch {
            return .refuse(to: named.text, error)
        }
        target = secured(target) ?? target
        if let refusal = refusal(target, from: url, hops: hops, policy) { return .refuse(to: target.text, refusal) }
        if let refusal = inward(target, policy, isFromOutside()) { return .refuse(to: target.text, refusal) }
        let keepsBody = rewritten == method && status != 303 && rewritten != "HEAD"
        return .follow(target, method: rewritten, keepsBody: keepsBody)
    }

    /// The method of the next request: 301 and 302 turn POST into GET, 303 turns all but HEAD into GET, 307 and 308
    /// keep it. `nil` for other statuses, which are final.
    static func nextMethod(_ status: Int, _ method: String) -> String? {
        switch status {
        case 301, 302: method == "POST" ? "GET" : method
        case 303: method == "HEAD" ? "HEAD" : "GET"
        case 307, 308: method
        default: nil
        }
    }

    private static func target(_ location: String, _ url: ResourceURL) -> ResourceURL? {
        let parsed = try? url.resolving(location)
        return location.isEmpty ? nil : parsed
    }

    private static func refusal(
        _ target: ResourceURL, from url: ResourceURL, hops: Int, _ policy: RedirectPolicy
    ) -> TransferError? {
        guard target.isHTTP else {
            return TransferError(.redirectRefused, "a redirect to `\(target.scheme):` is never followed")
        }
        if hops >= policy.maximum {
            let none = "a redirect, and `redirects.maximum` is 0"
            return TransferError(
                .httpTooManyRedirects, policy.maximum == 0 ? none : "more than \(policy.maximum) redirects")
        }
        if url.isSecure, !target.isSecure, !policy.allowDowngrade {
            return TransferError(.redirectRefused, "a redirect from https to http needs `redirects.allowDowngrade`")
        }
        switch policy.follow {
        case .always: break
        case .never: return TransferError(.redirectRefused, "`redirects.follow` is `never`")
        case .sameHost where target.host != url.host:
            return TransferError(.redirectRefused, "`redirects.follow: sameHost` does not lead to \(target.host)")
        case .sameOrigin where !target.hasSameOrigin(as: url):
            return TransferError(.redirectRefused, "`redirects.follow: sameOrigin` does not lead to \(target.origin)")
        case .sameHost, .sameOrigin: break
        }
        if let hosts = policy.allowHosts, !hosts.contains(where: { $0.matches(target.origin) }) {
            return TransferError(.redirectRefused, "`redirects.allowHosts` does not name \(target.host)")
        }
        return nil
    }

    /// Returns why a server must not lead to `target`, whose host says itself that it is inside this machine, its network
    /// or its cloud; `nil` where it may, and for a name: that is judged when it is connected to.
    static func inward(
        _ target: ResourceURL, _ policy: RedirectPolicy, _ isFromOutside: @autoclosure () -> Bool
    ) -> TransferError? {
        guard !policy.toPrivate, let address = target.literalAddress, isFromOutside() else { return nil }
        return AddressLimits([], isLedFromPublic: true)?.objection(to: address)?
            .error(at: target.host, beginning: "\(target.text): ")
    }

    /// Whether a header of the job may go to `origin`, which the task does not name: it is harmless or the policy keeps
    /// it, and no secret in it is bound to other hosts.
    ///
    /// - Parameter withBody: whether the request sends the body that headers of content describe.
    package static func crossesOrigins(
        _ header: HeaderField, to origin: @autoclosure () -> Origin, withBody: Bool, _ policy: RedirectPolicy
    ) -> Bool {
        let name = header.name.lowercased()
        if policy.keepHeaders.contains(name) { return header.value.secretBarred(from: origin()) == nil }
        return !header.value.isSecret && isHarmless(name, withBody: withBody)
    }

    /// Whether the name, in lower case, says that the header only describes the request.
    private static func isHarmless(_ name: String, withBody: Bool) -> Bool {
        if name == "accept" || name == "user-agent" || name == "range" { return true }
        if name.hasPrefix("content-") { return withBody }
        return name.hasPrefix("accept-") || name.hasPrefix("if-")
    }
}
