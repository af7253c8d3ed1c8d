import TestSupport
import Testing

/// A report takes the place of the last one in one step, whatever the file system can do and whenever the run is killed.
@Suite struct ReportPlaceTests {
    let server: ScriptedServer
    let binary: Binary

    init() throws {
        server = try ScriptedServer()
        server.on("/start", [.gate("begin")] + .respond(200, body: "go"))
        binary = try Binary()
        try binary.folder.write("job.yaml", "tasks: [{ id: start, url: \"\(server.url("/start"))\" }]")
        try binary.folder.write("place", "old")
    }

    private func run(hurt call: String, _ deed: Strace.Deed, when: String = "1+") throws -> Binary.Result {
        let program = try binary.start(["job.yaml", "--report", "place"])
        #expect(server.waitForRequests(1, "/start"))
        let strace = Strace([Strace.Injection(call, deed, when: when)])
        let words = strace.attach(to: program.processID, calls: [call])
        let saboteur = try Binary(program: words[0]).start(Array(words.dropFirst()))
        let isAttached = saboteur.waitForOutput("attached")
        server.open(gate: "begin")
        let result = program.wait()
        _ = saboteur.wait()
        #expect(isAttached)
        return result
    }

    private func expectReport() throws {
        #expect(try binary.folder.text("place").hasPrefix("{\"format\":\"transfer-run/report\""))
    }

    /// A file system that exchanges no names, and a former report that cannot be removed.
    @Test(
        .enabled(if: Strace.mayAttach),
        arguments: [("renameat2", "EINVAL"), ("renameat2", "ENOSYS"), ("unlinkat", "EACCES")])
    func itGetsThereAnotherWay(_ call: String, _ error: String) throws {
        defer { server.stop() }
        let result = try run(hurt: call, .error(error))
        #expect(result.exitStatus == 0, "\(result.errorText)")
        try expectReport()
        #expect(binary.folder.list() == ["job.yaml", "place"])
    }

    /// Where files must outlast a power cut, so must what tells of them; elsewhere nothing waits for the disk.
    @Test(.enabled(if: Strace.mayAttach), arguments: ["flush", "none"])
    func itIsFlushedWhereFilesAre(_ durability: String) throws {
        defer { server.stop() }
        let job = try binary.folder.text("job.yaml")
        try binary.folder.write("job.yaml", "sessions: { default: { durability: \(durability) } }\n\(job)")
        let result = try run(hurt: "fsync", .error("EIO"))
        if durability == "none" {
            #expect(result.exitStatus == 0, "\(result.errorText)")
            return try expectReport()
        }
        #expect(result.exitStatus == 4 && result.errorText.contains("place"), "\(result.errorText)")
        #expect(try binary.folder.text("place") == "old")
        #expect(binary.folder.list() == ["job.yaml", "place"])
    }

    /// The file of its name is an earlier run's: neither the summary nor the command that runs it again names it.
    @Test(.enabled(if: Strace.mayAttach)) func aReportThatWasNotWritten_isNotNamed() throws {
        defer { server.stop() }
        server.on("/start", [.gate("begin")] + .respond(404))
        let job = try binary.folder.text("job.yaml")
        try binary.folder.write("job.yaml", "sessions: { default: { durability: flush } }\n\(job)")
        let result = try run(hurt: "fsync", .error("EIO"))
        #expect(result.exitStatus == 4 && result.errorText.contains("error: cannot flush"), "\(result.errorText)")
        #expect(result.errorText.contains("Run only this task again: transfer-run run job.yaml"))
        #expect(!result.errorText.contains("report: ") && !result.errorText.contains("rerun"), "\(result.errorText)")
        #expect(try binary.folder.text("place") == "old")
    }

    /// Between the exchange and the removal of the former one: the next run takes that away.
    @Test(.enabled(if: Strace.mayAttach)) func aKillLeavesOneOfThem() throws {
        defer { server.stop() }
        // The first is the run's socket.
        let result = try run(hurt: "unlinkat", .kill, when: "2")
        #expect(result.exitStatus != 0)
        try expectReport()
        #expect(binary.folder.list() == [".place.transfer-run-1.tmp", "job.yaml", "place"])
        #expect(try binary.folder.text(".place.transfer-run-1.tmp") == "old")
        let next = try binary.run("job.yaml", "--report", "place")
        #expect(next.exitStatus == 0)
        try expectReport()
        #expect(binary.folder.list() == ["job.yaml", "place"])
    }
}
