import Glibc
import HTTPRules
import Stores
import SystemIO
import TestSupport
import Testing
import TransferModel

/// A record with everything in it.
func full(_ destination: String) -> ResumeRecord {
    ResumeRecord(
        start: "https://example.org/ä?\(destination)",
        point: ResumePoint(
            url: "https://example.net/\(destination)", offset: 1 << 33, validator: "\"1\"", total: 1 << 40,
            sent: SentDigest(header: "Repr-Digest", checksum: Checksum(algorithm: .sha1, bytes: Array(0..<20))),
            asked: "1 2 cookie", headers: HeaderBlock([("Content-Type", "x/y")]), unanswered: 1),
        shape: -7, folder: "/data",
        part: PartFile(name: ".x-\(destination.dropFirst())", size: 1 << 33, sum: Array(0..<16)))
}

extension Store {
    func hasValidators(_ session: StoredSession) throws(StoreError) -> Bool { try folders(session)?.isEmpty == false }

    /// For ever, unless a time is given.
    func keep(_ session: StoredSession, _ destinations: [String], time: Int64 = .max) throws(StoreError) {
        let changes = destinations.map { ResumeChange(destination: $0, record: full($0)) }
        try change(session, changes, now: WallTime(nanoseconds: time))
    }
}

@Suite struct StoreTests {
    private let now = ManualClock().wall

    @Test func keepsRecordsFromOneOpeningToTheNext() throws {
        let tree = try TemporaryTree()
        let folder = tree.path("a/b/state")
        var store: Store? = try Store.open(folder: folder)
        #expect(store?.quarantined == nil)
        let session = try #require(try store?.session(job: "nightly", name: "mirror", now: now))
        let bare = ResumeRecord(
            start: "", point: ResumePoint(url: "", offset: 0, validator: "", total: nil), shape: 0, folder: "/",
            part: PartFile(name: "", size: 0, sum: []))
        try store?.keep(session, ["/data/one"])
        try store?.change(session, [ResumeChange(destination: "", record: bare)], now: now)
        store = nil
        let again = try Store.open(folder: folder)
        #expect(try again.existingSession(job: "nightly", name: "mirror") == session)
        #expect(try again.resumeRecords(session) == ["/data/one": full("/data/one"), "": bare])
        #expect(try again.partFiles() == ["/data/.x-data/one", "/"])
    }

    /// Two processes never make, change or put aside the same file; who waits in vain for that says so.
    @Test func whoHoldsTheLockIsWaitedFor() throws {
        let tree = try TemporaryTree()
        _ = try Store.open(folder: tree.path)
        let lock = try Descriptor.open(tree.path("store.lock"), O_RDONLY)
        #expect(try lock.tryLock())
        do {
            _ = try Store.open(folder: tree.path, patience: .seconds(1))
            Issue.record("opened")
        } catch {
            #expect(error.kind == .busy)
            #expect("\(error)" == "another process has held \(tree.path)/store.lock for 1 seconds")
        }
        _ = consume lock
    }

    @Test func tellsSessionsApart() throws {
        let tree = try TemporaryTree()
        let store = try Store.open(folder: tree.path)
        let one = try store.session(job: "a", name: "b", now: now)
        #expect(try store.session(job: "a", name: "b", now: now) == one)
        let others = try [("a", "c"), ("b", "b"), ("", "ab")].map { try store.session(job: $0.0, name: $0.1, now: now) }
        #expect(Set(others + [one]).count == 4)
        #expect(try store.existingSession(job: "a", name: "d") == nil)
        try store.keep(one, ["/x"])
        try store.keep(others[0], ["/x"])
        try store.forget(one)
        #expect(try store.existingSession(job: "a", name: "b") == nil)
        #expect(try store.resumeRecords(one).isEmpty)
        #expect(try store.resumeRecords(others[0]).count == 1)
    }

