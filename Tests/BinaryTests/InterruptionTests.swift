import TestSupport
import Testing
import TextFormats
import TransferModel

/// Runs that are ended from outside.
@Suite struct InterruptionTests {
    private static let interrupt: Int32 = 2
    private static let kill: Int32 = 9
    private static let terminate: Int32 = 15

    @Test(arguments: [interrupt, terminate]) func aSignalEndsTheRunWithItsReport(_ signal: Int32) throws {
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
        #expect(server.waitUntilSent(atLeast: size / 2, by: program))
        program.send(signal: signal)
        let run = try stage.finish(program)
        #expect(run.status == 128 + signal)
        #expect(try run.value("$.outcome") == "cancelled")
        #expect(try run.values("$.tasks[*].outcome") == ["succeeded", "cancelled", "cancelled"])
        #expect(stage.files == ["quick", "slow"])
        #expect(try stage.text("slow") == "old")
        #expect(run.result.duration < .seconds(20))
    }

    @Test func aSecondSignalEndsItAtOnce() throws {
        // Suspended in mid-run the program takes both signals when it goes on; whatever it was doing, it ends.
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/slow", [.stall])
        let stage = try Stage()
        let program = try stage.start("tasks: [{ id: slow, url: '\(server.url("/slow"))', to: slow }]")
        #expect(server.waitForRequests(1))
        program.send(signal: Self.interrupt)
        program.send(signal: Self.interrupt)
        let result = program.wait()
        #expect(result.exitStatus == 130 || result.ending == .signal(Self.interrupt))
        #expect(!stage.folder.exists("slow"))
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

extension ScriptedServer {
    /// Gives the client time to take in what was sent: the server cannot see when it was read.
    fileprivate func waitUntilSent(atLeast bytes: Int, by program: RunningProgram) -> Bool {
        !program.waitForOutput("never printed", timeout: .milliseconds(300)) && program.isRunning
    }
}
