package import TransferModel

/// What to do with a 3xx answer.
package enum RedirectDecision: Sendable {
    /// It is the result: no redirect at all, or one that cannot be followed.
    case final
    case follow(ResourceURL, method: String, keepsBody: Bool)
    /// The policy says no; `to` is where it would have gone. One redirect too many is refused too, but no policy
    /// makes it a result.
    case refuse(to: String, TransferError)
}

/// The contract's rules for redirects, hop by hop.
package enum Redirects {
    /// `secured` says where a request that would go over http goes over https instead.
    package static func decide(
        status: Int, location: @autoclosure () -> String?, method: String, from url: ResourceURL, hops: Int,
        policy: RedirectPolicy, rewrites: RedirectRewrites = .none,
        secured: (ResourceURL) -> ResourceURL? = { _ in nil }
    ) -> RedirectDecision {
        // Whatever a command of an own scheme says of another place, it says to who reads its answer.
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
        let keepsBody = rewritten == method && rewritten != "GET" && rewritten != "HEAD"
        return .follow(target, method: rewritten, keepsBody: keepsBody)
    }

    /// 301 and 302 turn POST into GET, 303 turns all but HEAD into GET, 307 and 308 keep the method; others are final.
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

    /// Whether a typed header may go to an origin that the task does not name: Authorization, a typed Cookie and
    /// whatever was made from a secret may not.
    package static func crossesOrigins(_ header: HeaderField) -> Bool {
        if header.value.isSecret { return false }
        let name = header.name.lowercased()
        return name != "authorization" && name != "cookie" && name != "proxy-authorization"
    }
}
