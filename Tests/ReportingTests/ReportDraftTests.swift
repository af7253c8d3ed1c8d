import Glibc
import Reporting
import SystemIO
import TestSupport
import Testing
import TransferModel

/// A long report grows where it is going to stand. It says what one says that is written in one go.
@Suite struct ReportDraftTests {
    private let tree: TemporaryTree
    private var place: String { tree.path("r.json") }

    init() throws { tree = try TemporaryTree() }

    private func story(_ random: inout Seeded, tasks: Int = 400) -> Story {
        Story(random: Seeded(seed: random.next()), tasks: tasks)
    }

    private func written(_ report: JSONReport) throws -> [UInt8] {
        let sink = MemorySink()
        try report.write(to: sink)
        return sink.bytes
    }

    /// But for the blanks that are left of the room for its head.
    private func expectSame(_ bytes: [UInt8], _ other: [UInt8], _ comment: Comment? = nil) {
        func lines(_ bytes: [UInt8]) -> [ArraySlice<UInt8>] {
            var lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            while lines[0].last == UInt8(ascii: " ") { lines[0].removeLast() }
            return lines
        }
        #expect(lines(bytes) == lines(other), comment)
    }

    /// In whichever order tasks end, and wherever the run breaks off.
    @Test func itSaysTheSame() throws {
        var random = Seeded("itSaysTheSame")
        for round in 0..<Rounds.scaled(6) {
            let story = story(&random)
            var events = story.events
            if round % 3 == 2 { events.removeLast(random.below(events.count / 2)) }
            let (grown, whole) = (
                JSONReport(job: story.job, runner: runner), JSONReport(job: story.job, runner: runner)
            )
            grown.grow(at: place)
            try feed(events, to: grown, &random)
            try feed(events, to: whole, &random)
            #expect(tree.list("").filter { $0 != "r.json" } == [], "nothing has a name before the end")
            try grown.write(to: place)
            let expected = try written(whole)
            #expect(expected.count > 300 << 10)
            expectSame(try tree.bytes("r.json"), expected)
            _ = try TestJSON.parse(try tree.bytes("r.json"))
            // To another place, or once more, it goes as a copy.
            expectSame(try written(grown), expected)
            grown.correction = (.failed, 1)
            whole.correction = (.failed, 1)
            try grown.write(to: place, isDurable: true)
            expectSame(try tree.bytes("r.json"), try written(whole))
            #expect(tree.list("") == ["r.json"])
        }
    }

    /// The first task of the file ends last: all others wait for it, and not in memory.
    @Test func whatWaitsLongIsPutAside() throws {
        var random = Seeded("whatWaitsLongIsPutAside")
        let story = story(&random, tasks: 2500)
        let first = story.events.filter { $0.task?.raw == 0 }
        let others = story.events.filter { $0.task?.raw != 0 }
        let end = try #require(others.firstIndex { if case .sessionInvalidated = $0.kind { true } else { false } })
        let events = Array(others[..<end]) + first + Array(others[end...])
        let (grown, whole) = (JSONReport(job: story.job, runner: runner), JSONReport(job: story.job, runner: runner))
        grown.grow(at: place)
        try feed(Array(events[..<end]), to: grown, &random)
        try feed(Array(events[end...]), to: grown, &random)
        try feed(events, to: whole, &random)
        try grown.write(to: place)
        let expected = try written(whole)
        #expect(expected.count > 5 << 20)
        expectSame(try tree.bytes("r.json"), expected)
    }

    /// What stands there keeps its mode's rules, and a link stays one.
    @Test func itReplacesWhatALinkLeadsTo() throws {
        var random = Seeded("itReplacesWhatALinkLeadsTo")
        let story = story(&random)
        try tree.makeFolder("other")
        try tree.write("other/real.json", "old")
        #expect(symlink("other/real.json", place) == 0)
        let report = JSONReport(job: story.job, runner: runner)
        report.grow(at: place)
        try feed(story.events, to: report, &random)
        try report.write(to: place)
        #expect(try tree.text("other/real.json").hasPrefix("{\"format\""))
        #expect(tree.list("") == ["other/", "other/real.json", "r.json@"])
        #expect(try FileFacts.of(tree.path("other/real.json")).mode & 0o777 == 0o644)
    }

