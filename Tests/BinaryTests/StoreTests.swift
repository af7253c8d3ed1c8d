import Glibc
import Stores
import SystemIO
import TestSupport
import Testing
import TransferModel

/// What runs leave in the state folder for those to come, and what becomes of a run when that is not as it should be.
@Suite struct StoreTests {
    private static let store = "state/transfer-run/store.sqlite"

    private func server() throws -> ScriptedServer {
        try ScriptedServer { request in
            ServedResource("body of \(request.target)", etag: "\"\(request.target)\"").answer(request)
        }
    }

    private func job(_ server: ScriptedServer, kind: String = "default", count: Int = 3) -> String {
        """
        sessions: { s: { configuration: \(kind) } }
        tasks: [{ id: "t-${n}", forEach: { n: 1..\(count) }, url: "\(server.origin)/${n}", to: "out/${n}" }]
        """
    }

    private func conditions(_ server: ScriptedServer) -> Int {
        server.requests().count { $0.header("If-None-Match") != nil }
    }

    @Test func ephemeralSessionsLeaveNothing() throws {
        let server = try server()
        defer { server.stop() }
        let stage = try Stage()
        for _ in 1...2 {
            #expect(try stage.run(job(server, kind: "ephemeral")).status == 0)
            #expect(stage.binary.home.list().isEmpty)
        }
        #expect(conditions(server) == 0)
        #expect(server.requests().count == 6)
    }

    /// Of a job that keeps nothing no store is made.
    @Test(arguments: ["to: in/", "to: a, existing: replace", "to: a, checksum: 'md5:9dd4e461268c8034f5c8564e155c67a6'"])
    func whatNeedsNoStoreMakesNone(_ more: String) throws {
        let server = try ScriptedServer { _ in .respond(200, headers: [("ETag", "\"1\"")], body: "x") }
        defer { server.stop() }
        let stage = try Stage()
        let run = try stage.run("tasks: [{ id: a, url: '\(server.url("/a"))', \(more) }]")
        #expect(run.status == 0)
        #expect(!stage.binary.home.exists(Self.store))
    }

    @Test func whatIsKeptIsPrivate() throws {
        let server = try server()
        defer { server.stop() }
        let stage = try Stage()
        #expect(try stage.run(job(server)).status == 0)
        #expect(stage.binary.home.mode(Self.store) == 0o600)
        #expect(stage.binary.home.mode("state/transfer-run") == 0o700)
    }

    @Test func sessionsAndJobsKeepTheirOwn() throws {
        let server = try server()
        defer { server.stop() }
        let stage = try Stage()
        #expect(try stage.run(job(server)).status == 0)
        // Another session's name, another job's.
        let other = job(server).replacing("{ s: {", with: "{ other: {")
        #expect(try stage.run(other).status == 0)
        #expect(try stage.run("name: other\n" + job(server)).status == 0)
        #expect(conditions(server) == 0)
        #expect(try stage.run(job(server), "--exit-unchanged").status == 9)
    }

    @Test func aDamagedStoreIsPutAsideAndTold() throws {
        let server = try server()
        defer { server.stop() }
        let stage = try Stage()
        #expect(try stage.run(job(server)).status == 0)
        for name in ["-wal", "-shm"] { stage.binary.home.remove(Self.store + name) }
        try stage.binary.home.write(Self.store, String(repeating: "damaged ", count: 4000), mode: 0o600)
        let run = try stage.run(job(server))
        #expect(run.status == 0)
        #expect(run.errorText.count(of: "warning:") == 1)
        #expect(run.errorText.contains("put aside as") && run.errorText.contains("store.sqlite.quarantined-1"))
        #expect(conditions(server) == 0)
        #expect(try stage.run(job(server), "--exit-unchanged").status == 9)
    }

