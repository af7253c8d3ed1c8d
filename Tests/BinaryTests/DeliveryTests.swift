import Glibc
import TestSupport
import Testing
import TransferModel

/// What stands on disk after a run, and how it came there.
@Suite struct DeliveryTests {
    @Test func existingFilesAreTreatedAsTheJobSays() throws {
        let server = try ScriptedServer { _ in .respond(200, body: "new") }
        defer { server.stop() }
        let stage = try Stage()
        for name in ["skip", "replace", "fail", "same"] { try stage.folder.write(name, name == "same" ? "new" : "old") }
        let run = try stage.run(
            """
            tasks:
              - { id: skip, url: "\(server.url("/skip"))", to: skip, existing: skip }
              - { id: replace, url: "\(server.url("/replace"))", to: replace, existing: replace }
              - { id: fail, url: "\(server.url("/fail"))", to: fail, existing: fail }
              - { id: same, url: "\(server.url("/same"))", to: same, existing: replace }
            """)
        #expect(run.status == 1)
        #expect(try ["skip", "replace", "fail", "same"].map { try stage.text($0) } == ["old", "new", "old", "new"])
        #expect(try run.task("skip", "source") == "unchanged")
        #expect(try run.task("fail", "error.name") == "destinationExists")
        #expect(try run.values("$.tasks[*].changed") == ["false", "true", "false", "false"])
        #expect(Set(server.requests().map { $0.target }) == ["/replace", "/same"])
    }

