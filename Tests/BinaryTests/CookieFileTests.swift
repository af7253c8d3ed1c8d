import Glibc
import TestSupport
import Testing

/// `cookies.file` and `save`, as servers see them and as other programs find the file.
struct CookieFileRunTests {
    private func server() throws -> ScriptedServer {
        let server = try ScriptedServer()
        server.on(
            "/login",
            .respond(
                200, headers: [("Set-Cookie", "sid=opens-it; HttpOnly"), ("Set-Cookie", "lasts=long; Max-Age=600")],
                body: "in"))
        server.on("/page", .respond(200, body: "page"))
        server.on("/broken", .respond(404, body: "none"))
        return server
    }

    private func job(_ server: ScriptedServer, _ path: String, session: String) -> String {
        """
        sessions: { main: { \(session) } }
        tasks: [{ id: a, url: "\(server.url(path))", retry: { attempts: 1 } }]
        """
    }

    @Test(arguments: ["default", "ephemeral"])
    func cookiesOfAnAnswer_areSaved_andSentByTheNextRun(kind: String) throws {
        let server = try server()
        defer { server.stop() }
        let stage = try Stage()
        let session = "configuration: \(kind), cookies: { file: c.txt, save: true }"
        #expect(try stage.run(job(server, "/login", session: session)).status == 0)
        let text = try stage.folder.text("c.txt")
        #expect(text.hasPrefix("# Netscape HTTP Cookie File\n"))
        #expect(text.contains("\n#HttpOnly_127.0.0.1\tFALSE\t/\tFALSE\t0\tsid\topens-it\n"), "\(text)")
        #expect(text.contains("\n127.0.0.1\tFALSE\t/\tFALSE\t1"))
        var facts = stat()
        #expect(stat(stage.folder.path("c.txt"), &facts) == 0 && facts.st_mode & 0o777 == 0o600)
        let run = try stage.run(job(server, "/page", session: session), "-v")
        #expect(run.status == 0)
        #expect(server.requests("/page").map { $0.header("Cookie") } == ["sid=opens-it; lasts=long"])
        let told = (run.report.plainText ?? "") + run.errorText + run.events.compactMap(\.plainText).joined()
        #expect(!told.contains("opens-it"))
        #expect(try stage.folder.text("c.txt").contains("\tsid\topens-it\n"))
    }

    @Test func fileOfAnotherProgram_isSent_andLeftAsItIs() throws {
        let server = try server()
        defer { server.stop() }
        let stage = try Stage()
        let text = "# from curl\n127.0.0.1\tFALSE\t/\tFALSE\t0\tmine\tyes\nnonsense here\n"
        try stage.folder.write("c.txt", text)
        let run = try stage.run(job(server, "/login", session: "cookies: { file: c.txt }"))
        #expect(run.status == 0)
        #expect(server.requests("/login").map { $0.header("Cookie") } == ["mine=yes"])
        #expect(run.errorText.contains("c.txt:3:1: warning: this line is left out: "), "\(run.errorText)")
        #expect(!run.errorText.contains("nonsense"))
        #expect(try stage.folder.text("c.txt") == text)
    }

    @Test func failedRun_savesItsCookiesToo() throws {
        let server = try server()
        defer { server.stop() }
        let stage = try Stage()
        try stage.folder.write("c.txt", "127.0.0.1\tFALSE\t/\tFALSE\t0\tmine\tyes\n")
        let run = try stage.run(job(server, "/broken", session: "cookies: { file: c.txt, save: true }"))
        #expect(run.status == 1)
        #expect(try stage.folder.text("c.txt").contains("\tmine\tyes\n"))
        #expect(stage.folder.list().filter { $0.hasPrefix(".transfer-run") }.isEmpty)
    }

