import TestSupport
import Testing

/// What people and the report are told of an answer that was not as expected.
@Suite struct FailureWordsTests {
    private func failed(_ script: Script, _ keys: String = "to: f", job more: String = "") throws -> (
        stage: Stage, run: Stage.Run, url: String
    ) {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/f", script)
        let stage = try Stage()
        let url = server.url("/f")
        let run = try stage.run("\(more)\ntasks: [{ id: t, url: \"\(url)\", retry: { attempts: 1 }, \(keys) }]")
        #expect(run.status == 1)
        return (stage, run, url)
    }

    private func answer(_ status: Int, _ type: String, _ body: String) -> Script {
        .respond(status, headers: [("Content-Type", type)], body: body)
    }

    /// A download's too: the file is not made, and what the server said is not lost.
    @Test(arguments: ["to: f", "method: GET", "to: f, decompress: true", "to: f, segments: 4"])
    func httpFailure_saysMethodURLStatusAndTheServersWords(_ keys: String) throws {
        let body = #"{"error": {"code": 42, "message": "quota exceeded\n for project 42"}}"#
        let (stage, run, url) = try failed(answer(403, "application/json", body), keys)
        #expect(try run.task("t", "error.message") == "GET \(url): 403 Forbidden: \"quota exceeded for project 42\"")
        #expect(try run.task("t", "error.name") == "unexpectedResponse")
        #expect(try run.task("t", "body.text") == body)
        #expect(stage.files.isEmpty)
        #expect(run.errorText.contains("GET \(url): 403 Forbidden: \"quota exceeded for project 42\""))
        #expect(run.errorText.contains("Check what the credential may do"))
    }

