import Glibc
import TestSupport
import Testing
import TextFormats

/// What of a cache lies on the disk: several processes, damage, want of room, and what must not lie there.
@Suite struct CacheDiskTests {
    private typealias Desk = CacheTests.Desk
    /// Of the bodies that are too long for the store.
    private static let bodies = "cache/transfer-run"
    private static let long = String(repeating: "a body that has a file of its own. ", count: 3_000)
    private static let fresh: [Script.Header] = [("Cache-Control", "max-age=3600")]

    // MARK: Downloads

    @Test func aDownloadIsAnsweredFromTheCache() throws {
        let desk = try Desk(answering: Self.fresh, body: Self.long)
        defer { desk.server.stop() }
        _ = try desk.run()
        let run = try desk.run("to: file")
        #expect(try run.status == 0 && desk.count == 1 && run.task("a", "source") == "cache")
        #expect(try run.task("a", "cache") == nil && run.task("a", "changed") == "true")
        #expect(try desk.stage.text("file") == Self.long)
        // The file stands there; the cache still has it.
        #expect(try desk.run("to: file").task("a", "changed") == "false")
        #expect(desk.count == 1)
        let summed = try desk.run(
            "to: file, existing: replace, checksum: 'md5:00000000000000000000000000000000'")
        #expect(try summed.task("a", "error.name") == "checksumMismatch")
        #expect(desk.stage.files == ["file"])
    }

    /// Its file and what it is known by are the copy.
    @Test func aDownloadPutsNothingThere() throws {
        let desk = try Desk(answering: Self.fresh + [("ETag", "\"1\"")])
        defer { desk.server.stop() }
        let first = try desk.run("to: file")
        #expect(try first.task("a", "cache") == nil && !first.story(of: "a").contains("cacheStored"))
        #expect(try desk.run("to: file").task("a", "source") == "unchanged")
        #expect(try desk.run().task("a", "source") == "network")
        #expect(desk.conditions == [nil, "\"1\"", nil])
    }

    @Test func aDownloadIsNotMadeOfAPackedAnswer() throws {
        let packed = Encoder.gzip(Array("hello".utf8))
        let desk = try Desk { request in
            request.header("Accept-Encoding")?.contains("gzip") == true
                ? .respond(200, headers: Self.fresh + [("Content-Encoding", "gzip")], body: packed)
                : .respond(200, headers: Self.fresh, body: "hello")
        }
        defer { desk.server.stop() }
        for source in ["network", "cache"] {
            let run = try desk.run()
            #expect(try run.task("a", "source") == source && run.task("a", "body.text") == "hello")
            #expect(try run.task("a", "response.contentEncoding") == "gzip")
        }
        let run = try desk.run("to: file")
        #expect(try run.status == 0 && run.task("a", "source") == "network" && desk.stage.text("file") == "hello")
        #expect(desk.count == 2)
        #expect(try desk.run("to: unpacked, decompress: true").task("a", "source") == "network")
    }

    // MARK: Room

    @Test func whatWasNotUsedForTheLongestGoes() throws {
        let body = String(repeating: "x", count: 30_000)
        let desk = try Desk(answering: Self.fresh, body: body)
        defer { desk.server.stop() }
        let session = "cache: { memoryCapacity: 0, diskCapacity: 100000, maximumEntry: 50000 }"
        for path in ["/1", "/2", "/3", "/1", "/4"] { _ = try desk.run(session: session, path: path) }
        #expect(desk.server.requests().map(\.path) == ["/1", "/2", "/3", "/4"])
        #expect(desk.stage.binary.home.list(Self.bodies).count == 3)
        for path in ["/1", "/3", "/4", "/2"] { _ = try desk.run(session: session, path: path) }
        #expect(desk.server.requests().map(\.path).suffix(1) == ["/2"])
    }

    // MARK: Damage

    @Test(arguments: ["cut", "changed", "gone", "all gone"]) func aDamagedBodyIsFetchedAgain(_ damage: String) throws {
        let desk = try Desk(answering: Self.fresh, body: Self.long)
        defer { desk.server.stop() }
        _ = try desk.run()
        let home = desk.stage.binary.home
        let name = "\(Self.bodies)/\(try #require(home.list(Self.bodies).first))"
        #expect(home.mode(name) == 0o600 && home.mode(Self.bodies) == 0o700)
        var bytes = try home.bytes(name)
        bytes[bytes.count - 1] ^= 1
        home.remove(damage == "all gone" ? Self.bodies : name)
        switch damage {
        case "cut": try home.write(name, Array(bytes.dropLast(2)), mode: 0o600)
        case "changed": try home.write(name, bytes, mode: 0o600)
        default: break
        }
        for (source, requests) in [("network", 2), ("cache", 2)] {
            let run = try desk.run()
            #expect(try run.status == 0 && run.task("a", "source") == source && desk.count == requests)
            #expect(run.errorText.contains("warning") == false)
        }
        #expect(home.list(Self.bodies).count == 1)
    }

    /// After a 304 for a body that turns out to be gone the whole is asked for.
    @Test func aConfirmedBodyThatIsGoneIsFetched() throws {
        let desk = try Desk(answering: [("ETag", "\"1\"")], body: Self.long)
        defer { desk.server.stop() }
        _ = try desk.run()
        desk.stage.binary.home.remove(Self.bodies)
        let run = try desk.run()
        #expect(try run.status == 0 && run.task("a", "source") == "network")
        #expect(desk.conditions == [nil, "\"1\"", nil])
    }

