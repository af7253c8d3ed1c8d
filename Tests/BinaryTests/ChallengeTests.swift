import HTTPRules
import SystemIO
import TestSupport
import Testing
import TextFormats
import TransferModel

/// Who a run is where a server asks, seen from the server.
@Suite struct ChallengeTests {
    static let password = "open sesame"
    static let basic = "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="
    private static let asks: Script = .respond(401, headers: [("WWW-Authenticate", "Basic realm=\"r\"")], body: "who?")

    /// Lets Aladdin in, whatever he asks for.
    private func server(offering offers: String...) throws -> ScriptedServer {
        let offers = offers.isEmpty ? ["Basic realm=\"r\""] : offers
        return try ScriptedServer { request in
            if request.header("Authorization") == Self.basic { return .respond(200, body: "in") }
            return .respond(401, headers: offers.map { ("WWW-Authenticate", $0) }, body: "who?")
        }
    }

    private static let aladdin = "{ user: Aladdin, password: \"\(password)\" }"

    private func job(_ url: String, _ members: String = "credentials: [\(aladdin)]", session: String = "") -> String {
        """
        sessions: { default: { configuration: ephemeral, \(session) } }
        tasks: [{ id: a, url: "\(url)", \(members) }]
        """
    }

    private func sent(_ server: ScriptedServer, _ path: String? = nil) -> [String?] {
        server.requests(path).map { $0.header("Authorization") }
    }

    private func told(_ run: Stage.Run, _ task: String = "a") throws -> [String] {
        try JSONPath("$.tasks[?@.id=='\(task)'].challenges[*]").select(from: run.report).map { challenge in
            ["method", "disposition", "previousFailureCount"].map { challenge[$0]?.plainText ?? "" }
                .joined(separator: " ")
        }
    }

    /// No output of the run says it, in any form.
    private func keepsSecret(_ run: Stage.Run, _ stage: Stage, _ secrets: String...) throws {
        var all = run.errorText + run.result.outputText + (run.report.plainText ?? "")
        all += run.events.compactMap(\.plainText).joined()
        for name in stage.files where !name.hasSuffix("/") { all += (try? stage.text(name)) ?? "" }
        for secret in secrets { #expect(!all.contains(secret), "\(secret)") }
    }

    /// Whoever cannot be answered is told of, with the reason; a body that stands in the job is at hand.
    @Test func aDigestOfABodyInAFileIsToldAsUnanswered() throws {
        let server = try ScriptedServer { request in
            if request.header("Authorization")?.contains("qop=auth-int") == true { return .respond(201) }
            return .respond(401, headers: [("WWW-Authenticate", "Digest realm=\"r\", nonce=\"n\", qop=\"auth-int\"")])
        }
        defer { server.stop() }
        let stage = try Stage()
        try stage.folder.write("data", "all of it")
        let run = try stage.run(
            """
            sessions: { default: { configuration: ephemeral, credentials: [\(Self.aladdin)] } }
            defaults: { type: upload }
            tasks:
              - { id: file, url: "\(server.url("/file"))", body: { file: data } }
              - { id: text, url: "\(server.url("/text"))", body: { data: all of it } }
            """)
        #expect(try told(run, "file") == ["digest default 0"])
        #expect(try told(run, "text") == ["digest use 0"])
        #expect(try run.task("text", "outcome") == "succeeded")
        #expect(try run.task("file", "error.message")?.contains("its Digest challenge cannot be answered") == true)
        #expect(server.requests("/file").count == 1)
    }

    /// Who asks before the body is read may go on to take the body for the next request, or wait for it.
    @Test func aBodyThatNobodyReadIsLeftWithItsConnection() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.onHead("/a") { request in
            if request.header("Authorization") == Self.basic { return [.readBody] + .respond(201) }
            return [.ignoreBody, .wait(.milliseconds(150))] + Self.asks
        }
        let stage = try Stage()
        try stage.folder.write("data", Script.patternBytes(60_000))
        let run = try stage.run(
            job(server.url("/a"), "credentials: [\(Self.aladdin)], method: PUT, body: { file: data }"))
        #expect(run.status == 0, "\(run.errorText)")
        #expect(server.requests("/a").map(\.connection) == [1, 2])
    }

