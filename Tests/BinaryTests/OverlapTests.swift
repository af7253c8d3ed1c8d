import TestSupport
import Testing
import TextFormats
import TransferModel

/// Two runs of one job at a time: `onOverlap`.
@Suite struct OverlapTests {
    private static let kinds = ["default", "ephemeral"]

    /// A job whose one task ends when the gate is opened, and a run of it under way.
    private final class Scene {
        let server: ScriptedServer
        let binary: Binary
        let folder: TemporaryTree
        private let first: RunningProgram

        init(_ policy: String, kind: String = "default", top: String = "", options: [String] = []) throws {
            server = try ScriptedServer()
            binary = try Binary()
            folder = binary.folder
            server.on("/held", [.gate("open"), .bytes(Script.head(200, [("Content-Length", "4")])), .send("held")])
            let job = """
                onOverlap: \(policy)
                sessions: { s: { configuration: \(kind) } }
                tasks: [{ id: held, url: "\(server.url("/held"))", to: held, existing: replace }]
                \(top)

                """
            try folder.write("job.yaml", job)
            first = try binary.start(Self.words + options)
            #expect(server.waitForRequests(1))
        }

        deinit { server.stop() }

        static let words = ["job.yaml", "--report", "report.json", "--events", "events.ndjson", "--progress", "none"]

        func second(_ options: String..., environment: [String: String] = [:]) throws -> RunningProgram {
            try binary.start(Self.words + options, environment: environment)
        }

        var firstProcess: Int32 { first.processID }

        func kill() { first.send(signal: 9) }

        /// Lets the first run end, well and with its own report.
        func finish(sourceLocation: SourceLocation = #_sourceLocation) throws {
            server.open(gate: "open")
            let result = first.wait()
            #expect(result.exitStatus == 0, "\(result.errorText)", sourceLocation: sourceLocation)
            let report = try JSONParser.parse(folder.bytes("report.json"))
            let process = try JSONPath("$.runner.pid").select(from: report).first?.plainText
            #expect(process == "\(first.processID)", sourceLocation: sourceLocation)
            let lines = try folder.bytes("events.ndjson").split(separator: 0x0A).map { Array($0) }
            let numbers = try lines.map { try JSONParser.parse($0)["seq"]?.plainText }
            #expect(numbers == (1...max(1, lines.count)).map { "\($0)" }, sourceLocation: sourceLocation)
        }

        /// Every file but the first run's events, which it is still writing: `finish` counts them.
        func untouched() throws -> [String: [UInt8]] {
            try folder.contents().filter { $0.key != "events.ndjson" }
        }

        func waitForFirst() -> Binary.Result { first.wait() }
    }