    /// Known by OpenSSL's number, for its words differ from version to version.
    @Test func httpsToAPlainPort_saysThatThereIsNoTLS() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        // A server that waits for the end of a request's head would wait for ever.
        server.onAccept { _ in .respond(400, body: "plain", close: true) }
        let url = "https" + server.url("/f").dropFirst(4)
        let run = try Stage().run("tasks: [{ id: t, url: \"\(url)\", retry: { attempts: 1 } }]")
        #expect(try run.task("t", "error.name") == "secureConnectionFailed")
        #expect(try run.task("t", "error.message") == "GET \(url): the server speaks no TLS on this port")
        #expect(try run.task("t", "error.curl") == "35")
        #expect(run.errorText.contains("This port may speak plain HTTP: try `http://`, or check the port."))
    }

    @Test func httpsToAPortThatHangsUp_saysSo() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.onAccept { _ in Script([.close]) }
        let url = "https" + server.url("/f").dropFirst(4)
        let run = try Stage().run("tasks: [{ id: t, url: \"\(url)\", retry: { attempts: 1 } }]")
        #expect(try run.task("t", "error.name") == "secureConnectionFailed")
        #expect(
            try run.task("t", "error.message") == "GET \(url): the server ended the connection in the TLS handshake")
        #expect(run.errorText.contains("This port may speak no TLS: try `http://`"))
    }

    @Test(arguments: [
        ("text/plain", "no such release", ": \"no such release\""),
        ("text/html", "<html><head><title>Not\n here</title></head><body>lots</body></html>", ": \"Not here\""),
        ("text/html", "<p>no title", ""),
        (
            "text/html",
            "<title>400 Bad Request</title> Reason: You're speaking plain HTTP to an SSL-enabled server port.<br />",
            ": \"You're speaking plain HTTP to an SSL-enabled server port\""
        ),
        ("application/problem+json", #"{"title": "Gone", "detail": "it left"}"#, ": \"it left\""),
        ("application/json", #"{"errors": [{"message": "first"}, {"message": "second"}]}"#, ": \"first; second\""),
        ("application/json", "{ broken", ": \"{ broken\""),
        ("application/octet-stream", "bytes", ""),
    ])
    func theServersWords_areThoseForPeople(_ type: String, _ body: String, _ words: String) throws {
        let (_, run, url) = try failed(answer(404, type, body))
        #expect(try run.task("t", "error.message") == "GET \(url): 404 Not Found\(words)")
    }

    /// Requests that were refused for different reasons are different causes; those for one reason are counted together.
    @Test func whatIsWrongWithFields_isToldOnceForEachReason() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        for (path, field) in [("/a", "name"), ("/b", "name"), ("/c", "age")] {
            server.on(path, answer(422, "application/json", #"{"errors": {"\#(field)": ["is wrong"]}}"#))
        }
        let run = try Stage().run(
            "tasks: [\(["a", "b", "c"].map { "{ id: \($0), url: \"\(server.url("/\($0)"))\" }" }.joined(separator: ", "))]"
        )
        #expect(run.errorText.contains("422 Unprocessable Content: \"name: is wrong\""), "\(run.errorText)")
        #expect(run.errorText.contains("\n  2 tasks failed (unexpectedResponse)"), "\(run.errorText)")
        #expect(run.errorText.contains("\n  c failed (unexpectedResponse)"), "\(run.errorText)")
    }

    /// Two hundred characters, and nothing that moves a cursor.
    @Test func theServersWords_areCutAndHarmless() throws {
        let body = "a\u{1B}[2J\u{202E}b\r\n\tc " + String(repeating: "é", count: 300)
        let (_, run, _) = try failed(answer(500, "text/plain; charset=utf-8", body))
        let message = try #require(try run.task("t", "error.message"))
        let words = try #require(message.firstRange(of: ": \"a")).lowerBound
        #expect(message[words...].hasPrefix(": \"a[2Jb c éé") && message.hasSuffix("é...\""))
        #expect(message[words...].unicodeScalars.count == 200 + 4)
        #expect(!run.errorText.contains("\u{1B}"))
    }

    @Test func aLongErrorPage_isToldByItsBeginning() throws {
        let body = "sorry " + String(repeating: "x", count: 300_000)
        let (stage, run, _) = try failed(answer(503, "text/plain", body))
        #expect(try run.task("t", "body.truncated") == "true")
        #expect(stage.files.isEmpty)
    }

    @Test func aFailedExpectation_namesTheRequest() throws {
        let (_, run, url) = try failed(
            answer(200, "application/json", "{}"), "type: data, method: POST, expect: { body: { contains: ok } }")
        #expect(run.errorText.contains("POST \(url): expected the body to contain `ok`"), "\(run.errorText)")
        #expect(!run.errorText.contains("`retry` tries it again"))
    }

    /// A secret that the server repeats is hidden, also where the words are cut.
    @Test func aSecretInTheServersWords_isHidden() throws {
        let secret = "s3cr3t-" + String(repeating: "z", count: 60)
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/f", answer(401, "text/plain", String(repeating: "-", count: 170) + secret))
        let stage = try Stage()
        let run = try stage.run(
            """
            tasks:
              - { id: t, url: "\(server.url("/f"))", to: f, headers: { Authorization: "Bearer ${secret.T}" } }
            """, environment: ["T": secret])
        let message = try #require(try run.task("t", "error.message"))
        #expect(message.contains("401 Unauthorized; the `Authorization` header was refused"))
        #expect(!"\(run.report)".contains("s3cr3t") && !run.errorText.contains("s3cr3t"))
        #expect(run.errorText.contains("Check the token"))
    }

    @Test func nobodyAsked_saysThatNoCredentialWasSent() throws {
        let (_, run, url) = try failed(.respond(401))
        #expect(try run.task("t", "error.message") == "GET \(url): 401 Unauthorized; no credential was sent")
    }

    @Test func aStatusThatTheJobNames_isSaid() throws {
        let (_, run, url) = try failed(.respond(200, body: "x"), "to: f, expect: { status: [201, 204] }")
        #expect(try run.task("t", "error.message")?.hasPrefix("GET \(url): 200 OK (expected ") == true)
    }

    /// Two digests are told apart by twelve digits; the report has both.
    @Test func aWrongChecksum_isShortForPeopleAndWholeInTheReport() throws {
        let wanted = String(repeating: "ab", count: 32)
        let (_, run, url) = try failed(.respond(200, body: "hello"), "to: f, checksum: sha256:\(wanted)")
        #expect(try run.task("t", "error.message")?.contains(wanted) == true)
        #expect(run.errorText.contains("GET \(url): sha256 is 2cf24dba5fb0…, expected abababababab…"))
        #expect(
            run.errorText.contains("If a new version was published, correct `checksum`; otherwise ask its publisher."))
        #expect(!run.errorText.contains(wanted) && !run.errorText.contains("upload"))
    }

    /// A digest with a slip in it differs where nobody looks.
    @Test func aChecksumWithASlip_isShownWhereItDiffers() throws {
        let right = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
        let (_, run, _) = try failed(
            .respond(200, body: "hello"), "to: f, checksum: sha256:\(right.dropLast(2))99")
        #expect(run.errorText.contains("sha256 is 2cf24dba5fb0…938b9824, expected 2cf24dba5fb0…938b9899"))
    }

    @Test func aRefusedConnection_namesTheURLAndThePort() throws {
        let server = try ScriptedServer()
        let url = server.url("/f")
        let port = try #require(url.split(separator: ":").last?.prefix { $0.isNumber })
        server.stop()
        let run = try Stage().run("tasks: [{ id: t, url: \"\(url)\", retry: { attempts: 1 } }]")
        #expect(try run.task("t", "error.name") == "cannotConnectToHost")
        #expect(try run.task("t", "error.message") == "GET \(url): 127.0.0.1 port \(port) refused the connection")
        #expect(run.errorText.contains("Check that the server is running and that the port is right."))
        #expect(run.errorText.contains("\nThe task failed:\n"))
    }

    /// A limit that ends the tries hides neither what they failed by nor where their time went.
    @Test func aRefusedProxy_isToldWhateverLimitEndsIt() throws {
        let retry = "retry: { backoff: { initial: 200ms, maximum: 400ms } }"
        let run = try Stage().run(
            """
            sessions: { default: { proxy: "http://127.0.0.1:9", timeoutForResource: 1s, \(retry) } }
            tasks: [{ id: t, url: "http://a.example/f" }]
            """)
        let message = try run.task("t", "error.message")
        #expect(try run.task("t", "error.name") == "timedOut")
        #expect(message?.contains("http://127.0.0.1:9") == true, "\(message ?? "none")")
        #expect(message?.hasSuffix(" times; then `timeoutForResource` (1 s) was over") == true, "\(message ?? "none")")
        // The name was found, and the time is that of the connection.
        let found = try run.values("$.tasks[0].attempts[0].transactions[0].domainLookupEndDate")
        #expect(found.count == 1 && found[0] != nil, "\(found)")
    }

    /// Whoever reads of a POST that may have arrived is not told to run it again.
    @Test func aPostThatIsNotSentAgain_saysSo() throws {
        let server = try ScriptedServer { _ in [.readBody, .reset] }
        defer { server.stop() }
        let run = try Stage().run(
            "tasks: [{ id: t, type: upload, method: POST, url: \"\(server.url("/f"))\", body: { data: hello } }]")
        #expect(run.status == 1 && server.requests().count == 1)
        let message = try run.task("t", "error.message")
        #expect(message?.contains("; it was not sent again, for the server may have acted on it") == true)
        #expect(run.errorText.contains("`retry: { nonIdempotent: true }`") && !run.errorText.contains("Run it again;"))
    }

    @Test func anUnknownHost_isNamedWithTheURL() throws {
        let run = try Stage().run("tasks: [{ id: t, url: \"http://nowhere.invalid/f\", retry: { attempts: 1 } }]")
        #expect(
            try run.task("t", "error.message")
                == "GET http://nowhere.invalid/f: no address was found for the host nowhere.invalid")
        #expect(run.errorText.contains("Check the spelling of the host's name"))
    }

    @Test(arguments: [
        (404, "", "Check the URL.\n"), (200, ", expect: { size: 3 }", "Correct `expect.size` if 5 bytes are right.\n"),
        (200, ", expect: { minimumSize: 9 }", "Lower `expect.minimumSize` if 5 bytes are right.\n"),
    ])
    func theHint_isAboutThisTask(_ status: Int, _ keys: String, _ hint: String) throws {
        let (_, run, _) = try failed(.respond(status, body: "hello"), "to: f\(keys)")
        #expect(run.errorText.contains("    \(hint)"), "\(run.errorText)")
    }
}
