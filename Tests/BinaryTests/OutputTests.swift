import Glibc
import TestSupport
import Testing
import TransferModel

/// Downloads with `to: "-"`: what a pipe behind the program gets.
@Suite final class OutputTests {
    private let server: ScriptedServer
    private let stage: Stage
    /// Where bodies are staged: nothing may be left there.
    private let temporary: TemporaryTree
    private var environment: [String: String] { ["TMPDIR": temporary.path] }

    init() throws {
        server = try ScriptedServer()
        stage = try Stage()
        temporary = try TemporaryTree("tmp")
    }

    deinit { server.stop() }

    private func task(_ id: String, _ more: String = "") -> String {
        "  - { id: \(id), url: \"\(server.url("/\(id)"))\", to: \"-\"\(more.isEmpty ? "" : ", \(more)") }\n"
    }

    /// The program with a pipe for its standard output that is read by the test alone, and by nobody else.
    private func startIntoPipe(_ job: String, _ options: [String] = []) throws -> (RunningProgram, reader: Int32) {
        #expect(mkfifo(stage.folder.path("pipe"), 0o600) == 0)
        let reader = open(stage.folder.path("pipe"), O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        try #require(reader >= 0)
        let program = try stage.start(
            job, options, environment: environment, under: ["/bin/sh", "-c", "exec \"$0\" \"$@\" >pipe"])
        return (program, reader)
    }

    private func hasBytes(_ reader: Int32) -> Bool {
        var entry = pollfd(fd: reader, events: Int16(POLLIN), revents: 0)
        return poll(&entry, 1, 0) == 1 && entry.revents & Int16(POLLIN) != 0
    }

    @Test func bodiesComeInTheOrderOfTheJobHoweverTheyArrive() throws {
        let long = Script.patternBytes(700_000)
        server.on("/a", [.gate("a"), .bytes(Script.head(200, [("Content-Length", "4")]) + Array("one\n".utf8))])
        server.on("/b", .respond(200, body: "two\n"))
        server.on("/c", .respond(200, body: long))
        let job = "limits: { maximumConcurrentTasks: 3 }\ntasks:\n" + task("a") + task("b") + task("c")
        let program = try stage.start(job, environment: environment)
        #expect(waitUntil { stage.hasAnswers(2) })
        #expect(program.outputSoFar.isEmpty)
        server.open(gate: "a")
        let run = try stage.finish(program)
        #expect(run.status == 0)
        #expect(run.result.output == Array("one\ntwo\n".utf8) + long)
        #expect(try run.values("$.tasks[*].file.path") == ["-", "-", "-"])
        #expect(try run.values("$.tasks[*].changed") == ["true", "true", "true"])
        #expect(try run.task("c", "file.bytes") == "700000")
        #expect(stage.files.isEmpty && temporary.list().isEmpty)
    }

    @Test func whatIsWrongIsNotWrittenAndHoldsUpNobody() throws {
        server.on("/a", .respond(200, body: "changed"))
        server.on("/b", .respond(404, body: "no such page"))
        server.on("/d", .respond(200, body: "last\n"))
        let wrong = "checksum: \"md5:00000000000000000000000000000000\""
        let job = "tasks:\n" + task("a", wrong) + task("b") + task("c", "needs: [b]") + task("d")
        let run = try stage.run(job, environment: environment)
        #expect(run.status == 1)
        #expect(run.result.outputText == "last\n")
        #expect(try run.values("$.tasks[*].outcome") == ["failed", "failed", "skipped", "succeeded"])
        #expect(temporary.list().isEmpty)
    }

    /// Each attempt goes on where the last one was cut, as of any download; the next run begins anew.
    @Test func aCutBodyIsGoneOnWithAndLeavesNothingToALaterRun() throws {
        let content = Script.patternBytes(400_000)
        server.on("/a") { request in
            guard request.header("Range") == "bytes=250000-" else {
                let head = Script.head(200, [("Content-Length", "400000"), ("ETag", "\"v1\"")])
                return [.bytes(head + Array(content[..<250_000])), .cut]
            }
            let range = ("Content-Range", "bytes 250000-399999/400000")
            return .respond(206, headers: [range, ("ETag", "\"v1\"")], body: Array(content[250_000...]))
        }
        let fast = "retry: { attempts: 2, backoff: { initial: 1ms } }"
        let run = try stage.run("tasks:\n" + task("a", fast), environment: environment)
        #expect(run.status == 0 && run.result.output == content)
        #expect(try run.task("a", "source") == "resumed")
        let cut = try stage.run("tasks:\n" + task("a", "retry: { attempts: 1 }"), environment: environment)
        #expect(cut.status == 1 && cut.result.output.isEmpty && temporary.list().isEmpty)
        let again = try stage.run("tasks:\n" + task("a", fast), environment: environment)
        #expect(try again.task("a", "attempts[0].resumedFrom") == "0")
        #expect(again.result.output == content)
    }

    @Test func aReaderThatDoesNotReadHoldsUpNoOtherTask() throws {
        server.on("/a", .respond(200, patternOf: 1 << 20))
        server.on("/b", .respond(200, body: "end"))
        server.on("/file", .respond(200, body: "file"))
        let file = "  - { id: file, url: \"\(server.url("/file"))\", to: file, needs: [late] }\n"
        let late = "  - { id: late, url: \"\(server.url("/file"))\", to: late, earliestBegin: 300ms }\n"
        let (program, reader) = try startIntoPipe("tasks:\n" + task("a") + task("b") + late + file)
        defer { close(reader) }
        #expect(waitUntil { hasBytes(reader) && stage.files.contains("file") })
        #expect(program.isRunning)
        _ = fcntl(reader, F_SETFL, 0)
        var got: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while case let count = read(reader, &buffer, buffer.count), count > 0 { got += buffer[..<count] }
        let run = try stage.finish(program)
        #expect(run.status == 0)
        #expect(got == Script.patternBytes(1 << 20) + Array("end".utf8))
    }

    @Test(arguments: [SIGINT, SIGTERM]) func aSignalEndsTheRunThoughNobodyReads(_ signal: Int32) throws {
        server.on("/a", .respond(200, patternOf: 1 << 20))
        server.on("/b", .respond(200, body: "end"))
        let (program, reader) = try startIntoPipe("tasks:\n" + task("a") + task("b"))
        defer { close(reader) }
        #expect(waitUntil { hasBytes(reader) && stage.hasAnswers(2) })
        program.send(signal: signal)
        let run = try stage.finish(program)
        #expect(run.status == 128 + signal)
        #expect(try run.values("$.tasks[*].outcome") == ["cancelled", "cancelled"])
        #expect(temporary.list().isEmpty)
    }

    @Test func aReaderThatEndsFailsWhatWritesAndNothingElse() throws {
        for id in ["a", "b", "file"] { server.on("/\(id)", .respond(200, patternOf: 1 << 20)) }
        let file = "  - { id: file, url: \"\(server.url("/file"))\", to: file }\n"
        let (program, reader) = try startIntoPipe("tasks:\n" + task("a") + task("b") + file)
        #expect(waitUntil { hasBytes(reader) })
        close(reader)
        let run = try stage.finish(program)
        #expect(run.status == 1)
        #expect(try run.values("$.tasks[*].outcome") == ["failed", "failed", "succeeded"])
        for id in ["a", "b"] {
            #expect(try run.task(id, "error.name") == "cannotWriteOutput")
            #expect(try run.task(id, "error.message")?.contains("has closed it") == true)
        }
        #expect(run.errorText.contains("See that what reads standard output reads all of it"))
    }

    /// A place among the running tasks is free once a body is whole: otherwise the second could hold up the first.
    @Test func oneTaskAtATimeIsEnough() throws {
        for id in ["a", "b", "c"] { server.on("/\(id)", .respond(200, body: "\(id)\n")) }
        let job =
            "limits: { maximumConcurrentTasks: 1 }\ntasks:\n" + task("a", "priority: low") + task("b", "needs: [a]")
            + task("c", "priority: high")
        let run = try stage.run(job, environment: environment)
        #expect(run.status == 0 && run.result.outputText == "a\nb\nc\n")
    }

    @Test func aSuspendedTaskIsDeferredAndTheOthersAreWritten() throws {
        for id in ["a", "b"] { server.on("/\(id)", .respond(200, body: "\(id)\n")) }
        let run = try stage.run("tasks:\n" + task("a", "suspended: true") + task("b"), environment: environment)
        #expect(run.status == 75 && run.result.outputText == "b\n")
        #expect(try run.values("$.tasks[*].outcome") == ["deferred", "succeeded"])
    }

    @Test func localSourcesAndUnpackedBodiesGoThereToo() throws {
        try stage.folder.write("source", "from a file\n")
        let packed = Encoder.gzip(Array("text\n".utf8))
        server.on("/packed", .respond(200, headers: [("Content-Encoding", "gzip")], body: packed))
        let job = """
            tasks:
              - { id: file, url: "file://\(stage.folder.path("source"))", to: "-" }
              - { id: data, url: "data:,data%0A", to: "-" }
              - { id: packed, url: "\(server.url("/packed"))", to: "-", decompress: true }
            """
        let run = try stage.run(job, environment: environment)
        #expect(run.status == 0 && run.result.outputText == "from a file\ndata\ntext\n")
        #expect(stage.files == ["source"])
    }

    @Test func aRuleLeadsABodyToAFileInstead() throws {
        server.on("/a", .respond(200, headers: [("Content-Type", "text/plain")], body: "text"))
        server.on("/b", .respond(200, body: "b"))
        let rule = "onResponse: [{ mimeType: text/plain, do: download, to: text }]"
        let run = try stage.run("tasks:\n" + task("a", rule) + task("b"), environment: environment)
        #expect(run.status == 0 && run.result.outputText == "b")
        #expect(try stage.text("text") == "text" && run.task("a", "file.path") == "text")
        #expect(stage.folder.mode("text") == 0o644)
    }

    @Test(arguments: [["--report", "-"], ["--events", "-"]]) func standardOutputIsForOneThing(_ words: [String]) throws
    {
        try stage.folder.write("job.yaml", "tasks:\n" + task("a"))
        let result = try stage.binary.run(arguments: ["job.yaml"] + words)
        #expect(result.exitStatus == 2 && result.output.isEmpty && server.requests().isEmpty)
        #expect(result.errorText.contains("`a` writes to standard output (`to: \"-\"`), and so would `\(words[0]) -`"))
        #expect(result.errorText.contains("`\(words[0]) PATH`"))
    }
}
