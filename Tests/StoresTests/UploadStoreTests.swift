import HTTPRules
import Stores
import SystemIO
import TestSupport
import Testing
import TransferModel

@Suite struct UploadStoreTests {
    private let now = ManualClock().wall

    private func record(_ file: String, of task: String = "a", full: Bool = true) -> UploadRecord {
        var point = UploadPoint(
            place: "https://example.org/u/ä", dialect: full ? .draft3 : .standard, length: 1 << 40,
            sent: full ? 1 << 33 : nil)
        if full { (point.maximumAppend, point.expires, point.refused) = (7, now + .seconds(60), 503) }
        return UploadRecord(
            key: UploadKey(task: task, url: "https://example.org/up?\(file)", file: file), identity: Array(0..<40),
            shape: -7, point: point)
    }

    @Test func keepsWhatServersHoldFromOneOpeningToTheNext() throws {
        let tree = try TemporaryTree()
        var store: Store? = try Store.open(folder: tree.path("state"))
        let session = try #require(try store?.session(job: "nightly", name: "api", now: now))
        let other = try #require(try store?.session(job: "nightly", name: "other", now: now))
        let records = [record("/a"), record("/a", of: "b"), record("/b", full: false)]
        try store?.change(session, records.map { UploadChange(key: $0.key, record: $0) }, now: now)
        store = nil
        store = try Store.open(folder: tree.path("state"))
        let found = try store?.uploads(session, now: now) ?? []
        #expect(Set(found) == Set(records))
        #expect(try store?.uploads(other, now: now) == [])
        try store?.change(session, [UploadChange(key: records[0].key, record: nil)], now: now)
        #expect(try Set(store?.uploads(session, now: now) ?? []) == Set(records[1...]))
    }

    /// What is told and taken back while the store is still being made leaves nothing in it.
    @Test(arguments: [true, false]) func whatIsTakenBackIsNotKept(_ isKeptBefore: Bool) throws {
        let tree = try TemporaryTree()
        let (upload, other, part) = (record("/a"), record("/b"), full("/x"))
        var hidden = upload
        hidden.point.place = "https://example.org/word"
        let first = SessionIndex(raw: 0)
        if isKeptBefore {
            let store = try Store.open(folder: tree.path)
            let session = try store.session(job: "j", name: "s", now: now)
            try store.change(session, [upload, other].map { UploadChange(key: $0.key, record: $0) }, now: now)
            try store.keep(session, ["/x", "/y"])
        }
        let place = MemoryPlace(
            folder: tree.path, job: "j", sessions: ["s"],
            secrets: Redactor([KnownSecret(name: "K", value: "https://example.org/word")]))
        let keeper = try MemoryKeeper(place, reports: Mailbox<MemoryReport>())
        keeper.submit([
            .upload(first, UploadChange(key: other.key, record: other)),
            .upload(first, UploadChange(key: upload.key, record: upload)),
            .part(first, destination: "/x", part), .part(first, destination: "/y", full("/y")),
            .part(first, destination: "/x", nil), .upload(first, UploadChange(key: other.key, record: nil)),
            // Of one that must not be written down nothing older stays either.
            .upload(first, UploadChange(key: upload.key, record: hidden)),
        ])
        #expect(keeper.finish().isEmpty)
        let store = try Store.open(folder: tree.path)
        let session = try #require(try store.existingSession(job: "j", name: "s"))
        #expect(try store.uploads(session, now: now).isEmpty)
        #expect(try Set(store.resumeRecords(session).keys) == ["/y"])
    }

    @Test func whatWasLeftLongAgoIsForgotten() throws {
        let tree = try TemporaryTree()
        let store = try Store.open(folder: tree.path("state"))
        let session = try store.session(job: "nightly", name: "api", now: now)
        let record = record("/a")
        try store.change(session, [UploadChange(key: record.key, record: record)], now: now)
        #expect(try store.uploads(session, now: now + .seconds(29 * 86_400)) == [record])
        #expect(try store.uploads(session, now: now + .seconds(31 * 86_400)) == [])
    }
}