    // MARK: Basic

    @Test func aPasswordOpens() throws {
        let server = try ScriptedServer { request in
            guard let shown = request.header("Authorization") else { return Self.asks }
            return shown == Self.basic ? .respond(200, body: "you said \(shown)") : Self.asks
        }
        defer { server.stop() }
        let stage = try Stage()
        let run = try stage.run(job(server.url("/a")), "-v")
        #expect(run.status == 0)
        #expect(sent(server) == [nil, Self.basic])
        #expect(server.totalConnections == 1)
        #expect(try told(run) == ["basic use 0"])
        #expect(try run.value("$.tasks[0].challenges[0].host") == "127.0.0.1:\(server.port)")
        #expect(try run.value("$.tasks[0].challenges[0].realm") == "r")
        #expect(try run.value("$.tasks[0].challenges[0].level") == "task")
        #expect(run.story(of: "a").filter { ["challenge", "response"].contains($0) } == ["challenge", "response"])
        try keepsSecret(run, stage, Self.password, String(Self.basic.dropFirst(6)))
    }

    @Test func aWrongPasswordIsSentOnce() throws {
        let server = try server()
        defer { server.stop() }
        let members = "credentials: [{ user: Aladdin, password: shut-sesame }], retry: { attempts: 3, statuses: [401] }"
        let run = try Stage().run(job(server.url("/a"), members))
        #expect(run.status == 1)
        // The next attempts know.
        #expect(sent(server).count { $0 != nil } == 1)
        #expect(try run.value("$.tasks[0].response.status") == "401")
        #expect(try run.value("$.tasks[0].body.text") == "who?")
        #expect(try run.value("$.tasks[0].error.name") == "unexpectedResponse")
        let one = try Stage().run(job(server.url("/b"), "credentials: [{ user: Aladdin, password: shut-sesame }]"))
        #expect(sent(server, "/b").count == 2)
        #expect(try told(one) == ["basic use 0", "basic default 1"])
    }

    @Test func theNextTaskIsLetInAtOnce() throws {
        let server = try server()
        defer { server.stop() }
        func run(_ persistence: String) throws -> [String?] {
            let credential = "{ user: Aladdin, password: \"\(Self.password)\", persistence: \(persistence) }"
            let run = try Stage().run(
                """
                sessions: { default: { configuration: ephemeral, credentials: [\(credential)] } }
                tasks:
                  - { id: a, url: "\(server.url("/\(persistence)/a"))" }
                  - { id: b, needs: [a], url: "\(server.url("/\(persistence)/b"))" }
                  - { id: c, needs: [b], url: "\(server.url("/c"))" }
                """)
            #expect(run.status == 0)
            return sent(server, "/\(persistence)/b")
        }
        #expect(try run("session") == [Self.basic])
        #expect(try run("none") == [nil, Self.basic])
        // Another folder may be another realm's.
        #expect(sent(server, "/c") == [nil, Self.basic, nil, Self.basic])
    }

    @Test func permanentIsForTheNextRunToo() throws {
        let server = try server()
        defer { server.stop() }
        let stage = try Stage()
        func run(_ password: String, _ path: String) throws -> [String?] {
            let credential = "{ user: Aladdin, password: \"\(password)\", persistence: permanent }"
            let run = try stage.run(
                """
                name: permanent
                tasks: [{ id: a, url: "\(server.url(path))", credentials: [\(credential)] }]
                """)
            try keepsSecret(run, stage, Self.password)
            return sent(server, path)
        }
        #expect(try run(Self.password, "/a/1") == [nil, Self.basic])
        #expect(try run(Self.password, "/a/2") == [Self.basic])
        // The job says otherwise now.
        #expect(try run("shut sesame", "/a/3").first == .some(nil))
    }

    @Test func preemptive() throws {
        let server = try server()
        defer { server.stop() }
        let credential = "{ user: Aladdin, password: \"\(Self.password)\", preemptive: true }"
        let run = try Stage().run(job(server.url("/a"), "credentials: [\(credential)]"))
        #expect(run.status == 0)
        #expect(sent(server) == [Self.basic])
        #expect(try told(run) == [])
    }

