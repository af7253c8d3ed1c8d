import TestSupport
import Testing

/// `import` and `init -- curl …`: a translated job of each format does what it says.
@Suite struct ImportTests {
    private func run(_ text: String, _ name: String, _ server: ScriptedServer, secrets: String = "") throws -> (
        Binary, String
    ) {
        let binary = try Binary()
        try binary.folder.write(name, text)
        let made = try binary.run("import", name)
        #expect(made.exitStatus == 0, "\(made.errorText)")
        try binary.folder.write("job.yaml", made.output)
        try binary.folder.write("s.txt", secrets)
        let check = try binary.run("check", "job.yaml")
        #expect(check.exitStatus == 0, "\(check.errorText)\n\(made.outputText)")
        let run = try binary.run("job.yaml", "--secrets-file", "s.txt")
        #expect(run.exitStatus == 0, "\(run.errorText)\n\(made.outputText)")
        return (binary, run.outputText)
    }

    private func server() throws -> ScriptedServer {
        let server = try ScriptedServer()
        for name in ["a", "b"] { server.on("/\(name)", .respond(200, body: "body of \(name)")) }
        server.on("/form", .respond(200, body: "thanks"))
        server.on("/up", .respond(201))
        server.on("/moved", .respond(302, headers: [("Location", "/a")]))
        return server
    }

    @Test func aScriptOfCurl() throws {
        let server = try server()
        defer { server.stop() }
        let script = """
            #!/bin/sh
            SITE=\(server.origin)
            curl -L "$SITE/moved" -o out/a
            curl -u 'me:pw' -X POST -d 'x=1&y=a b' "$SITE/form"
            curl -T out/a $SITE/up -H 'X-Thing: "q" $1'
            """
        let (binary, output) = try run(script, "fetch.sh", server, secrets: "PASSWORD=pw\n")
        #expect(try binary.folder.text("out/a") == "body of a")
        #expect(output == "thanks")
        let form = try #require(server.requests("/form").first)
        #expect(form.method == "POST" && String(decoding: form.body, as: UTF8.self) == "x=1&y=a b")
        #expect(form.header("Authorization") == "Basic bWU6cHc=")
        let up = try #require(server.requests("/up").first)
        #expect(up.method == "PUT" && String(decoding: up.body, as: UTF8.self) == "body of a")
        #expect(up.header("X-Thing") == "\"q\" $1")
    }

    @Test func commandsOfWget() throws {
        let server = try server()
        defer { server.stop() }
        let (binary, _) = try run(
            "wget -q -P down \(server.url("/a"))\nwget -O b.txt \(server.url("/b"))\n", "w.sh", server)
        #expect(try binary.folder.text("down/a") == "body of a" && binary.folder.text("b.txt") == "body of b")
    }

    @Test func aConfigurationOfCurl() throws {
        let server = try server()
        defer { server.stop() }
        let (binary, _) = try run("url = \"\(server.url("/a"))\"\noutput = \"one file\"\n", "curlrc", server)
        #expect(try binary.folder.text("one file") == "body of a")
    }

    @Test func listsAndAria() throws {
        let server = try server()
        defer { server.stop() }
        let text = "\(server.url("/none"))\t\(server.url("/a"))\n  out=x\n  dir=d\n\(server.url("/b"))\n"
        let (binary, _) = try run(text, "list.txt", server)
        #expect(try binary.folder.text("d/x") == "body of a" && binary.folder.text("b") == "body of b")
    }

    @Test func aMetalink() throws {
        let server = try server()
        defer { server.stop() }
        let text = """
            <metalink xmlns="urn:ietf:params:xml:ns:metalink"><file name="m/a"><size>9</size>
            <url priority="2">\(server.url("/none"))</url><url priority="1">\(server.url("/a"))</url></file></metalink>
            """
        let (binary, _) = try run(text, "x.meta4", server)
        #expect(try binary.folder.text("m/a") == "body of a" && server.requests("/none").isEmpty)
    }

    @Test func aCommandForInit() throws {
        let server = try server()
        defer { server.stop() }
        let binary = try Binary()
        let made = try binary.run("init", "--", "curl", "-s", "-o", "x y", "-w", "%{size}", server.url("/a"))
        #expect(made.exitStatus == 0, "\(made.errorText)")
        #expect(made.errorText.contains("command line:1: warning: `-w` of curl has no equal"))
        #expect(made.errorText.contains("wrote `transfer.yaml`: 1 task."))
        #expect(try binary.run("transfer.yaml").exitStatus == 0 && binary.folder.text("x y") == "body of a")
    }

    @Test(arguments: [["init", "-o", "-", "--"], ["import", "--"]]) func aCommandOfAria(_ words: [String]) throws {
        let server = try server()
        defer { server.stop() }
        let binary = try Binary()
        let made = try binary.run(
            arguments: words + ["/usr/bin/aria2c", "-x4", "-d", "in", "-o", "x", server.url("/a")])
        #expect(made.exitStatus == 0, "\(made.errorText)")
        try binary.folder.write("job.yaml", made.output)
        #expect(try binary.run("job.yaml").exitStatus == 0 && binary.folder.text("in/x") == "body of a")
    }

    @Test func whatIsLeftOut_isCountedAtTheEnd() throws {
        let binary = try Binary()
        let script = "curl -O https://a.test/x\ncurl --frobnicate https://a.test/y\n"
        let made = try binary.run("import", "-", input: script)
        #expect(made.exitStatus == 0 && made.errorText.hasSuffix("\n1 carried over, 1 left out\n"), "\(made.errorText)")
    }

