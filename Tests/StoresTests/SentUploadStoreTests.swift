import HTTPRules
import Stores
import SystemIO
import TestSupport
import Testing
import TransferModel

/// What servers took whole, kept from run to run.
@Suite struct SentUploadStoreTests {
    private let now = ManualClock().wall
    private let url = "https://example.org/photos/ä"

    private func sent(_ path: String = "/photos/a", full: Bool = true) -> SentUpload {
        let file = BodyFileMark(
            boot: -4, device: .max, inode: 1 << 63, size: 1 << 40, modifiedNanoseconds: -1, changedNanoseconds: 17)
        return SentUpload(
            path: path, file: file, readAt: now, digest: Array(0..<32), shape: -7, etag: full ? "\"1\"" : nil,
            lastModified: full ? "Wed, 01 Jan 2020 12:00:00 GMT" : nil, answeredAt: full ? now + .seconds(1) : nil,
            asked: full ? "k d " : nil)
    }

    @Test(arguments: [true, false]) func whatWasSentComesBack(_ isFull: Bool) throws {
        let tree = try TemporaryTree()
        var store: Store? = try Store.open(folder: tree.path)
        let session = try #require(try store?.session(job: "j", name: "s", now: now))
        try store?.keep(sent(full: isFull), of: session, url: url, now: now)
        store = nil
        let later = try Store.open(folder: tree.path)
        #expect(try later.sentUpload(session, url: url) == sent(full: isFull))
        #expect(try later.sentUpload(session, url: url + "x") == nil)
        #expect(!tree.exists("store.suspect"))
    }

    /// A URL has one content: only the session that sent to it last knows it.
    @Test func aURLBelongsToTheSessionThatSentLast() throws {
        let tree = try TemporaryTree()
        let store = try Store.open(folder: tree.path)
        let first = try store.session(job: "j", name: "s", now: now)
        let second = try store.session(job: "k", name: "s", now: now)
        try store.keep(sent(), of: first, url: url, now: now)
        #expect(try store.sentUpload(second, url: url) == nil)
        try store.keep(sent("/b"), of: second, url: url, now: now)
        #expect(try store.sentUpload(first, url: url) == nil)
        #expect(try store.sentUpload(second, url: url) == sent("/b"))
        try store.keep(nil, of: nil, url: url, now: now)
        #expect(try store.sentUpload(second, url: url) == nil)
    }

    @Test func itGoesWithItsSession() throws {
        let tree = try TemporaryTree()
        let store = try Store.open(folder: tree.path)
        let session = try store.session(job: "j", name: "s", now: now)
        try store.keep(sent(), of: session, url: url, now: now)
        _ = try store.reset(job: "j", name: "s")
        #expect(try store.sentUpload(try store.session(job: "j", name: "s", now: now), url: url) == nil)
    }

    /// A row that no program of ours wrote is as good as none.
    @Test func aChangedRowIsNotBelieved() throws {
        let tree = try TemporaryTree()
        var store: Store? = try Store.open(folder: tree.path)
        let session = try #require(try store?.session(job: "j", name: "s", now: now))
        try store?.keep(sent(), of: session, url: url, now: now)
        store = nil
        var bytes = try tree.bytes("store.sqlite")
        if tree.exists("store.sqlite-wal") { bytes = try tree.bytes("store.sqlite-wal") }
        let name = tree.exists("store.sqlite-wal") ? "store.sqlite-wal" : "store.sqlite"
        let path = Array("/photos/a".utf8)
        var changed = 0
        for place in 0..<(bytes.count - path.count) where bytes[place..<place + path.count].elementsEqual(path) {
            bytes[place + path.count - 1] = UInt8(ascii: "b")
            changed += 1
        }
        #expect(changed > 0)
        try tree.write(name, bytes, mode: 0o600)
        let later = try Store.open(folder: tree.path)
        #expect(try later.sentUpload(session, url: url) == nil)
    }

    // MARK: By the thread

    private func keeper(_ tree: TemporaryTree, _ reports: Mailbox<MemoryReport>) throws -> MemoryKeeper {
        let secret = KnownSecret(name: "K", value: "word of mouth")
        return try MemoryKeeper(
            MemoryPlace(folder: tree.path, job: "j", sessions: ["s", "t"], secrets: Redactor([secret])),
            reports: reports)
    }

    private func found(_ reports: Mailbox<MemoryReport>) -> [SentUpload?] {
        reports.takeAll().compactMap { report -> SentUpload?? in
            if case .foundSent(_, let sent) = report { return .some(sent) }
            return nil
        }
    }

    /// What was told a moment ago counts, written or not.
    @Test func whatWasToldIsFoundAtOnce() throws {
        let tree = try TemporaryTree()
        let reports = Mailbox<MemoryReport>()
        let (one, two) = (SessionIndex(raw: 0), SessionIndex(raw: 1))
        let task = TaskIndex(raw: 0)
        let keeper = try self.keeper(tree, reports)
        keeper.submit([
            .findSent(task, one, url: url), .sent(one, url: url, sent()), .findSent(task, one, url: url),
            .findSent(task, two, url: url), .sent(two, url: url, nil), .findSent(task, one, url: url),
            .sent(one, url: url, sent("/b")),
            // One that holds a secret is not written down, and what was known before does not hold.
            .sent(one, url: url + "2", sent()), .sent(one, url: url + "2", sent("/word of mouth")),
            .findSent(task, one, url: url + "2"),
        ])
        #expect(keeper.finish().isEmpty)
        #expect(found(reports) == [nil, sent(), nil, nil, nil])
        let again = try self.keeper(tree, reports)
        again.submit([
            .findSent(task, one, url: url), .findSent(task, two, url: url), .findSent(task, one, url: url + "2"),
        ])
        #expect(again.finish().isEmpty)
        #expect(found(reports) == [sent("/b"), nil, nil])
    }

    /// A run that keeps nothing makes no store.
    @Test func whatIsOnlyForgottenMakesNoStore() throws {
        let tree = try TemporaryTree()
        let keeper = try self.keeper(tree, Mailbox<MemoryReport>())
        keeper.submit([.sent(SessionIndex(raw: 0), url: url, nil)])
        #expect(keeper.finish().isEmpty && tree.list().isEmpty)
    }
}
