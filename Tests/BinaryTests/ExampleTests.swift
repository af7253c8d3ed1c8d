import TestSupport
import Testing
import TextFormats

/// Every job in `examples/`, run by the built program against a server that has the files of `examples/site`.
@Suite struct ExampleTests {
    /// Each example by its folder's name, and a test below or beside that looks at what it does.
    static let examples = """
        access-token api-checks api-harvest api-test apt-mirror before-the-move client-certificate found-connections local-service
        locked-release mirror-list mirror-to-s3 netrc-login nightly-mirror only-what-changed own-scheme paged-api pipe polite-mirror
        publish-build quickstart release-artefacts release-by-checksums resumable-upload s3-backup segmented-download
        signed-in suite-matrix token-upload two-mirrors wifi-only
        """.split { $0 == " " || $0 == "\n" }.map { String($0) }

    /// One that is a program and has no job file.
    private static let program = "download-list"

    @Test func everyExampleIsRunHere() throws {
        let found = try Binary(program: "/bin/sh").run("-c", "cd \(Binary.packageRoot)/examples && ls -d */")
        let folders = found.outputText.split(separator: "\n").map { String($0.dropLast()) }.filter { $0 != "site" }
        #expect(folders.sorted() == (Self.examples + [Self.program]).sorted())
        #expect(Self.examples == Self.examples.sorted() && Self.examples.count >= 20)
    }

    /// `DocumentationTests` runs what the pages show.
    @Test(arguments: examples + [program]) func hasAPageThatShowsItsRun(_ name: String) throws {
        let examples = "\(Binary.packageRoot)/examples"
        let page = String(decoding: try TemporaryTree.bytes(at: "\(examples)/\(name)/README.md"), as: UTF8.self)
        let lines = page.split(separator: "\n", omittingEmptySubsequences: false).count - 1
        #expect((15...45).contains(lines), "\(lines) lines")
        let commands = FencedBlock.blocks(in: page).flatMap(\.commands)
        #expect(commands.first?.text == "cd examples/\(name)")
        let file = name == Self.program ? "\(name).py" : "\(name).transfer.yaml"
        #expect(commands.contains { $0.text.contains(file) && !$0.output.isEmpty })
        #expect(page.contains("](\(file))") && page.contains("\n## For your own case\n"))
        let index = String(decoding: try TemporaryTree.bytes(at: "\(examples)/README.md"), as: UTF8.self)
        #expect(index.contains("](\(name)/README.md)"))
    }

    @Test(arguments: examples)
    func checkFindsNothing(_ name: String) throws {
        let result = try Binary().run(
            "check", "\(Binary.packageRoot)/examples/\(name)/\(name).transfer.yaml",
            environment: [
                "PUBLISH_TOKEN": "t", "SITE_PASSWORD": "p", "AWS_ACCESS_KEY_ID": "key",
                "AWS_SECRET_ACCESS_KEY": "secret",
            ])
        #expect(result.exitStatus == 0)
        #expect(!result.errorText.contains("error:") && !result.errorText.contains("warning:"), "\(result.errorText)")
    }

    @Test func quickstart() throws {
        let place = try ExamplePlace()
        let run = try place.run("quickstart")
        #expect(run.status == 0)
        try place.expectSame("downloads/notes.txt", as: "notes.txt")
        #expect(try run.task("status", "body.text") == place.stage.text("site/status.json"))
        #expect(try run.value("$.totals.succeeded") == "2")
    }

    @Test func apiHarvestMakesATaskOfEachFileThatAnAnswerLists() throws {
        let place = try ExamplePlace()
        let run = try place.run("api-harvest")
        #expect(run.status == 0, "\(run.errorText)")
        for name in ["manual", "linux-amd64", "linux-arm64"].map({ "app-1.4.0-\($0).txt" }) {
            try place.expectSame("harvest/\(name)", as: "releases/\(name)")
            #expect(try run.task("get-\(name)", "outcome") == "succeeded")
        }
        try place.expectSame("harvest/notes.txt", as: "notes.txt")
        #expect(try run.value("$.totals.tasks") == "5")
    }

    private static let kind = [("Content-Type", "application/json")]

