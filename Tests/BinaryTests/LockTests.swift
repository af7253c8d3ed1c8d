import Digests
import TestSupport
import Testing
import TextFormats
import TransferModel

/// `lock` and `run --locked`: the same bytes from the same places, or a refusal.
@Suite struct LockTests {
    private final class Mirror: Sendable {
        let server: ScriptedServer
        init() throws {
            server = try ScriptedServer()
            serve("/a", "hello")
            serve("/b", "bytes")
        }
        deinit { server.stop() }

        func serve(_ path: String, _ body: String, etag: String = "\"v1\"") {
            server.on(path) { ServedResource(body, etag: etag).answer($0) }
        }

        func job(_ more: String = "") -> String {
            """
            tasks:
              - { id: b, url: '\(server.url("/b"))', to: files/b }
              - { id: a, url: '\(server.url("/a"))', to: files/a\(more) }

            """
        }
        func count(_ method: String, _ path: String) -> Int {
            server.requests(path).filter { $0.method == method }.count
        }
    }

    private func sha256(_ text: String) throws -> String {
        let digest = try StreamingDigest(.sha256)
        digest.update(Array(text.utf8))
        return String("\(digest.finish())".dropFirst(7))
    }

    private func binary(_ job: String) throws -> Binary {
        let binary = try Binary()
        try binary.folder.write("job.yaml", job)
        return binary
    }

    @Test func theLockHasEachDownload_andNothingIsPublished() throws {
        let mirror = try Mirror()
        let binary = try binary(mirror.job())
        let result = try binary.run("lock", "job.yaml")
        #expect(result.exitStatus == 0, "\(result.errorText)")
        #expect(result.errorText == "job.lock: 2 files, 0 known, 2 fetched\n" && result.output.isEmpty)
        let lock = try binary.folder.text("job.lock")
        let expected = """
            # Written by `transfer-run lock`. `transfer-run JOB --locked` holds a run to it.
            format: transfer-run/lock
            version: 1
            job: "job"
            files:
              "a":
                path: "files/a"
                url: "\(mirror.server.url("/a"))"
                size: 5
                etag: "\\"v1\\""
                sha256: "\(try sha256("hello"))"
                type: "application/octet-stream"
              "b":
                path: "files/b"
                url: "\(mirror.server.url("/b"))"
                size: 5
                etag: "\\"v1\\""
                sha256: "\(try sha256("bytes"))"
                type: "application/octet-stream"

            """
        #expect(lock == expected, "\(lock)")
        #expect(binary.folder.list() == ["job.lock", "job.yaml"])
        #expect(!binary.home.list().contains { $0.contains("lock-") })
    }

    @Test func whatTheLastRunProved_isNotFetchedAgain() throws {
        let mirror = try Mirror()
        let binary = try binary(mirror.job())
        #expect(try binary.run("job.yaml", "-q").exitStatus == 0)
        let fetched = mirror.count("GET", "/a")
        let result = try binary.run("lock", "job.yaml")
        #expect(result.errorText == "job.lock: 2 files, 2 known, 0 fetched\n", "\(result.errorText)")
        #expect(mirror.count("GET", "/a") == fetched && mirror.count("HEAD", "/a") == 1)
        #expect(try binary.folder.text("job.lock").contains(sha256("hello")))
        // A file that was changed here proves nothing, and one that changed there neither.
        try binary.folder.write("files/a", "jello")
        mirror.serve("/b", "other", etag: "\"v2\"")
        let again = try binary.run("lock", "job.yaml")
        #expect(again.errorText == "job.lock: 2 files, 0 known, 2 fetched\n", "\(again.errorText)")
        #expect(try binary.folder.text("job.lock").contains(sha256("other")))
        #expect(try binary.folder.text("files/a") == "jello")
    }

