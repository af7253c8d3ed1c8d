import Glibc
import SystemIO
import TestSupport
import Testing

/// Filesystems that say no, at whichever call. The task fails by its own name and with the system's words, its old file
/// stays as it is, nothing else is left, what a retry cannot mend is not tried again, and other tasks do not suffer.
@Suite struct DiskFaultTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let call: String
        let errno: Int32
        let name: String
        let error: String
        var when = "1+"
        /// Keys of the task that is hurt.
        var keys = ""

        var testDescription: String { "\(call) \(when): \(name)" }
    }

    private static func cases(
        _ call: String, _ errors: [(Int32, String)], _ error: String, when: String = "1+", keys: String = ""
    ) -> [Case] {
        errors.map {
            let isFull = $0.0 == ENOSPC || $0.0 == EDQUOT
            return Case(
                call: call, errno: $0.0, name: $0.1, error: isFull ? "notEnoughDiskSpace" : error, when: when,
                keys: keys)
        }
    }

    private static let full = [(ENOSPC, "ENOSPC"), (EDQUOT, "EDQUOT")]
    private static let broken = [(EIO, "EIO"), (EROFS, "EROFS")]

    // MARK: Calls that name the folder

    /// The folder is opened first, then a file in it that has no name.
    static let naming =
        cases("openat2", [(EACCES, "EACCES")], "cannotCreateFile", when: "1")
        + cases("openat", full + broken, "cannotCreateFile", when: "1")
        + cases("linkat", full + broken + [(EXDEV, "EXDEV")], "cannotMoveFile")
        // The first finds the old file, the second gives a temporary name; it is tried in two ways.
        + cases("linkat", full + broken, "cannotMoveFile", when: "2+")
        + cases("renameat", full + broken + [(EXDEV, "EXDEV")], "cannotMoveFile")

    @Test(.enabled(if: Strace.isUsable), arguments: naming) func inOneFolder(_ given: Case) throws {
        let setting = try Setting(given)
        defer { setting.server.stop() }
        let injection = Strace.Injection(given.call, .error(given.name), when: given.when)
        let strace = Strace([injection], paths: [setting.stage.folder.path("hurt")])
        try setting.check(setting.run(under: strace))
    }

    static let exhausted = ["openat2", "openat"].flatMap { call in
        cases(call, [(EMFILE, "EMFILE"), (ENFILE, "ENFILE")], "", when: "1")
    }

    /// Where no descriptor is left the task waits for one, and that is no try.
    @Test(.enabled(if: Strace.isUsable), arguments: exhausted) func withoutADescriptor(_ given: Case) throws {
        let setting = try Setting(given)
        defer { setting.server.stop() }
        let injection = Strace.Injection(given.call, .error(given.name), when: given.when)
        let run = try setting.run(under: Strace([injection], paths: [setting.stage.folder.path("hurt")]))
        #expect(run.status == 0, "\(run.errorText)")
        #expect(try run.values("$.tasks[?@.id=='hurt'].attempts[*].number") == ["1", "2"])
        #expect(try run.values("$.tasks[?@.id=='hurt'].waits[*].reason").contains("processLimit"))
        #expect(try setting.stage.text("hurt/file") == Setting.new)
        #expect(setting.stage.files == ["hurt/", "hurt/file", "ok/", "ok/last", "ok/next"])
    }

    // MARK: Calls that only the thread of files makes, and only for this task

    static let finishing =
        cases("fchmod", broken + [(EPERM, "EPERM")], "cannotWriteToFile", keys: "mode: \"0640\"")
        + cases("utimensat", broken, "cannotWriteToFile", keys: "preserveTime: true")
        + cases("sync_file_range", full + broken, "cannotWriteToFile", keys: "session: flushed")

    @Test(.enabled(if: Strace.isUsable), arguments: finishing) func atTheEndOfAFile(_ given: Case) throws {
        let setting = try Setting(given)
        defer { setting.server.stop() }
        let strace = Strace([Strace.Injection(given.call, .error(given.name), when: given.when)])
        try setting.check(setting.run(under: strace))
    }

    // MARK: Writing

    static let writing = cases("pwrite64", full + broken + [(EFBIG, "EFBIG")], "cannotWriteToFile", when: "1")

    @Test(.enabled(if: Strace.isUsable), arguments: writing) func inTheMiddleOfAFile(_ given: Case) throws {
        let setting = try Setting(given)
        defer { setting.server.stop() }
        let injection = Strace.Injection(given.call, .error(given.name), when: given.when)
        guard let run = try setting.run(sabotagedBy: injection) else { return }
        try setting.check(run)
    }

    // MARK: What is told to nobody but who closes a file

    /// As NFS, CIFS and FUSE do: each write went well.
    static let closing =
        cases("close", full + broken, "cannotCloseFile")
        + cases("fsync", full + broken, "cannotWriteToFile", keys: "session: flushed")

    @Test(.enabled(if: Strace.isUsable && MountedFolder.isAllowed), arguments: closing)
    func afterTheLastByte(_ given: Case) throws {
        let setting = try Setting(given)
        defer { setting.server.stop() }
        let mounted = try MountedFolder.ofNoKnownKind(at: setting.stage.folder.path("hurt"))
        try setting.stage.folder.write("hurt/file", "old")
        let injection = Strace.Injection(given.call, .error(given.name), when: given.when)
        guard let run = try setting.run(sabotagedBy: injection) else { return }
        try setting.check(run)
        withExtendedLifetime(mounted) {}
    }

    /// Nothing of the set is put in place.
    @Test(.enabled(if: Strace.isUsable && MountedFolder.isAllowed)) func afterTheLastByteOfAMember() throws {
        let given = Case(call: "close", errno: EIO, name: "EIO", error: "cannotCloseFile")
        let setting = try Setting(given, group: true)
        defer { setting.server.stop() }
        let mounted = try MountedFolder.ofNoKnownKind(at: setting.stage.folder.path("hurt"))
        try setting.stage.folder.write("hurt/set/file", "old")
        guard let run = try setting.run(sabotagedBy: Strace.Injection("close", .error("EIO"))) else { return }
        #expect(run.status == 1)
        #expect(try run.task("hurt", "error.name") == "cannotCloseFile")
        #expect(try run.value("$.groups[0].published") == "false")
        #expect(try setting.stage.text("hurt/set/file") == "old")
        #expect(try setting.stage.folder.contents("hurt/set").count == 1)
        withExtendedLifetime(mounted) {}
    }

    /// Where no close has anything to tell, none is made for it.
    @Test(.enabled(if: Strace.isUsable && MountedFolder.isAllowed)) func aFilesystemOfThisMachineIsNotAsked() throws {
        let setting = try Setting(Case(call: "close", errno: EIO, name: "EIO", error: ""))
        defer { setting.server.stop() }
        let mounted = try MountedFolder.memory(at: setting.stage.folder.path("hurt"), size: "8m")
        try setting.stage.folder.write("hurt/file", "old")
        guard let run = try setting.run(sabotagedBy: Strace.Injection("close", .error("EIO"))) else { return }
        #expect(run.status == 0)
        #expect(try setting.stage.text("hurt/file") == Setting.new)
        withExtendedLifetime(mounted) {}
    }

    /// What the run itself writes: it ends with 4, and an old report stays.
    @Test(.enabled(if: Strace.isUsable), arguments: ["--report", "--events"]) func afterTheLastLine(_ flag: String)
        throws
    {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/start", [.gate("begin")] + .respond(200, body: "go"))
        let binary = try Binary()
        try binary.folder.write("job.yaml", "tasks: [{ id: start, url: \"\(server.url("/start"))\" }]")
        try binary.folder.write("place", "old")
        let program = try binary.start(["job.yaml", flag, "place"] + (flag == "--events" ? ["--no-report"] : []))
        #expect(server.waitForRequests(1, "/start"))
        let strace = Strace([Strace.Injection("close", .error("EIO"))])
        let words = strace.attach(to: program.processID, calls: ["close"])
        let saboteur = try Binary(program: words[0]).start(Array(words.dropFirst()))
        let isAttached = saboteur.waitForOutput("attached")
        server.open(gate: "begin")
        let result = program.wait()
        _ = saboteur.wait()
        guard isAttached else { return print("strace may not attach to a program here") }
        #expect(result.exitStatus == 4)
        #expect(result.errorText.contains("place: Input/output error"), "\(result.errorText)")
        #expect(try binary.folder.text("place").hasPrefix("old") == (flag == "--report"))
        #expect(binary.folder.list() == ["job.yaml", "place"])
    }

    @Test(
        .enabled(if: Strace.isUsable),
        arguments: [
            ("openat2", "1"), ("openat", "1"), ("linkat", "1"), ("linkat", "2"), ("renameat", "1"), ("pwrite64", "1"),
            ("mkdirat", "1"), ("fchmod", "1"), ("utimensat", "1"), ("sync_file_range", "1"), ("syncfs", "1"),
        ])
    func anInterruptedCallIsMadeAgain(_ call: String, _ when: String) throws {
        let keys = "session: flushed, mode: \"0640\", preserveTime: true"
        let setting = try Setting(Case(call: call, errno: EINTR, name: "EINTR", error: "", keys: keys))
        defer { setting.server.stop() }
        let run = try setting.run(sabotagedBy: Strace.Injection(call, .error("EINTR"), when: when))
        guard let run else { return }
        #expect(run.status == 0)
        #expect(try setting.stage.text("hurt/file") == Setting.new)
        #expect(setting.stage.files == ["hurt/", "hurt/file", "ok/", "ok/last", "ok/next"])
    }
}

