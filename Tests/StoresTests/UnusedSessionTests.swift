import HTTPRules
import Stores
import TestSupport
import Testing
import TransferModel

/// What no run used for 90 days goes.
@Suite struct UnusedSessionTests {
    private let begin = ManualClock().wall
    private func day(_ number: Int64) -> WallTime { begin + .seconds(number * 24 * 3_600) }

    private func fill(_ tree: TemporaryTree, _ names: [String]) throws {
        let store = try Store.open(folder: tree.path, now: begin)
        for name in names {
            let session = try store.session(job: "j", name: name, now: begin)
            let kept = KeptValidators(
                url: "https://example.org/x", etag: "\"1\"", lastModified: nil, shape: 0,
                file: FileStamp(size: 1, modifiedNanoseconds: 1))
            try store.change(session, [ValidatorChange(destination: "/\(name)", kept: kept)], now: begin)
            try store.keep(session, ["/\(name)/1", "/\(name)/2"])
        }
    }

    private func isThere(_ name: String, _ store: Store) throws -> Bool {
        try store.existingSession(job: "j", name: name) != nil
    }

    @Test func whatNobodyUsesGoesWithAllThatWasKept() throws {
        let tree = try TemporaryTree()
        try fill(tree, ["used", "unused"])
        #expect(try isThere("used", Store.open(folder: tree.path, now: day(60))))
        var store = try Store.open(folder: tree.path, now: day(90))
        #expect(store.forgotten.isEmpty)
        store = try Store.open(folder: tree.path, now: day(91))
        #expect(store.forgotten == ["/data/.x-unused/1", "/data/.x-unused/2"])
        #expect(try !isThere("unused", store) && isThere("used", store))
        let used = try #require(try store.existingSession(job: "j", name: "used"))
        #expect(try store.resumeRecords(used).count == 2 && store.hasValidators(used))
        #expect(try Store.open(folder: tree.path, now: day(92)).forgotten.isEmpty)
        // Nothing of it is left to be found by a session that gets its number.
        let next = try store.session(job: "j", name: "next", now: day(91))
        #expect(try store.resumeRecords(next).isEmpty && !store.hasValidators(next))
    }

    /// Used day by day, it stays for ever; so does one that a store kept open for months writes to.
    @Test func whatIsUsedStays() throws {
        let tree = try TemporaryTree()
        try fill(tree, ["daily", "open"])
        let long = try Store.open(folder: tree.path, now: begin)
        let open = try #require(try long.existingSession(job: "j", name: "open"))
        for number in stride(from: Int64(1), through: 200, by: 10) {
            let store = try Store.open(folder: tree.path, now: day(number))
            #expect(try store.forgotten.isEmpty && isThere("daily", store))
            try long.change(open, [ValidatorChange(destination: "/x", kept: nil)], now: day(number))
        }
        #expect(try Store.open(folder: tree.path, now: day(400)).forgotten.count == 4)
    }

    /// A machine that began with a clock of the next century keeps nothing for a century.
    @Test func aClockThatWasWrongIsPutRight() throws {
        let tree = try TemporaryTree()
        do {
            let store = try Store.open(folder: tree.path, now: day(36_500))
            try store.keep(store.session(job: "j", name: "s", now: day(36_500)), ["/x"])
        }
        #expect(try isThere("s", Store.open(folder: tree.path, now: begin)))
        #expect(try Store.open(folder: tree.path, now: day(91)).forgotten.count == 1)
    }

    @Test func theTimeDecidesAndEachIsToldOnce() throws {
        let tree = try TemporaryTree()
        try fill(tree, ["s"])
        let store = try Store.open(folder: tree.path, now: day(1))
        #expect(try store.forgetUnusedSessions(now: day(90)).isEmpty)
        #expect(try store.forgetUnusedSessions(now: day(92)).count == 2)
        #expect(try store.forgetUnusedSessions(now: day(93)).isEmpty)
    }
}
