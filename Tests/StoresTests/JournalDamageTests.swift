import Stores
import TestSupport
import Testing
import TransferModel

@Suite struct JournalDamageTests {
    private let now = JournalCase.now

    /// A closed journal with a story in it.
    private func filled(_ tree: TemporaryTree, batches: Int = 10, seed: UInt64 = 11) throws -> (RunID, JournalStory) {
        let story = JournalStory(seed: seed)
        let journal = try Journal.open(folder: tree.path)
        let inputs = [JournalInput(kind: "recording", bytes: story.input)]
        let id = try journal.accept(JournalCase.run([story.identifier]), inputs: inputs, tasks: story.tasks)
        var writing = story
        for _ in 0..<batches { try journal.append(writing.batch(), to: id) }
        return (id, story)
    }

    private func expectWorks(_ journal: Journal) throws {
        let id = try journal.accept(JournalCase.run(["new"]), inputs: [], tasks: ["t"])
        try journal.append([JournalCase.event(1, .taskCreated)], to: id)
        #expect(try journal.events(of: id).count == 1)
    }

    @Test func aDamagedFileIsPutAsideAndANewOneMade() throws {
        for size in [2, 99, 4096, 20_000] {
            let tree = try TemporaryTree()
            _ = try filled(tree)
            let bytes = try tree.bytes("journal.sqlite")
            try tree.write("journal.sqlite", Array(bytes.prefix(size)), mode: 0o600)
            let journal = try Journal.open(folder: tree.path)
            let quarantine = try #require(journal.quarantined)
            #expect(quarantine.path == tree.path("journal.sqlite.quarantined-1"))
            #expect(quarantine.reason.contains("the journal \(tree.path("journal.sqlite"))"))
            #expect(try TemporaryTree.bytes(at: quarantine.path) == Array(bytes.prefix(size)))
            #expect(try journal.runs().isEmpty)
            try expectWorks(journal)
        }
    }

    @Test func aStoreIsNoJournalAndANewerOneIsLeftAlone() throws {
        let tree = try TemporaryTree()
        _ = try Store.open(folder: tree.path)
        let store = try tree.bytes("store.sqlite")
        try tree.write("journal.sqlite", store, mode: 0o600)
        #expect(try Journal.open(folder: tree.path).quarantined?.reason.contains("another program") == true)
        #expect(try Store.open(folder: tree.path).quarantined == nil)
        let later = Migration.journal + [Migration(sql: "CREATE TABLE later (x INTEGER NOT NULL) STRICT;")]
        let other = try TemporaryTree()
        _ = try Journal.open(folder: other.path, steps: later)
        let error = #expect(throws: StoreError.self) { try Journal.open(folder: other.path) }
        #expect(error?.kind == .newerVersion(found: later.count, known: Migration.journal.count))
        #expect(!other.exists("journal.sqlite.quarantined-1"))
    }

    @Test func anOlderOneIsBroughtUpToDate() throws {
        let tree = try TemporaryTree()
        let (id, story) = try filled(tree)
        let later = Migration.journal + [Migration(sql: "CREATE TABLE later (x INTEGER NOT NULL) STRICT;")]
        let journal = try Journal.open(folder: tree.path, steps: later)
        #expect(journal.quarantined == nil)
        #expect(try journal.events(of: id).map(\.sequence) == story.journalled(10).map(\.sequence))
    }

    /// One bit, anywhere in what stands in the rows: each kind of row notices, and the next to open puts the file aside.
    @Test func aChangedLetterIsNoticed() throws {
        for victim in ["t0", "https://example.org/", "org.example.11", "/srv/jobs.yaml", "boot-1"] {
            let tree = try TemporaryTree()
            let (id, _) = try filled(tree)
            var bytes = try tree.bytes("journal.sqlite")
            // Behind the text of the tables' definitions. The index of identifiers is one place of several.
            let places = bytes.indices.dropFirst(4096).filter { bytes[$0...].starts(with: Array(victim.utf8)) }
            for place in places { bytes[place + 1] ^= 0x01 }
            try #require(!places.isEmpty, "\(victim)")
            try tree.write("journal.sqlite", bytes, mode: 0o600)
            let error = #expect(throws: StoreError.self, "\(victim)") {
                let journal = try Journal.open(folder: tree.path)
                try #require(journal.quarantined == nil)
                _ = try journal.runs()
                _ = try journal.tasks(of: id)
                _ = try journal.events(of: id)
            }
            #expect(error?.kind == .damaged, "\(victim)")
            let journal = try Journal.open(folder: tree.path)
            #expect(journal.quarantined?.reason.contains("is not as it was written") == true, "\(victim)")
            try expectWorks(journal)
        }
    }

    /// Whatever is changed or cut: what is read is right, or an error.
    @Test func randomDamageNeverGivesAWrongEvent() throws {
        var random = Seeded("randomDamageNeverGivesAWrongEvent")
        let original = try TemporaryTree()
        let (id, story) = try filled(original, batches: 40)
        let whole = try original.bytes("journal.sqlite")
        let truth = story.journalled(40).map { ValueLines.of($0) }
        var (readable, refused, putAside) = (0, 0, 0)
        for _ in 0..<Rounds.scaled(40) {
            let tree = try TemporaryTree()
            var bytes = whole
            for _ in 0...random.below(30) { bytes[random.below(bytes.count)] ^= UInt8(1 << random.below(8)) }
            if random.oneIn(6) { bytes.removeLast(random.below(bytes.count)) }
            try tree.write("journal.sqlite", bytes, mode: 0o600)
            for key in original.list("") where key.hasPrefix("journal.key-") {
                try tree.write(key, try original.bytes(key), mode: 0o600)
            }
            do {
                let journal = try Journal.open(folder: tree.path)
                if journal.quarantined != nil {
                    putAside += 1
                    try expectWorks(journal)
                    continue
                }
                guard try journal.run(id) != nil else { continue }
                let events = try journal.events(of: id).map { ValueLines.of($0) }
                #expect(events == truth)
                for input in try journal.inputs(of: id) { #expect(input.bytes == story.input) }
                readable += 1
            } catch let error as StoreError {
                if case .newerVersion = error.kind { continue }
                #expect(error.kind == .damaged, "\(error)")
                refused += 1
            }
        }
        print("damage to the journal: \(putAside) put aside, \(refused) refused, \(readable) read right")
        #expect(refused + putAside > 0)
    }

    /// Who has a file open that another put aside would write where nobody reads.
    @Test func whoWritesIntoAFileThatWasPutAsideIsTold() throws {
        let tree = try TemporaryTree()
        let (id, _) = try filled(tree)
        let journal = try Journal.open(folder: tree.path)
        _ = try journal.runs()
        try tree.write("journal.suspect", "", mode: 0o600)
        #expect(try Journal.open(folder: tree.path).quarantined == nil)
        #expect(!tree.exists("journal.suspect"))
        try journal.append([JournalCase.event(1 << 20, .cacheStored)], to: id)
        tree.remove("journal.sqlite")
        let error = #expect(throws: StoreError.self) {
            try journal.append([JournalCase.event(1 << 21, .cacheStored)], to: id)
        }
        #expect(error?.kind == .putAside)
    }
}
