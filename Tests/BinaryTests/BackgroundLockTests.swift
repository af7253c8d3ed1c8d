import Digests
import Glibc
import TestSupport
import Testing
import TextFormats
import TransferModel

/// Background sessions that are held to a lock or to a saved plan.
@Suite struct BackgroundLockTests {
    private let background: BackgroundStage
    private var stage: Stage { background.stage }

    init() throws { background = try BackgroundStage() }

    private func serve(_ path: String, _ body: String, etag: String = "\"v1\"") {
        background.server.on(path) { ServedResource(body, etag: etag).answer($0) }
    }

    private func write(_ job: String) throws { try stage.folder.write(Stage.jobFile, job) }

    @Test func otherBytesAreRefused() throws {
        serve("/a", "hello")
        serve("/b", "bytes")
        let job = background.job(background.task("a"), background.task("b"))
        try write(job)
        #expect(try stage.binary.run("lock", Stage.jobFile).exitStatus == 0)
        // Of the same length: only the digest tells.
        serve("/a", "jello", etag: "\"v2\"")
        let run = try stage.run(job, "--locked")
        #expect(run.status == 1)
        #expect(try run.task("a", "error.name") == "lockMismatch")
        #expect(try run.task("a", "error.message")?.contains("job.lock") == true)
        #expect(!stage.folder.exists("a"))
        #expect(try stage.text("b") == "bytes")
    }

    @Test func theLockGoesWithTheTasks_whateverBecomesOfTheFile() throws {
        // What comes of `b` is longer, and the process that asks for it is another than the one that was told of the lock.
        let body = background.serveHalves("a")
        serve("/b", "more bytes")
        try writeLock(("a", body), ("b", Array("bytes".utf8)))
        let job = background.job(background.task("a"), background.task("b", ", needs: [a]"))
        #expect(try background.detach(job, "--locked").exitStatus == 0)
        stage.folder.remove("job.lock")
        try background.waitFor("$.sessions[0].tasks[?@.bytesReceived==\(100 << 10)].id", "a")
        background.endProcess(signal: SIGKILL)
        background.server.open(gate: "a")
        #expect(try background.run("status").exitStatus == 0)
        background.waitForReport()
        let report = try background.report()
        #expect(try values("$.tasks[*].outcome", report) == ["succeeded", "failed"])
        #expect(try values("$.tasks[1].error.name", report) == ["lockMismatch"])
        #expect(!stage.folder.exists("b"))
    }

    private func values(_ path: String, _ report: JSONValue) throws -> [String?] {
        try JSONPath(path).select(from: report).map(\.plainText)
    }

    private func writeLock(_ bodies: (id: String, body: [UInt8])...) throws {
        var lines = ["format: transfer-run/lock", "version: 1", "files:"]
        for (id, body) in bodies {
            let digest = try StreamingDigest(.sha256)
            digest.update(body)
            lines.append(
                "  \(id): { url: \"\(background.server.url("/\(id)"))\", size: \(body.count), "
                    + "sha256: \"\("\(digest.finish())".dropFirst(7))\" }")
        }
        try stage.folder.write("job.lock", lines.joined(separator: "\n") + "\n")
    }

    @Test func aTaskThatTheLockHasNot_isNotHandedOver() throws {
        serve("/a", "hello")
        try write(background.job(background.task("a")))
        #expect(try stage.binary.run("lock", Stage.jobFile).exitStatus == 0)
        let run = try stage.run(background.job(background.task("a"), background.task("b")), "--locked")
        #expect(run.status == 2 && run.errorText.contains("job.lock does not have `b` [notLocked]"))
        #expect(try background.status("$.sessions[*].identifier") == [])
    }

    @Test func whatACapturedListNames_mustBeLocked() throws {
        func list(_ names: String) { background.server.on("/list", .respond(200, body: names)) }
        for name in ["a", "b"] { serve("/\(name)", "file \(name)") }
        let job = background.job(
            "{ id: list, url: \"\(background.server.url("/list"))\", capture: { names: { json: \"$[*]\", all: true } } }",
            """
            { id: "get-${n}", forEach: { n: { captured: tasks.list.names } }, url: "\(background.server.url("/"))${n}", \
            to: "out/${n}" }
            """)
        list(#"["a"]"#)
        try write(job)
        let locked = try stage.binary.run("lock", Stage.jobFile)
        #expect(locked.exitStatus == 0, "\(locked.errorText)")
        let run = try stage.run(job, "--locked")
        #expect(run.status == 0, "\(run.errorText)")
        #expect(try stage.text("out/a") == "file a")
        list(#"["a", "b"]"#)
        let more = try stage.run(job, "--locked")
        #expect(more.status == 1 && more.errorText.contains("job.lock does not have `get-b`"), "\(more.errorText)")
        #expect(!stage.folder.exists("out/b"))
    }

    @Test func aTaskThatComesLater_isHeldToTheLockOfItsDay() throws {
        let body = background.serveHalves("a")
        serve("/b", "more bytes")
        #expect(try background.detach(background.job(background.task("a"))).exitStatus == 0)
        try background.waitFor("$.sessions[0].tasks[?@.bytesReceived==\(100 << 10)].id", "a")
        try writeLock(("a", body), ("b", Array("bytes".utf8)))
        let job = background.job(background.task("a"), background.task("b"))
        #expect(try background.detach(job, "--locked").exitStatus == 0)
        background.server.open(gate: "a")
        background.waitForReport()
        let report = try background.report()
        #expect(try values("$.tasks[*].outcome", report) == ["succeeded", "failed"])
        #expect(try values("$.tasks[1].error.name", report) == ["lockMismatch"])
    }

    @Test func aSavedPlanHoldsTheServers() throws {
        serve("/a", "hello")
        let job = background.job(background.task("a"))
        try write(job)
        #expect(try stage.binary.run("plan", Stage.jobFile, "--online", "--save", "job.plan").exitStatus == 0)
        serve("/a", "moved", etag: "\"v2\"")
        let moved = try stage.binary.run("run", Stage.jobFile, "--plan", "job.plan")
        #expect(moved.exitStatus == 1 && moved.errorText.contains("[movedSincePlan]"), "\(moved.errorText)")
        #expect(try background.status("$.sessions[*].identifier") == [])
        // It says what was planned when it is asked beforehand, and something else to the request itself.
        background.server.on("HEAD /a") { ServedResource("hello", etag: "\"v1\"").answer($0) }
        background.server.on("GET /a") { ServedResource("moved", etag: "\"v2\"").answer($0) }
        let run = try stage.run(job, "--plan", "job.plan")
        #expect(run.status == 1, "\(run.errorText)")
        #expect(try run.task("a", "error.name") == "movedSincePlan")
        #expect(!stage.folder.exists("a"))
    }
}
