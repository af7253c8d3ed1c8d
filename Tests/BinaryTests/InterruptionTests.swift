import Glibc
import TestSupport
import Testing
import TextFormats
import TransferModel

/// Runs that are ended from outside.
@Suite struct InterruptionTests {
    private static let interrupt: Int32 = 2
    private static let kill: Int32 = 9
    private static let terminate: Int32 = 15
    private static let hangUp: Int32 = 1

    @Test(arguments: [interrupt, terminate, hangUp]) func aSignalEndsTheRunWithItsReport(_ signal: Int32) throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        let size = 4 << 20
        server.on("/quick", .respond(200, body: "quick"))
        server.on(
            "/slow", [.bytes(Script.head(200, [("Content-Length", "\(size)")])), .pattern(count: size / 2), .stall])
        let stage = try Stage()
        try stage.folder.write("slow", "old")
        let program = try stage.start(
            """
            limits: { maximumConcurrentTasks: 1 }
            tasks:
              - { id: quick, url: "\(server.url("/quick"))", to: quick }
              - { id: slow, url: "\(server.url("/slow"))", to: slow, existing: replace }
              - { id: waiting, url: "\(server.url("/quick"))", to: waiting }
            """)
        #expect(server.waitForRequests(1, "/slow"))
        // Enough for several buffers to have gone to disk.
        #expect(server.waitUntilRead(size / 2, "/slow"))
        program.send(signal: signal)
        let run = try stage.finish(program)
        #expect(run.status == 128 + signal)
        #expect(try run.value("$.outcome") == "cancelled")
        #expect(try run.values("$.tasks[*].outcome") == ["succeeded", "cancelled", "cancelled"])
        #expect(stage.files == ["quick", "slow"])
        #expect(try stage.text("slow") == "old")
        #expect(run.result.duration < .seconds(20))
    }

    @Test func twoSignalsInTheMiddleOfATransfer() throws {
        // Stopped, it takes both when it goes on, in this order; the second may or may not find the run ended.
        let server = try ScriptedServer()
        defer { server.stop() }
        let size = 1 << 20
        server.on(
            "/slow", [.bytes(Script.head(200, [("Content-Length", "\(size)")])), .pattern(count: size / 2), .stall])
        let stage = try Stage()
        let program = try stage.start("tasks: [{ id: slow, url: '\(server.url("/slow"))', to: out/slow }]")
        #expect(server.waitForRequests(1) && server.waitUntilRead(size / 2, "/slow"))
        for signal in [SIGSTOP, Self.interrupt, Self.terminate, SIGCONT] { program.send(signal: signal) }
        let result = program.wait()
        #expect(result.exitStatus == 130 || result.exitStatus == 143, "\(result.ending)")
        #expect(result.duration < .seconds(20))
        #expect(stage.files.filter { $0.hasPrefix("out/") && $0 != "out/" }.isEmpty)
        #expect(stage.binary.home.list("runtime/transfer-run").isEmpty)
    }

    /// The first signal ends the transfers, but the run cannot tell of it: nobody reads its events.
    @Test(arguments: [interrupt, terminate]) func aSecondSignalIsNotKeptWaiting(_ signal: Int32) throws {
        let server = try ScriptedServer { _ in [.stall] }
        defer { server.stop() }
        let binary = try Binary()
        let unread = try UnreadPipe(binary.folder.path("events"))
        // More events than a pipe holds, long before the first answer.
        let tasks = (0..<2000).map { "  - { id: t\($0), url: '\(server.url("/\($0)"))', to: out/\($0) }\n" }
        try binary.folder.write("job.yaml", "tasks:\n" + tasks.joined())
        let program = try binary.start(
            ["job.yaml", "--events", "/dev/fd/3", "--progress", "none"],
            under: ["/bin/sh", "-c", "exec \"$0\" \"$@\" 3>events"])
        #expect(server.waitForRequests(6))
        program.send(signal: signal)
        // Its connections are closed: the first one was heard.
        #expect(server.waitUntilIdle())
        #expect(!program.waitForOutput("never printed", timeout: .milliseconds(200)) && program.isRunning)
        program.send(signal: signal)
        let result = program.wait()
        #expect(result.ending == .exit(128 + signal))
        #expect(binary.folder.list().filter { !$0.hasPrefix("out") } == ["events", "job.yaml"])
        #expect(binary.folder.list("out").isEmpty)
        #expect(binary.home.list("runtime/transfer-run").isEmpty)
        _ = unread
    }

    /// A terminal that goes away tells so more than once, and who ends a login sends both: nobody who wants haste.
    @Test(arguments: [[hangUp, hangUp], [hangUp, terminate], [terminate, hangUp], [interrupt, hangUp, hangUp]])
    func aTerminalThatGoesAwayIsNoSecondWish(_ signals: [Int32]) throws {
        let server = try ScriptedServer { _ in [.stall] }
        defer { server.stop() }
        let stage = try Stage()
        let program = try stage.start("tasks: [{ id: a, url: '\(server.url("/a"))', to: a }]")
        #expect(server.waitForRequests(1))
        // Stopped, it finds all of them when it goes on, those with a lower number first.
        for signal in [SIGSTOP] + signals + [SIGCONT] { program.send(signal: signal) }
        let run = try stage.finish(program)
        #expect(run.status.map { $0 > 128 } == true && run.status != 137)
        #expect(try run.value("$.outcome") == "cancelled" && stage.files.isEmpty)
    }

    @Test func underNohupTheTerminalIsNothingToARun() throws {
        let server = try ScriptedServer { _ in [.gate("go")] + .respond(200, body: "done") }
        defer { server.stop() }
        let stage = try Stage()
        let program = try stage.start(
            "tasks: [{ id: a, url: '\(server.url("/a"))', to: a }]",
            under: ["/bin/sh", "-c", #"trap '' HUP; exec "$0" "$@""#])
        #expect(server.waitForRequests(1))
        program.send(signal: Self.hangUp)
        server.open(gate: "go")
        #expect(try stage.finish(program).status == 0 && stage.text("a") == "done")
    }

    @Test(arguments: [interrupt, terminate, hangUp]) func oneSignalLeavesNothingHalfDone(_ signal: Int32) throws {
        let server = try ScriptedServer { request in
            let size = 1 << 20
            return [.bytes(Script.head(200, [("Content-Length", "\(size)")])), .pattern(count: size / 2), .stall]
        }
        defer { server.stop() }
        let stage = try Stage()
        try stage.folder.write("out/old", "old")
        let program = try stage.start(
            """
            tasks:
              - { id: new, url: "\(server.url("/new"))", to: out/new }
              - { id: old, url: "\(server.url("/old"))", to: out/old, existing: replace }
              - { id: folder, url: "\(server.url("/in/folder"))", to: other/ }
            """)
        #expect(server.waitForRequests(3))
        for target in ["/new", "/old", "/in/folder"] { #expect(server.waitUntilRead(1 << 19, target)) }
        program.send(signal: signal)
        let run = try stage.finish(program)
        #expect(run.status == 128 + signal)
        #expect(try run.values("$.tasks[*].outcome") == ["cancelled", "cancelled", "cancelled"])
        #expect(stage.files.filter { !$0.hasSuffix("/") } == ["out/old"])
        #expect(try stage.text("out/old") == "old")
    }

    @Test func killLeavesWholeFilesAndWholeLinesOnly() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        let size = 300_000
        for number in 0..<200 { server.on("/\(number)", .respond(200, patternOf: size)) }
        let stage = try Stage()
        var random = Seeded("killLeavesWholeFilesAndWholeLinesOnly")
        let killAt = 20 + random.below(150)
        let tasks = (0..<200).map {
            "  - { id: t\($0), url: '\(server.url("/\($0)"))', to: out/\($0), existing: replace }\n"
        }
        for number in 0..<200 where number % 3 == 0 { try stage.folder.write("out/\(number)", "old") }
        let program = try stage.start("tasks:\n" + tasks.joined())
        #expect(server.waitForRequests(killAt))
        program.send(signal: Self.kill)
        #expect(program.wait().ending == .signal(Self.kill))

        let expected = Script.patternBytes(size)
        for file in stage.folder.list("out") where !file.hasPrefix(".transfer-run-") {
            let bytes = try stage.folder.bytes("out/\(file)")
            let isOld = bytes == Array("old".utf8)
            #expect(isOld || bytes == expected, "\(file) is neither the old file nor the new one")
        }
        let written = try stage.eventsSoFar()
        #expect(written.isEmpty || written.last == 0x0A)
        let events = try written.split(separator: 0x0A).map { try JSONParser.parse(Array($0)) }
        #expect(try stage.checker(of: events, isWhole: false).violations == [])
        for event in events {
            guard event["event"]?.plainText == "fileFinished", let task = event["task"]?.plainText else { continue }
            #expect(try stage.folder.bytes("out/\(task.dropFirst())") == expected, "told, but not there: \(task)")
        }
    }
}

/// A pipe that somebody has open and nobody reads.
private final class UnreadPipe {
    private let reader: Int32

    init(_ path: String) throws {
        guard mkfifo(path, 0o600) == 0 else { throw SystemFailure("mkfifo") }
        reader = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    }

    deinit { close(reader) }
}
