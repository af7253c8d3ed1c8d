import Stores
import TestSupport
import Testing
import TransferModel

/// A record with everything in it.
func record(_ session: StoredSession, _ destination: String, time: Int64 = 1) -> ResumeRecord {
    ResumeRecord(
        session: session, destination: destination, url: "https://example.org/ä?\(destination)", etag: "W/\"1\"",
        lastModified: "Sat, 21 Nov 2026 07:00:00 GMT", totalLength: 1 << 40, temporaryPath: "/data/.x.part",
        checkpoint: 1 << 33, digest: Checksum(algorithm: .sha1, bytes: Array(0..<20)),
        time: WallTime(nanoseconds: time))
}

@Suite struct StoreTests {
    private let now = ManualClock().wall

    @Test func keepsRecordsFromOneOpeningToTheNext() throws {
        let tree = try TemporaryTree()
        let folder = tree.path("a/b/state")
        var store: Store? = try Store.open(folder: folder)
        #expect(store?.quarantined == nil)
        let session = try #require(try store?.session(job: "nightly", name: "mirror", now: now))
        let full = record(session, "/data/one")
        let bare = ResumeRecord(
            session: session, destination: "", url: "", etag: "", temporaryPath: "", checkpoint: 0,
            time: WallTime(nanoseconds: 0))
        try store?.put([full, bare])
        store = nil
        let again = try Store.open(folder: folder)
        #expect(try again.existingSession(job: "nightly", name: "mirror") == session)
        #expect(try again.resumeRecord(session, destination: "/data/one") == full)
        #expect(try again.resumeRecord(session, destination: "") == bare)
        #expect(try again.resumeRecord(session, destination: "/data/two") == nil)
        #expect(try again.resumeRecords(session) == [bare, full])
    }

    @Test func tellsSessionsApart() throws {
        let tree = try TemporaryTree()
        let store = try Store.open(folder: tree.path)
        let one = try store.session(job: "a", name: "b", now: now)
        #expect(try store.session(job: "a", name: "b", now: now) == one)
        let others = try [("a", "c"), ("b", "b"), ("", "ab")].map { try store.session(job: $0.0, name: $0.1, now: now) }
        #expect(Set(others + [one]).count == 4)
        #expect(try store.existingSession(job: "a", name: "d") == nil)
        try store.put([record(one, "/x"), record(others[0], "/x")])
        try store.forget(one)
        #expect(try store.existingSession(job: "a", name: "b") == nil)
        #expect(try store.resumeRecords(one).isEmpty)
        #expect(try store.resumeRecords(others[0]).count == 1)
    }

    @Test func replacesDeletesAndPrunes() throws {
        let tree = try TemporaryTree()
        let store = try Store.open(folder: tree.path)
        let session = try store.session(job: "j", name: "s", now: now)
        try store.put((0..<10).map { record(session, "/\($0)", time: $0) })
        var changed = record(session, "/3", time: 30)
        changed.etag = nil
        changed.digest = nil
        try store.put([changed])
        #expect(try store.resumeRecord(session, destination: "/3") == changed)
        try store.deleteResumeRecords(session, destinations: ["/0", "/9", "/none"])
        let pruned = try store.pruneResumeRecords(before: WallTime(nanoseconds: 5))
        #expect(Set(pruned.map(\.destination)) == ["/1", "/2", "/4"])
        #expect(try store.resumeRecords(session).map(\.destination) == ["/3", "/5", "/6", "/7", "/8"])
    }

    @Test func aBatchIsAllOrNothing() throws {
        let tree = try TemporaryTree()
        let store = try Store.open(folder: tree.path)
        let session = try store.session(job: "j", name: "s", now: now)
        let forgotten = try store.session(job: "j", name: "gone", now: now)
        try store.forget(forgotten)
        #expect(throws: StoreError.self) {
            try store.batch { () throws(StoreError) in
                try store.put([record(session, "/kept?")])
                try store.put([record(forgotten, "/x")])
            }
        }
        #expect(try store.resumeRecords(session).isEmpty)
        try store.batch(durably: true) { () throws(StoreError) in
            try store.put([record(session, "/1")])
            try store.put([record(session, "/2")])
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
                    for round in 0..<rounds { try store.put([record(session, "/\(writer)/\(round)")]) }
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
        try store.put([record(session, "/x")])
        // What another process would find if this one were killed now.
        for name in tree.list("state") { try tree.write("copy/\(name)", tree.bytes("state/\(name)"), mode: 0o600) }
        try tree.setMode("copy", 0o700)
        let copy = try Store.open(folder: tree.path("copy"))
        #expect(copy.quarantined == nil)
        #expect(try copy.resumeRecords(session).count == 1)
        #expect(try store.resumeRecords(session).count == 1)
    }
}