    @Test(arguments: kinds) func failTellsWhoAndTouchesNothing(kind: String) throws {
        let scene = try Scene("fail", kind: kind)
        let before = try scene.untouched()
        let second = try scene.second().wait()
        #expect(second.exitStatus == 5)
        #expect(
            second.errorText == """
                error: another run of this job is under way (pid \(scene.firstProcess))
                  hint: `onOverlap: wait` waits for its end, `onOverlap: skip` leaves it at that

                """)
        #expect(try scene.untouched() == before)
        // A check is no run.
        #expect(try scene.binary.run("check", "job.yaml").exitStatus == 0)
        try scene.finish()
        #expect(scene.server.requests().count == 1)
        #expect(try scene.second().wait().exitStatus == 0)
    }

    @Test(arguments: kinds) func skipDoesNothing(kind: String) throws {
        let scene = try Scene("skip", kind: kind)
        let before = try scene.untouched()
        let second = try scene.second().wait()
        #expect(second.exitStatus == 0)
        #expect(second.errorText == "skipped: another run of this job is under way (pid \(scene.firstProcess))\n")
        #expect(try scene.untouched() == before)
        try scene.finish()
        #expect(scene.server.requests().count == 1)
    }

    @Test(arguments: kinds) func waitRunsAfterwards(kind: String) throws {
        let scene = try Scene("wait", kind: kind)
        let second = try scene.second()
        #expect(second.waitForOutput("waiting: another run of this job is under way (pid \(scene.firstProcess))\n"))
        #expect(scene.server.requests().count == 1)
        scene.server.open(gate: "open")
        #expect(scene.waitForFirst().exitStatus == 0)
        let result = second.wait()
        #expect(result.exitStatus == 0)
        #expect(result.errorText.split(separator: "\n").count == 1)
        #expect(scene.server.requests().count == 2 && scene.server.peakRequests == 1)
    }

    @Test(arguments: [2, 15] as [Int32]) func aSignalEndsTheWaitAtOnce(signal: Int32) throws {
        let scene = try Scene("wait")
        let before = try scene.untouched()
        let second = try scene.second()
        #expect(second.waitForOutput("waiting: "))
        second.send(signal: signal)
        let result = second.wait()
        #expect(result.ending == .exit(128 + signal))
        #expect(result.duration < .seconds(10))
        #expect(try scene.untouched() == before)
        try scene.finish()
    }

    @Test(arguments: kinds) func whoIsKilledHoldsNothing(kind: String) throws {
        let scene = try Scene("wait", kind: kind)
        let second = try scene.second()
        #expect(second.waitForOutput("waiting: "))
        scene.kill()
        #expect(scene.waitForFirst().ending == .signal(9))
        scene.server.open(gate: "open")
        #expect(second.wait().exitStatus == 0)
        // What it left does not tell on it later.
        #expect(try scene.second().wait().exitStatus == 0)
    }

    @Test func aJobIsKnownByItsNameOrItsPath() throws {
        let scene = try Scene("fail", top: "name: nightly")
        let text = try scene.folder.text("job.yaml")
        try scene.folder.write("other/copy.yaml", text)
        #expect(try scene.binary.run("other/copy.yaml", "--no-report").exitStatus == 5)
        #expect(try scene.binary.run("-", "--no-report", input: text).exitStatus == 5)
        // The default name, the file's stem, is nobody's.
        scene.server.on("/quick", .respond(200))
        let unnamed = "tasks: [{ id: a, url: '\(scene.server.url("/quick"))' }]\n"
        try scene.folder.write("nightly.yaml", unnamed)
        #expect(try scene.binary.run("nightly.yaml", "--no-report").exitStatus == 0)
        try scene.finish()
    }

    @Test func aPathIsTheSameByOtherNames() throws {
        let scene = try Scene("fail")
        try scene.folder.write("elsewhere/file", "")
        try scene.folder.link("elsewhere/link", to: "..")
        for path in ["./job.yaml", scene.folder.path("job.yaml"), "elsewhere/link/job.yaml"] {
            #expect(try scene.binary.run(path, "--no-report").exitStatus == 5, "\(path)")
        }
        try scene.folder.write("copy.yaml", scene.folder.text("job.yaml"))
        scene.server.open(gate: "open")
        #expect(try scene.binary.run("copy.yaml", "--no-report").exitStatus == 0)
        try scene.finish()
    }

    @Test func anotherStateFolderKnowsNothingOfThisOne() throws {
        let scene = try Scene("fail", options: ["--state-dir", "kept"])
        #expect(scene.folder.list("kept/locks").count == 1)
        #expect(try scene.second("--state-dir", "kept").wait().exitStatus == 5)
        #expect(try scene.second(environment: ["TRANSFER_RUN_STATE_DIR": "kept/"]).wait().exitStatus == 5)
        scene.server.open(gate: "open")
        // Its events go elsewhere: the first may still be writing its own.
        let other = try scene.second("--no-report", "--events", "-").wait()
        #expect(other.exitStatus == 0, "\(other.errorText)")
        try scene.finish()
        #expect(scene.folder.list("kept").filter { !$0.hasSuffix(".lock") } == ["locks/", "runtime/"])
    }

    // MARK: Many

    private func many(_ policy: String, kind: String) throws -> (ended: [Int32?], server: ScriptedServer) {
        let server = try ScriptedServer { _ in
            [.wait(.milliseconds(10)), .bytes(Script.head(200, [("Content-Length", "1")])), .send("x")]
        }
        defer { server.stop() }
        let binary = try Binary()
        try binary.folder.write(
            "job.yaml",
            """
            onOverlap: \(policy)
            sessions: { s: { configuration: \(kind) } }
            tasks: [{ id: a, url: "\(server.url("/a"))", to: a, existing: replace }]
            """)
        let programs = try (0..<20).map { _ in try binary.start(["job.yaml", "--no-report", "-q"]) }
        return (programs.map { $0.wait().exitStatus }, server)
    }

    @Test(arguments: kinds) func twentyThatWaitRunOneAfterTheOther(kind: String) throws {
        let (ended, server) = try many("wait", kind: kind)
        #expect(ended == Array(repeating: 0, count: 20))
        #expect(server.requests().count == 20 && server.peakRequests == 1)
    }

    @Test(arguments: kinds) func ofTwentyThatFailOneAtATimeRuns(kind: String) throws {
        let (ended, server) = try many("fail", kind: kind)
        let ran = ended.count { $0 == 0 }
        #expect(ran >= 1 && ended.allSatisfy { $0 == 0 || $0 == 5 })
        #expect(server.requests().count == ran && server.peakRequests == 1)
    }
}