    @Test func missingFile_refusesTheRun_andNotTheCheck() throws {
        let binary = try Binary()
        try binary.folder.write(
            "job.yaml",
            "sessions: { main: { cookies: { file: c.txt } } }\ntasks: [{ id: a, url: 'http://127.0.0.1:1/' }]\n")
        let run = try binary.run("job.yaml", "--no-report")
        #expect(
            run.exitStatus == 2 && run.errorText.contains("c.txt`: no such file [unreadable-file]"), "\(run.errorText)")
        let check = try binary.run("check", "job.yaml")
        #expect(check.exitStatus == 0 && check.errorText.contains("[missing-value]"))
        #expect(mkfifo(binary.folder.path("c.txt"), 0o600) == 0)
        #expect(try binary.run("check", "job.yaml").errorText.contains("not a regular file"))
    }

    @Test func missingFolders_areMade() throws {
        let server = try server()
        defer { server.stop() }
        let stage = try Stage()
        let run = try stage.run(job(server, "/login", session: "cookies: { file: no/such/c.txt, save: true }"))
        #expect(run.status == 0 && !run.errorText.contains("warning"), "\(run.errorText)")
        #expect(try stage.folder.text("no/such/c.txt").contains("opens-it"))
    }

    /// Its owner decides what is in it.
    @Test(.enabled(if: geteuid() == 0)) func fileOfAnotherUser_isRefused() throws {
        let binary = try Binary()
        try binary.folder.write("c.txt", "127.0.0.1\tFALSE\t/\tFALSE\t0\ttheirs\tyes\n")
        #expect(chown(binary.folder.path("c.txt"), 12_345, 12_345) == 0)
        try binary.folder.write(
            "job.yaml",
            "sessions: { main: { cookies: { file: c.txt } } }\ntasks: [{ id: a, url: 'http://127.0.0.1:1/' }]\n")
        for words in [["job.yaml", "--no-report"], ["check", "job.yaml"]] {
            let run = try binary.start(words).wait()
            #expect(
                run.exitStatus == 2 && run.errorText.contains("c.txt`: it belongs to another user"), "\(run.errorText)")
        }
    }

    @Test func placeThatCannotBeWritten_isAWarning() throws {
        let server = try server()
        defer { server.stop() }
        let stage = try Stage()
        try stage.folder.link("c.txt", to: "no/such/c.txt")
        let run = try stage.run(job(server, "/login", session: "cookies: { file: c.txt, save: true }"))
        #expect(run.status == 0)
        #expect(
            run.errorText.contains("warning: the cookies of the session `main` were not saved to "), "\(run.errorText)")
    }

    @Test func access_namesAFileOutside() throws {
        let binary = try Binary()
        try binary.folder.write(
            "job.yaml",
            "sessions: { main: { cookies: { file: ../c.txt, save: true } } }\ntasks: [{ id: a, url: 'http://x.org/' }]\n"
        )
        let check = try binary.run("check", "--explain-access", "job.yaml")
        #expect(check.outputText.contains("read 1 file outside its folder\n"), "\(check.outputText)")
        #expect(check.outputText.contains("write 1 place outside its folder\n"))
    }

    @Test func backgroundSession_readsTheFileAtHandOver_andWritesItAtItsEnd() throws {
        let stage = try BackgroundStage()
        stage.server.on(
            "/login", .respond(200, headers: [("Set-Cookie", "sid=new; HttpOnly"), ("Set-Cookie", "b=2")], body: "in"))
        try stage.stage.folder.write("c.txt", "127.0.0.1\tFALSE\t/\tFALSE\t0\tsid\told\n")
        let run = try stage.stage.run(
            """
            sessions:
              bg:
                configuration: background
                identifier: \(BackgroundStage.identifier)
                cookies: { file: c.txt, save: true }
            tasks: [{ id: a, url: "\(stage.server.url("/login"))", to: a }]
            """)
        #expect(run.status == 0, "\(run.errorText)")
        #expect(stage.server.requests("/login").map { $0.header("Cookie") } == ["sid=old"])
        let text = try stage.stage.folder.text("c.txt")
        #expect(text.contains("\tsid\tnew\n") && text.contains("\tb\t2\n"), "\(text)")
    }
}
