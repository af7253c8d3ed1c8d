package import TransferModel

/// Decides where the next page of a task lies, and whether it may be asked for.
package enum NextPages {
    /// Returns the URL that an answer names for the next page, resolved against the answer's own. Throws if it is none,
    /// or leads where a redirect of the task must not.
    ///
    /// `rewritten` returns where an operator's rules lead it; `secured` the https URL of a request that would go over
    /// http, or `nil`; `isFromOutside` tells whether the answer came from the public Internet.
    package static func target(
        _ reference: String, from url: ResourceURL, policy: RedirectPolicy,
        rewritten: (ResourceURL) throws(TransferError) -> ResourceURL = { $0 },
        secured: (ResourceURL) -> ResourceURL? = { _ in nil }, isFromOutside: Bool = false
    ) throws(TransferError) -> ResourceURL {
        let named: ResourceURL
        do throws(URLProblem) {
            named = try url.resolving(reference)
        } catch {
            throw TransferError(
                .nextPageUnusable, "the next page's URL \(ForeignText.quoted(reference)) is none: \(error.message)")
        }
        let target = try allowed(try rewritten(named), from: url, policy: policy, secured: secured)
        if let refusal = Redirects.inward(target, policy, isFromOutside) {
            throw TransferError(refusal.name, "the next page is at \(refusal.message)")
        }
        return target
    }

    /// Returns the URL of the next page where it is the first page's with a cursor in it, or a number.
    package static func target(
        _ first: ResourceURL, setting parameter: String, to value: String, policy: RedirectPolicy,
        secured: (ResourceURL) -> ResourceURL? = { _ in nil }
    ) throws(TransferError) -> ResourceURL {
        let target = first.setting(query: parameter, to: value)
        // The task's own URL was asked for, wherever that led.
        return try allowed(target, from: secured(target) ?? target, policy: policy, secured: secured)
    }

    private static func allowed(
        _ named: ResourceURL, from url: ResourceURL, policy: RedirectPolicy, secured: (ResourceURL) -> ResourceURL?
    ) throws(TransferError) -> ResourceURL {
        let target = secured(named) ?? named
        if let reason = refusal(target, from: url, policy) {
            throw TransferError(.redirectRefused, "the next page is at \(ForeignText.quoted(target.text)): \(reason)")
        }
        return target
    }

    /// Why the policy forbids a page at `target`. Pages are no redirects: `follow: never` keeps them at their origin,
    /// and `maximum` does not count them.
    private static func refusal(_ target: ResourceURL, from url: ResourceURL, _ policy: RedirectPolicy) -> String? {
        guard target.isHTTP else { return "a page is at http or https" }
        if url.isSecure, !target.isSecure, !policy.allowDowngrade {
            return "from https to http needs `redirects.allowDowngrade`"
        }
        switch policy.follow {
        case .always: break
        case .sameHost where target.host != url.host: return "`redirects.follow: sameHost` does not lead there"
        case .sameOrigin, .never:
            if !target.hasSameOrigin(as: url) {
                return "`redirects.follow: \(policy.follow.rawValue)` does not lead there"
            }
        case .sameHost: break
        }
        if let hosts = policy.allowHosts, !hosts.contains(where: { $0.matches(target.origin) }) {
            return "`redirects.allowHosts` does not name \(target.host)"
        }
        return nil
    }

    /// Returns why the page after `number` pages must not be asked for: it was asked for before. `asked` are the URLs
    /// of the pages so far, as they were asked for.
    package static func loop(_ target: ResourceURL, asked: [String]) -> TransferError? {
        guard let place = asked.firstIndex(where: { $0.utf8.elementsEqual(target.text.utf8) }) else { return nil }
        let which = place == asked.count - 1 ? "itself" : "page \(place + 1)"
        return TransferError(
            .nextPageUnusable, "page \(asked.count) names \(which) as the next page: that would go on without end")
    }
}
