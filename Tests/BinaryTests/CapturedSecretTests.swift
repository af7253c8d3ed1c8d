import TestSupport
import Testing
import TextFormats
import TransferModel

/// A captured secret is told nobody, and goes nowhere but where it may.
@Suite struct CapturedSecretTests {
    private static let secret = "t0k3n/+ä&word"
    private static let json = [("Content-Type", "application/json")]

    /// In every form in which it may turn up.
    private static func leaks(_ text: String) -> Bool {
        let forms = ["t0k3n/", "t0k3n%2F", "t0k3n\\/", Base64.encode(Array(secret.utf8)), "dDBrM24v"]
        return forms.contains { text.contains($0) }
    }

    private func expectNothingTold(_ run: Stage.Run, _ place: SourceLocation = #_sourceLocation) {
        let told = [run.report.plainText ?? "", run.errorText, run.result.outputText]
        for text in told + run.events.compactMap({ $0.plainText }) {
            #expect(!Self.leaks(text), "\(text)", sourceLocation: place)
        }
    }

    /// A later answer repeats it in another encoding: it is cached, and not on the disk.
    @Test(arguments: ["utf-16le", "utf-16", "iso-8859-1", "utf-8"])
    func whatRepeatsItIsNotWrittenDown(_ charset: String) throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        let secret = "plainT0ken0123é9"
        func written(_ text: String) -> [UInt8] {
            switch charset {
            case "utf-8": Array(text.utf8)
            case "iso-8859-1": text.unicodeScalars.map { UInt8($0.value) }
            default: text.utf16.flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] }
            }
        }
        let mark: [UInt8] = charset == "utf-16" ? [0xFF, 0xFE] : []
        let type = charset == "utf-16" ? "text/plain" : "text/plain; charset=\(charset)"
        let fresh = ("Cache-Control", "max-age=600")
        server.on("/login", .respond(200, headers: Self.json, body: #"{"token": "\#(secret)"}"#))
        server.on(
            "/say", .respond(200, headers: [("Content-Type", type), fresh], body: mark + written("hello \(secret)")))
        server.on("/other", .respond(200, headers: [("Content-Type", type), fresh], body: mark + written("hello you")))
        let stage = try Stage()
        let run = try stage.run(
            """
            tasks:
              - { id: login, url: "\(server.url("/login"))", capture: { t: { json: $.token, secret: true } } }
              - { id: say, needs: [login], url: "\(server.url("/say"))" }
              - { id: again, needs: [say], url: "\(server.url("/say"))" }
              - { id: other, needs: [login], url: "\(server.url("/other"))" }
            """)
        #expect(run.status == 0)
        #expect(try run.task("say", "body.text") == "hello ***")
        #expect(try run.task("again", "source") == "cache")
        let kept = try stage.binary.home.contents().values
        func holds(_ text: String) -> Bool {
            let wanted = written(text)
            return kept.contains { bytes in
                bytes.indices.contains { bytes[$0] == wanted[0] && bytes[$0...].starts(with: wanted) }
            }
        }
        #expect(holds("hello you"), "what may be written down is found here")
        #expect(!holds("plainT0ken0123"))
    }

    /// What a server says of a refusal helps, and holds no more than what is masked.
    @Test func aRefusalIsTold_andWhatWasSentAsACredential() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/401", .respond(401, headers: Self.json, body: #"{"error": "invalid client"}"#))
        server.on(
            "/403", .respond(403, headers: Self.json, body: #"{"error": "no \#(Self.secret)", "t": "\#(Self.secret)"}"#)
        )
        server.on("/401?k=pass-w0rd", .respond(401, headers: Self.json, body: "{}"))
        let capture = "capture: { t: { json: $.t, secret: true } }"
        let run = try Stage().run(
            """
            defaults: { allowFailure: true }
            tasks:
              - { id: none, url: "\(server.url("/401"))", \(capture) }
              - { id: body, url: "\(server.url("/401"))", body: { form: { s: "${secret.PW}" } }, \(capture) }
              - { id: header, url: "\(server.url("/401"))", headers: { X-Key: "${secret.PW}" }, \(capture) }
              - { id: query, url: "\(server.url("/401"))", query: { k: "${secret.PW}" }, \(capture) }
              - { id: repeats, url: "\(server.url("/403"))", \(capture) }
            """, environment: ["PW": "pass-w0rd"])
        let words = [
            "none": "no credential was sent: \"invalid client\"",
            "body": "the secret `PW` was sent in the body: \"invalid client\"",
            "header": "the secret `PW` was sent in the header `X-Key`: \"invalid client\"",
            "query": "a secret was sent in the URL", "repeats": "403 Forbidden: \"no ***\"",
        ]
        for (id, words) in words {
            let message = try run.task(id, "error.message") ?? ""
            #expect(message.hasSuffix(words), "\(message)")
        }
        expectNothingTold(run)
    }

    @Test func itIsMaskedEverywhereAtOnce() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        let secret = Self.secret
        server.on(
            "/login",
            .respond(
                200, headers: Self.json + [("X-Token", "h34der-s3cret"), ("X-Echo", "h34der-s3cret")],
                body: #"{"token": "\#(secret)", "again": "t0k3n\/+\u00e4&word", "nested": {"deep": "d33p-s3cret"}}"#))
        server.on("/use") { request in
            .respond(200, headers: [("X-Back", request.header("X-Key") ?? "")], body: request.target)
        }
        server.on("/post") { request in .respond(200, body: request.body) }
        let run = try Stage().run(
            """
            tasks:
              - id: login
                url: "\(server.url("/login"))"
                capture:
                  token: { json: $.token, secret: true }
                  nested: { json: $.nested, secret: true }
                  head: { header: X-Token, secret: true }
              - id: use
                url: "\(server.url("/use"))"
                query: { k: "${tasks.login.token}" }
                headers: { X-Key: "${tasks.login.head}" }
              - { id: post, url: "\(server.url("/post"))", body: { json: { a: ["${tasks.login.token}"] } } }
              - { id: fails, allowFailure: true, url: "\(server.url("/use"))?${tasks.login.token}", expect: { body: { contains: "${tasks.login.token}!" } } }
            """)
        #expect(run.status == 0, "\(run.errorText)")
        #expect(try run.task("login", "captures") == #"{"token":"***","nested":"***","head":"***"}"#)
        #expect(server.requests("/use?k=t0k3n%2F%2B%C3%A4%26word").first?.header("X-Key") == "h34der-s3cret")
        #expect(server.requests("/post").first?.bodyText == #"{"a":["\#(secret)"]}"#)
        expectNothingTold(run)
        let told = (run.report.plainText ?? "") + run.events.compactMap { $0.plainText }.joined()
        for word in ["h34der-s3cret", "d33p-s3cret"] { #expect(!told.contains(word)) }
    }

    /// Headers come before the body that says what in them is secret.
    @Test(arguments: ["", ", to: f"]) func itIsMaskedInItsOwnAnswersHeaders(_ to: String) throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on(
            "/login",
            .respond(
                200, headers: Self.json + [("X-Token", "b0dy-s3cret-token"), ("Link", "</x/b0dy-s3cret-token>")],
                body: #"{"token": "b0dy-s3cret-token"}"#))
        let run = try Stage().run(
            """
            tasks: [{ id: a, url: "\(server.url("/login"))", capture: { t: { json: $.token, secret: true } }\(to) }]
            """)
        #expect(run.status == 0, "\(run.errorText)")
        let told = (run.report.plainText ?? "") + run.events.compactMap { $0.plainText }.joined()
        #expect(told.contains("</x/***>") && !told.contains("b0dy-s3cret"))
        #expect(run.story(of: "a").contains("response"))
    }

    /// What leads to the answer, and what stands around its parts, is told after it as well.
    @Test func itIsMaskedInWhatCameBeforeIt() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        let secret = "b0dy-s3cret-token"
        let body = #"{"token": "\#(secret)"}"#
        server.on("/login", .respond(302, headers: [("Location", "/cb?code=\(secret)")]))
        server.on("/cb?code=\(secret)", .respond(200, headers: Self.json, body: body))
        server.on(
            "/parts",
            .respond(
                200, headers: [("Content-Type", "multipart/x-mixed-replace; boundary=b"), ("X-Token", secret)],
                body: "--b\r\nX-Part: \(secret)\r\n\r\n{}\r\n--b\r\n\r\n\(body)\r\n--b--\r\n"))
        let run = try Stage().run(
            """
            defaults: { capture: { t: { json: $.token, secret: true } } }
            tasks:
              - { id: a, url: "\(server.url("/login"))" }
              - { id: b, url: "\(server.url("/parts"))" }
            """)
        #expect(run.status == 0, "\(run.errorText)")
        #expect(try run.task("a", "redirects[0].to") == server.url("/cb?code=***"))
        #expect(run.story(of: "a").contains("redirect"))
        let told = (run.report.plainText ?? "") + run.events.compactMap { $0.plainText }.joined()
        #expect(!told.contains(secret) && told.contains("X-Token") && told.contains("X-Part"))
    }

    /// A server that repeats what it was shown is no way out for what is bound to it.
    @Test func aBoundSecretIsNotCapturedIntoAnotherRequest() throws {
        let (home, other) = (try ScriptedServer(), try ScriptedServer())
        defer { for server in [home, other] { server.stop() } }
        home.on("/echo") { request in .respond(200, body: "tok=\(request.header("X-K") ?? "")") }
        home.on("/use") { request in .respond(200, body: request.target) }
        let run = try Stage().run(
            """
            secrets: { BOUND: { hosts: ["127.0.0.1:\(home.port)"] } }
            defaults: { allowFailure: true }
            tasks:
              - { id: a, url: "\(home.url("/echo"))", headers: { X-K: "${secret.BOUND}" }, capture: { v: { regex: "tok=(.*)" } } }
              - { id: home, url: "\(home.url("/use"))", headers: { X: "${tasks.a.v}" } }
              - { id: url, url: "\(other.url("/x"))?k=${tasks.a.v}" }
              - { id: header, url: "\(other.url("/x"))", headers: { X: "${tasks.a.v}" } }
              - { id: body, url: "\(other.url("/x"))", body: { data: "${tasks.a.v}" } }
              - { id: json, url: "\(other.url("/x"))", body: { json: { v: "${tasks.a.v}" } } }
            """, environment: ["BOUND": "bound-s3cret"])
        #expect(run.status == 0)
        #expect(home.requests("/use").first?.header("X") == "bound-s3cret")
        for id in ["url", "header", "body", "json"] {
            #expect(try run.task(id, "error.name") == "secretBarred", "\(id)")
        }
        #expect(other.requests().isEmpty)
    }

    @Test func itStaysWhereItsHostsSay() throws {
        let home = try ScriptedServer()
        let other = try ScriptedServer()
        defer { for server in [home, other] { server.stop() } }
        home.on("/login", .respond(200, headers: Self.json, body: #"{"token": "\#(Self.secret)"}"#))
        home.on("/away", .redirect(307, to: other.url("/landed")))
        other.on("/landed", .respond(200, body: "ok"))
        home.on("/stay", .respond(200, body: "ok"))
        let run = try Stage().run(
            """
            defaults: { allowFailure: true }
            tasks:
              - id: login
                url: "\(home.url("/login"))"
                capture:
                  bound: { json: $.token, secret: true, hosts: ["127.0.0.1:\(home.port)"] }
                  free: { json: $.token, secret: true }
              - { id: stay, url: "\(home.url("/stay"))", headers: { X: "${tasks.login.bound}" } }
              - { id: header, url: "\(other.url("/landed"))", headers: { X: "${tasks.login.bound}" } }
              - { id: body, url: "\(other.url("/landed"))", body: { data: "${tasks.login.bound}" } }
              - { id: url, url: "\(other.url("/landed"))/${tasks.login.bound}" }
              - { id: query, url: "\(other.url("/landed"))", query: { a: "${tasks.login.bound}" } }
              - { id: redirected, url: "\(home.url("/away"))", headers: { X: "${tasks.login.free}" } }
              - { id: carried, url: "\(home.url("/away"))", body: { data: "${tasks.login.bound}" } }
            """)
        #expect(run.status == 0)
        #expect(home.requests("/stay").first?.header("X") == Self.secret)
        for id in ["header", "body", "url", "query", "carried"] {
            #expect(try run.task(id, "error.name") == "secretBarred", "\(id)")
        }
        #expect(try run.task("redirected", "redirects[0].stripped[0]") == "X")
        #expect(other.requests().count == 1)
        for request in other.requests() {
            #expect(!Self.leaks(String(decoding: request.head + request.body, as: UTF8.self)))
        }
        expectNothingTold(run)
    }

    /// It cannot be looked for in a body that is cut, so nothing of such a body is told; an error's page is.
    @Test func whatCannotBeLookedThroughIsNotTold() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        let secret = Self.secret
        let head = "HTTP/1.1 200 OK\r\nX-Token: \(secret)\r\nContent-Length: 100\r\n\r\n"
        server.on("/cut", [.send("\(head){\"token\": \"\(secret)\""), .cut])
        let echo = [("X-Token", secret), ("Content-Disposition", "attachment; filename=\"\(secret)\"")]
        server.on("/other", .respond(200, headers: Self.json + echo, body: #"{"access": "\#(secret)"}"#))
        server.on("/right", .respond(200, headers: Self.json + echo, body: #"{"token": "\#(secret)"}"#))
        server.on("/refused", .respond(401, headers: Self.json, body: #"{"error": "no", "token": "\#(secret)"}"#))
        var utf16: [UInt8] = [0xFF, 0xFE]
        for unit in #"{"token": "\#(secret)"}"#.utf16 { utf16 += [UInt8(unit & 255), UInt8(unit >> 8)] }
        server.on("/utf16", .respond(200, headers: Self.json, body: utf16))
        let run = try Stage().run(
            """
            defaults: { allowFailure: true, capture: { t: { json: $.token, secret: true } }, retry: { attempts: 1 } }
            tasks:
              - { id: cut, url: "\(server.url("/cut"))" }
              - { id: other, url: "\(server.url("/other"))" }
              - { id: refused, url: "\(server.url("/refused"))" }
              - { id: utf16, url: "\(server.url("/utf16"))" }
              - { id: long, url: "\(server.url("/right"))", maximumSize: 5 }
              - { id: size, url: "\(server.url("/right"))", expect: { size: 4 } }
              - { id: stopped, url: "\(server.url("/right"))", onResponse: [{ do: cancel }] }
              - { id: wrong, url: "\(server.url("/right"))", to: f, checksum: "md5:00000000000000000000000000000000" }
            """)
        // A cancelled one is not tolerated.
        #expect(run.status == 1)
        #expect(try run.task("cut", "body") == nil)
        #expect(try run.task("other", "body") == nil)
        #expect(try run.task("other", "error.name") == "captureNotFound")
        #expect(try run.task("refused", "body.text") == #"{"error": "no", "token": "***"}"#)
        #expect(try run.task("utf16", "body.text") == #"{"token": "***"}"#)
        expectNothingTold(run)
    }

    /// What is written down for the next run holds no URL with the secret.
    @Test func nothingOfItLiesOnTheDisk() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/login", .respond(200, headers: Self.json, body: #"{"token": "\#(Self.secret)"}"#))
        var resource = ServedResource(Array("file".utf8))
        resource.contentType = "text/plain"
        server.on("/file") { _ in
            .respond(200, headers: [("ETag", "\"1\""), ("Cache-Control", "max-age=600")], body: "file")
        }
        let stage = try Stage()
        let run = try stage.run(
            """
            tasks:
              - { id: login, url: "\(server.url("/login"))", capture: { t: { json: $.token, secret: true } } }
              - { id: file, url: "\(server.url("/file"))", query: { k: "${tasks.login.t}" }, to: file }
              - { id: data, url: "\(server.url("/file"))", query: { k: "${tasks.login.t}" } }
            """, "--state-dir", "state")
        #expect(run.status == 0, "\(run.errorText)")
        for (name, bytes) in try stage.folder.contents("state") {
            #expect(!Self.leaks(String(decoding: bytes, as: UTF8.self)), "\(name)")
        }
        expectNothingTold(run)
    }

    /// Nor in what servers say back: where a redirect leads, what a header, a body or a validator repeats.
    @Test(arguments: ["captured", "declared"]) func nothingThatAServerRepeatsLiesOnTheDisk(_ kind: String) throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        let fresh = ("Cache-Control", "max-age=600")
        server.on("/login", .respond(200, headers: Self.json, body: #"{"token": "r3peated-w0rd"}"#))
        server.on("/moved") { request in
            .redirect(302, to: "/file?\(request.header("X-Key") ?? "")", headers: [fresh])
        }
        server.on("/head") { request in
            .respond(200, headers: [fresh, ("X-Echo", request.header("X-Key") ?? "")], body: "head")
        }
        server.on("/body") { request in .respond(200, headers: [fresh], body: request.header("X-Key") ?? "") }
        server.on("/fresh") { request in
            request.header("If-None-Match") == nil
                ? .respond(200, headers: [("ETag", "\"1\""), ("Cache-Control", "no-cache")], body: "fresh")
                : .respond(304, headers: [("ETag", "\"1\""), ("X-Echo", request.header("X-Key") ?? "")])
        }
        server.on("/file") { request in
            .respond(200, headers: [("ETag", "\"\(request.header("X-Key") ?? "")\"")], body: "file")
        }
        let stage = try Stage()
        let shown = "headers: { X-Key: \"\(kind == "captured" ? "${tasks.login.t}" : "${secret.KEY}")\" }"
        let run = try stage.run(
            """
            secrets: { KEY: { env: KEY } }
            tasks:
              - id: login
                url: "\(server.url("/login"))"
                capture: { t: { json: $.token, secret: true } }
              - { id: moved, url: "\(server.url("/moved"))", \(shown) }
              - { id: head, url: "\(server.url("/head"))", \(shown) }
              - { id: body, url: "\(server.url("/body"))", \(shown) }
              - { id: fresh, url: "\(server.url("/fresh"))", \(shown) }
              - { id: again, url: "\(server.url("/fresh"))", needs: [fresh], \(shown) }
              - { id: file, url: "\(server.url("/file"))", to: file, \(shown) }
              - { id: twice, url: "\(server.url("/body"))", needs: [body], \(shown) }
            """, "--state-dir", "state", environment: ["KEY": "r3peated-w0rd"])
        #expect(run.status == 0, "\(run.errorText)")
        #expect(server.requests("/head").first?.header("X-Key") == "r3peated-w0rd")
        // It is good for this run all the same.
        #expect(try run.task("again", "source") == "revalidated" && run.task("twice", "source") == "cache")
        for (name, bytes) in try stage.folder.contents("state") {
            #expect(!String(decoding: bytes, as: UTF8.self).contains("r3peated-w0rd"), "\(name)")
        }
    }
}