    /// A head that became longer than there is room for, and another place than was said.
    @Test func whereItCannotStayItIsCopied() throws {
        var random = Seeded("whereItCannotStayItIsCopied")
        let story = story(&random)
        let (grown, whole) = (JSONReport(job: story.job, runner: runner), JSONReport(job: story.job, runner: runner))
        grown.grow(at: place)
        try feed(story.events, to: grown, &random)
        try feed(story.events, to: whole, &random)
        for report in [grown, whole] {
            let words = [String(repeating: "x", count: 5000)]
            report.hooks = [HookResult(command: words, exitStatus: 0, duration: .zero)]
        }
        try tree.makeFolder("elsewhere")
        try grown.write(to: tree.path("elsewhere/r.json"))
        expectSame(try tree.bytes("elsewhere/r.json"), try written(whole))
        #expect(tree.list("") == ["elsewhere/", "elsewhere/r.json"])
        try grown.write(to: place)
        expectSame(try tree.bytes("r.json"), try written(whole))
        #expect(tree.list("") == ["elsewhere/", "elsewhere/r.json", "r.json"])
    }

    /// A folder that is moved away takes no report along, and a link that came is followed.
    @Test(arguments: ["moved", "linked"]) func whoChangesThePlaceGetsItThere(_ what: String) throws {
        var random = Seeded("whoChangesThePlaceGetsItThere")
        let story = story(&random)
        try tree.makeFolder("place")
        let report = JSONReport(job: story.job, runner: runner)
        report.grow(at: tree.path("place/r.json"))
        try feed(story.events, to: report, &random)
        if what == "moved" {
            #expect(rename(tree.path("place"), tree.path("away")) == 0)
            try tree.makeFolder("place")
        } else {
            try tree.write("real.json", "old")
            #expect(symlink("../real.json", tree.path("place/r.json")) == 0)
        }
        try report.write(to: tree.path("place/r.json"))
        let moved = ["away/", "place/", "place/r.json"]
        #expect(tree.list("") == (what == "moved" ? moved : ["place/", "place/r.json@", "real.json"]))
        expectSame(try tree.bytes("place/r.json"), try written(report))
    }

    /// A run was killed while its report had not got its name yet: the next one takes away what lies there. What somebody is
    /// just writing stays, and so does what is no file of ours.
    @Test(arguments: [true, false]) func whatAKilledRunLeftGoes(_ isGrown: Bool) throws {
        var random = Seeded("whatAKilledRunLeftGoes")
        let story = story(&random, tasks: 50)
        try tree.write(".r.json.transfer-run-1.tmp", "left")
        try tree.write(".r.json.transfer-run-2.tmp", "alive")
        try tree.makeFolder(".r.json.transfer-run-3.tmp")
        try tree.write(".other.json.transfer-run-1.tmp", "another's")
        let alive = open(tree.path(".r.json.transfer-run-2.tmp"), O_RDONLY)
        defer { close(alive) }
        try #require(flock(alive, LOCK_EX | LOCK_NB) == 0)
        let report = JSONReport(job: story.job, runner: runner)
        if isGrown { report.grow(at: place) }
        try feed(story.events, to: report, &random)
        try report.write(to: place)
        let others = [
            ".other.json.transfer-run-1.tmp", ".r.json.transfer-run-2.tmp", ".r.json.transfer-run-3.tmp/", "r.json",
        ]
        #expect(tree.list("") == others)
        // Where all are taken it gets its name all the same.
        for number in [1] + Array(4...9) { try tree.makeFolder(".r.json.transfer-run-\(number).tmp") }
        try report.write(to: place)
        #expect(tree.list("").count == others.count + 7)
    }

    /// A disk that is full in between: what went before is still there, and the rest in memory.
    @Test(.enabled(if: geteuid() == 0)) func aFullDiskLosesNothing() throws {
        var random = Seeded("aFullDiskLosesNothing")
        let story = story(&random, tasks: 600)
        let (grown, whole) = (JSONReport(job: story.job, runner: runner), JSONReport(job: story.job, runner: runner))
        let small = try tree.makeFolder("small")
        try #require(mount("tmpfs", small, "tmpfs", 0, "size=1m") == 0)
        defer { umount2(small, Int32(MNT_DETACH)) }
        grown.grow(at: "\(small)/r.json")
        try feed(story.events, to: grown, &random)
        try feed(story.events, to: whole, &random)
        #expect(throws: OutputProblem.self) { try grown.write(to: "\(small)/r.json") }
        #expect(tree.list("small") == [])
        try grown.write(to: place)
        expectSame(try tree.bytes("r.json"), try written(whole))
    }
}
