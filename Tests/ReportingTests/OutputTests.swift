import Glibc
import Reporting
import SystemIO
import TestSupport
import Testing
import TransferModel

@Suite struct OutputTests {
    private let story = Story(random: Seeded(seed: 8), tasks: 20)

    private func report() -> JSONReport {
        let report = JSONReport(job: story.job, runner: runner)
        report.consume(story.events[...])
        return report
    }

    @Test func aReportReplacesTheOldOneInOneStep() throws {
        let tree = try TemporaryTree("report")
        let path = try tree.write("r.json", "old")
        try report().write(to: path)
        let sink = MemorySink()
        try report().write(to: sink)
        #expect(try tree.bytes("r.json") == sink.bytes)
        #expect(tree.list() == ["r.json"])
        #expect(tree.mode("r.json").map { $0 & 0o133 } == 0)
    }

    @Test func aSymlinkStaysAndItsFileIsReplaced() throws {
        let tree = try TemporaryTree("report")
        try tree.write("real/r.json", "old")
        try tree.link("r.json", to: "real/r.json")
        try report().write(to: tree.path("r.json"))
        #expect(tree.list() == ["r.json@", "real/", "real/r.json"])
        #expect(try tree.text("real/r.json").hasPrefix("{\"format\""))
    }

    @Test func aDeviceIsWrittenToAndNotReplaced() throws {
        try JSONReport.preflight("/dev/null")
        try report().write(to: "/dev/null")
        #expect(try TemporaryTree.bytes(at: "/dev/null").isEmpty)
    }

    @Test func preflightLeavesNothingBehind() throws {
        let tree = try TemporaryTree("report")
        try JSONReport.preflight(tree.path("r.json"))
        #expect(tree.list().isEmpty)
        try tree.write("r.json", "old")
        try JSONReport.preflight(tree.path("r.json"))
        #expect(try tree.text("r.json") == "old")
    }

    @Test func missingFolders_areMade() throws {
        let tree = try TemporaryTree("report")
        try JSONReport.preflight(tree.path("a/b/r.json"))
        #expect(tree.list() == ["a/", "a/b/"])
        try report().write(to: tree.path("a/b/r.json"))
        try DescriptorSink(creating: tree.path("c/e.ndjson")).write(Array("one\n".utf8))
        #expect(tree.list() == ["a/", "a/b/", "a/b/r.json", "c/", "c/e.ndjson"])
    }

    /// A pipe would be waited for until somebody reads it, and a disk written over.
    @Test func namedPipe_isRefused_atOnce() throws {
        let tree = try TemporaryTree("report")
        #expect(mkfifo(tree.path("pipe"), 0o600) == 0)
        let writes: [(String) throws -> Void] = [
            JSONReport.preflight, { try report().write(to: $0) }, { _ = try DescriptorSink(creating: $0) },
        ]
        for write in writes {
            let problem = #expect(throws: OutputProblem.self) { try write(tree.path("pipe")) }
            #expect(problem?.message.hasSuffix("pipe: it is a named pipe, a socket or a disk") == true)
        }
        #expect(tree.list() == ["pipe"])
    }

    /// Others see what is in such a folder, and URLs are not for them.
    @Test(arguments: [(0o1777, 0o600), (0o757, 0o600), (0o755, 0o644), (0o775, 0o644)] as [(UInt32, UInt32)])
    func newFile_isItsUsersAlone_whereAllMayWrite(_ folder: UInt32, _ mode: UInt32) throws {
        let tree = try TemporaryTree("report")
        try tree.makeFolder("d")
        try tree.setMode("d", folder)
        let masked = mode & ~UInt32(OwnPlace.mask())
        try report().write(to: tree.path("d/r.json"))
        _ = try DescriptorSink(creating: tree.path("d/e.ndjson"))
        #expect(
            tree.mode("d/r.json").map { $0 & 0o777 } == masked && tree.mode("d/e.ndjson").map { $0 & 0o777 } == masked)
    }

    @Test(.enabled(if: geteuid() == 0)) func linkOfAStranger_isNotFollowed() throws {
        let tree = try TemporaryTree("report")
        try tree.makeFolder("shared")
        try tree.write("victim", "theirs")
        for name in ["shared/r.json", "shared/e.ndjson"] {
            try tree.link(name, to: "../victim")
            #expect(lchown(tree.path(name), 12_345, 12_345) == 0)
        }
        try tree.setMode("shared", 0o1777)
        #expect(throws: OutputProblem.self) { try JSONReport.preflight(tree.path("shared/r.json")) }
        #expect(throws: OutputProblem.self) { try report().write(to: tree.path("shared/r.json")) }
        #expect(throws: OutputProblem.self) { _ = try DescriptorSink(creating: tree.path("shared/e.ndjson")) }
        #expect(try tree.text("victim") == "theirs")
    }

    @Test(arguments: ["folder", "folder/", ""])
    func whatCannotBeWrittenIsToldBeforehand(_ name: String) throws {
        let tree = try TemporaryTree("report")
        try tree.makeFolder("folder")
        let path = name.isEmpty ? "" : tree.path(name)
        #expect(throws: OutputProblem.self) { try JSONReport.preflight(path) }
        #expect(throws: OutputProblem.self) { try report().write(to: path) }
        #expect(tree.list() == ["folder/"])
    }

    @Test func aFileOfLinesIsMadeAnew() throws {
        let tree = try TemporaryTree("events")
        let path = try tree.write("e.ndjson", "old and longer than what comes")
        let sink = try DescriptorSink(creating: path)
        try sink.write(Array("one\n".utf8))
        try sink.write(Array("two\n".utf8))
        #expect(try tree.text("e.ndjson") == "one\ntwo\n")
        let full = try DescriptorSink(creating: "/dev/full")
        #expect(throws: OutputProblem.self) { try full.write([1]) }
    }
}

