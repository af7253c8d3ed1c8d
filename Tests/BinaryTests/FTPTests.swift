import Glibc
import SystemIO
import TestSupport
import Testing
import TextFormats
import TransferModel

/// Files on an ftp server that nobody here wrote.
@Suite struct FTPTests {
    private let bytes = Script.patternBytes(3_000_001)

    /// Old enough to be known again by its date.
    private func serve(_ bytes: [UInt8], on server: FTPServer, age: Int = 3_600) throws {
        let path = try server.folder.write("file.bin", bytes)
        let times = Array(repeating: timespec(tv_sec: time(nil) - age, tv_nsec: 0), count: 2)
        #expect(utimensat(AT_FDCWD, path, times, 0) == 0)
    }

    @Test func filesComeAsTheyAre() throws {
        let server = try FTPServer()
        try serve(bytes, on: server)
        try server.folder.write("note.txt", "a note\n")
        try server.folder.write("empty", "")
        let stage = try Stage()
        let run = try stage.run(
            """
            tasks:
              - { id: file, url: "\(server.url("file.bin"))", to: file.bin, expect: { size: 3000001 } }
              - { id: note, url: "\(server.url("note.txt"))" }
              - { id: empty, url: "\(server.url("empty"))", to: in/ }
            """)
        #expect(run.status == 0)
        #expect(try stage.folder.bytes("file.bin") == bytes)
        #expect(try run.task("note", "body.text") == "a note\n")
        #expect(try stage.text("in/empty") == "")
        // There is no status and there are no headers, and none are made up.
        #expect(try run.values("$.tasks[*].response.status") == [nil, nil, nil])
        #expect(try run.task("file", "response.headers") == "[]")
        #expect(try run.task("note", "response.mimeType") == "text/plain")
        #expect(try run.task("file", "attempts[0].transactions[0].networkProtocolName") == "ftp")
        #expect(try run.task("file", "source") == "network")
        var facts = stat()
        #expect(stat(stage.folder.path("file.bin"), &facts) == 0)
        #expect(abs(facts.st_mtim.tv_sec - (time(nil) - 3_600)) < 120)
    }

    @Test(arguments: [("nowhere", "fileDoesNotExist")])
    func refusalsHaveTheirNames(_ path: String, _ error: String) throws {
        let server = try FTPServer()
        try serve([1], on: server)
        let run = try Stage().run(
            """
            sessions: { default: { retry: { attempts: 1 } } }
            tasks: [{ id: a, url: "\(server.url(path))", to: a }]
            """)
        #expect(run.status == 1)
        #expect(try run.task("a", "error.name") == error)
        #expect(try run.task("a", "error.message")?.contains("the server said `5") == true)
    }

    /// A reply of 400 and above is for now, one of 500 and above for good.
    @Test(arguments: [1, 3]) func whatIsBusyIsAskedForAgain(_ busy: Int) throws {
        let server = try FTPServer(busy: busy)
        try serve([1], on: server)
        let stage = try Stage()
        let run = try stage.run(job(server))
        #expect(run.status == (busy < 3 ? 0 : 1))
        #expect(try run.task("a", "attempts[0].error.name") == "badServerResponse")
        #expect(try run.task("a", "attempts[0].error.message")?.contains("the server said `450 File busy.`") == true)
        #expect(stage.files == (busy < 3 ? ["a"] : []))
    }

