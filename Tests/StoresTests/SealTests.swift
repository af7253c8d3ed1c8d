import HTTPRules
import Stores
import TestSupport
import Testing
import TransferModel

/// What a damaged file says of validators is never believed, whatever of it SQLite can still read.
@Suite struct SealTests {
    private let now = ManualClock().wall

    private func kept(_ number: Int) -> KeptValidators {
        KeptValidators(
            url: number % 7 == 0 ? "https://other.example.org/\(number)" : "https://example.org/pool/file-\(number)",
            etag: number % 5 == 0 ? nil : "\"\(number &* 2_654_435_761)\"",
            lastModified: number % 5 == 0 ? "Sat, 21 Nov 2026 07:00:00 GMT" : nil, shape: Int64(number % 3),
            file: FileStamp(size: Int64(number), modifiedNanoseconds: Int64(number) << 32))
    }

    private func destination(_ number: Int) -> String { "/data/\(number % 4)/file-\(number)" }

    /// A closed store with `count` validators of one session, all in the file.
    private func filled(_ tree: TemporaryTree, count: Int) throws -> StoredSession {
        let store = try Store.open(folder: tree.path)
        let session = try store.session(job: "j", name: "s", now: now)
        let changes = (0..<count).map { ValidatorChange(destination: destination($0), kept: kept($0)) }
        try store.change(session, changes, now: now)
        return session
    }

    @Test func whatWasKeptComesBack() throws {
        let tree = try TemporaryTree()
        let session = try filled(tree, count: 500)
        let store = try Store.open(folder: tree.path)
        for number in 0..<500 {
            #expect(try store.validators(session, destination: destination(number)) == kept(number))
        }
        #expect(try store.validators(session, destination: "/data/0/file-1") == nil)
        #expect(!tree.exists("store.suspect"))
    }

    /// The file is too large to be read whole when it is opened: each row must speak for itself.
    @Test func changedBytesAreNeverBelieved() throws {
        var random = Seeded("changedBytesAreNeverBelieved")
        let original = try TemporaryTree()
        let count = 6_000
        let session = try filled(original, count: count)
        let whole = try original.bytes("store.sqlite")
        #expect(whole.count > 64 * 4096)
        let first = try emptyStoreSize()
        var lost = 0
        for _ in 0..<Rounds.scaled(4) {
            let tree = try TemporaryTree()
            var bytes = whole
            // Not in the pages of the schema and the roots, or nothing is read at all.
            for _ in 0..<200 { bytes[first + random.below(bytes.count - first)] ^= 1 << UInt8(random.below(8)) }
            try tree.write("store.sqlite", bytes, mode: 0o600)
            let store = try Store.open(folder: tree.path)
            guard store.quarantined == nil else { continue }
            for number in 0..<count {
                do {
                    let found = try store.validators(session, destination: destination(number))
                    if found == nil { lost += 1 }
                    #expect(found == nil || found == kept(number), "\(number)")
                } catch {
                    #expect(error.kind == .damaged, "\(error)")
                    lost += 1
                }
            }
            #expect(tree.exists("store.suspect"))
        }
        #expect(lost > 0)
    }

    /// A letter in an entity tag: SQLite's own checks cannot see it.
    @Test func aChangedLetterCostsOneRequestAndIsMended() throws {
        let tree = try TemporaryTree()
        let session = try filled(tree, count: 50)
        var bytes = try tree.bytes("store.sqlite")
        let tag = Array((kept(7).etag ?? "").utf8)
        let place = try #require(bytes.indices.first { bytes[$0...].starts(with: tag) })
        bytes[place + 1] ^= 1
        try tree.write("store.sqlite", bytes, mode: 0o600)
        let store = try Store.open(folder: tree.path)
        #expect(store.quarantined == nil)
        #expect(try store.validators(session, destination: destination(7)) == nil)
        #expect(try store.validators(session, destination: destination(8)) == kept(8))
        #expect(tree.exists("store.suspect"))
        try store.change(session, [ValidatorChange(destination: destination(7), kept: kept(7))], now: now)
        // All that was wrong was written anew, and a look at every page finds nothing else.
        let next = try Store.open(folder: tree.path)
        #expect(next.quarantined == nil && !tree.exists("store.suspect"))
        #expect(try next.validators(session, destination: destination(7)) == kept(7))
    }

    /// Paths and URLs that do not fit together, are empty, or look alike.
    @Test(arguments: [
        ("/a/b", "https://example.org/b"), ("/a/b", "https://example.org/c"), ("/a/b", "b"), ("/a/b", ""),
        ("/b", "https://example.org/x/b"), ("b", "b"), ("", ""), ("/a/", "https://example.org/"),
        ("/a/e\u{301}", "https://example.org/\u{e9}"), ("/a//\u{301}b", "https://example.org/\u{301}b"),
    ])
    func anyPairIsKeptAsItIs(destination: String, url: String) throws {
        let tree = try TemporaryTree()
        let store = try Store.open(folder: tree.path)
        let session = try store.session(job: "j", name: "s", now: now)
        var first = kept(1)
        first.url = url
        var second = kept(2)
        second.url = "https://example.org/second"
        try store.change(
            session,
            [
                ValidatorChange(destination: destination, kept: first),
                ValidatorChange(destination: destination + "2", kept: second),
            ], now: now)
        let found = try store.validators(session, destination: destination)
        #expect(found.map { Array($0.url.utf8) } == Array(url.utf8) && found == first)
        #expect(try store.validators(session, destination: destination + "2") == second)
    }
}