    @Test func aLockedRunTakesTheLockedBytes() throws {
        let mirror = try Mirror()
        let binary = try binary(mirror.job())
        #expect(try binary.run("lock", "job.yaml").exitStatus == 0)
        let run = try binary.run("job.yaml", "--locked")
        #expect(run.exitStatus == 0, "\(run.errorText)")
        #expect(try binary.folder.text("files/a") == "hello")
        // What is there and right needs no request.
        let asked = mirror.server.requests().count
        #expect(try binary.run("job.yaml", "--locked").exitStatus == 0)
        #expect(mirror.server.requests().count == asked)
    }

    @Test func otherBytesAreRefused_andTheOldFileStays() throws {
        let mirror = try Mirror()
        let stage = try Stage()
        try stage.folder.write("job.yaml", mirror.job(", existing: replace"))
        #expect(try stage.binary.run("lock", "job.yaml").exitStatus == 0)
        try stage.folder.write("files/a", "old")
        // Of the same length: only the digest tells.
        mirror.serve("/a", "jello", etag: "\"v2\"")
        let run = try stage.run(mirror.job(", existing: replace"), "--locked")
        #expect(run.status == 1)
        #expect(try run.task("a", "error.name") == "lockMismatch")
        let message = try #require(try run.task("a", "error.message"))
        #expect(try message.contains(sha256("hello")) && message.contains(sha256("jello")), "\(message)")
        #expect(message.contains("job.lock"))
        #expect(try stage.text("files/a") == "old" && stage.text("files/b") == "bytes")
        // Another length is refused at the headers.
        mirror.serve("/a", "hello and more", etag: "\"v3\"")
        let longer = try stage.run(mirror.job(", existing: replace"), "--locked")
        #expect(try longer.task("a", "error.name") == "lockMismatch")
        #expect(try longer.task("a", "error.message")?.contains("has 14 bytes; job.lock has 5 bytes") == true)
    }

    @Test func anotherFinalURLIsRefused() throws {
        let mirror = try Mirror()
        mirror.server.on("/moved", .redirect(302, to: "/a?signed=1"))
        let stage = try Stage()
        let job = "tasks: [{ id: m, url: '\(mirror.server.url("/moved"))', to: m }]"
        try stage.folder.write("job.yaml", job)
        #expect(try stage.binary.run("lock", "job.yaml").exitStatus == 0)
        mirror.server.on("/moved", .redirect(302, to: "/a?signed=2"))
        #expect(try stage.run(job, "--locked").status == 0)
        stage.folder.remove("m")
        mirror.serve("/elsewhere", "hello")
        mirror.server.on("/moved", .redirect(302, to: "/elsewhere"))
        let run = try stage.run(job, "--locked")
        #expect(run.status == 1 && !stage.folder.exists("m"))
        #expect(try run.task("m", "error.name") == "lockMismatch")
        #expect(try run.task("m", "error.message")?.contains("comes from \(mirror.server.url("/elsewhere"))") == true)
    }

