import Stores
import TestSupport
import Testing
import TransferModel

@Suite struct StoreDamageTests {
    private let now = ManualClock().wall

    /// A closed store with `count` records in it.
    private func filled(_ tree: TemporaryTree, count: Int = 50) throws -> StoredSession {
        let store = try Store.open(folder: tree.path)
        let session = try store.session(job: "j", name: "s", now: now)
        try store.keep(session, (0..<count).map { "/\($0)" })
        return session
    }

    /// Opens a store whose file must be put aside, and proves that nothing was lost and the new one works.
    private func expectQuarantine(_ tree: TemporaryTree, because words: String) throws {
        let before = try tree.bytes("store.sqlite")
        let store = try Store.open(folder: tree.path)
        let quarantine = try #require(store.quarantined)
        #expect(quarantine.reason.contains(words), "\(quarantine.reason)")
        #expect(quarantine.path.hasPrefix(tree.path + "/store.sqlite.quarantined-"))
        #expect(try TemporaryTree.bytes(at: quarantine.path) == before)
        let session = try store.session(job: "j", name: "s", now: now)
        #expect(try store.resumeRecords(session).isEmpty)
        try store.keep(session, ["/new"])
        #expect(try Store.open(folder: tree.path).quarantined == nil)
    }

    /// SQLite takes a file of one byte for an empty one.
    @Test(arguments: [2, 50, 99, 100, 4095, 4096, 6000, 8192, 20_000])
    func aTruncatedFileIsPutAside(size: Int) throws {
        let tree = try TemporaryTree()
        _ = try filled(tree)
        let bytes = try tree.bytes("store.sqlite")
        #expect(bytes.count > size)
        try tree.write("store.sqlite", Array(bytes.prefix(size)), mode: 0o600)
        try expectQuarantine(tree, because: "SQLite")
    }

    @Test func garbageIsPutAsideEachTimeUnderANewName() throws {
        let tree = try TemporaryTree()
        for round in 1...3 {
            try tree.write("store.sqlite", String(repeating: "garbage \(round)\n", count: 500), mode: 0o600)
            try expectQuarantine(tree, because: "not a database")
            #expect(tree.exists("store.sqlite.quarantined-\(round)"))
        }
    }

    @Test func journalsGoWithTheirFile() throws {
        let tree = try TemporaryTree()
        try tree.write("store.sqlite", String(repeating: "x", count: 5000), mode: 0o600)
        try tree.write("store.sqlite-wal", "old", mode: 0o600)
        try expectQuarantine(tree, because: "not a database")
        #expect(try tree.text("store.sqlite.quarantined-1-wal") == "old")
    }

    @Test func anotherProgramsFileIsPutAside() throws {
        for owner: [UInt8] in [[1, 2, 3, 4], [0, 0, 0, 0]] {
            let tree = try TemporaryTree()
            _ = try filled(tree)
            var bytes = try tree.bytes("store.sqlite")
            bytes.replaceSubrange(68..<72, with: owner)
            try tree.write("store.sqlite", bytes, mode: 0o600)
            try expectQuarantine(tree, because: "another program")
        }
    }

    @Test func aNewerFileIsLeftAloneAndBothVersionsAreNamed() throws {
        let tree = try TemporaryTree()
        _ = try filled(tree)
        var bytes = try tree.bytes("store.sqlite")
        bytes.replaceSubrange(60..<64, with: [0, 0, 3, 231])
        try tree.write("store.sqlite", bytes, mode: 0o600)
        let error = #expect(throws: StoreError.self) { try Store.open(folder: tree.path) }
        #expect(error?.kind == .newerVersion(found: 999, known: Migration.all.count))
        #expect(
            error?.description.contains("999") == true
                && error?.description.contains("up to \(Migration.all.count)") == true)
        #expect(try tree.bytes("store.sqlite") == bytes)
        #expect(!tree.exists("store.sqlite.quarantined-1"))
    }

    @Test func aFileThatIsNotWhatItSaysIsPutAside() throws {
        let tree = try TemporaryTree()
        _ = try filled(tree)
        var bytes = try tree.bytes("store.sqlite")
        bytes.replaceSubrange(60..<64, with: [0, 0, 0, 0])
        try tree.write("store.sqlite", bytes, mode: 0o600)
        try expectQuarantine(tree, because: "does not hold what its format 0 holds")
    }

    /// The versions that a file asks of SQLite for reading its schema, for writing it and for reading it.
    @Test(arguments: [(47, "unsupported file format"), (18, "may not be written"), (19, "not a database")])
    func aHeaderThatAsksForTheUnknownIsPutAside(offset: Int, words: String) throws {
        let tree = try TemporaryTree()
        _ = try filled(tree)
        var bytes = try tree.bytes("store.sqlite")
        bytes[offset] = 0x7F
        try tree.write("store.sqlite", bytes, mode: 0o600)
        try expectQuarantine(tree, because: words)
    }

    @Test func anEmptyFileIsFilled() throws {
        let tree = try TemporaryTree()
        try tree.write("store.sqlite", "", mode: 0o600)
        let store = try Store.open(folder: tree.path)
        #expect(store.quarantined == nil)
        _ = try store.session(job: "j", name: "s", now: now)
    }

    /// A large file is not read whole at each opening: damage shows when it is met, and the next opening acts.
    @Test func damageMetLaterIsPutAsideByTheNextOpening() throws {
        let tree = try TemporaryTree()
        let session = try filled(tree, count: 8000)
        var bytes = try tree.bytes("store.sqlite")
        #expect(bytes.count > 1 << 20)
        for index in try emptyStoreSize()..<bytes.count { bytes[index] = 0xA5 }
        try tree.write("store.sqlite", bytes, mode: 0o600)
        let error = #expect(throws: StoreError.self) {
            let store = try Store.open(folder: tree.path)
            #expect(store.quarantined == nil)
            _ = try store.resumeRecords(session)
        }
        #expect(error?.kind == .damaged)
        try expectQuarantine(tree, because: "store.sqlite")
        #expect(!tree.exists("store.suspect"))
    }

    /// Whatever bytes are changed, opening ends in a store that works, and no changed file is lost.
    @Test func randomDamageNeverEndsTheProgram() throws {
        var random = Seeded("randomDamageNeverEndsTheProgram")
        let original = try TemporaryTree()
        _ = try filled(original)
        let whole = try original.bytes("store.sqlite")
        var putAside = 0
        for _ in 0..<Rounds.scaled(40) {
            let tree = try TemporaryTree()
            var bytes = whole
            for _ in 0...random.below(20) { bytes[random.below(bytes.count)] = UInt8(random.below(256)) }
            if random.oneIn(3) { bytes.removeLast(random.below(bytes.count)) }
            try tree.write("store.sqlite", bytes, mode: 0o600)
            do {
                let store = try Store.open(folder: tree.path)
                if let quarantine = store.quarantined {
                    putAside += 1
                    #expect(try TemporaryTree.bytes(at: quarantine.path) == bytes)
                }
                let session = try store.session(job: "new", name: "s", now: now)
                try store.keep(session, ["/x"])
                #expect(try store.resumeRecords(session).count == 1)
            } catch let error as StoreError {
                if case .newerVersion = error.kind { continue }
                // What the check could not see shows when it is used.
                #expect(error.kind == .damaged, "\(error)")
            }
        }
        #expect(putAside > 0)
    }
}
