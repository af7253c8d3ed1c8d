import HTTPRules
import Stores
import TestSupport
import Testing
import TransferModel

/// A store of one version of the program, opened by another.
@Suite struct MigrationTests {
    private let now = ManualClock().wall
    /// As if a later version had one more table.
    private let later = Migration.all + [Migration(sql: "CREATE TABLE later (x INTEGER NOT NULL) STRICT;")]

    @Test func anOlderStoreIsBroughtUpToDateWithAllThatIsInIt() throws {
        let tree = try TemporaryTree()
        var store: Store? = try Store.open(folder: tree.path)
        let session = try #require(try store?.session(job: "j", name: "s", now: now))
        try store?.keep(session, ["/x"])
        store = nil
        let newer = try Store.open(folder: tree.path, steps: later)
        #expect(newer.quarantined == nil)
        #expect(try newer.resumeRecords(session) == ["/x": full("/x")])
        // And the version before leaves it alone.
        let error = #expect(throws: StoreError.self) { try Store.open(folder: tree.path) }
        #expect(error?.kind == .newerVersion(found: Migration.all.count + 1, known: Migration.all.count))
        #expect(try Store.open(folder: tree.path, steps: later).resumeRecords(session).count == 1)
    }

    @Test func aStepThatFailsLeavesTheStoreAsItWas() throws {
        let tree = try TemporaryTree()
        _ = try Store.open(folder: tree.path)
        let broken = Migration.all + [Migration(sql: "CREATE TABLE later (x); CREATE TABLE later (x);")]
        #expect(throws: StoreError.self) { try Store.open(folder: tree.path, steps: broken) }
        #expect(try Store.open(folder: tree.path).quarantined == nil)
        #expect(try Store.open(folder: tree.path, steps: later).quarantined == nil)
    }

    /// Nobody has such a file: what it holds cannot be relied on.
    @Test func aStoreOfOtherStepsIsPutAside() throws {
        let tree = try TemporaryTree()
        _ = try Store.open(folder: tree.path, steps: later)
        let other = Migration.all + [Migration(sql: "CREATE TABLE other (x INTEGER NOT NULL) STRICT;")]
        let store = try Store.open(folder: tree.path, steps: other)
        #expect(store.quarantined?.reason.contains("does not hold what its format") == true)
    }

    /// Each step that is released says what a file holds that took it.
    @Test(arguments: [Migration.all, Migration.journal])
    func theFingerprintOfAStepIsThatOfItsFile(_ steps: [Migration]) throws {
        for index in steps.indices {
            #expect(try steps[index].fingerprint == Migration.fingerprint(of: steps[...index]))
        }
    }
}
