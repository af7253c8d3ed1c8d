import Diagnostics
import JobLoader
import Testing
import TransferModel

/// `addresses` and `redirects.toPrivate` as a job writes them.
@Suite struct AddressKeyTests {
    private func load(_ sessions: String) -> LoadResult {
        JobLoaderTests.load(
            """
            sessions: \(sessions)
            tasks: [{ id: a, session: main, url: "https://a.test/x", to: a }]
            """)
    }

    @Test func classesAndRangesAreRead() throws {
        let job = try #require(
            load(
                """
                { main: { addresses: {
                    deny: [private, metadata, 203.0.113.0/24, "fd00::/8"],
                    allow: [10.1.0.0/16, loopback] } } }
                """
            ).job)
        let rules = job.sessions[0].addresses
        #expect(rules.deny.map(\.entry.description) == ["private", "metadata", "203.0.113.0/24", "fd00::/8"])
        #expect(rules.allow.map(\.description) == ["10.1.0.0/16", "loopback"])
        #expect(rules.owner == .session && rules.deny.allSatisfy { $0.place?.hasSuffix(":2") == true })
        #expect(!job.tasks[0].options.values.policies.redirects.toPrivate)
    }

    @Test func everyClassHasAName() throws {
        let names = AddressClass.allCases.map(\.rawValue).joined(separator: ", ")
        let job = try #require(load("{ main: { addresses: { deny: [\(names)] } } }").job)
        #expect(job.sessions[0].addresses.deny.map(\.entry) == AddressClass.allCases.map { .all($0) })
    }

    /// Each of both lists is the session's own, or the one that it extends; `null` takes away.
    @Test func anExtendedSessionIsOverridden() throws {
        let job = try #require(
            load(
                """
                { base: { addresses: { deny: [private, loopback], allow: [10.0.0.0/8] } },
                  main: { extends: base, addresses: { allow: [10.1.0.0/16] } },
                  open: { extends: base, addresses: null } }
                """
            ).job)
        #expect(job.sessions[1].addresses.deny.map(\.entry.description) == ["private", "loopback"])
        #expect(job.sessions[1].addresses.allow.map(\.description) == ["10.1.0.0/16"])
        #expect(job.sessions[2].addresses.deny.isEmpty && job.sessions[2].addressRules.isEmpty)
    }

    @Test(arguments: [
        ("10.0.0.1/8", "`10.0.0.1/8` has bits set after its prefix", "write `10.0.0.0/8` for the range"),
        ("10.0.0.0/99", "`10.0.0.0/99` has `99` where the length of its prefix must be", "0 to 32"),
        ("privat", "`privat` is no class of addresses and no range", "did you mean `private`?"),
        ("everything", "is no class of addresses and no range", "the classes are `metadata`, `loopback`"),
        ("a.test", "`a.test` is no address and no range of addresses", "a name has no fixed address"),
        ("\"10.0.0.1:80\"", "is no address", "leave the port out"),
    ])
    func whatIsNoneIsAnError(_ entry: String, _ message: String, _ hint: String) throws {
        let result = load("{ main: { addresses: { deny: [loopback, \(entry)] } } }")
        #expect(result.summary == ["1:51 invalid-value"])
        let item = try #require(result.diagnostics.sorted().first)
        #expect(
            item.message.contains(message) && item.hint?.contains(hint) == true, "\(item.message) \(item.hint ?? "")")
    }

    @Test func aSocketIsAPlaceOfThisMachine() {
        #expect(
            load("{ main: { unixSocket: /a, addresses: { deny: [loopback] } } }").summary == ["1:37 conflicting-keys"])
        #expect(load("{ main: { unixSocket: /a, addresses: { deny: [loopback], allow: [loopback] } } }").job != nil)
        #expect(load("{ main: { unixSocket: /a, addresses: { deny: [private] } } }").job != nil)
    }

    @Test func allowAloneDoesNothing() {
        #expect(load("{ main: { addresses: { allow: [10.0.0.0/8] } } }").summary == ["1:21 warning no-effect"])
    }
}
