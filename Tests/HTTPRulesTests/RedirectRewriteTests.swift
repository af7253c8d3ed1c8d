import HTTPRules
import Testing
import TransferModel

struct RedirectRewriteTests {
    private func target(_ url: String, _ rules: [(String, String)]) throws -> String? {
        let rewrites = RedirectRewrites(rules.map { RedirectPolicy.Rewrite(match: $0.0, to: $0.1) })
        return try rewrites.target(for: ResourceURL.parse(url))?.text
    }

    @Test(
        arguments: [
            ([("^https://cdn\\.test/(.*)", "https://mirror.test/$1")], "https://mirror.test/a/b?c=1"),
            ([("^https://cdn\\.test", "https://mirror.test:8443")], "https://mirror.test:8443/a/b?c=1"),
            ([("cdn", "other")], "https://other.test/a/b?c=1"),
            ([("nothing", "https://x.test/")], nil),
            // The first rule that matches, and only that one.
            ([("nothing", "x"), ("cdn", "y"), ("y", "z")], "https://y.test/a/b?c=1"),
            // Once: the `c` of the query stays.
            ([("c", "k")], "https://kdn.test/a/b?c=1"),
            // `$0` is all that matched; what is no group stays as it is; a group that took no part is empty.
            ([("a/b", "$0/$$/$9/$")], "https://cdn.test/a/b/$$/$9/$?c=1"),
            ([("(x)?a", "[$1]")], "https://cdn.test/%5B%5D/b?c=1"),
            ([("\\?.*", "")], "https://cdn.test/a/b"),
        ] as [([(String, String)], String?)])
    func rules(_ rules: [(String, String)], _ expected: String?) throws {
        #expect(try target("https://cdn.test/a/b?c=1", rules) == expected)
    }

    @Test func whatIsNoURLIsRefused() throws {
        #expect(throws: TransferError.self) { try target("https://cdn.test/", [("^.*$", "https://")]) }
        #expect(throws: TransferError.self) {
            try target("https://cdn.test/\(String(repeating: "a", count: 64))c", [("^https://cdn\\.test/(a+)+$", "/")])
        }
    }

    private func decide(_ location: String, to: String, _ change: (inout RedirectPolicy) -> Void = { _ in }) throws
        -> RedirectDecision
    {
        var policy = RedirectPolicy()
        change(&policy)
        return Redirects.decide(
            status: 302, location: location, method: "GET", from: try ResourceURL.parse("https://a.test/"), hops: 0,
            policy: policy, rewrites: RedirectRewrites([RedirectPolicy.Rewrite(match: "^.*$", to: to)]))
    }

    /// The rules are held against where it really goes.
    @Test func aRewrittenRedirectIsNoFreer() throws {
        guard case .follow(let target, _, _) = try decide("http://b.test/", to: "https://c.test/") else {
            return #expect(Bool(false))
        }
        #expect(target.text == "https://c.test/")
        for (to, name) in [("http://c.test/", ErrorName.redirectRefused), ("ftp://c.test/", .redirectRefused)] {
            guard case .refuse(_, let error) = try decide("https://b.test/", to: to) else {
                return #expect(Bool(false))
            }
            #expect(error.name == name)
        }
        guard case .refuse = try decide("https://b.test/", to: "https://c.test/", { $0.follow = .sameOrigin }) else {
            return #expect(Bool(false))
        }
    }

    @Test func aSecureHostIsNoDowngrade() throws {
        let url = try ResourceURL.parse("https://a.test/")
        let decision = Redirects.decide(
            status: 302, location: "http://b.test/x", method: "GET", from: url, hops: 0, policy: RedirectPolicy(),
            secured: { $0.secured })
        guard case .follow(let target, _, _) = decision else { return #expect(Bool(false)) }
        #expect(target.text == "https://b.test/x")
    }
}