    @Test func aURLsOwnNameAndPassword() throws {
        let server = try server()
        defer { server.stop() }
        let url = server.url("/a").replacing("://", with: "://Aladdin:open%20sesame@")
        let stage = try Stage()
        let run = try stage.run(job(url, "to: file"))
        #expect(run.status == 0)
        #expect(sent(server) == [nil, Self.basic])
        #expect(try stage.text("file") == "in")
        try keepsSecret(run, stage, "open%20sesame", "open sesame")
    }

    @Test func aTokenFromTheSecrets() throws {
        let server = try ScriptedServer { request in
            let shown = request.header("Authorization") ?? ""
            return shown == "Bearer t0ken-of-mine"
                ? .respond(200, body: shown) : .respond(401, headers: [("WWW-Authenticate", "Bearer")])
        }
        defer { server.stop() }
        let stage = try Stage()
        let job = """
            secrets: { TOKEN: { env: MY_TOKEN, hosts: [127.0.0.1] } }
            sessions: { default: { configuration: ephemeral, credentials: [{ token: "${secret.TOKEN}" }] } }
            tasks: [{ id: a, url: "\(server.url("/a"))" }]
            """
        let run = try stage.run(job, environment: ["MY_TOKEN": "t0ken-of-mine"])
        #expect(run.status == 0)
        try keepsSecret(run, stage, "t0ken-of-mine")
        // Bound to another host it is not shown here.
        let barred = try stage.run(
            job.replacing("hosts: [127.0.0.1]", with: "hosts: [example.org]"),
            environment: ["MY_TOKEN": "t0ken-of-mine"])
        #expect(barred.status == 1)
        #expect(sent(server) == [nil, "Bearer t0ken-of-mine", nil])
    }

    // MARK: Digest

    /// A server that believes the rules' own answers and counts nonces.
    private func digestServer(_ algorithm: String) throws -> ScriptedServer {
        try ScriptedServer { request in
            let nonce = request.path.hasPrefix("/stale") && request.number > 1 ? "second" : "first"
            let line = "Digest realm=\"r\", nonce=\"\(nonce)\", qop=\"auth\", algorithm=\(algorithm)"
            guard let shown = request.header("Authorization") else {
                return .respond(401, headers: [("WWW-Authenticate", line), ("WWW-Authenticate", "Basic realm=\"r\"")])
            }
            let fields = OfferedChallenge.all(in: HeaderBlock([("WWW-Authenticate", shown)])).first
            guard fields?["nonce"] == nonce else {
                return .respond(401, headers: [("WWW-Authenticate", line + ", stale=true")])
            }
            guard let offer = OfferedChallenge.all(in: HeaderBlock([("WWW-Authenticate", line)])).first,
                let challenge = DigestChallenge(offer)
            else { return .respond(500) }
            var state = DigestState(challenge)
            var expected: SecretText?
            for _ in 0..<(Int(fields?["nc"] ?? "", radix: 16) ?? 0) {
                expected = state.authorization(
                    .found(user: "Aladdin", password: Self.password),
                    for: DigestedRequest(method: request.method, target: request.target) { [] },
                    clientNonce: fields?["cnonce"] ?? "")
            }
            return expected?.revealed == shown
                ? .respond(200, body: fields?["nc"] ?? "")
                : .respond(401, headers: [("WWW-Authenticate", line)])
        }
    }

