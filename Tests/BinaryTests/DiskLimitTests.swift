import Glibc
import SystemIO
import TestSupport
import Testing
import TransferModel

/// Filesystems and limits as they really are: full, closed, failing at the last moment, or never large enough.
@Suite struct DiskLimitTests {
    private static let size = 300_000

    /// The system writes what fits and then says no: a write that is short, and one that fails.
    @Test func aLimitOnTheLengthOfFiles() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/large", .respond(200, patternOf: Self.size))
        server.on("/small", .respond(200, body: "small"))
        let stage = try Stage()
        try stage.folder.write("kept", "old")
        let run = try stage.run(
            """
            tasks:
              - { id: large, url: "\(server.url("/large"))", to: kept, existing: replace }
              - { id: small, url: "\(server.url("/small"))", to: small }
            """, under: ["/usr/bin/prlimit", "--fsize=100000"])
        #expect(run.status == 1)
        #expect(try run.task("large", "error.name") == "cannotWriteToFile")
        #expect(try run.task("large", "error.errno") == "\(EFBIG)")
        #expect(try run.values("$.tasks[?@.id=='large'].attempts[*].number") == ["1"])
        #expect(try stage.text("kept") == "old" && stage.text("small") == "small")
        #expect(stage.files == ["kept", "small"])
    }

    /// Each file in a folder of its own, and fewer descriptors than the tasks would hold: none fails for that.
    @Test(arguments: [64, 128, 256]) func aLimitOnOpenFiles(_ most: Int) throws {
        let server = try ScriptedServer { request in .respond(200, body: request.path) }
        defer { server.stop() }
        let stage = try Stage()
        let count = 300
        let run = try stage.run(
            """
            defaults: { retry: { attempts: 1 } }
            sessions: { default: { maximumConnectionsPerHost: 64 } }
            tasks: [{ id: "t${n}", forEach: { n: 1..\(count) }, url: "\(server.origin)/${n}", to: "d${n}/e${n}/f" }]
            """, under: ["/usr/bin/prlimit", "--nofile=\(most)"])
        #expect(run.status == 0, "\(run.errorText)")
        for number in 1...count { #expect(try stage.text("d\(number)/e\(number)/f") == "/\(number)") }
        #expect(run.errorText.contains("tasks at once instead of 64"))
        #expect(run.errorText.contains("may not open more than \(most) files (`ulimit -n`)"))
    }

    /// What the system allows when asked is taken where a job wants it, and no warning says that it was not there before.
    @Test func aSoftLimitOnOpenFilesIsRaised() throws {
        let server = try ScriptedServer { request in .respond(200, body: request.path) }
        defer { server.stop() }
        let stage = try Stage()
        let run = try stage.run(
            """
            sessions: { default: { maximumConnectionsPerHost: 64 } }
            tasks: [{ id: "t${n}", forEach: { n: 1..200 }, url: "\(server.origin)/${n}", to: "d${n}/f" }]
            """, under: ["/usr/bin/prlimit", "--nofile=100:4096"])
        #expect(run.status == 0, "\(run.errorText)")
        #expect(!run.errorText.contains("warning"))
    }

    @Test(.enabled(if: MountedFolder.isAllowed)) func aFilesystemThatMayNotBeWritten() throws {
        let server = try ScriptedServer { _ in .respond(200, body: "new") }
        defer { server.stop() }
        let stage = try Stage()
        try stage.folder.write("closed/kept", "old")
        let closed = try MountedFolder.readOnly(at: stage.folder.path("closed"))
        let run = try stage.run(
            """
            tasks:
              - { id: over, url: "\(server.url("/a"))", to: closed/kept, existing: replace }
              - { id: new, url: "\(server.url("/a"))", to: closed/new }
              - { id: below, url: "\(server.url("/a"))", to: closed/not/there }
              - { id: open, url: "\(server.url("/a"))", to: open }
            """)
        #expect(run.status == 1)
        for id in ["over", "new", "below"] {
            #expect(try run.task(id, "error.name") == "cannotCreateFile")
            #expect(try run.task(id, "error.errno") == "\(EROFS)")
            #expect(try run.values("$.tasks[?@.id=='\(id)'].attempts[*].number") == ["1"])
        }
        #expect(try stage.text("closed/kept") == "old" && stage.text("open") == "new")
        #expect(stage.files == ["closed/", "closed/kept", "open"])
        withExtendedLifetime(closed) {}
    }

    /// What of a body came with its head lies on the disk already, and is not needed once more.
    @Test(.enabled(if: MountedFolder.isAllowed)) func aBodyThatFitsIsTaken() throws {
        let body = Script.patternBytes(6_000_000)
        let server = try ScriptedServer { _ in .respond(200, body: body) }
        defer { server.stop() }
        for _ in 0..<5 {
            let stage = try Stage()
            try stage.folder.makeFolder("small")
            let small = try MountedFolder.memory(at: stage.folder.path("small"), size: "7m")
            let run = try stage.run("tasks: [{ id: a, url: '\(server.url("/a"))', to: small/a }]")
            #expect(run.status == 0, "\(run.errorText)")
            withExtendedLifetime(small) {}
        }
    }

    /// What stands there and is to stay needs no room for another, also where the server's answer names it.
    @Test(.enabled(if: MountedFolder.isAllowed), arguments: ["skip", "fail"])
    func whatIsToStayNeedsNoRoom(_ existing: String) throws {
        let piece = [Script.Step.pattern(count: 1_000_000), .wait(.milliseconds(20))]
        let name = "attachment; filename=kept"
        let head = Script.head(200, [("Content-Length", "20000000"), ("Content-Disposition", name)])
        let answer = Script([.bytes(head)] + Array(repeating: piece, count: 20).joined())
        let server = try ScriptedServer { _ in answer }
        defer { server.stop() }
        let stage = try Stage()
        try stage.folder.makeFolder("small")
        let small = try MountedFolder.memory(at: stage.folder.path("small"), size: "7m")
        try stage.folder.write("small/kept", "old")
        let task = "id: a, url: '\(server.url("/x"))'"
        let run = try stage.run("tasks: [{ \(task), to: small/, existing: \(existing) }]")
        if existing == "skip" {
            #expect(run.status == 0, "\(run.errorText)")
        } else {
            #expect(try run.task("a", "error.name") == "destinationExists")
        }
        #expect(try stage.text("small/kept") == "old")
        // Another that would have to be written has none.
        try stage.folder.makeFolder("small/other")
        let other = try stage.run("tasks: [{ \(task), to: small/other/, existing: \(existing) }]")
        #expect(try other.task("a", "error.name") == "notEnoughDiskSpace")
        withExtendedLifetime(small) {}
    }

    /// Its end is never announced, so nobody knew that there is no room for it.
    @Test(.enabled(if: MountedFolder.isAllowed), arguments: ["", "limits: { minimumFreeDisk: 100MiB }"])
    func aBodyWithoutALengthEndsWhenTheDiskIsFull(_ limits: String) throws {
        let chunk = Script.chunk(Script.patternBytes(1 << 20))
        let head = Script.head(200, [("Transfer-Encoding", "chunked")])
        let endless = Script([.bytes(head)] + Array(repeating: .bytes(chunk), count: 2_000))
        let server = try ScriptedServer { _ in endless }
        defer { server.stop() }
        let stage = try Stage()
        try stage.folder.makeFolder("small")
        let small = try MountedFolder.memory(at: stage.folder.path("small"), size: "7m")
        let run = try stage.run("\(limits)\ntasks: [{ id: a, url: '\(server.url("/a"))', to: small/a }]", "-v")
        #expect(run.status == 1)
        #expect(try run.task("a", "error.name") == "notEnoughDiskSpace")
        #expect(try run.values("$.tasks[*].attempts[*].number") == ["1"])
        let received = try run.value("$.totals.bytesReceived").flatMap { Int($0) } ?? 0
        #expect(received > 0 && received < 256 << 20)
        #expect(run.errorText.contains(limits.isEmpty ? "is full" : "must stay free"), "\(run.errorText)")
        #expect(stage.files == ["small/"])
        withExtendedLifetime(small) {}
    }

    /// Bytes are free, and no file can be made.
    @Test(.enabled(if: MountedFolder.isAllowed)) func inodesThatAreUsedUp() throws {
        let server = try ScriptedServer { _ in .respond(200, body: "small") }
        defer { server.stop() }
        let stage = try Stage()
        try stage.folder.makeFolder("small")
        let small = try MountedFolder.memory(at: stage.folder.path("small"), size: "1m,nr_inodes=2")
        let run = try stage.run(
            """
            limits: { maximumConcurrentTasks: 1 }
            tasks: [{ id: "t${n}", forEach: { n: 1..2 }, url: "\(server.url("/a"))", to: "small/${n}" }]
            """)
        #expect(run.status == 1)
        #expect(try run.task("t1", "outcome") == "succeeded")
        #expect(try run.task("t2", "error.name") == "notEnoughDiskSpace")
        #expect(try run.task("t2", "error.message")?.contains("all its inodes are used up") == true)
        withExtendedLifetime(small) {}
    }

    /// 10 TB, and the longest that fits into a number.
    @Test(.enabled(if: Strace.isUsable), arguments: [10_000_000_000_000, .max])
    func aLengthThatNoDiskHolds(_ length: Int64) throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/huge", [.bytes(Script.head(200, [("Content-Length", "\(length)")])), .send("a beginning"), .stall])
        server.on("/small", .respond(200, body: "small"))
        let stage = try Stage()
        if try FreeSpace.at(stage.folder.path).bytes > length {
            return print("skipped: this disk holds \(length) bytes")
        }
        try stage.folder.write("kept", "old")
        let trace = stage.binary.home.path("trace")
        let calls = ["fallocate", "ftruncate", "pwrite64", "lseek", "write"]
        let run = try stage.run(
            """
            tasks:
              - { id: huge, url: "\(server.url("/huge"))", to: kept, existing: replace }
              - { id: new, url: "\(server.url("/huge"))", to: new }
              - { id: small, url: "\(server.url("/small"))", to: small }
            """, under: Strace().command(trace: trace, calls: calls))
        #expect(run.status == 1)
        for id in ["huge", "new"] {
            #expect(try run.task(id, "error.name") == "notEnoughDiskSpace")
            #expect(try run.task(id, "error.message")?.contains("\(SizeText.of(length)) needed") == true)
            #expect(try run.values("$.tasks[?@.id=='\(id)'].attempts[*].number") == ["1"])
        }
        #expect(try stage.text("kept") == "old" && stage.text("small") == "small")
        #expect(stage.files == ["kept", "small"])
        let traced = try stage.binary.home.text("trace")
        #expect(traced.contains("small"))
        // The file of events was emptied; nothing was made longer.
        let lengthened = traced.split(separator: "\n").filter { $0.contains("ftruncate(") && !$0.contains(", 0)") }
        #expect(!traced.contains("fallocate(") && lengthened.isEmpty && !traced.contains("a beginning"))
    }

    /// The flush of one filesystem says nothing about another. The files have their names by then, and are whole.
    @Test(
        .enabled(if: Strace.isUsable && MountedFolder.isAllowed),
        arguments: [
            (EIO, "EIO", "cannotWriteToFile"), (ENOSPC, "ENOSPC", "notEnoughDiskSpace"),
        ])
    func aFlushThatFails(_ errno: Int32, _ name: String, _ error: String) throws {
        let server = try ScriptedServer { _ in .respond(200, body: "new") }
        defer { server.stop() }
        let stage = try Stage()
        try stage.folder.makeFolder("bad")
        try stage.folder.makeFolder("good")
        let mounted = try MountedFolder.memory(at: stage.folder.path("bad"), size: "1m")
        let strace = Strace(
            [Strace.Injection("syncfs", .error(name))], paths: [stage.folder.path("bad"), stage.folder.path("bad/two")])
        let run = try stage.run(
            """
            sessions: { default: { durability: flush } }
            tasks:
              - { id: bad, url: "\(server.url("/a"))", to: bad/file }
              - { id: two, url: "\(server.url("/a"))", to: bad/two/file }
              - { id: good, url: "\(server.url("/a"))", to: good/file }
            """, under: strace.command(calls: ["syncfs"]))
        #expect(run.status == 1)
        for id in ["bad", "two"] {
            #expect(try run.task(id, "error.name") == error)
            #expect(try run.task(id, "error.errno") == "\(errno)")
            #expect(try run.task(id, "error.message")?.contains("the new file has its name already") == true)
            #expect(try run.values("$.tasks[?@.id=='\(id)'].attempts[*].number") == ["1"])
        }
        #expect(try run.task("good", "outcome") == "succeeded")
        for file in ["bad/file", "bad/two/file", "good/file"] { #expect(try stage.text(file) == "new") }
        withExtendedLifetime(mounted) {}
    }

    /// Nothing of a group is put in place, and the old set stays.
    @Test(
        .enabled(if: Strace.isUsable),
        arguments: [
            ("mkdirat", ENOSPC, "ENOSPC"), ("mkdirat", EIO, "EIO"), ("linkat", ENOSPC, "ENOSPC"),
            ("linkat", EIO, "EIO"), ("linkat", EXDEV, "EXDEV"), ("renameat2", EIO, "EIO"),
            ("renameat2", ENOSPC, "ENOSPC"), ("syncfs", EIO, "EIO"), ("getdents64", EIO, "EIO"),
        ])
    func aGroup(_ call: String, _ errno: Int32, _ error: String) throws {
        let server = try ScriptedServer { _ in .respond(200, body: "new") }
        defer { server.stop() }
        let stage = try Stage()
        for name in ["a", "deep/b", "more/c"] { try stage.folder.write("site/\(name)", "old") }
        let before = try stage.folder.contents("site")
        // Other threads read folders too, and make those of the state; nobody else makes the other calls.
        let paths = ["getdents64": [stage.folder.path("site")], "mkdirat": [stage.folder.path]][call] ?? []
        let strace = Strace([Strace.Injection(call, .error(error))], paths: paths)
        let run = try stage.run(
            """
            sessions: { default: { durability: flush } }
            groups: { site: { to: site } }
            tasks:
              - { id: a, group: site, url: "\(server.url("/a"))", to: a, existing: replace }
              - { id: b, group: site, url: "\(server.url("/b"))", to: deep/b, existing: replace }
              - { id: alone, url: "\(server.url("/c"))", type: data }
            """, under: strace.command(calls: [call]))
        #expect(run.status == 1)
        #expect(try run.value("$.groups[0].published") == "false")
        let errors = try run.values("$.groups[0].error.message") + run.values("$.tasks[*].error.message")
        #expect(errors.contains { $0?.contains(SystemError(call: call, errno: errno).reason) == true }, "\(errors)")
        #expect(try run.task("alone", "outcome") == "succeeded")
        #expect(try stage.folder.contents("site") == before)
        #expect(stage.files.allSatisfy { !$0.hasPrefix(".transfer-run-") }, "\(stage.files)")
        #expect(server.requests().count == 3)
    }
}