    @Test func updateLocksOnlyWhatItNames() throws {
        let mirror = try Mirror()
        let binary = try binary(mirror.job())
        #expect(try binary.run("lock", "job.yaml").exitStatus == 0)
        mirror.serve("/a", "new a", etag: "\"v2\"")
        mirror.serve("/b", "new b", etag: "\"v2\"")
        let result = try binary.run("lock", "job.yaml", "--update", "a")
        #expect(
            result.errorText == "job.lock: 2 files, 0 known, 1 fetched, 1 left as they were\n", "\(result.errorText)")
        let lock = try binary.folder.text("job.lock")
        #expect(try lock.contains(sha256("new a")) && lock.contains(sha256("bytes")))
        #expect(mirror.count("GET", "/b") == 1)
        let unknown = try binary.run("lock", "job.yaml", "--update", "zz")
        #expect(unknown.exitStatus == 2 && unknown.errorText.contains("no task matches `--update zz`"))
        #expect(unknown.errorText.contains("there are `b`, `a`"), "\(unknown.errorText)")
        mirror.server.on("/gone", .respond(404))
        let gone = try self.binary(mirror.job().replacing("/b", with: "/gone"))
        let failed = try gone.run("lock", "job.yaml")
        #expect(failed.errorText.contains("[unexpectedResponse]\n    Check the URL.\n"), "\(failed.errorText)")
    }

    @Test func jobAndLockMustFit() throws {
        let mirror = try Mirror()
        let binary = try binary(mirror.job())
        let none = try binary.run("job.yaml", "--locked")
        #expect(none.exitStatus == 2 && none.errorText.contains("cannot read job.lock: no such file"))
        #expect(none.errorText.contains("`transfer-run lock JOB` writes it"))
        #expect(try binary.run("lock", "job.yaml").exitStatus == 0)
        try binary.folder.write(
            "job.yaml", mirror.job() + "  - { id: new, url: '\(mirror.server.url("/a"))', to: files/new }\n")
        let asked = mirror.server.requests().count
        let missing = try binary.run("job.yaml", "--locked")
        #expect(missing.exitStatus == 2 && missing.errorText.contains("job.lock does not have `new` [notLocked]"))
        #expect(missing.errorText.contains("`transfer-run lock job.yaml --update new`"), "\(missing.errorText)")
        #expect(mirror.server.requests().count == asked)
        try binary.folder.write("job.yaml", "tasks: [{ id: a, url: '\(mirror.server.url("/a"))', to: files/a }]")
        let gone = try binary.run("job.yaml", "--locked")
        #expect(gone.exitStatus == 0 && gone.errorText.contains("warning: job.lock has `b`, which the job has not"))
        let sum = "checksum: 'sha256:\(try sha256("other"))'"
        try binary.folder.write("job.yaml", mirror.job(", \(sum)"))
        let contradiction = try binary.run("job.yaml", "--locked")
        #expect(
            contradiction.exitStatus == 2 && contradiction.errorText.contains("`checksum` of `a` is not the one in"))
    }

    /// The example of a release: locked, run, and refused once a file is another.
    @Test func anExampleIsLocked() throws {
        let place = try ExamplePlace()
        let words = ["release-artefacts.transfer.yaml", "--set", "site=\(place.server.url(""))"]
        let result = try place.stage.binary.run(arguments: ["lock"] + words)
        #expect(result.exitStatus == 0, "\(result.errorText)")
        #expect(try place.stage.text("release-artefacts.lock").contains("sha256:"))
        #expect(try place.stage.binary.run(arguments: words + ["--locked", "-q"]).exitStatus == 0)
        try place.expectSame("release/app-1.4.0-manual.txt", as: "releases/app-1.4.0-manual.txt")
    }

    @Test func aFailureWritesNoLock() throws {
        let mirror = try Mirror()
        mirror.server.on("/b", .respond(404))
        let binary = try binary(mirror.job())
        let result = try binary.run("lock", "job.yaml")
        #expect(result.exitStatus == 1, "\(result.errorText)")
        #expect(result.errorText.contains("1 file could not be fetched; job.lock was not written"))
        #expect(result.errorText.contains("404") && !binary.folder.exists("job.lock"))
    }

    /// What a captured list becomes is locked, too, and a locked run refuses what is new in it.
    @Test func tasksOfTemplatesAreLocked() throws {
        let mirror = try Mirror()
        mirror.server.on("/index", .respond(200, body: "[\"a\", \"b\"]"))
        let job = """
            tasks:
              - { id: index, url: '\(mirror.server.url("/index"))', capture: { names: { json: '$[*]', all: true } } }
              - { id: 'get-${n}', forEach: { n: { captured: tasks.index.names } }, url: '\(mirror.server.url(""))/${n}', to: 'files/${n}' }

            """
        let binary = try binary(job)
        let result = try binary.run("lock", "job.yaml")
        #expect(result.exitStatus == 0, "\(result.errorText)")
        let lock = try binary.folder.text("job.lock")
        #expect(lock.contains("\"get-a\":") && lock.contains("path: \"files/b\""), "\(lock)")
        #expect(try binary.run("job.yaml", "--locked", "-q").exitStatus == 0)
        mirror.server.on("/index", .respond(200, body: "[\"a\", \"c\"]"))
        let more = try binary.run("job.yaml", "--locked")
        #expect(more.exitStatus == 1 && more.errorText.contains("does not have `get-c`"), "\(more.errorText)")
    }

    /// No secret of a URL stands in a lock, and the lock holds all the same.
    @Test func secretsAreNotWritten() throws {
        let mirror = try Mirror()
        mirror.serve("/canaryxyzzy/a", "hello")
        let binary = try binary("tasks: [{ id: a, url: '\(mirror.server.url(""))/${secret.KEY}/a', to: a }]")
        try binary.folder.write("secrets", "KEY=canaryxyzzy\n")
        #expect(try binary.run("lock", "job.yaml", "--secrets-file", "secrets").exitStatus == 0)
        let lock = try binary.folder.text("job.lock")
        #expect(lock.contains("/***/a") && !lock.contains("canary"))
        #expect(try binary.run("job.yaml", "--locked", "--secrets-file", "secrets").exitStatus == 0)
    }

    /// The URL of a task may hold a secret that another task captured: lock and run compare it without.
    @Test func aURLWithACapturedSecret_isTheLockedOne() throws {
        let mirror = try Mirror()
        mirror.server.on("/token", .respond(200, body: #"{"t": "canaryxyzzy"}"#))
        mirror.serve("/canaryxyzzy/a", "hello")
        let job = """
            tasks:
              - { id: token, url: '\(mirror.server.url("/token"))', capture: { t: { json: $.t, secret: true } } }
              - { id: a, url: '\(mirror.server.url(""))/${tasks.token.t}/a', to: a, existing: replace }

            """
        let stage = try Stage()
        try stage.folder.write("job.yaml", job)
        #expect(try stage.binary.run("lock", "job.yaml").exitStatus == 0)
        let lock = try stage.text("job.lock")
        #expect(lock.contains("/***/a") && !lock.contains("canary"), "\(lock)")
        let run = try stage.run(job, "--locked")
        #expect(try run.status == 0 && stage.text("a") == "hello", "\(run.errorText)")
        // Another path behind the secret is another URL.
        mirror.serve("/canaryxyzzy/b", "hello")
        mirror.server.on("/canaryxyzzy/a", .redirect(302, to: "/canaryxyzzy/b"))
        let moved = try stage.run(job, "--locked")
        #expect(try moved.status == 1 && moved.task("a", "error.name") == "lockMismatch", "\(moved.errorText)")
    }

    /// A lock has one file of a task; how many pages a server has is known in the run.
    @Test func aTaskWithPages_isLeftOutOfTheLock_andRefusedByALockedRun() throws {
        let mirror = try Mirror()
        mirror.server.on("/p1", .respond(200, headers: [("Link", "</p2>; rel=\"next\"")], body: "1"))
        mirror.server.on("/p2", .respond(200, body: "2"))
        let pages = "  - { id: pg, url: '\(mirror.server.url("/p1"))', next: { link: next }, to: 'pg-${page}' }\n"
        let binary = try binary(mirror.job() + pages)
        let result = try binary.run("lock", "job.yaml")
        #expect(result.exitStatus == 0)
        #expect(
            result.errorText == "warning: `pg` is not locked: it has `next`, and a lock holds one file of a task\n"
                + "job.lock: 2 files, 0 known, 2 fetched\n", "\(result.errorText)")
        #expect(mirror.server.requests("/p1").isEmpty)
        let refused = try binary.run("job.yaml", "--locked")
        #expect(refused.exitStatus == 2)
        #expect(
            refused.errorText.contains("no lock can hold `pg`: a task with `next` has many files [notLocked]"),
            "\(refused.errorText)")
        #expect(refused.errorText.contains("`--locked --except pg`"), "\(refused.errorText)")
        let others = try binary.run("job.yaml", "--locked", "--except", "pg")
        #expect(others.exitStatus == 0, "\(others.errorText)")
    }
}