    @Test(arguments: ["MD5", "SHA-256", "MD5-sess", "SHA-256-sess"])
    func digest(_ algorithm: String) throws {
        let server = try digestServer(algorithm)
        defer { server.stop() }
        let run = try Stage().run(
            """
            sessions: { default: { configuration: ephemeral, credentials: [\(Self.aladdin)] } }
            tasks:
              - { id: a, url: "\(server.url("/a?x=%20y"))" }
              - { id: b, needs: [a], url: "\(server.url("/stale"))" }
              - { id: c, needs: [b], url: "\(server.url("/stale"))", method: DELETE }
              - { id: wrong, url: "\(server.url("/wrong"))", credentials: [{ user: Aladdin, password: shut-sesame }] }
            """)
        #expect(run.status == 1)
        #expect(try run.task("a", "body.text") == "00000001")
        #expect(try told(run) == ["digest use 0"])
        // The known nonce goes out at once, and counts on.
        #expect(try run.task("b", "body.text") == "00000002")
        #expect(try run.task("c", "body.text") == "00000001")
        #expect(try told(run, "c") == ["digest use 0"])
        #expect(try told(run, "wrong") == ["digest use 0", "digest default 1"])
        #expect(server.requests("/wrong").count == 2)
        let nonces = sent(server).compactMap { $0?.split(separator: ",").first { $0.contains("cnonce=") } }
        #expect(Set(nonces).count == nonces.count)
    }

    // MARK: Dispositions

    @Test(arguments: [
        ("use", 0, ["basic use 0"], 2), ("default", 1, ["basic default 0"], 1), ("reject", 1, ["basic reject 0"], 1),
        ("cancel", 1, ["basic cancel 0"], 1),
    ])
    func dispositions(_ rule: String, _ status: Int32, _ story: [String], _ requests: Int) throws {
        let server = try server()
        defer { server.stop() }
        let members = "credentials: [\(Self.aladdin)], challenges: [{ realm: other, do: cancel }, { do: \(rule) }]"
        let run = try Stage().run(job(server.url("/a"), members))
        #expect(run.status == status)
        #expect(try told(run) == story)
        #expect(server.requests().count == requests)
        #expect(try run.task("a", "outcome") == (rule == "cancel" ? "cancelled" : status == 0 ? "succeeded" : "failed"))
        if rule == "cancel" {
            #expect(try run.task("a", "error.name") == "cancelled")
            #expect(try run.task("a", "error.code") == "-999")
        }
    }

    @Test func rejectPassesOn() throws {
        let server = try server(offering: "Digest realm=\"r\", nonce=\"n\"", "Basic realm=\"r\"")
        defer { server.stop() }
        let run = try Stage().run(
            job(
                server.url("/a"), "credentials: [\(Self.aladdin)]",
                session: "challenges: [{ method: digest, do: reject }]"))
        #expect(run.status == 0)
        #expect(try told(run) == ["digest reject 0", "basic use 0"])
    }

    /// Nobody to be: the answer is the result, and may be the one expected.
    @Test func a401CanBeWanted() throws {
        let server = try server()
        defer { server.stop() }
        let stage = try Stage()
        let run = try stage.run(job(server.url("/a"), "to: page, expect: { status: 401 }"))
        #expect(run.status == 0)
        #expect(try stage.text("page") == "who?")
        #expect(try told(run) == ["basic default 0"])
    }

    // MARK: Where nothing goes

    /// Another port is another server: nothing that opens this one goes there, whoever says so.
    @Test func redirectsToOthers() throws {
        let other = try server()
        defer { other.stop() }
        let target = other.url("/there")
        let server = try ScriptedServer { request in
            request.header("Authorization") == nil ? Self.asks : .redirect(307, to: target)
        }
        defer { server.stop() }
        let stage = try Stage()
        let withUser = server.url("/a").replacing("://", with: "://Aladdin:open%20sesame@")
        let run = try stage.run(
            """
            sessions: { default: { configuration: ephemeral } }
            tasks:
              - { id: named, url: "\(server.url("/a"))", credentials: [\(Self.aladdin)] }
              - { id: eager, url: "\(server.url("/b"))",
                  credentials: [{ user: Aladdin, password: "\(Self.password)", preemptive: true }] }
              - { id: url, url: "\(withUser)" }
              - { id: host, url: "\(server.url("/d"))",
                  credentials: [{ host: "127.0.0.1:\(server.port)", user: Aladdin, password: "\(Self.password)" }] }
            """)
        #expect(run.status == 1)
        #expect(other.requests().count == 4)
        #expect(sent(other).allSatisfy { $0 == nil })
        // Where it is meant for both, both get it: 401, 307, 401.
        let any = try stage.run(job(server.url("/e"), "credentials: [{ host: \"*\", \(Self.aladdin.dropFirst(2))]"))
        #expect(any.status == 0)
        #expect(sent(other).suffix(2) == [nil, Self.basic])
        #expect(try told(any) == ["basic use 0", "basic use 0"])
    }

