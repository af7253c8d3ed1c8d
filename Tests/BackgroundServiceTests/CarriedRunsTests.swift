import BackgroundService
import Glibc
import JobRunner
import Stores
import SystemIO
import TestSupport
import Testing
import TransferModel

/// Many runs in one process: how many are carried at a time, and what they hold of it.
@Suite struct CarriedRunsTests {
    private let stage: CarriedStage

    init() throws { stage = try CarriedStage() }

    // MARK: Turns

    @Test func runsBeginInTheOrderOfAcceptance() throws {
        let runs = try (1...4).map { try stage.hand("r\($0)", stage.task("t\($0)", gate: "g\($0)")) }
        try stage.start(runs: 2)
        #expect(stage.server.waitForRequests(1, "/t1") && stage.server.waitForRequests(1, "/t2"))
        try waitUntil {
            try stage.troubles() == [
                CarriedStage.identifier("r3"):
                    "it waits for its turn behind 2 others: no more than 2 runs are carried at a time",
                CarriedStage.identifier("r4"):
                    "it waits for its turn behind 3 others: no more than 2 runs are carried at a time",
            ]
        }
        // Those that wait have no threads.
        #expect(stage.carried == 2)
        stage.server.open(gate: "g2")
        #expect(stage.server.waitForRequests(1, "/t3"))
        #expect(stage.server.requests("/t4").isEmpty)
        try waitUntil { stage.carried == 2 }
        try waitUntil { try stage.troubles().keys.sorted() == [CarriedStage.identifier("r4")] }
        for gate in ["g1", "g3", "g4"] { stage.server.open(gate: gate) }
        #expect(try stage.end(of: runs) == [0, 0, 0, 0])
    }

    /// One that waits for a date or a person keeps no other from beginning, and begins in its turn when it may.
    @Test func aRunThatOnlyWaitsGivesItsPlaceUp() throws {
        let patient = try stage.hand("patient", stage.task("later", more: ", earliestBegin: 1h"))
        let suspended = try stage.hand("suspended", stage.task("asleep", more: ", suspended: true"))
        let busy = try stage.hand("busy", stage.task("long", gate: "long"))
        let last = try stage.hand("last", stage.task("last"))
        try stage.start(runs: 1)
        #expect(stage.server.waitForRequests(1, "/long"))
        // The two that wait have no threads meanwhile.
        try waitUntil { stage.carried == 1 }
        // Whoever asks for one of them is told all the same, and it rests again.
        let patientStatus = try stage.link().ask(.status(CarriedStage.identifier("patient")))
        if case .status(let all) = patientStatus {
            #expect(all.first?.run.tasks.map(\.waitingFor) == [.earliestBegin], "\(all)")
        } else {
            Issue.record("\(patientStatus)")
        }
        try waitUntil { stage.carried == 1 }
        // It has something to do by now, and `busy` has the only place.
        let resume = ServiceControl(.resume, of: CarriedStage.identifier("suspended"))
        #expect(try stage.link().ask(.control(resume)) == .changed(["asleep"]))
        try waitUntil {
            try stage.troubles().keys.sorted() == ["last", "suspended"].map { CarriedStage.identifier($0) }
        }
        #expect(stage.server.requests("/asleep").isEmpty)
        stage.server.open(gate: "long")
        #expect(try stage.end(of: [suspended, busy, last]) == [0, 0, 0])
        #expect(stage.server.requests().map(\.target) == ["/long", "/asleep", "/last"])
        let cancel = ServiceControl(.cancel, of: CarriedStage.identifier("patient"))
        #expect(try stage.link().ask(.control(cancel)) == .changed(["later"]))
        #expect(try stage.end(of: [patient]) != [0])
    }

    /// What is asked of a run that waits for its turn is done at once.
    @Test func aRunThatWaitsForItsTurnCanBeCancelled() throws {
        let first = try stage.hand("first", stage.task("a", gate: "a"))
        let second = try stage.hand("second", stage.task("b"))
        try stage.start(runs: 1)
        #expect(stage.server.waitForRequests(1, "/a"))
        let control = ServiceControl(.cancel, of: CarriedStage.identifier("second"))
        #expect(try stage.link().ask(.control(control)) == .changed(["b"]))
        #expect(try stage.end(of: [second]) != [0] && stage.server.requests("/b").isEmpty)
        stage.server.open(gate: "a")
        #expect(try stage.end(of: [first]) == [0])
    }

