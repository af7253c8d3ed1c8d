import Glibc
import TestSupport
import Testing

/// Links that another user planted in a folder that all may write, as in `/tmp`.
@Suite(.enabled(if: geteuid() == 0)) struct StrangerTests {
    private let stage: Stage

    init() throws {
        stage = try Stage()
        try stage.folder.makeFolder("shared")
        try stage.folder.makeFolder("victim/deep")
        for file in ["victim/file", "victim/deep/more"] { try stage.folder.write(file, "precious") }
        try plant("shared/file", to: "../victim/file")
        try plant("shared/folder", to: "../victim")
        try stage.folder.setMode("shared", 0o1777)
        try stage.folder.write("job.yaml", "tasks: [{ id: a, url: \"data:,new\", to: here }]\n")
    }

    private func plant(_ path: String, to target: String) throws {
        try stage.folder.link(path, to: target)
        #expect(lchown(stage.folder.path(path), 12_345, 12_345) == 0)
    }

    private var isUntouched: Bool {
        get throws {
            try stage.folder.contents("victim") == [
                "deep/": [], "deep/more": Array("precious".utf8), "file": Array("precious".utf8),
            ]
        }
    }

    @Test(
        arguments: [
            "--report", "--events", "--html", "--junit", "--har", "--trace", "--otlp", "--prometheus", "--markdown",
            "--failed-list",
        ], ["shared/file", "shared/folder/new", "shared/folder/deep/more"])
    func output_behindALinkOfAStranger_isRefused(_ option: String, _ path: String) throws {
        let words = option == "--report" ? [] : ["--no-report"]
        let result = try stage.binary.start(["job.yaml"] + words + [option, path]).wait()
        #expect(result.exitStatus == 4, "\(result.errorText)")
        #expect(result.errorText.contains(" is a link of another user, and is not followed"), "\(result.errorText)")
        #expect(try isUntouched)
    }

    @Test func writtenByOtherCommands_isRefusedToo() throws {
        #expect(try stage.binary.run("job.yaml", "--report", "r.json").exitStatus == 0)
        for words in [
            ["plan", "job.yaml", "--online", "--save", "shared/file"],
            ["report", "merge", "r.json", "r.json", "-o", "shared/file"],
            ["report", "convert", "r.json", "--html", "shared/folder/file"],
            ["init", "-o", "shared/folder/new", "http://127.0.0.1:1/f"],
        ] {
            let result = try stage.binary.start(words).wait()
            #expect(
                result.exitStatus != 0 && result.errorText.contains("a link of another user"),
                "\(words) \(result.errorText)")
        }
        #expect(try isUntouched)
    }

    @Test(
        arguments: ["shared/folder/file", "shared/folder/deep/new/file", "shared/folder/"],
        ["revalidate", "skip", "replace"])
    func download_behindALinkOfAStranger_isRefused(_ to: String, _ existing: String) throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/file", .respond(200, body: "new"))
        let run = try stage.run(
            "tasks: [{ id: a, url: \"\(server.url("/file"))\", to: \(to), existing: \(existing), mode: '0600' }]")
        #expect(run.status == 1)
        #expect(try run.task("a", "error.message")?.contains("a link of another user") == true)
        #expect(try run.task("a", "explanation")?.contains("Remove that link") == true)
        #expect(try isUntouched)
    }

    /// It would remove the victim's files.
    @Test(arguments: ["shared/folder", "shared/folder/deep"])
    func group_behindALinkOfAStranger_isRefused(_ to: String) throws {
        let run = try stage.run(
            """
            groups: { g: { to: \(to), publish: atomic, extraneous: remove } }
            tasks: [{ id: a, group: g, url: "data:,new", to: new }]
            """)
        #expect(run.status == 1)
        #expect(try run.task("a", "error.message")?.contains("a link of another user") == true)
        #expect(try isUntouched)
    }

    @Test func cookieFile_behindALinkOfAStranger_isNotWritten() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/in", .respond(200, headers: [("Set-Cookie", "a=b; Max-Age=60")], body: "in"))
        try plant("shared/cookies", to: "../victim/new")
        let run = try stage.run(
            """
            sessions: { main: { cookies: { file: shared/cookies, save: true } } }
            tasks: [{ id: a, url: "\(server.url("/in"))" }]
            """)
        #expect(run.errorText.contains("a link of another user"), "\(run.errorText)")
        #expect(try isUntouched)
    }

    /// Kernels before 5.6 lack the call that opens a path without links, and some sandboxes forbid it.
    @Test(.enabled(if: Strace.isUsable), arguments: ["ENOSYS", "EPERM"])
    func oldKernel_walksThePath(_ error: String) throws {
        let strace = Strace([Strace.Injection("openat2", .error(error))])
        let run = try stage.run(
            """
            tasks:
              - { id: fine, url: "data:,new", to: new/folder/file }
              - { id: refused, url: "data:,new", to: shared/folder/file, existing: replace }
            """, under: strace.command(calls: ["openat2"]))
        #expect(try run.values("$.tasks[*].outcome") == ["succeeded", "failed"])
        #expect(try stage.text("new/folder/file") == "new" && isUntouched)
    }

    /// A folder of sockets that others may replace is none.
    @Test func sharedRuntimeFolder_isRefused() throws {
        let environment = ["XDG_RUNTIME_DIR": stage.folder.path("shared")]
        let result = try stage.binary.run(arguments: ["daemon"], environment: environment)
        #expect(result.exitStatus != 0 && result.errorText.contains("is no place for sockets"), "\(result.errorText)")
        #expect(stage.folder.list("shared") == ["file@", "folder@"])
    }
}