    /// `skip` leaves a file alone; it does not call one right that the job's own checksum contradicts.
    @Test func aSkippedFileIsHeldAgainstItsChecksum() throws {
        let server = try ScriptedServer { _ in .respond(200, body: "new") }
        defer { server.stop() }
        let stage = try Stage()
        for place in ["right", "folder/right", "tree/right"] { try stage.folder.write(place, "new") }
        for place in ["wrong", "folder/wrong", "wood/wrong"] { try stage.folder.write(place, "old") }
        try stage.folder.link("folder/dangling", to: "nowhere")
        let digest = "sha256:11507a0e2f5e69d5dfa40a62a1bd7b6ee57e6bcd85c67c9b8431b36fff21c437"
        var job = "defaults: { existing: skip, checksum: \"\(digest)\", retry: { attempts: 1 } }\ntasks:\n"
        job += "  - { id: dangling, url: \"\(server.url("/dangling"))\", to: folder/ }\n"
        for name in ["right", "wrong"] {
            job += "  - { id: \(name), url: \"\(server.url("/\(name)"))\", to: \(name) }\n"
        }
        for name in ["right", "wrong"] {
            job += "  - { id: in-\(name), url: \"\(server.url("/\(name)"))\", to: folder/ }\n"
            let tree = name == "right" ? "tree" : "wood"
            job += "  - { id: of-\(name), url: \"\(server.url("/\(name)"))\", to: \(name), group: \(tree) }\n"
        }
        let run = try stage.run(job + "groups: { tree: { to: tree }, wood: { to: wood } }\n")
        for kind in ["", "in-", "of-"] {
            #expect(try run.task("\(kind)right", "source") == "unchanged", "\(kind)")
            #expect(try run.task("\(kind)right", "file.checksum")?.contains("11507a0e") == true, "\(kind)")
            #expect(try run.task("\(kind)wrong", "error.name") == "destinationExists", "\(kind)")
        }
        #expect(try run.task("dangling", "error.name") == "destinationExists")
        #expect(run.status == 1 && run.errorText.contains("does not have the `checksum`"))
        for place in ["wrong", "folder/wrong", "wood/wrong"] { #expect(try stage.text(place) == "old") }
    }

    /// What a link leads to is what `existing` asks about: nothing stands there yet.
    @Test func aDanglingLinkMeansANewFile() throws {
        let server = try ScriptedServer { _ in .respond(200, body: "new") }
        defer { server.stop() }
        let stage = try Stage()
        for name in ["skip", "fail", "replace"] { try stage.folder.link(name, to: "new-\(name)") }
        let tasks = ["skip", "fail", "replace"].map {
            "  - { id: \($0), url: \"\(server.url("/\($0)"))\", to: \($0), existing: \($0) }\n"
        }
        let run = try stage.run("tasks:\n" + tasks.joined())
        #expect(run.status == 0)
        #expect(Set(stage.files) == ["skip@", "fail@", "replace@", "new-skip", "new-fail", "new-replace"])
        let again = try stage.run("tasks:\n" + tasks.joined())
        #expect(try again.task("skip", "source") == "unchanged")
        #expect(try again.task("fail", "error.name") == "destinationExists")
        #expect(server.requests().count == 4)
    }

    /// Whatever the server would send: nothing is asked for where no file can be made, and `check` and `plan` say so.
    @Test func aPlaceThatCanBeNoFileIsRefusedBeforeItsRequest() throws {
        let server = try ScriptedServer { _ in .respond(200, body: "x") }
        defer { server.stop() }
        let stage = try Stage()
        for folder in ["folder", "skipped", "named", "kept"] { try stage.folder.makeFolder(folder) }
        try stage.folder.write("file", "x")
        let job = """
            tasks:
              - { id: folder, url: "\(server.url("/a"))", to: folder }
              - { id: skipped, url: "\(server.url("/b"))", to: skipped, existing: skip }
              - { id: below, url: "\(server.url("/c"))", to: file/x }
              - { id: deep, url: "\(server.url("/d"))", to: file/z/y/ }
              - { id: name, url: "data:,named", capture: { it: { regex: "(.*)" } } }
              - { id: captured, url: "\(server.url("/e"))", to: "./${tasks.name.it}" }
              - { id: into, url: "\(server.url("/into"))", to: kept/ }
            """
        let run = try stage.run(job)
        #expect(server.requests().map(\.target) == ["/into"])
        for task in ["folder", "skipped", "captured"] {
            #expect(try run.task(task, "error.name") == "cannotMoveFile")
            #expect(try run.task(task, "error.message")?.hasSuffix(" is a folder") == true)
        }
        for task in ["below", "deep"] {
            #expect(try run.task(task, "error.name") == "cannotCreateFile")
            #expect(try run.task(task, "error.message")?.hasSuffix(": Not a directory") == true)
        }
        #expect(run.errorText.contains("A file stands where `to` needs a folder"))
        #expect(try stage.text("kept/into") == "x" && stage.text("file") == "x")
        let check = try stage.binary.run("check", "job.yaml")
        #expect(check.exitStatus == 0)
        #expect(check.errorText.contains("job.yaml:2:\(job.split(separator: "\n")[1].utf8.count - 7): warning: "))
        #expect(check.errorText.ranges(of: "[place-taken]").count == 4, "\(check.errorText)")
        #expect(check.errorText.contains("/folder is a folder: the task would fail [place-taken]"))
        #expect(check.errorText.contains("a file stands where \(stage.folder.path("file/x")) needs a folder"))
        let plan = try stage.binary.run("plan", "job.yaml").outputText
        #expect(plan.ranges(of: "a file stands where its destination needs a folder").count == 2, "\(plan)")
        #expect(plan.ranges(of: "what stands at its destination is no file").count == 2)
    }

    /// Not when all of it has come: this server never sends it.
    @Test func aLongBodyIsNotFetchedForAFoldersName() throws {
        let server = try ScriptedServer { _ in
            Script([
                .bytes(Script.head(200, [("Content-Length", "\(64 << 20)")])), .bytes(Script.patternBytes(4096)),
                .wait(.seconds(20)),
            ])
        }
        defer { server.stop() }
        let stage = try Stage()
        try stage.folder.makeFolder("out")
        let run = try stage.run("tasks: [{ id: a, url: \"\(server.url("/a"))\", to: out }]")
        #expect(try run.task("a", "error.name") == "cannotMoveFile")
        #expect(try run.task("a", "error.message")?.hasSuffix("/out is a folder") == true)
        #expect(run.errorText.contains("    End `to` in `/` to put the file into that folder.\n"))
    }

    /// However the network cuts it: the pages of the file are written whole, and each once.
    @Test(.enabled(if: Strace.isUsable)) func aLongBodyIsWrittenInWholePages() throws {
        var random = Seeded("aLongBodyIsWrittenInWholePages")
        let body = random.bytes(1_300_000)
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/told", .respond(200, body: body))
        server.on("/untold", [.bytes(Script.head(200, [("Connection", "close")])), .bytes(body), .close])
        let stage = try Stage()
        let trace = stage.binary.home.path("trace")
        let run = try stage.run(
            """
            tasks:
              - { id: told, url: "\(server.url("/told"))", to: told }
              - { id: untold, url: "\(server.url("/untold"))", to: untold }
            """, under: Strace().command(trace: trace, calls: ["pwrite64", "pwritev2"]))
        #expect(run.status == 0)
        #expect(try stage.folder.bytes("told") == body && stage.folder.bytes("untold") == body)
        // pwrite64(5, "bytes"..., count, offset; pwritev2(5, [{iov_base="bytes"..., iov_len=count}], 1, offset
        let written = try stage.binary.home.text("trace").split(separator: "\n").compactMap { line -> Range<Int>? in
            let numbers = (line.split(separator: "\"").last ?? "").split { !("0"..."9").contains($0) }
                .compactMap { Int($0) }
            if line.contains("pwrite64("), numbers.count >= 2 { return numbers[1]..<(numbers[1] + numbers[0]) }
            if line.contains("pwritev2("), numbers.count >= 3 { return numbers[2]..<(numbers[2] + numbers[0]) }
            return nil
        }
        #expect(written.allSatisfy { $0.lowerBound % 4096 == 0 }, "\(written)")
        #expect(written.allSatisfy { $0.upperBound % 4096 == 0 || $0.upperBound == body.count }, "\(written)")
        #expect(written.map(\.count).reduce(0, +) == 2 * body.count, "\(written)")
        // What stays in memory is written in short pieces, what does not in long ones.
        #expect(written.allSatisfy { $0.count <= 256 << 10 && $0.count >= 8 << 10 }, "\(written)")
    }

    @Test func modesTimesAndFolders() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        let time = ("Last-Modified", "Wed, 01 Jan 2020 12:00:00 GMT")
        server.on("/kept", .respond(200, headers: [time], body: "a"))
        server.on("/now", .respond(200, headers: [time], body: "a"))
        let stage = try Stage()
        let run = try stage.run(
            """
            tasks:
              - { id: kept, url: "\(server.url("/kept"))", to: deep/er/, mode: "0640" }
              - { id: now, url: "\(server.url("/now"))", to: now, preserveTime: false }
            """)
        #expect(run.status == 0)
        #expect(stage.files == ["deep/", "deep/er/", "deep/er/kept", "now"])
        #expect(stage.folder.mode("deep/er/kept") == 0o640)
        #expect(modified(stage, "deep/er/kept") == 1_577_880_000)
        #expect(modified(stage, "now") > 1_700_000_000)
    }

