import TestSupport
import Testing

/// Names and values that are no UTF-8: never another file, never another value.
@Suite struct StrayByteTests {
    /// Beside `k\xff` stands the folder whose name is what a careless reader makes of that.
    private static let neighbour = "k\u{FFFD}"

    /// `$0` is the program, `$@` its arguments, `$k` and `$v` hold a stray byte. What a test cannot name it cannot remove.
    private static func shell(_ script: String) -> [String] {
        let begin = "k=$(printf 'k\\377'); v=$(printf 'a\\377b'); mkdir \"$k\"; "
        return ["/bin/sh", "-c", "\(begin)( \(script) ); s=$?; rm -rf \"$k\"; exit $s"]
    }

    private func start(
        _ job: String, _ arguments: [String], in stage: Stage, _ script: String
    ) throws -> Binary.Result {
        try stage.folder.write("job.yaml", job)
        return try stage.binary.start(arguments, under: Self.shell(script)).wait()
    }

    @Test func aWorkingFolderIsNotItsNeighbour() throws {
        let server = try ScriptedServer { _ in .respond(200) }
        defer { server.stop() }
        let stage = try Stage()
        try stage.folder.write("\(Self.neighbour)/sent", "wrong")
        let job = """
            tasks:
              - { id: up, url: "\(server.url("/up"))", method: PUT, body: { file: sent } }
              - { id: down, url: "data:,x", to: out/x }
            """
        let result = try start(
            job, ["job.yaml"], in: stage, "cp job.yaml \"$k\"; printf right > \"$k/sent\"; cd \"$k\"; \"$0\" \"$@\"")
        #expect(result.exitStatus == 2)
        #expect(
            result.errorText.contains("the working folder's path is not UTF-8 text: `\(stage.folder.path)/k\\xff`"))
        #expect(server.requests().isEmpty)
        #expect(stage.folder.list(Self.neighbour) == ["sent"])
        let version = try start(job, ["--version"], in: stage, "cd \"$k\"; \"$0\" \"$@\"")
        #expect(version.exitStatus == 0)
    }

    @Test(arguments: [
        "run \"$k/job.yaml\"", "check \"$k/job.yaml\"", "job.yaml --directory \"$k\"", "job.yaml --state-dir=\"$k\"",
        "job.yaml --report \"$k/r\"", "job.yaml --events \"$k/e\"", "status --state-dir \"$k\"",
    ]) func anArgumentIsNotItsNeighbour(_ words: String) throws {
        let stage = try Stage()
        try stage.folder.write("\(Self.neighbour)/job.yaml", "tasks: [{ id: a, url: 'data:,x', to: x }]")
        let result = try start(
            "tasks: [{ id: a, url: 'data:,x', to: o/x }]", [], in: stage, "cp job.yaml \"$k\"; \"$0\" \(words)")
        #expect(result.exitStatus == 2)
        #expect(result.errorText.contains("k\\xff"))
        #expect(result.errorText.contains("on the command line is not UTF-8 text"))
        #expect(stage.folder.list(Self.neighbour) == ["job.yaml"])
        #expect(!stage.folder.exists("o"))
    }

    @Test(arguments: ["--set \"q=hidden$v\"", "\"--set=q=hidden$v\""])
    func aGivenValueIsRefusedAndNotShown(_ words: String) throws {
        let result = try start(
            "tasks: [{ id: a, url: 'data:,${q}', to: x }]", ["job.yaml"], in: Stage(), "\"$0\" \"$@\" \(words)")
        #expect(result.exitStatus == 2)
        #expect(result.errorText.contains("q=…` on the command line is not UTF-8 text"))
        #expect(!result.errorText.contains("hidden"))
    }

    @Test(arguments: [
        "HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR", "TRANSFER_RUN_REPORT", "TRANSFER_RUN_STATE_DIR", "NETRC",
    ])
    func aVariableIsNotItsNeighbour(_ name: String) throws {
        let stage = try Stage()
        let result = try start(
            "tasks: [{ id: a, url: 'data:,x', to: o/x }]", ["job.yaml"], in: stage, "\(name)=\"$PWD/$k\" \"$0\" \"$@\"")
        #expect(result.exitStatus == 2)
        let told = "the environment's `\(name)` is not UTF-8 text: `\(stage.folder.path)/k\\xff`"
        #expect(result.errorText.contains(told))
        #expect(stage.folder.list() == ["job.yaml"])
    }

    @Test(arguments: [
        ("${env.X}", "the value of `${env.X}` is not UTF-8 text"),
        ("${env.X:-d}", "the value of `${env.X}` is not UTF-8 text"),
        ("${env.X:?must be}", "the value of `${env.X}` is not UTF-8 text"),
        ("${secret.X}", "the secret `X` cannot be read: the environment's `X` is not UTF-8 text"),
    ]) func aJobsVariableIsRefused(_ reference: String, _ message: String) throws {
        let server = try ScriptedServer { _ in .respond(200) }
        defer { server.stop() }
        let job = """
            tasks: [{ id: a, url: "\(server.url("/a"))", type: data, headers: { X: "\(reference)" } }]
            """
        let result = try start(job, ["job.yaml"], in: Stage(), "X=\"$v\" \"$0\" \"$@\"")
        #expect(result.exitStatus == 2)
        #expect(result.errorText.contains(message))
        #expect(result.errorText.split(separator: "\n").count { $0.contains("error") } == 1, "\(result.errorText)")
        #expect(server.requests().isEmpty)
    }

    @Test func aProxyAndTheFolderOfCredentialsAreRefused() throws {
        let job = "tasks: [{ id: a, url: 'http://127.0.0.1:9/', type: data, headers: { X: '${secret.K}' } }]"
        let proxy = try start(job, ["job.yaml"], in: Stage(), "K=k http_proxy=\"http://$v/\" \"$0\" \"$@\"")
        #expect(proxy.exitStatus == 2)
        #expect(proxy.errorText.contains("the environment's `http_proxy` is not UTF-8 text"))
        let folder = try start(job, ["job.yaml"], in: Stage(), "K=k CREDENTIALS_DIRECTORY=\"$PWD/$k\" \"$0\" \"$@\"")
        #expect(folder.exitStatus == 2)
        #expect(folder.errorText.contains("the environment's `CREDENTIALS_DIRECTORY` is not UTF-8 text"))
    }

    @Test func aSecretsFileSaysThatItIsNotText() throws {
        let result = try start(
            "tasks: [{ id: a, url: 'data:,x', to: x }]", ["job.yaml", "--secrets-file", "s"], in: Stage(),
            "printf 'A=b\\nK=%s\\n' \"$v\" > s; \"$0\" \"$@\"")
        #expect(result.exitStatus == 2)
        #expect(result.errorText.contains("s:2:1: error: not UTF-8 text"))
    }

    /// What no text of ours names goes to commands as it came.
    @Test func otherVariablesReachCommandsByteForByte() throws {
        let server = try ScriptedServer { _ in .respond(200) }
        defer { server.stop() }
        let job = """
            tasks:
              - { id: a, url: "\(server.url("/a"))", method: PUT, body: { stream: { command: [printenv, STRAY] } } }
            """
        let result = try start(job, ["job.yaml"], in: Stage(), "STRAY=\"$v\" \"$0\" \"$@\"")
        #expect(result.exitStatus == 0, "\(result.errorText)")
        #expect(server.requests().first?.body == [0x61, 0xFF, 0x62, 0x0A])
    }

    /// Nor does the background process lose them: a program is found where `PATH` says, and the hook knows the same.
    @Test func aPathHoldsInTheBackground() throws {
        let server = try ScriptedServer { _ in .respond(200, body: "x") }
        defer { server.stop() }
        let scene = try BackgroundScene()
        let head = BackgroundScene.head("org.example.path", ", onFinish: [hook]")
        let script = "printf '#!/bin/sh\nprintf %%s \"$PATH\" >told\n' > \"$k/hook\"; chmod +x \"$k/hook\"; "
        let path = "export PATH=\"$PWD/$k:$PATH\"; printf %s \"$PATH\" > meant; "
        let result = try start(
            "\(head)tasks: [{ id: a, url: '\(server.url("/a"))', to: x }]", ["job.yaml"], in: scene.stage,
            "\(script)\(path)\"$0\" \"$@\"")
        #expect(result.exitStatus == 0, "\(result.errorText)")
        #expect(try scene.folder.bytes("told") == scene.folder.bytes("meant"))
    }

    @Test(arguments: [true, false]) func aPatternPassesNoStrayNameOver(_ hasNeighbour: Bool) throws {
        let server = try ScriptedServer { _ in .respond(200) }
        defer { server.stop() }
        let stage = try Stage()
        if hasNeighbour { try stage.folder.write("in/a\u{FFFD}b", "wrong") }
        let job = """
            tasks:
              - id: "u${f.index}"
                forEach: { f: { files: "in/*" } }
                method: PUT
                url: "\(server.url("/up"))"
                body: { file: "${f.path}" }
            """
        let refused = try start(
            job, ["job.yaml"], in: stage,
            "mkdir -p in; printf right > \"in/$v\"; \"$0\" \"$@\"; s=$?; rm \"in/$v\"; exit $s")
        #expect(refused.exitStatus == 2)
        #expect(refused.errorText.contains("the name of `in/a\\xffb` is not UTF-8 text"))
        #expect(server.requests().isEmpty)
        // What the pattern leaves out is nobody's concern.
        let other = job.replacing("in/*", with: "in/*.csv")
        let result = try start(
            other, ["job.yaml"], in: stage,
            "printf ok > in/c.csv; printf x > \"in/$v\"; \"$0\" \"$@\"; s=$?; rm \"in/$v\"; exit $s")
        #expect(result.exitStatus == 0, "\(result.errorText)")
        #expect(server.requests().map(\.bodyText) == ["ok"])
    }

    /// A report whose link leads where no text leads.
    @Test func aReportBehindALinkIsWrittenThereAndNotBesideIt() throws {
        let stage = try Stage()
        try stage.folder.write("\(Self.neighbour)/r", "theirs")
        let result = try start(
            "tasks: [{ id: a, url: 'data:,x', to: x }]", ["job.yaml", "--report", "link/r"], in: stage,
            "printf old > \"$k/r\"; ln -s \"$k\" link; \"$0\" \"$@\"; s=$?; cat \"$k/r\"; exit $s")
        #expect(result.exitStatus == 0, "\(result.errorText)")
        #expect(result.outputText.hasPrefix("{\"format\":\"transfer-run/report\""), "\(result.outputText)")
        #expect(try stage.text("\(Self.neighbour)/r") == "theirs")
    }

    /// A group's link in such a folder leads to its own tree, not to that of the neighbour's link.
    @Test func theTreeOfALinkIsNotTakenAway() throws {
        let stage = try Stage()
        for folder in ["\(Self.neighbour)/other", "trees/first"] { try stage.folder.makeFolder(folder) }
        try stage.folder.link("\(Self.neighbour)/site", to: "other")
        let job = "groups: { g: { to: link/site } }\ntasks: [{ id: a, group: g, url: 'data:,new', to: a }]"
        let result = try start(
            job, ["job.yaml"], in: stage,
            "ln -s \"$k\" link; ln -s \"$PWD/trees/first\" \"$k/site\"; \"$0\" \"$@\" && cat \"$k/site/a\"")
        #expect(result.exitStatus == 0, "\(result.errorText)")
        #expect(result.outputText.hasSuffix("new"))
    }

    /// What the run writes itself lies in the neighbour: neither in the way of a task nor in a group's folder.
    @Test func placesOfNeighboursAreTwo() throws {
        let stage = try Stage()
        try stage.folder.makeFolder("\(Self.neighbour)/site")
        let job = """
            groups: { g: { to: link/site, extraneous: remove } }
            tasks: [{ id: a, url: "data:,a", to: link/r }, { id: b, group: g, url: "data:,b", to: b }]
            """
        let result = try start(
            job, ["job.yaml", "--report", "\(Self.neighbour)/r", "--events", "\(Self.neighbour)/site/e"], in: stage,
            "ln -s \"$k\" link; mkdir link/site; touch link/site/old; \"$0\" \"$@\" && cat link/r link/site/*")
        #expect(result.exitStatus == 0, "\(result.errorText)")
        #expect(result.outputText.hasSuffix("ab"))
        #expect(stage.folder.exists("\(Self.neighbour)/r") && stage.folder.exists("\(Self.neighbour)/site/e"))
    }

    /// Downloads go where a path's links lead, whatever that is called.
    @Test func aDestinationMayLieBehindALink() throws {
        let stage = try Stage()
        try stage.folder.makeFolder(Self.neighbour)
        let result = try start(
            "tasks: [{ id: a, url: 'data:,x', to: link/x }]", ["job.yaml"], in: stage,
            "ln -s \"$k\" link; \"$0\" \"$@\"; s=$?; cat \"$k/x\"; exit $s")
        #expect(result.exitStatus == 0, "\(result.errorText)")
        #expect(result.outputText == "x")
        #expect(stage.folder.list(Self.neighbour).isEmpty)
    }
}
