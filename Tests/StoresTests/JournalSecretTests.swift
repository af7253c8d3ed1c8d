import Stores
import SystemIO
import TestSupport
import Testing
import TransferModel

/// What a run was given holds secrets: it is sealed with the run's own key, and that goes when somebody knows of the end.
@Suite struct JournalSecretTests {
    private let now = JournalCase.now

    private static let keyStart = "journal.key-"
    private func keys(_ tree: TemporaryTree) -> [String] { tree.list("s").filter { $0.hasPrefix(Self.keyStart) } }

    private func holds(_ tree: TemporaryTree, _ text: String) throws -> Bool {
        try tree.list("s").contains { try tree.bytes("s/\($0)").firstRange(of: Array(text.utf8)) != nil }
    }

    @Test func whatWasGivenStandsNowhereAsItIs() throws {
        let tree = try TemporaryTree()
        let secrets = ["hunter2-the-secret-of-inputs", "another-long-secret ", "a-value-that-was-captured"]
        var journal: Journal? = try Journal.open(folder: tree.path("s"))
        let inputs = [secrets[0], String(repeating: secrets[1], count: 2_000)].map {
            JournalInput(kind: "recording", name: "x", bytes: Array($0.utf8))
        }
        let captured = JournalInput(kind: "captured", name: "t.v", bytes: Array(secrets[2].utf8))
        let id = try #require(try journal?.accept(JournalCase.run(), inputs: inputs, tasks: ["t"]))
        let other = try #require(try journal?.accept(JournalCase.run(["o"]), inputs: [captured], tasks: ["t"]))
        try journal?.keep(captured, of: id)
        func expectNone(_ moment: String) throws {
            for secret in secrets { #expect(try !holds(tree, secret), "\(moment)") }
        }
        try expectNone("accepted")
        #expect(try journal?.inputs(of: id) == inputs + [captured])
        #expect(keys(tree).count == 2 && keys(tree).allSatisfy { tree.mode("s/\($0)") == 0o600 })
        try journal?.recordEnd(of: id, JournalCase.end)
        try journal?.deliver(id, now: now)
        #expect(try journal?.inputs(of: id) == [])
        #expect(keys(tree).count == 1)
        try expectNone("delivered")
        #expect(try journal?.inputs(of: other) == [captured])
        journal = nil
        try expectNone("closed")
    }

    /// A copy of the journal, or a page of it that somebody finds later, is worth nothing.
    @Test func afterTheEndNotEvenACopyCanBeRead() throws {
        let tree = try TemporaryTree()
        let input = JournalInput(kind: "recording", bytes: [1, 2, 3])
        let id = try Journal.open(folder: tree.path("s")).accept(JournalCase.run(), inputs: [input], tasks: ["t"])
        let copy = try tree.bytes("s/journal.sqlite")
        var journal: Journal? = try Journal.open(folder: tree.path("s"))
        #expect(try journal?.inputs(of: id) == [input])
        try journal?.recordEnd(of: id, JournalCase.end)
        try journal?.deliver(id, now: now)
        journal = nil
        for name in tree.list("s") where name.hasPrefix("journal.sqlite") { tree.remove("s/\(name)") }
        try tree.write("s/journal.sqlite", copy, mode: 0o600)
        try expectUnreadable(tree, id, "is not there")
    }

    /// No reason to put the journal aside: its rows are as they were written.
    private func expectUnreadable(_ tree: TemporaryTree, _ id: RunID, _ why: String) throws {
        for _ in 0..<2 {
            let journal = try Journal.open(folder: tree.path("s"))
            #expect(journal.quarantined == nil)
            let error = #expect(throws: StoreError.self) { try journal.inputs(of: id) }
            #expect(error?.kind == .sealedForEver)
            #expect(error?.description.contains("what run \(id.raw) was given") == true)
            #expect(error?.description.contains(why) == true, "\(error?.description ?? "")")
            #expect(try journal.tasks(of: id).count == 1 && journal.run(id)?.state == .accepted)
        }
        #expect(!tree.exists("s/journal.suspect"))
    }

    @Test func aWrongKeyIsToldAndNothingIsPutAside() throws {
        let tree = try TemporaryTree()
        let input = JournalInput(kind: "recording", bytes: [1, 2, 3])
        let id = try Journal.open(folder: tree.path("s")).accept(JournalCase.run(), inputs: [input], tasks: ["t"])
        let file = "s/\(try #require(keys(tree).first))"
        let key = try tree.bytes(file)
        try tree.write(file, [UInt8](repeating: 7, count: 32), mode: 0o600)
        try expectUnreadable(tree, id, "another key")
        for length in [0, 31, 33] {
            try tree.write(file, [UInt8](repeating: 7, count: length), mode: 0o600)
            try expectUnreadable(tree, id, "is not as it was written")
        }
        let journal = try Journal.open(folder: tree.path("s"))
        #expect(throws: StoreError.self) { try journal.keep(input, of: id) }
        tree.remove(file)
        #expect(throws: StoreError.self) { try journal.keep(input, of: id) }
        #expect(throws: StoreError.self) { try journal.extend(id, inputs: [input], tasks: ["u"]) }
        #expect(try journal.tasks(of: id).count == 1)
        try expectUnreadable(tree, id, "is not there")
        try tree.write(file, key, mode: 0o600)
        #expect(try Journal.open(folder: tree.path("s")).inputs(of: id) == [input])
    }

    /// Whoever died between making a key and its run's row, or between the end's delivery and the key's, left one.
    @Test func aKeyOfNoRunIsSwept() throws {
        let tree = try TemporaryTree()
        let journal = try Journal.open(folder: tree.path("s"))
        let live = try journal.accept(JournalCase.run(["live"]), inputs: [], tasks: ["t"])
        let needed = keys(tree)
        #expect(throws: AcceptProblem.self) { try journal.accept(JournalCase.run(["live"]), inputs: [], tasks: []) }
        #expect(keys(tree) == needed)
        let done = try JournalCase.finished(journal, "done")
        let second = try #require(keys(tree).first { !needed.contains($0) })
        let key = try tree.bytes("s/\(second)")
        try journal.deliver(done, now: now)
        try tree.write("s/\(second)", key, mode: 0o600)
        try tree.write("s/\(Self.keyStart)3f-1", key, mode: 0o600)
        try journal.forget(now: now)
        #expect(keys(tree) == needed)
        #expect(try journal.inputs(of: live) == [])
        // One whose end nobody ever asked for, in the end.
        try journal.recordEnd(of: live, JournalCase.end)
        try journal.forget(now: now + JournalBounds().abandoned + .seconds(120))
        #expect(keys(tree).isEmpty)
    }

    /// Events come redacted, so the journal's are.
    @Test func noSecretStandsInTheEvents() throws {
        let tree = try TemporaryTree()
        let secret = "zq-the-secret-of-events-qz"
        let redactor = Redactor([KnownSecret(name: "s", value: secret)])
        var story = JournalStory(seed: 3, secrets: [secret])
        let journal = try Journal.open(folder: tree.path)
        let id = try journal.accept(JournalCase.run(), inputs: [], tasks: story.tasks)
        var hadSome = false
        for _ in 0..<30 {
            let batch = story.batch()
            hadSome = hadSome || batch.contains { ValueLines.of($0).contains { $0.contains(secret) } }
            try journal.append(batch.map { $0.redacted(by: redactor) }, to: id)
        }
        #expect(hadSome)
        for name in tree.list("") { #expect(try tree.bytes(name).firstRange(of: Array(secret.utf8)) == nil, "\(name)") }
    }
}
