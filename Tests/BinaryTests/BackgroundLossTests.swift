import Glibc
import TestSupport
import Testing

/// A journal that has lost what it knew, without being damaged where SQLite would notice.
@Suite struct BackgroundLossTests {
    private static let journal = "state/transfer-run/journal.sqlite"
    private static let log = journal + "-wal"
    private static let index = journal + "-shm"
    private let server: ScriptedServer
    private let scene: BackgroundScene

    init() throws {
        server = try ScriptedServer()
        scene = try BackgroundScene()
    }

    private func job() throws -> String {
        server.on("/first") { _ in [.gate("first")] + .respond(200, body: "first") }
        server.on("/post", .respond(200, body: "done"))
        server.on("/last") { _ in [.gate("last")] + .respond(200, body: "last") }
        try scene.folder.write("order.json", "{}")
        return BackgroundScene.head() + """
            tasks:
              - { id: first, url: "\(server.url("/first"))", to: first }
              - { id: post, type: upload, method: POST, url: "\(server.url("/post"))", body: { file: order.json }, needs: [first] }
              - { id: last, url: "\(server.url("/last"))", to: last }
            """
    }

    /// Lets the request be answered, kills the process, and takes from the journal what it wrote since: all of the run,
    /// or all that came after its first request.
    private func lose(_ isEverything: Bool) throws {
        let home = scene.binary.home
        // A journal that has seen a run, and knows of none that is under way.
        server.on("/before", .respond(200))
        let other = BackgroundScene.head("org.example.before") + "tasks: [{ id: b, url: \"\(server.url("/before"))\" }]"
        #expect(try scene.stage.start(other, []).wait().exitStatus == 0)
        #expect(scene.end(SIGTERM))
        let before = try home.bytes(Self.journal)
        #expect(try scene.stage.start(job(), ["--detach"]).wait().exitStatus == 0)
        #expect(server.waitForRequests(1, "/first") && scene.waitForEvents(of: "first", attempts: 1))
        let length = try home.bytes(Self.log).count
        server.open(gate: "first")
        #expect(scene.waitForEnd(of: "post"))
        #expect(scene.end(SIGKILL))
        if isEverything {
            try home.write(Self.journal, before, mode: 0o600)
            for name in [Self.log, Self.index] { home.remove(name) }
        } else {
            var bytes = try home.bytes(Self.log)
            try #require(bytes.count > length + 200)
            bytes[length + 100] ^= 0x10
            try home.write(Self.log, bytes, mode: 0o600)
        }
        server.open(gate: "last")
    }

    @Test(arguments: [false, true])
    func requestThatMustNotBeSentTwice_isNotSentAgain_andTold(_ isEverything: Bool) throws {
        defer { server.stop() }
        try lose(isEverything)
        if isEverything {
            let status = try scene.binary.run("status")
            #expect(status.errorText.contains("the journal has lost a run of the session `org.example.test`"))
            #expect(status.errorText.contains("`post` was sent and succeeded"), "\(status.errorText)")
        }
        let run = try scene.stage.run(try scene.folder.text(Stage.jobFile))
        #expect(run.status == 1, "\(run.errorText) \(scene.log)")
        #expect(server.requests("/post").count == 1)
        #expect(try run.task("post", "error")?.contains("it is not sent again by this run") == true, "\(run.errorText)")
        #expect(try run.values("$.tasks[*].outcome") == ["succeeded", "failed", "succeeded"])
        let warning = "warning: the journal has lost an earlier run of this job: `post`"
        #expect(isEverything == run.errorText.contains(warning))
        // What was told is over: the next run sends it.
        let next = try scene.stage.run(try scene.folder.text(Stage.jobFile))
        #expect(next.status == 0 && server.requests("/post").count == 2, "\(next.errorText)")
    }

    @Test func newRun_afterALoss_sendsAgain() throws {
        defer { server.stop() }
        try lose(true)
        let run = try scene.stage.run(try scene.folder.text(Stage.jobFile), "--new-run")
        #expect(run.status == 0 && server.requests("/post").count == 2, "\(run.errorText)")
    }

    enum Loss: CaseIterable { case emptied, removed, newer, folder }

    @Test(arguments: Loss.allCases) func status_whenTheJournalIsNotAsItWas_saysSo(_ loss: Loss) throws {
        defer { server.stop() }
        server.on("/x") { _ in [.gate("x")] + .respond(200, body: "x") }
        let job = BackgroundScene.head() + "tasks: [{ id: x, url: \"\(server.url("/x"))\", to: x }]"
        #expect(try scene.stage.start(job, ["--detach"]).wait().exitStatus == 0)
        #expect(server.waitForRequests(1) && scene.end(SIGKILL))
        let home = scene.binary.home
        if loss != .newer { for name in ["-wal", "-shm"] { home.remove("state/transfer-run/journal.sqlite\(name)") } }
        switch loss {
        case .emptied: try home.write("state/transfer-run/journal.sqlite", [UInt8](), mode: 0o600)
        case .removed: home.remove("state/transfer-run/journal.sqlite")
        case .folder: home.remove("state/transfer-run")
        case .newer:
            var bytes = try home.bytes("state/transfer-run/journal.sqlite")
            for name in ["-wal", "-shm"] { home.remove("state/transfer-run/journal.sqlite\(name)") }
            bytes.replaceSubrange(60..<64, with: [0, 0, 3, 231])
            try home.write("state/transfer-run/journal.sqlite", bytes, mode: 0o600)
        }
        let status = try scene.binary.run("status")
        switch loss {
        case .emptied:
            #expect(status.errorText.contains("has lost a run that was handed over\n  hint: run their jobs again"))
        case .removed: #expect(status.errorText.contains("is not there, and with it the runs that were handed over"))
        case .folder:
            #expect(status.outputText == "no run is under way\n")
            #expect(status.errorText.contains("there is no state folder "), "\(status.errorText)")
        case .newer:
            #expect(status.exitStatus == 4 && status.errorText.contains("format 999"), "\(status.errorText)")
            #expect(status.errorText.contains("hint: use the version that wrote it"))
        }
        #expect(status.exitStatus == (loss == .newer ? 4 : 0), "\(status.errorText)")
    }

    @Test func status_whenTheKeyIsGone_saysSo() throws {
        defer { server.stop() }
        server.on("/x") { _ in [.gate("x")] + .respond(200, body: "x") }
        let job = BackgroundScene.head() + "tasks: [{ id: x, url: \"\(server.url("/x"))\", to: x }]"
        #expect(try scene.stage.start(job, ["--detach"]).wait().exitStatus == 0)
        #expect(server.waitForRequests(1) && scene.end(SIGKILL))
        for key in scene.binary.home.list("state/transfer-run") where key.hasPrefix("journal.key-") {
            scene.binary.home.remove("state/transfer-run/\(key)")
        }
        let status = try scene.binary.run("status")
        #expect(status.outputText.contains("it cannot be gone on with"), "\(status.outputText)")
        #expect(status.outputText.contains("its job begins anew when it is run again"), "\(status.outputText)")
        for words in ["more wait", "waits for", "tells how it ended"] {
            #expect(!status.outputText.contains(words), "\(status.outputText)")
        }
    }
}