    /// Two pages of orders behind a sign-in, and what the summary must hold.
    private func serveOrders(_ server: ScriptedServer) {
        server.on("POST /api/tokens", .respond(200, headers: Self.kind, body: #"{"token": "t-4242-example"}"#))
        server.on(
            "/api/orders",
            .respond(
                200, headers: Self.kind + [("Link", "</api/orders/page/2>; rel=\"next\"")],
                body: #"[{"id": 1}, {"id": 2}]"#))
        server.on("/api/orders/page/2", .respond(200, headers: Self.kind, body: #"[{"id": 3}]"#))
        for id in 1...3 { server.on("/api/orders/\(id)", .respond(200, headers: Self.kind, body: "{}")) }
        server.on("POST /api/summaries", .respond(201))
    }

    private func summary(_ server: ScriptedServer) throws -> JSONValue {
        try JSONParser.parse(#require(server.requests("/api/summaries").last).body)
    }

    @Test func pagedAPI_fetchesAllPagesAndPostsASummary() throws {
        let place = try ExamplePlace()
        serveOrders(place.server)
        let run = try place.run("paged-api", environment: ["SITE_PASSWORD": "open-sesame"])
        #expect(run.status == 0, "\(run.errorText)")
        #expect(
            try run.values("$.tasks[?@.id=='list'].pages[*].file.path") == ["orders/page-1.json", "orders/page-2.json"])
        #expect(try (1...3).map { try run.task("order-\($0)", "outcome") } == Array(repeating: "succeeded", count: 3))
        #expect(
            try summary(place.server)
                == JSONParser.parse(Array(#"{"outcome":"succeeded","failed":0,"list":"succeeded","why":null}"#.utf8)))
        let asked = place.server.requests().filter { $0.target.hasPrefix("/api/orders") }
        #expect(asked.count == 5 && asked.allSatisfy { $0.header("Authorization") == "Bearer t-4242-example" })
    }

    @Test func pagedAPI_thatFails_tellsItInTheSummary() throws {
        let place = try ExamplePlace()
        serveOrders(place.server)
        place.server.on(
            "/api/orders/page/2", .respond(410, headers: Self.kind, body: #"{"error": "t-4242-example is gone"}"#))
        let run = try place.run("paged-api", environment: ["SITE_PASSWORD": "open-sesame"])
        #expect(run.status == 1)
        let told = try summary(place.server)
        #expect(told["outcome"]?.plainText == "failed" && told["list"]?.plainText == "failed")
        #expect(told["failed"] == .number("1"))
        #expect(told["why"]?.plainText?.contains("410") == true && told["why"]?.plainText?.contains("4242") == false)
        #expect(try run.task("summary", "outcome") == "succeeded")
    }

    @Test func releaseArtefactsAreCheckedAndDamageIsRepaired() throws {
        let place = try ExamplePlace()
        let names = ["manual", "linux-amd64", "linux-arm64"].map { "app-1.4.0-\($0).txt" }
        #expect(try place.run("release-artefacts").status == 0)
        for name in names { try place.expectSame("release/\(name)", as: "releases/\(name)") }
        #expect(place.server.requests().count == 3)

        // Nothing to do: not even a request.
        let again = try place.run("release-artefacts")
        #expect(again.status == 0)
        #expect(try again.values("$.tasks[*].source") == ["unchanged", "unchanged", "unchanged"])
        #expect(place.server.requests().count == 3)

        try place.stage.folder.write("release/\(names[1])", "damaged")
        let repair = try place.run("release-artefacts")
        #expect(repair.status == 0)
        #expect(place.server.requests().count == 4)
        for name in names { try place.expectSame("release/\(name)", as: "releases/\(name)") }
    }

    @Test func releaseByChecksumsGoesByTheListThatComesFirst() throws {
        let place = try ExamplePlace()
        let names = ["manual", "linux-amd64", "linux-arm64"].map { "app-1.4.0-\($0).txt" }
        let run = try place.run("release-by-checksums")
        #expect(run.status == 0, "\(run.errorText)")
        for name in names { try place.expectSame("release/\(name)", as: "releases/\(name)") }
        #expect(try run.value("$.totals.succeeded") == "4")

        // Nothing new: the list is asked for, and no more.
        let before = place.server.requests().count
        let again = try place.run("release-by-checksums")
        #expect(again.status == 0, "\(again.errorText)")
        #expect(place.server.requests().dropFirst(before).map(\.target) == ["/releases/SHA256SUMS"])

        // A file that is not the one of the list: nothing appears of it, and the release stays whole.
        place.server.serve("/releases/\(names[0])", ServedResource(Array("another".utf8)))
        try place.stage.folder.write("release/\(names[0])", "damaged")
        let wrong = try place.run("release-by-checksums")
        #expect(wrong.status == 1)
        #expect(try place.stage.text("release/\(names[0])") == "damaged")
    }

    @Test func nightlyMirror() throws {
        let place = try ExamplePlace()
        let scene = BackgroundScene(place.stage)
        let run = try place.run("nightly-mirror")
        #expect(run.status == 0)
        for suite in ["stable", "testing"] {
            for arch in ["amd64", "arm64", "riscv64"] {
                try place.expectSame("nightly/\(suite)/\(arch).txt", as: "suites/\(suite)-\(arch).txt")
            }
        }
        #expect(place.server.requests().last?.target == "/notes.txt")
        #expect(try place.stage.text("nightly-mirror.outcome") == "org.example.nightly succeeded\n")
        #expect(scene.process != nil)
    }

    @Test func suiteMatrix() throws {
        let place = try ExamplePlace()
        let run = try place.run("suite-matrix")
        #expect(run.status == 0)
        for suite in ["stable", "testing"] {
            for arch in ["amd64", "arm64", "riscv64"] {
                try place.expectSame("suites/\(suite)/\(arch).txt", as: "suites/\(suite)-\(arch).txt")
                #expect(place.stage.folder.mode("suites/\(suite)/\(arch).txt") == 0o600)
            }
        }
        try place.expectSame("suites/notes.txt", as: "notes.txt")
        #expect(place.server.requests().last?.target == "/notes.txt")
        #expect(try run.values("$.tasks[*].id").first == "packages-stable-amd64")
    }

    @Test func signedIn() throws {
        let place = try ExamplePlace()
        place.answerSignIn()
        let run = try place.run("signed-in", environment: ["SITE_PASSWORD": "open-sesame"])
        #expect(run.status == 0)
        #expect(try run.task("sign-in", "challenges[0].method") == "basic")
        #expect(try run.task("price-list", "body.text") == "{}")
        #expect(run.report.plainText?.contains("open-sesame") == false)
        let again = try place.run("signed-in", environment: ["SITE_PASSWORD": "open-sesame"])
        #expect(again.status == 0)
        #expect(try again.task("price-list", "source") == "cache")
    }

    @Test func tokenUpload() throws {
        let place = try ExamplePlace()
        let json = [("Content-Type", "application/json")]
        place.server.on("POST /api/tokens", .respond(200, headers: json, body: #"{"token": "t-4242-example"}"#))
        place.server.on("POST /api/notes", .respond(201, headers: json, body: #"{"id": 7, "bytes": 17}"#))
        place.server.on(
            "/api/notes/7", .respond(200, headers: json, body: #"{"id": 7, "bytes": 17, "state": "stored"}"#))
        let run = try place.run("token-upload", environment: ["SITE_PASSWORD": "open-sesame"])
        #expect(run.status == 0)
        #expect(place.server.requests("/api/tokens").first?.bodyText == #"{"user":"robot","password":"open-sesame"}"#)
        #expect(place.server.requests("/api/notes").first?.header("Authorization") == "Bearer t-4242-example")
        #expect(place.server.requests("/api/notes").first?.bodyText == "a note that stays")
        #expect(try run.task("sign-in", "captures.token") == "***")
        #expect(try run.task("upload", "captures") == #"{"note":7,"length":17}"#)
        let told = [run.report.plainText ?? "", run.errorText] + run.events.compactMap { $0.plainText }
        #expect(!told.contains { $0.contains("t-4242-example") || $0.contains("open-sesame") })

        place.server.on("/api/notes/7", .respond(200, headers: json, body: #"{"id": 7, "bytes": 16, "state": "lost"}"#))
        let lost = try place.run("token-upload", environment: ["SITE_PASSWORD": "open-sesame"])
        #expect(lost.status == 1)
        let message = try #require(try lost.task("verify", "error.message"))
        #expect(message.contains("to be 17, it is 16") && message.contains(#"to be "stored", it is "lost""#))
    }

    @Test func ownScheme() throws {
        let place = try ExamplePlace()
        let run = try place.run("own-scheme")
        #expect(run.status == 0)
        try place.expectSame("unpacked/notes.txt", as: "notes.txt")
        #expect(place.stage.folder.exists("release.zip"))
        #expect(try run.task("pack", "response.status") == "201")
        let more = try place.stage.run(
            """
            sessions: { default: { protocols: [{ scheme: archive, command: [python3, archive.py] }] } }
            tasks:
              - { id: length, method: HEAD, url: "archive://release.zip/docs/notes.txt" }
              - { id: lost, url: "archive://release.zip/docs/lost.txt" }
              - { id: other, url: "archive://release.tar/docs/notes.txt" }
            """)
        #expect(try more.task("length", "response.expectedLength")?.isEmpty == false)
        #expect(try more.task("length", "response.headers")?.contains("Content-Length") == true)
        #expect(try more.task("lost", "response.status") == "404")
        #expect(try more.task("other", "error.name") == "unsupportedURL")
    }

    @Test func pipe() throws {
        let place = try ExamplePlace()
        let run = try place.run("pipe")
        #expect(run.status == 0)
        let files = try ["amd64", "arm64", "riscv64"].map {
            try place.stage.text("site/suites/stable-\($0).txt")
        }
        #expect(run.result.outputText == files.joined())
    }

    /// A program that has its downloads done: a job on standard input, events on standard output, wishes on the socket.
    @Test func downloadList() throws {
        let place = try ExamplePlace()
        for path in ["/files/one.bin", "/files/two.bin"] {
            place.server.on(path, [.gate("go")] + .respond(200, body: "the body"))
        }
        let folder = place.stage.folder
        let program = try place.stage.binary.start(
            [folder.path("list"), place.server.url("/files/one.bin"), place.server.url("/files/two.bin")],
            environment: ["DOWNLOAD_LIST_STATE": folder.path("state")], input: "pause 0\nresume 0\ncancel 1\n",
            under: ["/bin/sh", "-c", "TRANSFER_RUN=$0 exec python3 download-list.py \"$@\""])
        #expect(program.waitForOutput("file-0 paused"))
        #expect(program.waitForOutput("file-1 cancelled"))
        place.server.open(gate: "go")
        let result = program.wait()
        #expect(result.exitStatus == 1, "\(result.outputText)\(result.errorText)")
        #expect(result.outputText.hasSuffix("file-0 succeeded 8/8 | file-1 cancelled 0/?\n"), "\(result.outputText)")
        #expect(try place.stage.text("list/one.bin") == "the body")
    }

    @Test func wifiOnly() throws {
        let place = try ExamplePlace()
        for network in ["cellular", "wifi,metered", "none"] {
            let run = try place.run(
                "wifi-only", environment: ["TRANSFER_RUN_NETWORK": network, "TRANSFER_RUN_NO_WAIT": "1"])
            #expect(run.status == 75)
            #expect(place.server.totalConnections == 0)
        }
        #expect(try place.run("wifi-only", environment: ["TRANSFER_RUN_NETWORK": "wifi"]).status == 0)
        try place.expectSame("downloads/offline-notes.txt", as: "notes.txt")
        let sent = place.server.requests("/builds/album.txt").first?.body
        #expect(try sent == place.stage.folder.bytes("album.txt"))
    }

    @Test func localService() throws {
        let place = try ExamplePlace()
        let run = try place.run("local-service")
        #expect(run.status == 0, "\(run.errorText)")
        try place.expectSame("downloads/service-notes.txt", as: "notes.txt")
        #expect(place.service.requests().map { $0.header("Host") } == ["service", "service"])
        #expect(place.server.totalConnections == 0)
    }

    @Test func beforeTheMove() throws {
        let place = try ExamplePlace()
        let other = try ScriptedServer()
        defer { other.stop() }
        other.on("/status.json", .respond(200, body: "{\"healthy\": false}"))
        other.on("/notes.txt", .respond(200, body: "other"))
        let run = try place.stage.run(
            place.stage.text("before-the-move.transfer.yaml"), "--set", "old=127.0.0.1:\(place.server.port)", "--set",
            "new=127.0.0.1:\(other.port)")
        #expect(run.status == 1)
        #expect(try run.task("old-status", "outcome") == "succeeded")
        #expect(try run.task("new-status", "error.name") == "unexpectedResponse")
        try place.expectSame("move/old.txt", as: "notes.txt")
        #expect(try place.stage.text("move/new.txt") == "other")
        for server in [place.server, other] {
            #expect(server.requests().allSatisfy { $0.header("Host") == "www.example.org" })
        }
    }

    @Test func politeMirror() throws {
        let place = try ExamplePlace()
        let run = try place.run("polite-mirror")
        #expect(run.status == 0)
        try place.expectSame("mirror/testing/arm64.txt", as: "suites/testing-arm64.txt")
        try place.expectSame("mirror/manual.txt", as: "releases/app-1.4.0-manual.txt")
        #expect(place.server.peakConnections <= 4 && place.server.requests().count == 8)
        #expect(try run.task("manual", "waits[0].reason") == "earliestBegin")
    }

    @Test func foundConnections() throws {
        let place = try ExamplePlace()
        let run = try place.run("found-connections")
        #expect(run.status == 0)
        try place.expectSame("found/testing-arm64.txt", as: "suites/testing-arm64.txt")
        #expect(place.server.peakConnections <= 12)
        #expect(try run.value("$.sessions[0].hosts[0].connectionLimit.minimum") == "2")
        #expect(try run.value("$.sessions[0].hosts[0].connectionLimit.maximum") == "12")
        #expect(try run.value("$.sessions[0].hosts[0].connectionLimit.first") == "4")
    }

    @Test func twoMirrors() throws {
        let place = try ExamplePlace()
        let near = try ScriptedServer()
        defer { near.stop() }
        near.on("/suites/stable-arm64.txt", .respond(200, body: "near by"))
        let run = try place.run("two-mirrors", near: near.origin)
        #expect(run.status == 0)
        try place.expectSame("two-mirrors/stable-amd64.txt", as: "suites/stable-amd64.txt")
        try place.expectSame("two-mirrors/stable-riscv64.txt", as: "suites/stable-riscv64.txt")
        #expect(try place.stage.text("two-mirrors/stable-arm64.txt") == "near by")
        #expect(near.requests().count == 3 && place.server.requests().count == 2)
    }

    @Test func publishBuild() throws {
        let place = try ExamplePlace()
        let run = try place.run("publish-build", environment: ["PUBLISH_TOKEN": "s3cr3t-token"])
        #expect(run.status == 0)
        for file in ["manual.txt", "app-linux-amd64.txt", "app-linux-arm64.txt"] {
            let arrived = try #require(place.server.requests("/builds/2026.11/\(file)").first)
            #expect(arrived.method == "PUT")
            #expect(try arrived.body == place.stage.folder.bytes("build/\(file)"))
            #expect(arrived.header("Authorization") == "Bearer s3cr3t-token")
        }
        let announced = try #require(place.server.requests().last)
        #expect(announced.method == "POST")
        #expect(announced.bodyText == #"{"build":"2026.11","complete":true,"platforms":["linux"]}"#)
        #expect(announced.header("Content-Type") == "application/json")

        let told = [run.report.plainText ?? "", run.errorText, run.result.outputText]
        #expect(!(told + run.events.compactMap { $0.plainText }).contains { $0.contains("s3cr3t-token") })
    }

    @Test func publishBuildWithoutItsTokenSendsNothing() throws {
        let place = try ExamplePlace()
        let run = try place.run("publish-build")
        #expect(run.status == 2)
        #expect(run.errorText.contains("PUBLISH_TOKEN"))
        #expect(place.server.requests().isEmpty)
    }

    @Test func apiChecks() throws {
        let place = try ExamplePlace()
        let run = try place.run("api-checks")
        #expect(run.status == 0)
        let targets = place.server.requests().map { $0.target }
        #expect(targets.first == "/status.json?verbose=true&author=Ada%20Lovelace%20%26%20friends")
        #expect(Set(targets.dropFirst()) == ["/search", "/subscriptions", "/v0/status.json"])
        let search = try #require(place.server.requests("/search").first)
        let author = "Ada Lovelace & friends"
        #expect(search.bodyText == #"{"author":"\#(author)","limit":10,"tags":["engine","notes"],"draft":null}"#)
        let form = try #require(place.server.requests("/subscriptions").first)
        #expect(form.header("Content-Type") == "application/x-www-form-urlencoded")
        #expect(
            ["name=Ada+Lovelace+%26+friends&every=1+day", "name=Ada%20Lovelace%20%26%20friends&every=1%20day"]
                .contains(form.bodyText))
        #expect(place.server.requests().allSatisfy { $0.header("Accept") == "application/json" })
        #expect(try run.task("old-endpoint", "outcome") == "failed")
        #expect(try run.task("old-endpoint", "tolerated") == "true")
        #expect(try run.value("$.totals.tolerated") == "1")
        #expect(try run.value("$.outcome") == "succeeded")
    }

    @Test func apiTest() throws {
        let place = try ExamplePlace()
        serveOrders(place.server)
        place.server.on("/api/orders") { request in
            guard request.header("Authorization") == "Bearer t-4242-example" else {
                return .respond(403, body: "sign in first")
            }
            return .respond(
                200, headers: [("Link", "</api/orders?page=2>; rel=\"next\"")], body: #"[{"id": 1}, {"id": 2}]"#)
        }
        place.server.on("/api/orders/1", .respond(200, body: #"{"id": 1, "state": "open"}"#))
        place.server.on(
            "/status.json",
            .respond(
                200, headers: Self.kind + [("Last-Modified", "Sat, 21 Nov 2026 07:00:00 GMT")],
                body: #"{"service": "demo", "healthy": true, "queue": 0}"#))
        let run = try place.run("api-test", environment: ["SITE_PASSWORD": "open-sesame"])
        #expect(run.status == 1)
        #expect(try run.task("list-orders", "outcome") == "succeeded")
        #expect(try run.task("order-is-paid", "error.message")?.contains(#"to be "paid", it is "open""#) == true)
        let cases = try place.stage.text("api-test.junit.xml")
        #expect(cases.contains(#"tests="5" failures="1""#), "\(cases)")
        #expect(![cases, run.errorText].contains { $0.contains("t-4242-example") || $0.contains("open-sesame") })
    }

    @Test func netrcLogin() throws {
        let place = try ExamplePlace()
        for file in ["notes.txt", "status.json"] {
            place.server.on("/private/\(file)") { request in
                request.header("Authorization") == "Basic cm9ib3Q6b3Blbi1zZXNhbWU="
                    ? .respond(200, body: file)
                    : .respond(401, headers: [("WWW-Authenticate", "Basic realm=\"private\"")])
            }
        }
        let run = try place.run("netrc-login", environment: ["NETRC": place.stage.folder.path("example.netrc")])
        #expect(run.status == 0, "\(run.errorText)")
        #expect(try place.stage.text("private/notes.txt") == "notes.txt")
        #expect(try place.stage.text("private/status.json") == "status.json")
    }

    @Test func accessToken() throws {
        let place = try ExamplePlace()
        place.server.on("POST /api/oauth2/token") { request in
            request.header("Authorization") == "Basic cm9ib3Q6b3Blbi1zZXNhbWU="
                ? .respond(200, body: #"{"access_token": "t-4242-example", "expires_in": 3600}"#) : .respond(401)
        }
        for path in ["/api/orders", "/api/orders/3"] {
            place.server.on(path) { request in
                request.header("Authorization") == "Bearer t-4242-example" ? .respond(200, body: path) : .respond(401)
            }
        }
        let run = try place.run("access-token", environment: ["SITE_PASSWORD": "open-sesame"])
        #expect(run.status == 0, "\(run.errorText)")
        #expect(try place.stage.text("api/orders.json") == "/api/orders")
        #expect(try place.stage.text("api/order.json") == "/api/orders/3")
        #expect(place.server.requests("/api/oauth2/token").count == 1)
    }

    @Test func onlyWhatChanged() throws {
        let place = try ExamplePlace()
        #expect(try place.run("only-what-changed").status == 0)
        for file in ["notes.txt", "status.json"] { try place.expectSame("copy/\(file)", as: file) }
        var changed = ServedResource(Array("changed".utf8))
        changed.etag = "\"changed\""
        place.server.serve("/notes.txt", changed)
        let run = try place.run("only-what-changed")
        #expect(run.status == 0, "\(run.errorText)")
        #expect(try run.values("$.tasks[*].source") == ["network", "unchanged", "unchanged"])
        #expect(try place.stage.text("copy/notes.txt") == "changed")
    }

    @Test func s3Backup() throws {
        let place = try ExamplePlace()
        let paths = ["2026/harbour.txt", "2026/hill.txt", "house.txt"].map { "/backup/pictures/\($0)" }
        for path in paths {
            place.server.on("PUT \(path)", .respond(200, headers: [("ETag", "\"1\"")]))
            let length = try place.stage.folder.bytes(String(path.dropFirst("/backup/".count))).count
            let head = "HTTP/1.1 200 OK\r\nETag: \"1\"\r\nContent-Length: \(length)\r\n\r\n"
            place.server.on("HEAD \(path)", [.send(head)])
        }
        let keys = ["AWS_ACCESS_KEY_ID": "example-key", "AWS_SECRET_ACCESS_KEY": "example-secret"]
        #expect(try place.run("s3-backup", environment: keys).status == 0)
        let again = try place.run("s3-backup", environment: keys)
        #expect(try again.values("$.tasks[*].source") == ["unchanged", "unchanged", "unchanged"])
        let asked = place.server.requests().map { "\($0.method) \($0.target)" }
        #expect(asked.sorted() == (paths.map { "HEAD \($0)" } + paths.map { "PUT \($0)" }))
        for request in place.server.requests() {
            #expect(request.header("Authorization")?.hasPrefix("AWS4-HMAC-SHA256 Credential=example-key/") == true)
        }
    }

    @Test func mirrorToS3() throws {
        let place = try ExamplePlace()
        let names = ["app-1.4.0-linux-amd64.txt", "app-1.4.0-linux-arm64.txt", "app-1.4.0-manual.txt"]
        for name in names {
            let path = "/mirror/releases/\(name)"
            let bytes = try TemporaryTree.bytes(at: "\(Binary.packageRoot)/examples/site/releases/\(name)")
            place.server.on("PUT \(path)", .respond(200, headers: [("ETag", "\"1\"")]))
            place.server.on("HEAD \(path)", .headOnly(200, headers: [("ETag", "\"1\"")], length: bytes.count))
        }
        let keys = ["AWS_ACCESS_KEY_ID": "example-key", "AWS_SECRET_ACCESS_KEY": "example-secret"]
        #expect(try place.run("mirror-to-s3", environment: keys).status == 0)
        let again = try place.run("mirror-to-s3", environment: keys)
        #expect(try again.values("$.tasks[*].source").suffix(3) == ["unchanged", "unchanged", "unchanged"])
        let asked = place.server.requests().map { "\($0.method) \($0.target)" }
        #expect(asked.filter { $0.hasPrefix("PUT") }.count == 3 && asked.filter { $0.hasPrefix("HEAD") }.count == 3)
        #expect(asked.filter { $0.hasPrefix("GET") && $0.hasSuffix(".txt") }.count == 3, "\(asked)")
        for request in place.server.requests() where request.method != "GET" {
            #expect(request.header("Authorization")?.hasPrefix("AWS4-HMAC-SHA256 Credential=example-key/") == true)
        }
    }

    @Test func mirrorList() throws {
        let place = try ExamplePlace()
        let run = try place.run("mirror-list")
        #expect(run.status == 0)
        for file in ["notes.txt", "suites/stable-amd64.txt", "suites/testing-riscv64.txt"] {
            try place.expectSame("mirror/\(file)", as: file)
        }
        #expect(try run.values("$.tasks[*].labels.note").last == "new, and still moving")

        let again = try place.run("mirror-list")
        #expect(again.status == 0)
        #expect(place.server.requests().count == 3)
    }
}