extension DiskFaultTests {
    /// Three downloads, one after the other, once the server lets them begin; the first is to be hurt.
    struct Setting {
        let server: ScriptedServer
        let stage: Stage
        let job: String
        let given: Case
        static let new = String(repeating: "new and longer ", count: 40_000)

        init(_ given: Case, group: Bool = false) throws {
            self.given = given
            server = try ScriptedServer()
            let time = ("Last-Modified", "Wed, 01 Jan 2020 12:00:00 GMT")
            for name in ["next", "last"] { server.on("/\(name)", .respond(200, headers: [time], body: name)) }
            server.on("/hurt", .respond(200, headers: [time], body: Self.new))
            server.on("/start", [.gate("begin")] + .respond(200, body: "go"))
            stage = try Stage()
            try stage.folder.write("hurt/file", "old")
            let usual = ["session: default", "preserveTime: false"].filter {
                !given.keys.contains($0.prefix { $0 != ":" })
            }
            let keys = (usual + [given.keys]).filter { !$0.isEmpty }.joined(separator: ", ")
            let to = group ? "file, group: set" : "hurt/file"
            job = """
                \(group ? "groups: { set: { to: hurt/set } }" : "")
                limits: { maximumConcurrentTasks: 1 }
                defaults: { retry: { attempts: 3, backoff: { initial: 10ms } } }
                sessions: { default: {}, flushed: { durability: flush } }
                tasks:
                  - { id: start, type: data, url: "\(server.url("/start"))" }
                  - { id: hurt, needs: [start], url: "\(server.url("/hurt"))", to: \(to), existing: replace, \(keys) }
                  - { id: next, needs: [start], url: "\(server.url("/next"))", to: ok/next, preserveTime: false }
                  - { id: last, needs: [start], url: "\(server.url("/last"))", to: ok/last, preserveTime: false }
                """
        }

