import TestSupport
import Testing
import TextFormats

/// Several job files given to one command: one run, one report, one set of limits.
@Suite struct SeveralJobsTests {
    private let binary: Binary
    private let server: ScriptedServer
    private var folder: TemporaryTree { binary.folder }

    init() throws {
        binary = try Binary()
        server = try ScriptedServer()
    }

    private func run(_ arguments: String...) throws -> Binary.Result {
        let program = try binary.start(arguments + ["--report", "report.json", "--progress", "plain"])
        return program.wait()
    }

    private func values(_ path: String) throws -> [String] {
        try JSONPath(path).select(from: JSONParser.parse(folder.bytes("report.json"))).compactMap(\.plainText)
    }

    private func writeJobs(_ first: String = "", _ second: String = "") throws {
        for name in ["a", "b"] { server.on("/\(name)", .respond(200, headers: [("ETag", "\"\(name)\"")], body: name)) }
        try folder.write("first.yaml", "tasks: [{ id: a, url: \"\(server.url("/a"))\", to: out/a }]\n" + first)
        try folder.write("second.yaml", "tasks: [{ id: b, url: \"\(server.url("/b"))\", to: out/b }]\n" + second)
    }

    @Test func filesRunAsOne_andEachFindsItsStateAgainAlone() throws {
        defer { server.stop() }
        try writeJobs()
        let result = try run("first.yaml", "second.yaml")
        #expect(result.exitStatus == 0, "\(result.errorText)")
        #expect(try folder.text("out/a") == "a" && folder.text("out/b") == "b")
        #expect(try values("$.tasks[*].id") == ["a", "b"])
        #expect(try values("$.sessions[*].name") == ["default", "second/default"])
        #expect(try values("$.tasks[*].session") == ["default", "second/default"])
        #expect(try values("$.job.name") == ["first + second"] && values("$.job.file") == ["first.yaml second.yaml"])
        #expect(try values("$.tasks[*].jobFile") == ["first.yaml", "second.yaml"])
        #expect(try binary.run("report", "convert", "report.json", "--junit", "junit.xml").exitStatus == 0)
        let cases = try folder.text("junit.xml")
        #expect(cases.contains("file=\"first.yaml\"") && cases.contains("file=\"second.yaml\""), "\(cases)")
        // The validators are those of the job, whichever way it was run.
        server.on("/b") { $0.header("If-None-Match") == "\"b\"" ? .respond(304) : .respond(200, body: "all of it") }
        #expect(try run("second.yaml").exitStatus == 0)
        #expect(try values("$.tasks[*].source") == ["unchanged"] && folder.text("out/b") == "b")
    }

    @Test func theStrictestLimitHolds() throws {
        defer { server.stop() }
        try writeJobs("limits: { maximumConcurrentTasks: 9 }\n", "limits: { maximumConcurrentTasks: 1 }\n")
        server.on("/a", [.gate("a"), .bytes(Script.head(200, [("Content-Length", "1")])), .send("a")])
        let program = try binary.start(["first.yaml", "second.yaml", "--report", "report.json"])
        #expect(server.waitForRequests(1))
        server.open(gate: "a")
        #expect(program.wait().exitStatus == 0)
        #expect(try values("$.tasks[1].waits[*].reason") == ["runLimit"])
    }

    @Test func theCommandsOfBothEndsRun() throws {
        defer { server.stop() }
        try writeJobs("onFinish: [touch, first-done]\n", "onFinish: [\"false\"]\n")
        let result = try run("first.yaml", "second.yaml")
        #expect(result.exitStatus == 1 && folder.exists("first-done"), "\(result.errorText)")
        #expect(try values("$.hooks[*].command[0]") == ["touch", "false"])
    }

    @Test func templatesOfBothFilesBecomeTasks() throws {
        defer { server.stop() }
        for name in ["one", "two"] {
            server.on(
                "/\(name)", .respond(200, headers: [("Content-Type", "application/json")], body: "[\"\(name)-x\"]"))
            server.on("/f/\(name)-x", .respond(200, body: name))
            try folder.write(
                "\(name).yaml",
                """
                tasks:
                  - id: list-\(name)
                    url: "\(server.url("/\(name)"))"
                    capture: { names: { json: "$[*]", all: true } }
                  - id: get-\(name)-${n.index}
                    forEach: { n: { captured: tasks.list-\(name).names } }
                    url: "\(server.url("/f"))/${n}"
                    to: out/\(name)-${n}

                """)
        }
        let result = try run("one.yaml", "two.yaml")
        #expect(result.exitStatus == 0, "\(result.errorText)")
        #expect(try folder.text("out/one-one-x") == "one" && folder.text("out/two-two-x") == "two")
        #expect(try Set(values("$.tasks[*].session")) == ["default", "two/default"])
    }

    @Test func aFailedTaskIsRunAgainByACommandWithAllFiles() throws {
        defer { server.stop() }
        try writeJobs()
        server.on("/b", .respond(404))
        let result = try run("first.yaml", "second.yaml")
        #expect(result.exitStatus == 1)
        let again = "transfer-run run first.yaml second.yaml --report report.json --only b"
        #expect(result.errorText.contains(again), "\(result.errorText)")
    }

    @Test(arguments: [
        ("tasks: [{ id: a, url: \"http://h/x\", to: x }]", "the id `a` is also in `first.yaml`"),
        ("tasks: [{ id: x, url: \"http://h/x\", to: out/a }]", "is also written by `a` of `first.yaml`"),
        (
            "limits: { finishBy: \"2030-01-01T00:00:00Z\" }\ntasks: [{ id: x, url: \"http://h/x\", to: x }]",
            "`limits.finishBy` is another kind of limit"
        ),
        (
            "sessions: { default: { configuration: background, identifier: i } }\ntasks: [{ id: x, url: \"http://h/\", to: x }]",
            "a job with background sessions runs by itself"
        ),
    ])
    func whatDoesNotFitIsRefused_beforeAnythingIsSent(_ second: String, _ words: String) throws {
        defer { server.stop() }
        try writeJobs("limits: { finishBy: 1h }\n")
        try folder.write("second.yaml", second + "\n")
        let result = try run("first.yaml", "second.yaml")
        #expect(result.exitStatus == 2 && result.errorText.contains(words), "\(result.errorText)")
        #expect(result.errorText.contains("second.yaml:"), "\(result.errorText)")
        #expect(server.requests().isEmpty && !folder.exists("report.json"))
    }

    @Test func filesOfDifferentFoldersNeedADirectory() throws {
        defer { server.stop() }
        try writeJobs()
        try folder.write("sub/third.yaml", "tasks: [{ id: c, url: \"\(server.url("/a"))\", to: out/c }]\n")
        let refused = try run("first.yaml", "sub/third.yaml")
        #expect(refused.exitStatus == 2 && refused.errorText.contains("lie in different folders"))
        #expect(try run("first.yaml", "sub/third.yaml", "--directory", ".").exitStatus == 0)
        #expect(try folder.text("out/c") == "a")
    }

    /// A run of several holds the lock of each.
    @Test func anotherRunOfOneOfThemIsRefused() throws {
        defer { server.stop() }
        try writeJobs()
        server.on("/a", [.gate("a"), .bytes(Script.head(200, [("Content-Length", "1")])), .send("a")])
        let both = try binary.start(["first.yaml", "second.yaml", "--report", "both.json"])
        #expect(server.waitForRequests(1))
        #expect(try run("second.yaml").exitStatus == 5)
        server.open(gate: "a")
        #expect(both.wait().exitStatus == 0)
    }
}