@Suite struct ReferenceTests {
    @Test func theErrorReferenceIsUpToDate() throws {
        try Snapshot.check(ErrorReference.markdown(), "../../docs/errors.md")
    }

    /// What it lacks itself is said; what another lacks is not known of it.
    @Test func whatIsPutOffSaysWhatItLacks() {
        func sentence(_ deferral: Deferral, _ lacks: String?) -> String? {
            Explanation.sentence(
                outcome: .deferred, error: nil, waits: [], attempts: 0, deferral: deferral, lacks: lacks)
        }
        #expect(
            sentence(.network, "a network that is not cellular (wwan0 is cellular)")
                == "Put off: it waits for a network that is not cellular (wwan0 is cellular), and the run was told not to "
                + "wait. Run it again when one is there.")
        #expect(
            sentence(.power, nil)
                == "Put off: it, or a task it needs or is published with, waits for mains power or a fuller battery, and "
                + "the run was told not to wait. Run it again then.")
        let early = sentence(.earliestBegin, "2026-11-29 18:00 UTC (in 11 h)")
        #expect(
            early
                == "Put off: its `earliestBegin` does not come until 2026-11-29 18:00 UTC (in 11 h), and the run was told "
                + "not to wait. Run it again then.")
        #expect(Explanation.opening(early) == "2026-11-29 18:00 UTC (in 11 h)")
        #expect(Explanation.opening(sentence(.earliestBegin, nil)) == nil)
        let closed = sentence(.window, "01:00 Europe/Berlin (in 3 h 12 min)")
        #expect(
            closed
                == "Put off: its `window` is closed until 01:00 Europe/Berlin (in 3 h 12 min), and the run was told not to "
                + "wait. Run it again then.")
        #expect(Explanation.opening(closed) == "01:00 Europe/Berlin (in 3 h 12 min)")
        #expect(Explanation.opening(sentence(.window, nil)) == nil && Explanation.opening(nil) == nil)
        for deferral in Deferral.allCases {
            for lacks in [nil, "01:00 UTC (in 1 min)"] as [String?] {
                let record = TaskRecord(
                    outcome: .deferred, tolerated: false, changed: nil, source: nil, waits: [], error: nil, body: nil,
                    lengthUnverified: false, captures: [], duration: .zero, explanation: sentence(deferral, lacks))
                #expect(record.deferral == deferral)
            }
        }
    }

    @Test func explanationsAreSentences() {
        let error = TransferError(.timedOut, "no byte moved for 60s (`timeoutForRequest`)")
        #expect(
            Explanation.sentence(outcome: .failed, error: error, waits: [], attempts: 3)
                == "Failed after 3 attempts: no byte moved for 60s (`timeoutForRequest`). "
                + "Raise `timeoutForRequest`, or see whether the server answers at all.")
        let waits = WaitReason.allCases.map { TaskRecord.Wait(reason: $0, duration: .zero) }
        for outcome in TaskOutcome.allCases {
            for name in [nil] + ErrorName.allCases.map({ Optional($0) }) {
                for count in 0...waits.count {
                    let sentence = Explanation.sentence(
                        outcome: outcome, error: name.map { TransferError($0, "it broke") },
                        waits: Array(waits.prefix(count)), attempts: count)
                    #expect((sentence == nil) == (outcome == .succeeded))
                    if let sentence { #expect(sentence.hasSuffix(".") && !sentence.contains("..")) }
                }
            }
        }
    }
}