    @Test func replacesDeletesAndPrunes() throws {
        let tree = try TemporaryTree()
        let store = try Store.open(folder: tree.path)
        let session = try store.session(job: "j", name: "s", now: now)
        for number in 0..<10 { try store.keep(session, ["/\(number)"], time: Int64(number)) }
        var changed = full("/3")
        changed.point.sent = nil
        changed.point.total = nil
        let changes = [("/3", changed), ("/0", nil), ("/9", nil), ("/none", nil)].map {
            ResumeChange(destination: $0.0, record: $0.1)
        }
        try store.change(session, changes, now: WallTime(nanoseconds: 30))
        let later = WallTime(nanoseconds: 5 + 30 * 24 * 60 * 60 * 1_000_000_000)
        #expect(try store.forgetOldParts(now: later) == ["/data/.x-1", "/data/.x-2", "/data/.x-4"])
        #expect(try store.forgetOldParts(now: later).isEmpty)
        let left = try store.resumeRecords(session)
        #expect(left.keys.sorted() == ["/3", "/5", "/6", "/7", "/8"])
        #expect(left["/3"] == changed)
        #expect(try store.partFiles() == ["/data/.x-3", "/data/.x-5", "/data/.x-6", "/data/.x-7", "/data/.x-8"])
    }

    /// Two destinations that are one text for Swift.
    @Test func eachDestinationHasItsOwn() throws {
        let tree = try TemporaryTree()
        let store = try Store.open(folder: tree.path)
        let session = try store.session(job: "j", name: "s", now: now)
        let names = ["/caf\u{E9}", "/cafe\u{301}"]
        try store.keep(session, names)
        let records = try store.resumeRecords(session)
        #expect(records.count == 2)
        for name in names {
            #expect(records[ExactText(name)]?.point.url.isExactly("https://example.net/\(name)") == true)
        }
    }

    @Test func aBatchIsAllOrNothing() throws {
        let tree = try TemporaryTree()
        let store = try Store.open(folder: tree.path)
        let session = try store.session(job: "j", name: "s", now: now)
        let forgotten = try store.session(job: "j", name: "gone", now: now)
        try store.forget(forgotten)
        #expect(throws: StoreError.self) {
            try store.batch { () throws(StoreError) in
                try store.keep(session, ["/kept?"])
                try store.keep(forgotten, ["/x"])
            }
        }
        #expect(try store.resumeRecords(session).isEmpty)
        try store.batch(durably: true) { () throws(StoreError) in
            try store.keep(session, ["/1"])
            try store.keep(session, ["/2"])
        }
        #expect(try Store.open(folder: tree.path).resumeRecords(session).count == 2)
    }

    @Test func manyProcessesOpenAndWriteAtOnce() async throws {
        let tree = try TemporaryTree()
        let folder = tree.path("state")
        let rounds = Rounds.scaled(30)
        let sessions = try await withThrowingTaskGroup(of: StoredSession.self) { group in
            for writer in 0..<4 {
                group.addTask {
                    // A connection of its own, as another process would have.
                    let store = try Store.open(folder: folder)
                    #expect(store.quarantined == nil)
                    let session = try store.session(job: "j", name: "s", now: WallTime(nanoseconds: 0))
                    for round in 0..<rounds { try store.keep(session, ["/\(writer)/\(round)"]) }
                    return session
                }
            }
            return try await group.reduce(into: Set()) { $0.insert($1) }
        }
        #expect(sessions.count == 1)
        let session = try #require(sessions.first)
        #expect(try Store.open(folder: folder).resumeRecords(session).count == 4 * rounds)
    }

    @Test func whatWasCommittedOutlivesAProcessThatNeverCloses() throws {
        let tree = try TemporaryTree()
        let store = try Store.open(folder: tree.path("state"))
        let session = try store.session(job: "j", name: "s", now: now)
        try store.keep(session, ["/x"])
        // What another process would find if this one were killed now.
        for name in tree.list("state") { try tree.write("copy/\(name)", tree.bytes("state/\(name)"), mode: 0o600) }
        try tree.setMode("copy", 0o700)
        let copy = try Store.open(folder: tree.path("copy"))
        #expect(copy.quarantined == nil)
        #expect(try copy.resumeRecords(session).count == 1)
        #expect(try store.resumeRecords(session).count == 1)
    }
}