    private func modified(_ stage: Stage, _ name: String) -> Int {
        var information = stat()
        return lstat(stage.folder.path(name), &information) == 0 ? information.st_mtim.tv_sec : -1
    }

    @Test(arguments: [
        ("attachment; filename=\"report.pdf\"", "report.pdf"),
        ("attachment; filename=\"../../../tmp/evil\"", "evil"),
        ("attachment; filename=\"/etc/passwd\"", "passwd"),
        ("attachment; filename*=UTF-8''gr%C3%BC%C3%9Fe.txt", "grüße.txt"),
    ])
    func namesFromTheNetworkStayInTheirFolder(_ header: String, _ name: String) throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/get", .respond(200, headers: [("Content-Disposition", header)], body: "x"))
        let stage = try Stage()
        let run = try stage.run("tasks: [{ id: a, url: '\(server.url("/get?id=4"))', to: in/ }]")
        #expect(run.status == 0)
        #expect(stage.files == ["in/", "in/\(name)"])
    }

    @Test func flushedFilesAreReportedAfterTheFlush() throws {
        let server = try ScriptedServer { _ in .respond(200, body: "durable") }
        defer { server.stop() }
        let stage = try Stage()
        let run = try stage.run(
            """
            sessions: { default: { durability: flush } }
            tasks:
              - { id: "t-${n}", forEach: { n: 1..30 }, url: "\(server.origin)/${n}", to: "out/${n}" }
            """)
        #expect(run.status == 0)
        for number in 1...30 { #expect(try stage.text("out/\(number)") == "durable") }
        #expect(try run.values("$.tasks[*].waits[?@.reason=='flush'].duration").count > 0)
        let story = run.story(of: "t-1")
        #expect(story.firstIndex(of: "fileFinished")! < story.firstIndex(of: "taskFinished")!)
    }

    @Test func aFullDiskLeavesTheOldFile() throws {
        let stage = try Stage()
        try stage.folder.makeFolder("small")
        let folder = stage.folder.path("small")
        let mounted = try Binary(program: "/bin/mount").run("-t", "tmpfs", "-o", "size=64k", "none", folder)
        guard mounted.exitStatus == 0 else {
            print("skipped: no right to mount a small filesystem: \(mounted.errorText)")
            return
        }
        defer { _ = try? Binary(program: "/bin/umount").run(folder) }
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/large", .respond(200, patternOf: 1 << 20))
        server.on("/chunked", .chunked(200, (0..<8).map { Script.patternBytes(40_000, from: $0) }))
        server.on("/fits", .respond(200, body: "fits"))
        try stage.folder.write("small/kept", "old")
        let run = try stage.run(
            """
            limits: { maximumConcurrentTasks: 1 }
            tasks:
              - { id: large, url: "\(server.url("/large"))", to: small/kept, existing: replace }
              - { id: chunked, url: "\(server.url("/chunked"))", to: small/new }
              - { id: fits, url: "\(server.url("/fits"))", to: small/fits }
            """)
        #expect(run.status == 1)
        #expect(try stage.text("small/kept") == "old")
        #expect(stage.files == ["small/", "small/fits", "small/kept"])
        for id in ["large", "chunked"] {
            #expect(try run.task(id, "error.name") == "notEnoughDiskSpace")
            // What says its length fails before a byte of it is written.
            #expect(try run.task(id, "error.errno") == (id == "large" ? nil : "\(ENOSPC)"))
            // A full disk does not get better by asking again.
            #expect(try run.values("$.tasks[?@.id=='\(id)'].attempts[*].number") == ["1"])
        }
        #expect(try stage.text("small/fits") == "fits")
    }

    /// Sizes that a job names are added up before the first byte, for each filesystem; what is there already is not.
    @Test func aBatchThatCannotFitIsWarnedAbout() throws {
        let server = try ScriptedServer { _ in .respond(200, body: "x") }
        defer { server.stop() }
        let stage = try Stage()
        let half: Int64 = 1 << 50
        func job(_ sizes: [Int64]) -> String {
            let tasks = sizes.enumerated().map { number, size in
                "  - { id: t\(number), url: '\(server.url("/"))?\(number)', to: out/\(number), expect: { size: \(size) } }"
            }
            return "defaults: { existing: replace }\ntasks:\n" + tasks.joined(separator: "\n")
        }
        let run = try stage.run(job([half, half, 7]))
        #expect(run.errorText.contains("warning: the job is to bring \(half * 2 + 7) bytes to the file system of "))
        #expect(run.errorText.contains("free\n"))
        // A warning is no verdict: each answer is held against what it says of itself.
        #expect(try run.values("$.tasks[*].error.name") == Array(repeating: "unexpectedResponse", count: 3))
        try stage.folder.write("out/0", "x")
        let fits = try stage.run(job([1, 1]))
        #expect(fits.status == 0)
        #expect(!fits.errorText.contains("warning"))
    }

    @Test func aFolderThatMayNotBeWrittenFailsTheTask() throws {
        let server = try ScriptedServer { _ in .respond(200, body: "x") }
        defer { server.stop() }
        let stage = try Stage()
        try stage.folder.write("file", "old")
        let run = try stage.run("tasks: [{ id: a, url: '\(server.url("/a"))', to: file/below }]")
        #expect(run.status == 1)
        #expect(try run.task("a", "error.name") == "cannotCreateFile")
        #expect(try stage.text("file") == "old")
    }
}