        func run(under strace: Strace) throws -> Stage.Run {
            server.open(gate: "begin")
            return try stage.run(job, under: strace.command(calls: [given.call]))
        }

        /// The injection strikes the thread of files alone, whose first calls are the hurt task's; `nil` where this
        /// user may not attach to a program.
        func run(sabotagedBy injection: Strace.Injection) throws -> Stage.Run? {
            let program = try stage.start(job)
            defer { server.open(gate: "begin") }
            #expect(server.waitForRequests(1, "/start"))
            let thread = try #require(program.thread(named: "delivery"))
            let words = Strace([injection]).attach(to: thread, calls: [injection.call])
            let saboteur = try Binary(program: words[0]).start(Array(words.dropFirst()))
            let isAttached = saboteur.waitForOutput("attached")
            server.open(gate: "begin")
            let run = try stage.finish(program)
            let said = saboteur.wait().errorText
            if !isAttached { print("strace may not attach to a program here: \(said)") }
            return isAttached ? run : nil
        }

        func check(_ run: Stage.Run) throws {
            #expect(run.status == 1)
            #expect(try run.task("hurt", "error.name") == given.error)
            #expect(try run.task("hurt", "error.errno") == "\(given.errno)")
            let words = SystemError(call: given.call, errno: given.errno).reason
            #expect(try run.task("hurt", "error.message")?.contains(words) == true)
            #expect(try run.task("hurt", "error.message")?.contains("/hurt") == true)
            #expect(try run.task("hurt", "explanation")?.isEmpty == false)
            if given.errno == EACCES, given.error == "cannotCreateFile" {
                #expect(try run.task("hurt", "error.message")?.contains("(owner ") == true)
                #expect(run.errorText.contains("Make that folder writable for the user who runs the job"))
            }
            #expect(try run.values("$.tasks[?@.id=='hurt'].attempts[*].number") == ["1"])
            #expect(server.requests("/hurt").count == 1)
            for name in ["next", "last"] {
                #expect(try run.task(name, "outcome") == "succeeded")
                #expect(try stage.text("ok/\(name)") == name)
            }
            #expect(try stage.text("hurt/file") == "old")
            #expect(stage.files == ["hurt/", "hurt/file", "ok/", "ok/last", "ok/next"])
        }
    }
}