    @Test func aNewerStoreIsLeftAloneAndTold() throws {
        let server = try server()
        defer { server.stop() }
        let stage = try Stage()
        #expect(try stage.run(job(server)).status == 0)
        let folder = stage.binary.home.path("state/transfer-run")
        // What a later version would leave: `user_version` stands at byte 60, once the log is in the file.
        do { _ = try Store.open(folder: folder) }
        var before = try stage.binary.home.bytes(Self.store)
        before.replaceSubrange(60..<64, with: [0, 0, 3, 231])
        try stage.binary.home.write(Self.store, before, mode: 0o600)
        let run = try stage.run(job(server))
        #expect(run.status == 0)
        #expect(run.errorText.count(of: "warning:") == 1)
        #expect(run.errorText.contains("format 999") && run.errorText.contains(folder))
        #expect(try stage.binary.home.bytes(Self.store) == before)
        #expect(conditions(server) == 0)
    }

    @Test func aStoreThatOthersMayWriteEndsTheRun() throws {
        let server = try server()
        defer { server.stop() }
        let stage = try Stage()
        #expect(try stage.run(job(server)).status == 0)
        let count = server.requests().count
        try stage.binary.home.setMode(Self.store, 0o660)
        let result = try stage.binary.run("run", "job.yaml")
        #expect(result.exitStatus == 4)
        #expect(result.errorText.contains("can be written by others") && result.errorText.contains(Self.store))
        #expect(server.requests().count == count)
    }

    @Test func twoProcessesShareOneStore() throws {
        let server = try server()
        defer { server.stop() }
        let one = try Binary()
        func start(_ number: Int) throws -> RunningProgram {
            try one.folder.write("job\(number).yaml", job(server, count: 300).replacing("out/", with: "out\(number)/"))
            return try one.start(["job\(number).yaml", "--exit-unchanged", "--progress", "none"])
        }
        for expected: Int32 in [0, 9] {
            let runs = try (1...3).map { try start($0) }
            for run in runs {
                let result = run.wait()
                #expect(result.exitStatus == expected, "\(result.errorText)")
                #expect(result.errorText.isEmpty)
            }
        }
        #expect(conditions(server) == 900)
    }

    /// Killed when the file stands and nothing of it is written down yet: the next run fetches it, and all is well.
    @Test func aKillBeforeTheRecordCostsOneRequest() throws {
        let server = try server()
        defer { server.stop() }
        server.on("/hold", [.stall])
        let stage = try Stage()
        let job = """
            tasks:
              - { id: a, url: "\(server.url("/a"))", to: a }
              - { id: hold, url: "\(server.url("/hold"))", to: hold }
            """
        // The store exists, and somebody else writes in it for as long as this takes.
        let store = try Store.open(folder: stage.binary.home.path("state/transfer-run"))
        try store.batch { () throws(StoreError) in
            let program = try? stage.start(job)
            #expect(server.waitForRequests(1, "/hold"))
            for _ in 1...1000 where !stage.folder.exists("a") { usleep(10_000) }
            // Longer than it waits for more to write.
            usleep(400_000)
            program?.send(signal: SIGKILL)
            _ = program?.wait()
        }
        #expect(try stage.text("a") == "body of /a")
        let again = job.replacing("/hold", with: "/b")
        let run = try stage.run(again)
        #expect(run.status == 0)
        #expect(conditions(server) == 0)
        #expect(try run.task("a", "source") == "network" && run.task("a", "changed") == "false")
        #expect(try stage.run(again, "--exit-unchanged").status == 9)
    }

    @Test func aURLWithASecretIsNotWrittenDown() throws {
        let server = try server()
        defer { server.stop() }
        let stage = try Stage()
        let job = """
            secrets: { KEY: { env: KEY } }
            tasks: [{ id: a, url: "\(server.origin)/a?key=${secret.KEY}", to: a }]
            """
        for _ in 1...2 { #expect(try stage.run(job, environment: ["KEY": "s3cr3t-word"]).status == 0) }
        #expect(conditions(server) == 0)
        for (name, bytes) in try stage.binary.home.contents() {
            #expect(!String(decoding: bytes, as: UTF8.self).contains("s3cr3t-word"), "\(name)")
        }
    }
}

extension String {
    fileprivate func count(of word: String) -> Int { ranges(of: word).count }
}