    /// What the server sees of a script is in its order, also where a request takes its time or fails.
    @Test func requestsThatChangeSomething_keepTheirOrder() throws {
        let server = try ScriptedServer { request in
            if request.method == "DELETE" { return .respond(404) }
            return .respond(200, body: request.path == "/get?id=1" ? "got" : "ok")
        }
        defer { server.stop() }
        let binary = try Binary()
        try binary.folder.write("f", "file")
        try binary.folder.write(
            "x.sh",
            """
            #!/bin/bash
            for i in $(seq 1 3); do curl -sf \(server.url("/up")) > /dev/null && break; sleep 1; done
            curl -s -X DELETE \(server.url("/old"))
            curl -s -T f \(server.url("/new"))
            wget -q '\(server.url("/get?id=1"))'
            curl -s -d text=done \(server.url("/tell")) -o - > /dev/null
            wget -qO- \(server.url("/")){a,b} > /dev/null
            """)
        try binary.folder.write("job.yaml", try binary.run("import", "x.sh").output)
        #expect(try binary.run("job.yaml").exitStatus == 1)
        let seen = server.requests().map { "\($0.method) \($0.target)" }
        #expect(
            seen.prefix(5) == ["GET /up", "DELETE /old", "PUT /new", "GET /get?id=1", "POST /tell"], "\(seen)")
        #expect(Set(seen.dropFirst(5)) == ["GET /a", "GET /b"], "\(seen)")
        #expect(try binary.folder.text("get?id=1").isEmpty == false)
    }

    /// A script with functions, arrays, tests of files and values of answers sends what it says, and keeps what is there.
    @Test func aScriptWithFunctionsAndTests() throws {
        let server = try server()
        defer { server.stop() }
        server.on("/login", .respond(200, body: "{\"token\":\"t-1\",\"id\":7}"))
        let md5 = "75614b2f1c16b61e7ee0c673f8857d92"
        let binary = try Binary()
        try binary.folder.write("kept", "as it was")
        try binary.folder.write(
            "x.sh",
            """
            #!/bin/bash
            SITE=\(server.origin)
            OPTS=(-s -H "X-Thing: a b")
            fetch() {
              local name="$1"
              echo "fetching $name"
              curl "${OPTS[@]}" -f -o "$2" "$SITE/$name" || { echo failed; exit 1; }
            }
            [ -f kept ] || fetch none kept
            for n in a.txt b.txt; do fetch "${n%.txt}" "$n"; done
            curl -s -f -o gone "$SITE/gone" || true
            R=$(curl -s "$SITE/login")
            T=$(echo "$R" | jq -r .token)
            ID=$(echo "$R" | jq -r '.id // empty')
            curl -s -H "Authorization: Bearer $T" -b "sid=$SID" -d "id=$ID" "$SITE/form"
            echo "\(md5)  b.txt" | md5sum -c || exit 1
            curl -s -T b.txt "$SITE/up"
            """)
        let made = try binary.run("import", "x.sh")
        #expect(made.exitStatus == 0 && !made.errorText.contains("left out"), "\(made.errorText)\n\(made.outputText)")
        try binary.folder.write("job.yaml", made.output)
        try binary.folder.write("s.txt", "SID=abc\n")
        let run = try binary.run("job.yaml", "--secrets-file", "s.txt")
        #expect(run.exitStatus == 0, "\(run.errorText)\n\(made.outputText)")
        #expect(server.requests("/up").first.map { String(decoding: $0.body, as: UTF8.self) } == "body of b")
        #expect(try binary.folder.text("kept") == "as it was" && binary.folder.text("a.txt") == "body of a")
        #expect(server.requests("/a").first?.header("X-Thing") == "a b")
        let form = try #require(server.requests("/form").first)
        #expect(form.header("Authorization") == "Bearer t-1" && form.header("Cookie") == "sid=abc")
        #expect(String(decoding: form.body, as: UTF8.self) == "id=7")
        #expect(server.requests("/gone").count >= 1 && run.outputText == "thanks", "\(run.outputText)")
    }

    @Test func theHistoryOfAShell() throws {
        let binary = try Binary()
        let made = try binary.run("import", "-", input: "  101  ls\n  102  curl -O https://a.test/x\n  103  history\n")
        #expect(made.exitStatus == 0 && made.errorText.isEmpty, "\(made.errorText)")
        #expect(made.outputText.contains("# standard input:2\n  - id: x\n"), "\(made.outputText)")
    }

    @Test func whatIsNoneOfTheseIsRefused() throws {
        let binary = try Binary()
        try binary.folder.write("x", "hello world\n")
        let none = try binary.run("import", "x")
        #expect(none.exitStatus == 2 && none.output.isEmpty)
        #expect(none.errorText.contains("x:1: warning: this is none of: curl and wget command lines"))
        #expect(try binary.run("import", "gone").errorText.contains("cannot read `gone`: no such file"))
        try binary.folder.write("y", [0xFF, 0xFE])
        #expect(try binary.run("import", "y").errorText.contains("`y` is not UTF-8 text"))
        let piped = try binary.run("import", "-", input: "curl -O https://a.test/x\n")
        #expect(piped.exitStatus == 0 && piped.outputText.contains("# Translated from standard input."))
    }
}
