import HTTPRules
import Stores
import TestSupport
import Testing
import TransferModel

@Suite struct UploadStoreTests {
    private let now = ManualClock().wall

    private func record(_ file: String, full: Bool = true) -> UploadRecord {
        var point = UploadPoint(
            place: "https://example.org/u/ä", dialect: full ? .draft3 : .standard, length: 1 << 40,
            sent: full ? 1 << 33 : nil)
        if full { (point.maximumAppend, point.expires) = (7, now + .seconds(60)) }
        return UploadRecord(
            key: UploadKey(url: "https://example.org/up?\(file)", file: file), identity: Array(0..<40), shape: -7,
            point: point)
    }

    @Test func keepsWhatServersHoldFromOneOpeningToTheNext() throws {
        let tree = try TemporaryTree()
        var store: Store? = try Store.open(folder: tree.path("state"))
        let session = try #require(try store?.session(job: "nightly", name: "api", now: now))
        let other = try #require(try store?.session(job: "nightly", name: "other", now: now))
        let records = [record("/a"), record("/b", full: false)]
        try store?.change(session, records.map { UploadChange(key: $0.key, record: $0) }, now: now)
        store = nil
        store = try Store.open(folder: tree.path("state"))
        let found = try store?.uploads(session, now: now) ?? []
        #expect(Set(found) == Set(records))
        #expect(try store?.uploads(other, now: now) == [])
        try store?.change(session, [UploadChange(key: records[0].key, record: nil)], now: now)
        #expect(try store?.uploads(session, now: now) == [records[1]])
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