    /// From the URL or from the session; a wrong one has its name and its place in no output.
    @Test func logins() throws {
        let server = try FTPServer()
        let run = try Stage().run(
            """
            sessions:
              default: { credentials: [{ host: "127.0.0.1:\(server.port)", user: u, password: p }] }
              wrong: { retry: { attempts: 1 }, credentials: [{ host: 127.0.0.1, user: u, password: not-the-password }] }
            tasks:
              - { id: session, url: "\(server.url("a"))", body: { data: "one" } }
              - { id: url, url: "\(server.url("b", login: "u:p@"))", body: { data: "two" } }
              - { id: wrong, session: wrong, url: "\(server.url("c"))", body: { data: "three" }, allowFailure: true }
            """)
        #expect(run.status == 0)
        #expect(try server.folder.text("a") == "one" && server.folder.text("b") == "two")
        #expect(try run.task("wrong", "error.name") == "userAuthenticationRequired")
        #expect(!server.folder.exists("c"))
        for text in [run.errorText, run.report.plainText ?? ""] { #expect(!text.contains("not-the-password")) }
    }

    /// Each task goes as whom its URL names, over whatever connections there are.
    @Test func nobodyGoesAsSomebodyElse() throws {
        let server = try FTPServer()
        try server.folder.write("a", "a")
        let run = try Stage().run(
            """
            tasks:
              - { id: one, url: "\(server.url("a", login: "u:p@"))" }
              - { id: two, needs: [one], url: "\(server.url("a"))" }
              - { id: wrong, needs: [two], url: "\(server.url("a", login: "u:x@"))", allowFailure: true,
                  retry: { attempts: 1 } }
              - { id: three, needs: [wrong], url: "\(server.url("a", login: "u:p@"))" }
            """)
        #expect(run.status == 0)
        #expect(try run.task("wrong", "error.name") == "userAuthenticationRequired")
        let users = server.commands.filter { $0.hasPrefix("USER") }
        #expect(users.prefix(3) == ["USER u", "USER anonymous", "USER u"])
    }

    /// What a server says too much is no answer to every later command.
    @Test func oneWordTooManyCostsOneAttempt() throws {
        let server = try FTPServer(late: 50, ending: "226 One.\r\n226 Two.")
        try server.folder.write("a", Script.patternBytes(10_000))
        let tasks = (1...4).map { "- { id: t\($0), url: \"\(server.url("a"))\", to: f\($0) }" }
        let run = try Stage().run(
            """
            limits: { maximumConcurrentTasks: 1 }
            sessions: { default: { configuration: ephemeral, retry: { backoff: { initial: 10ms } } } }
            tasks:
              \(tasks.joined(separator: "\n  "))
            """)
        #expect(run.status == 0)
    }

    @Test func uploadsArrive() throws {
        let server = try FTPServer(isOpen: true)
        let stage = try Stage()
        try stage.folder.write("up.bin", bytes)
        let run = try stage.run(
            """
            tasks:
              - { id: file, url: "\(server.url("up.bin"))", body: { file: up.bin } }
              - { id: text, url: "\(server.url("up.txt"))", body: { data: "hello" } }
            """)
        #expect(run.status == 0)
        #expect(try server.folder.bytes("up.bin") == bytes)
        #expect(try server.folder.text("up.txt") == "hello")
    }

    /// A file is asked for or stored, and nothing else is put into ftp's words.
    @Test(arguments: ["method: HEAD", "method: POST", "method: PUT", "type: data, body: { data: x }", "method: DELETE"])
    func otherMethodsAreRefused(_ keys: String) throws {
        let server = try FTPServer()
        try server.folder.write("note.txt", "a note")
        let run = try Stage().run("tasks: [{ id: a, url: \"\(server.url("note.txt"))\", \(keys) }]")
        #expect(run.status == 1)
        #expect(try run.task("a", "error.name") == "unsupportedURL")
        #expect(try server.folder.text("note.txt") == "a note")
    }

    @Test func anUploadThatMayNotBeIsAnError() throws {
        let server = try FTPServer()
        let run = try Stage().run(
            """
            tasks:
              - { id: a, url: "\(server.url("up.txt"))", body: { data: "hello" }, retry: { attempts: 1 } }
              - { id: b, url: "\(server.url("folder/"))", body: { data: "hello" } }
              - { id: c, url: "\(server.url("file"))", method: DELETE }
            """)
        #expect(run.status == 1)
        #expect(try run.task("a", "error.name") == "badServerResponse")
        #expect(try run.task("b", "error.name") == "badURL")
        #expect(try run.task("c", "error.name") == "unsupportedURL")
    }

    private func job(_ server: FTPServer) -> String {
        """
        name: ftp
        defaults: { timeoutForRequest: 4s, retry: { attempts: 3, backoff: { initial: 10ms } } }
        tasks: [{ id: a, url: "\(server.url("file.bin"))", to: a }]
        """
    }

    @Test func whatBreaksOffIsGoneOnWith() throws {
        let server = try FTPServer(cutAfter: 1_000_000, cuts: 1)
        try serve(bytes, on: server)
        let stage = try Stage()
        let run = try stage.run(job(server))
        #expect(run.status == 0)
        #expect(try stage.folder.bytes("a") == bytes)
        let from = try #require(Int(run.task("a", "attempts[1].resumedFrom") ?? ""))
        #expect(from >= 1_000_000 && server.commands.contains("REST \(from)"))
        #expect(try run.task("a", "source") == "resumed")
    }

    /// A file of the last minute may have changed within its date's second; a server without dates or sizes proves
    /// nothing, and one without `REST` cannot begin in the middle.
    @Test(arguments: [([], 0), (["MDTM"], 3_600), (["SIZE"], 3_600), (["REST"], 3_600)])
    func whatCannotBeKnownAgainStartsOver(_ without: [String], _ age: Int) throws {
        let server = try FTPServer(cutAfter: 1_000_000, cuts: 1, without: without)
        try serve(bytes, on: server, age: age)
        let stage = try Stage()
        let run = try stage.run(job(server))
        #expect(run.status == 0)
        #expect(try stage.folder.bytes("a") == bytes)
        #expect(try run.task("a", "attempts[1].resumedFrom") == "0")
    }

    @Test func anotherVersionIsNeverMixedIn() throws {
        let server = try FTPServer(rate: 600_000)
        try serve(bytes, on: server)
        let stage = try Stage()
        let program = try stage.start(job(server))
        waitUntil { stage.hasReceived(200_000, of: "a") }
        program.send(signal: SIGTERM)
        let stopped = try stage.finish(program)
        #expect(stopped.status == 143)
        let other = bytes.reversed().map { $0 ^ 0x55 }
        try serve(other, on: server, age: 7_200)
        let run = try stage.run(job(server))
        #expect(run.status == 0)
        #expect(try stage.folder.bytes("a") == other)
        #expect(server.commands.contains { $0.hasPrefix("REST ") && $0 != "REST 0" })
        #expect(try run.task("a", "attempts[0].startedOver")?.isEmpty == false)
    }

    @Test func theNextRunGoesOn() throws {
        let server = try FTPServer(rate: 600_000)
        try serve(bytes, on: server)
        let stage = try Stage()
        let program = try stage.start(job(server))
        waitUntil { stage.hasReceived(200_000, of: "a") }
        program.send(signal: SIGTERM)
        #expect(try stage.finish(program).status == 143)
        let run = try stage.run(job(server))
        #expect(run.status == 0)
        #expect(try stage.folder.bytes("a") == bytes)
        #expect(try Int(run.task("a", "attempts[0].resumedFrom") ?? "") ?? 0 > 0)
    }

    @Test func hostLimitsCountItsConnections() throws {
        let server = try FTPServer()
        for number in 1...20 { try server.folder.write("f\(number)", "content \(number)") }
        let stage = try Stage()
        let run = try stage.run(
            """
            sessions: { default: { maximumConnectionsPerHost: 2 } }
            tasks: [{ id: "t-${n}", forEach: { n: 1..20 }, url: "\(server.url("f"))${n}", to: out/ }]
            """)
        #expect(run.status == 0)
        #expect(try stage.text("out/f20") == "content 20")
        #expect(server.peakConnections <= 2)
        #expect(Int(try run.value("$.sessions[0].connectionsReused") ?? "") ?? 0 >= 18)
    }

    @Test func checksumsAndLimitsCount() throws {
        let server = try FTPServer()
        try serve(bytes, on: server)
        try server.folder.write("SHA256SUMS", "\(String(repeating: "0", count: 64))  file.bin\n")
        let run = try Stage().run(
            """
            defaults: { retry: { attempts: 1 } }
            tasks:
              - { id: sum, url: "\(server.url("file.bin"))", to: a, checksum: { from: "\(server.url("SHA256SUMS"))" } }
              - { id: long, url: "\(server.url("file.bin"))", to: b, maximumSize: 1000 }
            """)
        #expect(run.status == 1)
        #expect(try run.task("sum", "error.name") == "checksumMismatch")
        #expect(try run.task("long", "error.name") == "dataLengthExceedsMaximum")
    }

    // MARK: The word that all was sent

    /// Ten requests one after the other: nothing of theirs waits for an ftp server.
    private func chain(_ server: ScriptedServer) -> String {
        server.on(
            "/chain", [.wait(.milliseconds(30)), .bytes(Script.head(200, [("Content-Length", "2")])), .send("ok")])
        return (0..<10).map { number in
            let needs = number == 0 ? "" : ", needs: [c\(number - 1)]"
            return "  - { id: c\(number), url: \"\(server.url("/chain"))\"\(needs) }"
        }.joined(separator: "\n")
    }

    /// The tasks in the order of their ends.
    private func ends(_ run: Stage.Run) -> [String] {
        run.events.filter { $0["event"]?.plainText == "taskFinished" }.compactMap { $0["task"]?.plainText }
    }

    /// It takes what it is sent more slowly than it is sent, and says so when it has it all.
    @Test func anUploadMayTakeItsTime() throws {
        let (slow, other, web) = (
            try FTPServer(rate: 500_000, isOpen: true), try FTPServer(isOpen: true), try ScriptedServer()
        )
        defer { web.stop() }
        try serve(bytes, on: other)
        let stage = try Stage()
        try stage.folder.write("up.bin", bytes)
        let run = try stage.run(
            """
            defaults: { timeoutForRequest: 3s, retry: { attempts: 1 } }
            tasks:
              - { id: slow, url: "\(slow.url("up.bin"))", body: { file: up.bin } }
              - { id: put, url: "\(other.url("put.bin"))", bandwidth: 600kB/s, body: { file: up.bin } }
              - { id: get, url: "\(other.url("file.bin"))", bandwidth: 600kB/s, to: a }
            \(chain(web))
            """)
        #expect(run.status == 0, "\(run.errorText)")
        #expect(try slow.folder.bytes("up.bin") == bytes)
        #expect(try other.folder.bytes("put.bin") == bytes)
        #expect(try stage.folder.bytes("a") == bytes)
        #expect(ends(run).first { !$0.hasPrefix("c") } != nil && ends(run).prefix(10).last == "c9")
        #expect(slow.commands.count { $0.hasPrefix("STOR") } == 1)
    }

    /// Nobody waits for it but its own tasks, for no longer than for any silence, and nobody takes it for the next answer.
    @Test(arguments: [true, false]) func whoSaysItLateIsWaitedFor(_ isUpload: Bool) throws {
        let (late, web) = (try FTPServer(late: 3_500, isOpen: true), try ScriptedServer())
        defer { web.stop() }
        try serve(bytes, on: late)
        let stage = try Stage()
        try stage.folder.write("up.bin", bytes)
        func job(_ limit: String) -> String {
            let rest = isUpload ? "body: { file: up.bin }" : "to: a, resume: false"
            return """
                defaults: { timeoutForRequest: \(limit), retry: { attempts: 2, backoff: { initial: 10ms } } }
                tasks:
                  - { id: a, url: "\(late.url(isUpload ? "put.bin" : "file.bin"))", \(rest) }
                \(chain(web))
                """
        }
        let run = try stage.run(job("20s"))
        #expect(run.status == 0, "\(run.errorText)")
        #expect(try run.values("$.tasks[0].attempts[*].outcome") == ["succeeded"])
        #expect(try isUpload ? late.folder.bytes("put.bin") == bytes : stage.folder.bytes("a") == bytes)
        #expect(ends(run).last == "a")
        let hasty = try stage.run(job("1s"))
        #expect(hasty.status == 1)
        #expect(try hasty.task("a", "error.name") == "timedOut")
        #expect(try hasty.task("a", "error.message")?.contains("did not say for 1") == true)
        #expect(try hasty.task("a", "attempts[1].error.name") == "timedOut")
        #expect(try hasty.task("c9", "outcome") == "succeeded")
        #expect(late.commands.count { $0.hasPrefix("USER") } == 3)
    }

    /// Short ones are over before libcurl has read that they begin: what it then has of the end is nowhere to be seen.
    @Test func shortFilesWaitForNothing() throws {
        let server = try FTPServer(isOpen: true)
        for number in 0..<100 { try server.folder.write("f\(number)", String(repeating: "x", count: number * 50)) }
        let stage = try Stage()
        let run = try stage.run(
            """
            sessions: { default: { maximumConnectionsPerHost: 3, timeoutForRequest: 20s, retry: { attempts: 1 } } }
            tasks:
              - { id: "get-${n}", forEach: { n: 0..99 }, url: "\(server.url("f"))${n}", to: out/ }
              - { id: "put-${n}", forEach: { n: 0..99 }, url: "\(server.url("p"))${n}", body: { data: "some${n}" } }
              - { id: empty, url: "\(server.url("none"))", body: { data: "" } }
            """)
        // What waits for something that never comes fails once its time is over.
        #expect(run.status == 0, "\(run.errorText)")
        #expect(try stage.text("out/f99").utf8.count == 99 * 50)
        #expect(try server.folder.text("p99") == "some99")
    }

    @Test func aFileThatIsLongerThanItsSizeIsNotWhole() throws {
        let server = try FTPServer(sizeOff: -1_000_001)
        try serve(bytes, on: server)
        let stage = try Stage()
        let run = try stage.run(job(server))
        #expect(run.status == 1)
        #expect(try run.task("a", "error.name") == "networkConnectionLost")
        #expect(try run.task("a", "error.message")?.contains("more than the 2000000 bytes") == true)
        // Nothing of it is gone on with.
        #expect(try run.values("$.tasks[0].attempts[*].resumedFrom") == ["0", "0", "0"])
        #expect(!stage.folder.exists("a"))
    }

    /// What a server says to our farewell is nobody's business.
    @Test func nobodyWaitsForAFarewell() throws {
        let server = try FTPServer(mute: ["QUIT"])
        try serve(bytes, on: server)
        let stage = try Stage()
        let start = Clocks.instant()
        let run = try stage.run(job(server))
        #expect(run.status == 0)
        #expect(Clocks.instant() - start < .seconds(60))
        #expect(happens { server.commands.contains("QUIT") })
    }

    /// A host that says why it does not take something is there.
    @Test func aRefusalIsAnAnswer() throws {
        let server = try FTPServer(ending: "451 Local error.", isOpen: true)
        let run = try Stage().run(
            """
            sessions: { default: { maximumConnectionsPerHost: 2, retry: { attempts: 2, backoff: { initial: 10ms } } } }
            tasks: [{ id: "t${n}", forEach: { n: 1..20 }, url: "\(server.url("f"))${n}", body: { data: x } }]
            """)
        #expect(run.status == 1)
        #expect(try run.values("$.tasks[?@.attempts[1]].id").count == 20)
        #expect(try run.values("$.tasks[*].waits[?@.reason == 'hostParked'].reason") == [])
    }
}