    /// A run that a task is added to begins anew, and knows of the half-done file by the store alone.
    @Test func cancelled_afterATaskWasAdded_leavesNoHalfDoneFileOfOneThatIsSuspended() throws {
        let big = "{ id: big, url: '\(stage.server.url("/big"))', to: big }"
        let head = Script.head(200, [("ETag", "\"1\""), ("Content-Length", "\(8 << 20)")])
        stage.server.on("/big", [.bytes(head), .pattern(count: 4 << 20), .stall])
        let run = try stage.hand("j", big)
        try stage.start()
        func half() -> [String] { stage.tree.list("").filter { $0.hasPrefix(".transfer-run") } }
        try waitUntil {
            guard case .status(let all) = try stage.link().ask(.status(nil)) else { return false }
            return all.contains { $0.run.tasks.contains { $0.bytesReceived == 4 << 20 } }
        }
        func ask(_ action: ControlAction) throws -> ServiceAnswer {
            try stage.link().ask(.control(ServiceControl(action, of: CarriedStage.identifier("j"))))
        }
        #expect(try ask(.suspend) == .changed(["big"]))
        try stage.hand("j", big, stage.task("new", gate: "new"))
        try stage.ring()
        #expect(stage.server.waitForRequests(1, "/new"))
        #expect(half().count == 1, "what is suspended stays")
        #expect(try ask(.cancel) == .changed(["big", "new"]))
        _ = try stage.end(of: [run])
        #expect(half().isEmpty)
        #expect(stage.server.requests("/big").count == 1)
    }

    // MARK: Reports

    /// A folder stands where the report is to be. Until it is gone the session stays, and its `onFinish` waits.
    @Test func detachedRunWhoseReportCannotBeWritten_triesAgain() throws {
        try stage.tree.makeFolder("r.json")
        let hook = ", onFinish: [sh, -c, 'ls r.json > told']"
        let run = try stage.hand("r", stage.task("a"), more: hook)
        try stage.start()
        try waitUntil {
            try stage.troubles()[CarriedStage.identifier("r")]?.contains("cannot write \(stage.tree.path)/r.json")
                == true
        }
        #expect(!stage.tree.exists("told"))
        stage.tree.remove("r.json")
        #expect(try stage.end(of: [run]) == [0])
        #expect(try stage.tree.text("told") == "r.json\n")
        #expect(stage.server.requests("/a").count == 1)
    }

    // MARK: Descriptors

    @Test func endedRunsLeaveNoDescriptorBehind() throws {
        try stage.start()
        // SQLite cannot close the journal's file while it is open elsewhere in the process; the next opening uses it.
        func open() -> [String] { stage.open.filter { !$0.hasSuffix("/journal.sqlite") }.sorted() }
        func carry(_ round: Int) throws {
            let runs = try (0..<4).map { number in
                try stage.hand(
                    "r\(round).\(number)", (0..<5).map { stage.task("f\(round).\(number).\($0)") },
                    more: ", cookies: { file: cookies.txt, save: true }")
            }
            try stage.ring()
            #expect(try stage.end(of: runs).allSatisfy { $0 == 0 })
            // The process joins the last run's thread after the journal has its end.
            try waitUntil { stage.threads <= 4 }
        }
        try carry(0)
        let first = open()
        for round in 1...3 { try carry(round) }
        // A caller's connection is closed a moment after it has left.
        try waitUntil { open().count <= first.count }
        let last = open()
        #expect(last.count { $0.hasPrefix("socket:") } <= 2, "the listening one, and a caller's: \(last)")
        #expect(!last.contains { $0.hasPrefix(stage.tree.path) && !$0.contains("/state") }, "\(last)")
        #expect(!last.contains { $0.hasSuffix("(deleted)") || $0.contains("store.sqlite") }, "\(last)")
        let journals = stage.open.count { $0.hasSuffix("/journal.sqlite") }
        #expect(journals <= 4 * 3 + 1, "for each of four runs at a time, and the process's own")
    }

    /// Far more at a time than the process may have open: runs wait for their turn, and each starts as many tasks as may
    /// open their files. What is fetched could be written, so that nothing is fetched twice.
    @Test(arguments: [48, 64]) func fewDescriptors_meanFewTasksAtATime(_ most: Int) throws {
        let run = try stage.hand(
            "r", (0..<40).map { stage.task("f\($0)", gate: "all") }, more: ", maximumConnectionsPerHost: 40")
        try stage.start(under: ["/usr/bin/prlimit", "--nofile=\(most):\(most)"])
        #expect(stage.server.waitForRequests(1))
        stage.server.open(gate: "all")
        #expect(try stage.end(of: [run]) == [0])
        #expect(try !stage.events(of: run).contains { if case .waiting(.processLimit, _) = $0 { true } else { false } })
        #expect(stage.server.requests().count == 40)
        for file in 0..<40 { #expect(stage.tree.exists("f\(file)")) }
    }
}