    @Test func aFolderThatOthersMayWriteIsNotUsed() throws {
        let desk = try Desk(answering: Self.fresh, body: Self.long)
        defer { desk.server.stop() }
        try desk.stage.folder.makeFolder("shared")
        try desk.stage.folder.setMode("shared", 0o777)
        let run = try desk.run(session: "cache: { path: shared }")
        #expect(run.status == 0 && run.errorText.contains("can be written by others"))
        #expect(desk.stage.folder.list("shared").isEmpty)
    }

    @Test func thePathIsTheJobs() throws {
        let desk = try Desk(answering: Self.fresh, body: Self.long)
        defer { desk.server.stop() }
        for _ in 1...2 { #expect(try desk.run(session: "cache: { path: kept/here }").status == 0) }
        #expect(desk.count == 1 && desk.stage.folder.list("kept/here").count == 1)
        #expect(!desk.stage.binary.home.exists(Self.bodies))
    }

    // MARK: Several processes

    /// Two jobs write into one store and one folder; each has a cache of its own.
    @Test func runsAtOnceDoNotDisturbEachOther() throws {
        let desk = try Desk { request in
            .respond(200, headers: Self.fresh, body: request.path + (request.path.hasSuffix("0") ? "" : Self.long))
        }
        defer { desk.server.stop() }
        let names = ["one", "two", "three"]
        let tasks = (0..<60).map { "  - { id: t\($0), url: '\(desk.server.url("/\($0)"))' }" }
        for name in names {
            try desk.stage.folder.write("\(name).yaml", "name: \(name)\ntasks:\n" + tasks.joined(separator: "\n"))
        }
        for _ in 1...2 {
            let programs = try names.map { try desk.stage.binary.start(["\($0).yaml", "--no-report"]) }
            for program in programs {
                let result = program.wait()
                #expect(result.exitStatus == 0 && !result.errorText.contains("warning"))
            }
            #expect(desk.count == 180)
        }
        #expect(desk.stage.binary.home.list(Self.bodies).count == 3 * 54)
    }

    /// Whenever it dies, the next run is right: what was kept by then is whole, and the rest is fetched.
    @Test func aRunThatIsKilledLeavesNothingWrong() throws {
        var random = Seeded("aRunThatIsKilledLeavesNothingWrong")
        let desk = try Desk { request in .respond(200, headers: Self.fresh, body: request.path + Self.long) }
        defer { desk.server.stop() }
        let tasks = (0..<40).map { "  - { id: t\($0), url: '\(desk.server.url("/\($0)"))' }" }
        let job = "tasks:\n" + tasks.joined(separator: "\n")
        for round in 0..<Rounds.scaled(4) {
            let program = try desk.stage.start(job)
            usleep(UInt32(5_000 + random.below(60_000)))
            _ = program.send(signal: SIGKILL)
            _ = program.wait()
            guard round % 2 == 1 else { continue }
            let run = try desk.stage.run(job)
            #expect(run.status == 0)
            for number in 0..<40 {
                let text = try run.task("t\(number)", "body.text") ?? ""
                #expect(text.hasPrefix("/\(number)a body") && text.utf8.count == 65_536)
            }
            #expect(run.errorText.contains("warning") == false)
        }
        #expect(try desk.stage.run(job).value("$.totals.cacheHits") == "40")
        #expect(desk.stage.binary.home.list(Self.bodies).count >= 40)
    }

    // MARK: Nothing left

    @Test func anEphemeralSessionLeavesNotOneByte() throws {
        let desk = try Desk(answering: Self.fresh, body: Self.long)
        defer { desk.server.stop() }
        for requests in 1...2 {
            let run = try desk.run(session: "configuration: ephemeral")
            #expect(try run.status == 0 && desk.count == requests && run.task("a", "cache.stored") == "true")
        }
        #expect(desk.stage.binary.home.list().isEmpty && desk.stage.files.isEmpty)
    }

    /// Not even for a moment: no call of the process opens or names a file there.
    @Test(.enabled(if: Strace.isUsable)) func anEphemeralSessionTouchesNoFolder() throws {
        let desk = try Desk(answering: Self.fresh, body: Self.long)
        defer { desk.server.stop() }
        let trace = try TemporaryTree()
        let command = Strace().command(
            trace: trace.path("trace"), calls: ["openat", "open", "creat", "mkdir", "mkdirat", "rename", "renameat2"])
        try desk.stage.folder.write("job.yaml", desk.job(session: "configuration: ephemeral"))
        let result = try desk.stage.binary.start(["job.yaml", "--no-report"], environment: [:], under: command).wait()
        #expect(result.exitStatus == 0)
        let lines = try trace.text("trace").split(separator: "\n")
        #expect(!lines.isEmpty)
        // The socket by which people reach a run is no part of its session.
        let written = lines.filter { line in
            // What another thread interrupted was told with its path before.
            guard !line.contains("/runtime"), !line.contains(" resumed>") else { return false }
            if line.contains("mkdirat"), line.contains("\"runtime\"") || line.contains("\"transfer-run\"") {
                return false
            }
            return line.contains("O_CREAT") || line.contains("O_TMPFILE") || line.contains("mkdir")
                || line.contains("O_WRONLY")
        }
        #expect(written.isEmpty, "\(written)")
    }
}