    /// What the server puts into a redirect's URL is nobody's name.
    @Test func redirectsWithNames() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        let planted = server.url("/asks").replacing("://", with: "://Aladdin:open%20sesame@")
        server.on("/go", .redirect(302, to: planted))
        server.on("/asks", Self.asks)
        let run = try Stage().run(job(server.url("/go"), "timeoutForRequest: 20s"))
        #expect(run.status == 1)
        #expect(sent(server, "/asks") == [nil])
    }

    @Test func typedHeadersSpeakForThemselves() throws {
        let server = try server()
        defer { server.stop() }
        let members = "headers: { Authorization: Basic typed }, credentials: [\(Self.aladdin)]"
        let run = try Stage().run(job(server.url("/a"), members))
        #expect(run.status == 1)
        #expect(sent(server) == ["Basic typed"])
    }

    // MARK: Bodies and files

    @Test func bodiesAreSentAgain() throws {
        let server = try ScriptedServer { request in
            guard request.header("Authorization") == Self.basic else { return Self.asks }
            return request.path == "/moved" ? .respond(201) : .redirect(307, to: "/moved")
        }
        defer { server.stop() }
        let stage = try Stage()
        let bytes = Script.patternBytes(700_001)
        try stage.folder.write("body.bin", bytes)
        let run = try stage.run(
            job(
                server.url("/put"),
                "type: upload, method: POST, body: { file: body.bin }, credentials: [\(Self.aladdin)]"))
        #expect(run.status == 0)
        #expect(server.requests().map(\.path) == ["/put", "/put", "/moved"])
        #expect(server.requests().allSatisfy { $0.body == bytes })
        // Known by then, it went along at once.
        #expect(sent(server) == [nil, Self.basic, Self.basic])
    }

    /// A part's request shows who it is from, as the first did.
    @Test func resumedAndInSegments() throws {
        let body = Script.patternBytes(6 << 20)
        let resource = ServedResource(body, etag: "\"v\"")
        let server = try ScriptedServer { request in
            guard request.header("Authorization") == Self.basic else { return Self.asks }
            guard request.header("Range") == nil else { return resource.answer(request) }
            // Slow enough that others have something to do.
            let head = Script.head(
                200, [("Content-Length", "\(body.count)"), ("ETag", "\"v\""), ("Accept-Ranges", "bytes")])
            return [.bytes(head + body.prefix(1 << 20)), .wait(.seconds(2)), .bytes(Array(body.dropFirst(1 << 20)))]
        }
        defer { server.stop() }
        let stage = try Stage()
        let run = try stage.run(
            job(server.url("/a"), "to: file, segments: 4, credentials: [\(Self.aladdin)]"))
        #expect(run.status == 0)
        #expect(try stage.folder.bytes("file") == body)
        #expect(sent(server).count { $0 == nil } == 1)
        #expect(server.requests().contains { $0.header("Range") != nil })
    }

    // MARK: Looked up

    @Test func netrc() throws {
        let server = try server()
        defer { server.stop() }
        let stage = try Stage()
        try stage.folder.write("netrc", "machine 127.0.0.1 login Aladdin password \"open sesame\"\n")
        let environment = ["NETRC": stage.folder.path + "/netrc"]
        let run = try stage.run(job(server.url("/a"), "credentials: [{ netrc: true }]"), environment: environment)
        #expect(run.status == 0)
        #expect(sent(server) == [nil, Self.basic])
        stage.folder.remove("netrc")
        try keepsSecret(run, stage, Self.password)
        // There is none: the answer stands, and nothing was asked twice.
        let without = try stage.run(job(server.url("/b"), "credentials: [{ netrc: true }]"), environment: environment)
        #expect(without.status == 1)
        #expect(sent(server, "/b") == [nil])
        #expect(try without.value("$.tasks[0].body.text") == "who?")
        #expect(!without.errorText.contains("warning"))
        try stage.folder.write("netrc", "machine 127.0.0.1 login \"broken\n")
        let broken = try stage.run(job(server.url("/c"), "credentials: [{ netrc: true }]"), environment: environment)
        #expect(broken.status == 1)
        #expect(broken.errorText.contains("warning: \(stage.folder.path)/netrc is no `.netrc` file"))
    }

    @Test func helpers() throws {
        let server = try server()
        defer { server.stop() }
        let stage = try Stage()
        try stage.folder.write(
            "helper",
            """
            #!/bin/sh
            { echo "$1 $2"; cat; } >>"$1"
            if [ "$2" = get ]; then echo username=Aladdin; echo "password=open sesame"; fi
            """)
        let run = try stage.run(
            """
            sessions:
              default: { configuration: ephemeral, credentials: [{ helper: [sh, helper, log] }] }
            tasks:
              - { id: a, url: "\(server.url("/x/a"))" }
              - { id: b, needs: [a], url: "\(server.url("/x/b"))" }
            """)
        #expect(run.status == 0)
        #expect(sent(server) == [nil, Self.basic, Self.basic])
        let question = "log get\nprotocol=http\nhost=127.0.0.1:\(server.port)\n\n"
        let report =
            "log store\nprotocol=http\nhost=127.0.0.1:\(server.port)\nusername=Aladdin\npassword=open sesame\n\n"
        #expect(try stage.text("log") == question + report)
        stage.folder.remove("log")
        stage.folder.remove("helper")
        try keepsSecret(run, stage, Self.password)
    }

    @Test func helpersThatAreOfNoUse() throws {
        let server = try server()
        defer { server.stop() }
        let stage = try Stage()
        func run(_ helper: String) throws -> String {
            let run = try stage.run(job(server.url("/a"), "credentials: [{ helper: \(helper) }]"))
            #expect(run.status == 1)
            #expect(try told(run) == ["basic default 0"])
            return run.errorText
        }
        #expect(
            try run("[no-such-helper]").contains("warning: the credential helper `no-such-helper` could not be started")
        )
        #expect(try run("[sh, -c, \"exit 3\"]").contains("ended with status 3 (`get`)"))
        #expect(try run("[echo, hello]").contains("did not answer as git-credential helpers do"))
        #expect(try !run("[\"true\"]").contains("warning"))
        #expect(server.requests().count == 4)
    }

    /// A wrong one is told so, and what is known of no use is not shown twice.
    @Test func helpersThatAreWrong() throws {
        let server = try server()
        defer { server.stop() }
        let stage = try Stage()
        try stage.folder.write("helper", "echo $1 >>log; cat >/dev/null; echo username=a; echo password=wrong-one\n")
        let run = try stage.run(job(server.url("/a"), "credentials: [{ helper: [sh, helper] }]"))
        #expect(run.status == 1)
        #expect(server.requests().count == 2)
        #expect(try stage.text("log") == "get\nerase\n")
        #expect(try told(run) == ["basic use 0", "basic default 1"])
    }

    /// git's own helper, which nobody here wrote.
    @Test func gitsHelper() throws {
        let server = try server()
        defer { server.stop() }
        let stage = try Stage()
        try stage.folder.write("store", "http://Aladdin:open%20sesame@127.0.0.1%3a\(server.port)\n")
        let helper = "[git, credential-store, --file, \(stage.folder.path)/store]"
        let run = try stage.run(job(server.url("/a"), "credentials: [{ helper: \(helper) }]"))
        #expect(run.status == 0)
        #expect(sent(server) == [nil, Self.basic])
    }

    @Test func aRunThatIsStoppedEndsItsHelpers() throws {
        let server = try server()
        defer { server.stop() }
        let stage = try Stage()
        let helper = "[sh, -c, 'echo $$$$ >pid; exec sleep 600']"
        let program = try stage.start(job(server.url("/a"), "credentials: [{ helper: \(helper) }]"))
        waitUntil { (try? stage.text("pid").hasSuffix("\n")) == true }
        let process = Int32(try stage.text("pid").dropLast())
        program.send(signal: 2)
        let run = try stage.finish(program)
        #expect(run.status == 130)
        #expect(process.map { CurrentProcess.processExists($0) } == false)
    }
}