/// Where a run's own state lies, and what it does when it cannot lie there.
@Suite struct StateFolderTests {
    private func job(_ server: ScriptedServer, _ kind: String) -> String {
        server.on("/a", .respond(200, body: "text"))
        return """
            sessions: { s: { configuration: \(kind) } }
            tasks: [{ id: a, url: "\(server.url("/a"))", to: a }]
            """
    }

    @Test func whatIsKeptIsPrivate() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        let stage = try Stage()
        #expect(try stage.run(job(server, "default")).status == 0)
        let kept = stage.binary.home.list("state").filter { !$0.contains("/store.") }
        #expect(kept.count == 3 && kept.prefix(2) == ["transfer-run/", "transfer-run/locks/"])
        #expect(stage.binary.home.list("runtime") == ["transfer-run/"])
        for folder in ["state/transfer-run", "state/transfer-run/locks", "runtime/transfer-run"] {
            #expect(stage.binary.home.mode(folder) == 0o700, "\(folder)")
        }
        #expect(stage.binary.home.mode("state/\(try #require(kept.last))") == 0o600)
        #expect(stage.files == ["a"])
    }

    @Test func anEphemeralJobLeavesItsFilesAlone() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        let stage = try Stage()
        #expect(try stage.run(job(server, "ephemeral"), "--state-dir", "kept").status == 0)
        #expect(stage.files == ["a"])
        #expect(stage.binary.home.list().isEmpty)
    }

    @Test(arguments: ["shared", "file", "file/below"]) func whatIsNotPrivateIsRefused(folder: String) throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        let binary = try Binary()
        try binary.folder.write("file", "")
        try binary.folder.makeFolder("shared")
        try binary.folder.setMode("shared", 0o777)
        let before = binary.folder.list()
        let result = try binary.run("-", "--state-dir", folder, input: job(server, "default"))
        #expect(result.exitStatus == 4)
        #expect(result.errorText.contains(binary.folder.path(folder)))
        #expect(result.errorText.contains("--state-dir") && result.errorText.contains("configuration: ephemeral"))
        #expect(server.requests().isEmpty)
        #expect(binary.folder.list() == before)
        // What needs no state needs no folder for it.
        let ephemeral = try binary.run("-", "--state-dir", folder, input: job(server, "ephemeral"))
        #expect(ephemeral.exitStatus == 0)
        let named = try binary.run("-", "--state-dir", folder, input: "name: n\n" + job(server, "ephemeral"))
        #expect(named.exitStatus == 0)
        #expect(named.errorText.contains("another run of this job would not be noticed"))
    }

    @Test func withoutAHomeAFolderMustBeNamed() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        let binary = try Binary()
        let nowhere = ["HOME": "", "XDG_STATE_HOME": "", "XDG_CACHE_HOME": "", "XDG_RUNTIME_DIR": ""]
        let text = job(server, "default")
        let result = try binary.run("-", environment: nowhere, input: text)
        #expect(result.exitStatus == 4)
        #expect(result.errorText.contains("set HOME"))
        #expect(
            try binary.run("-", "--no-report", "--state-dir", "kept", environment: nowhere, input: text).exitStatus
                == 0)
        let left = binary.folder.list().filter { !$0.hasSuffix(".lock") && !$0.contains("/store.") }
        #expect(left == ["a", "kept/", "kept/locks/", "kept/runtime/"])
    }
}
