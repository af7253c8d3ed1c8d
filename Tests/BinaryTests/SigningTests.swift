import HTTPRules
import TestSupport
import Testing
import TextFormats
import TransferModel

/// Requests that are signed for an object store, checked by a server that knows the key.
@Suite struct SigningTests {
    private static let signature = AWSSignature(
        accessKey: "AKIDEXAMPLE", secretKey: "hush-hush-secret", sessionToken: "a+token/", region: "eu-north-1",
        service: "s3")
    static let credential =
        "{ method: awsSigV4, accessKey: AKIDEXAMPLE, secretKey: hush-hush-secret, sessionToken: a+token/, "
        + "region: eu-north-1, service: s3 }"

    static func isSigned(
        _ request: ReceivedRequest, by key: String = "AKIDEXAMPLE", as service: String = "s3"
    ) -> Bool {
        let signature = AWSSignature(
            accessKey: SecretText(key), secretKey: signature.secretKey, sessionToken: signature.sessionToken,
            region: signature.region, service: service)
        guard let shown = request.header("Authorization"), let host = request.header("Host"),
            let stamp = request.header("X-Amz-Date"), let time = time(stamp),
            let url = try? ResourceURL.parse("http://" + host + request.target),
            let digest = request.header("X-Amz-Content-Sha256")
        else { return false }
        // The path as it came: whoever checks spells nothing anew.
        guard signature.spelled(url) == "http://" + host + request.target else { return false }
        let own: Set = [
            "authorization", "host", "x-amz-date", "x-amz-content-sha256", "x-amz-security-token", "content-length",
        ]
        let fields = request.headerLines.map { $0.split(separator: ":", maxSplits: 1).map(String.init) }
        let headers = fields.filter { !own.contains($0[0].lowercased()) }
            .map { HeaderField(name: $0[0], value: SecretText($0.count > 1 ? $0[1] : "")) }
        let body = AWSSignature.sha256(request.body)
        let isWhole = digest == body.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
        let added = signature.added(
            to: headers, method: request.method, url: url, payload: .sha256(body), at: time)
        return isWhole && added.last?.value.revealed == shown
    }

    private static func time(_ stamp: String) -> WallTime? {
        let digits = stamp.filter(\.isNumber)
        guard digits.count == 14, stamp.count == 16 else { return nil }
        let text = Array(digits)
        func part(_ range: Range<Int>) -> String { String(text[range]) }
        let written =
            "\(part(0..<4))-\(part(4..<6))-\(part(6..<8))T\(part(8..<10)):\(part(10..<12)):\(part(12..<14))Z"
        return RFC3339.parse(written)
    }

    private func job(_ tasks: String, _ credential: String = credential) -> String {
        """
        sessions: { default: { configuration: ephemeral, credentials: [\(credential)] } }
        tasks:
        \(tasks)
        """
    }

    /// What was answered to another key is not asked about, nor gone on with: what is left of the request is what is signed.
    @Test func anotherKeyGetsAllOfItsAnswer() throws {
        let server = try ScriptedServer { request in
            let isOther = request.header("Authorization")?.contains("OTHERKEY") == true
            guard Self.isSigned(request, by: isOther ? "OTHERKEY" : "AKIDEXAMPLE") else { return .respond(403) }
            return request.header("If-None-Match") == nil
                ? .respond(200, headers: [("ETag", "\"v1\"")], body: "hello") : .respond(304)
        }
        defer { server.stop() }
        let stage = try Stage()
        for key in ["AKIDEXAMPLE", "OTHERKEY", "OTHERKEY"] {
            let run = try stage.run(
                """
                sessions:
                  default: { credentials: [\(Self.credential.replacing("AKIDEXAMPLE", with: key))] }
                tasks: [{ id: a, url: "\(server.url("/b/k"))", to: a }]
                """)
            #expect(run.status == 0, "\(run.errorText)")
        }
        #expect(server.requests().map { $0.header("If-None-Match") } == [nil, nil, "\"v1\""])
    }

    /// A HEAD in the place of a GET is signed as what it is.
    @Test func aQuestionOfTheCacheIsSigned() throws {
        let server = try ScriptedServer { request in
            guard Self.isSigned(request) else { return .respond(403) }
            let headers = [("ETag", "\"v1\""), ("Cache-Control", "max-age=0")]
            return request.method == "HEAD"
                ? .headOnly(200, headers: headers, length: 5) : .respond(200, headers: headers, body: "hello")
        }
        defer { server.stop() }
        let chain = (1...40).map { "  - { id: t\($0), url: \"\(server.url("/b/k"))\", needs: [t\($0 - 1)] }" }
            .joined(separator: "\n")
        let run = try Stage().run(
            """
            sessions:
              default: { configuration: ephemeral, cache: { revalidation: head }, credentials: [\(Self.credential)] }
            tasks:
              - { id: t0, url: "\(server.url("/b/k"))" }
            \(chain)
            """)
        #expect(run.status == 0, "\(run.errorText)")
        // A copy may be in the cache only after the next task has begun, or one after that.
        #expect(server.requests().first?.method == "GET" && server.requests().last?.method == "HEAD")
        #expect(server.requests().allSatisfy { Self.isSigned($0) })
    }

    @Test func bodiesOfEachKind() throws {
        let server = try ScriptedServer { _ in .respond(200, body: "taken") }
        defer { server.stop() }
        let stage = try Stage()
        try stage.folder.write("file.bin", String(repeating: "0123456789", count: 30_000))
        let long = String(repeating: "x", count: 1_200_000)
        let bodies = [
            "data: hello", "data: \"\"", "json: { a: 1 }", "form: { a: \"b c\" }", "file: file.bin", "data: \(long)",
        ]
        let tasks = bodies.enumerated().map { number, body in
            "  - { id: t\(number), type: upload, method: PUT, url: \"\(server.url("/b/k\(number) +~ü=%2b"))\", body: { \(body) } }"
        }
        let get =
            "  - { id: list, url: \"\(server.url("/b?x=1+2&y"))\", query: { prefix: \"a b+/\" }, headers: { X-Own: \" a  b \" } }"
        let run = try stage.run(job((tasks + [get]).joined(separator: "\n")))
        #expect(run.status == 0, "\(run.errorText)")
        #expect(server.requests().count == bodies.count + 1)
        for request in server.requests() { #expect(Self.isSigned(request), "\(request.target)") }
        #expect(!"\(run.errorText)\(run.result.outputText)\(run.report)\(run.events)".contains("hush-hush-secret"))
    }

    /// A form is signed like any body, with the files in it, also where nothing may be sent unseen; a command's output is not.
    @Test(arguments: ["s3", "execute-api"]) func forms(_ service: String) throws {
        let server = try ScriptedServer { _ in .respond(200, body: "taken") }
        defer { server.stop() }
        let stage = try Stage()
        try stage.folder.write("file.bin", String(repeating: "0123456789", count: 300_000))
        let url = server.url("/a")
        let tasks = """
              - { id: a, method: POST, url: "\(url)", body: { multipart: [{ name: a, data: b }, { name: c, json: [1] }] } }
              - { id: b, method: POST, url: "\(url)", body: { multipart: [{ name: a, file: file.bin }, { name: b, data: c }] } }
              - { id: c, method: POST, url: "\(url)", body: { stream: { command: [echo, x] } } }
            """
        let credential = Self.credential.replacing("service: s3", with: "service: \(service)")
        let run = try stage.run(job(tasks, credential))
        let isStore = service == "s3"
        #expect(try run.task("a", "outcome") == "succeeded" && run.task("b", "outcome") == "succeeded")
        #expect(try run.task("c", "outcome") == (isStore ? "succeeded" : "failed"))
        if !isStore { #expect(try run.task("c", "error.name") == "cannotSign") }
        #expect(server.requests().count == (isStore ? 3 : 2))
        for request in server.requests() where request.header("Content-Type")?.hasPrefix("multipart") == true {
            #expect(Self.isSigned(request, as: service))
        }
    }

    /// A redirect elsewhere is not signed, unless a host says so; who says himself who he is, is not signed either.
    @Test func whereItGoes() throws {
        let other = try ScriptedServer()
        other.on("/there", .respond(200, body: "there"))
        defer { other.stop() }
        let target = "http://localhost:\(other.port)/there"
        let server = try ScriptedServer { request in
            request.target == "/typed" ? .respond(200, body: "typed") : .respond(302, headers: [("Location", target)])
        }
        defer { server.stop() }
        let stage = try Stage()
        let tasks = """
              - { id: a, url: "\(server.url("/a"))" }
              - { id: b, url: "\(server.url("/typed"))", headers: { Authorization: "Bearer own" } }
            """
        #expect(try stage.run(job(tasks)).status == 0)
        #expect(other.requests().map { $0.header("Authorization") } == [nil])
        #expect(other.requests().map { $0.header("X-Amz-Security-Token") } == [nil])
        #expect(server.requests("/typed").map { $0.header("Authorization") } == ["Bearer own"])
        #expect(server.requests("/typed").map { $0.header("X-Amz-Date") } == [nil])
        let hosted = "{ host: localhost, " + Self.credential.dropFirst(2)
        #expect(try stage.run(job("  - { id: a, url: \"\(server.url("/a"))\" }", hosted)).status == 0)
        #expect(server.requests("/a").map { $0.header("Authorization") == nil } == [false, true])
        #expect(other.requests().last?.header("Authorization")?.hasPrefix("AWS4-HMAC-SHA256") == true)
    }

    /// An object's tag is its MD5 where it was put in one piece.
    @Test(
        arguments: [
            ("\"900150983cd24fb0d6963f7d28e17f72\"", [], true), ("\"00000000000000000000000000000000\"", [], false),
            ("\"00000000000000000000000000000000-2\"", [], true), ("\"opaque\"", [], true),
            ("\"00000000000000000000000000000000\"", [("x-amz-server-side-encryption", "aws:kms")], true),
            ("\"00000000000000000000000000000000\"", [("x-amz-server-side-encryption", "AES256")], false),
        ] as [(String, [Script.Header], Bool)])
    func tags(_ tag: String, _ headers: [Script.Header], _ isRight: Bool) throws {
        let server = try ScriptedServer { _ in .respond(200, headers: headers + [("ETag", tag)], body: "abc") }
        defer { server.stop() }
        let stage = try Stage()
        let task = "  - { id: a, url: \"\(server.url("/a"))\", to: a, retry: { attempts: 1 } }"
        let run = try stage.run(job(task))
        #expect(run.status == (isRight ? 0 : 1))
        if !isRight { #expect(try run.task("a", "error.name") == "checksumMismatch") }
        #expect(stage.files.contains("a") == isRight)
    }

    /// Of an object in a directory bucket the tag is no digest, though it looks like one.
    @Test func tagsOfDirectoryBuckets() throws {
        let tag = ("ETag", "\"9c8af9a76df052144598c115ef33e511\"")
        let server = try ScriptedServer { _ in .respond(200, headers: [tag], body: "abc") }
        defer { server.stop() }
        let stage = try Stage()
        let tasks = """
              - { id: put, method: PUT, url: "\(server.url("/a"))", body: { data: abd } }
              - { id: get, url: "\(server.url("/a"))", to: a }
            """
        let credential = Self.credential.dropLast(" service: s3 }".count) + " service: s3express }"
        #expect(try stage.run(job(tasks, String(credential))).status == 0)
        #expect(try stage.folder.text("a") == "abc")
    }

    /// What it took is what was sent, or it says nothing of it.
    @Test(arguments: [
        ("data: abc", "900150983cd24fb0d6963f7d28e17f72", true),
        ("file: abc", "900150983cd24fb0d6963f7d28e17f72", true),
        ("data: abd", "900150983cd24fb0d6963f7d28e17f72", false), ("data: abd", "0-2", true),
        ("stream: { command: [cat, abc] }", "900150983cd24fb0d6963f7d28e17f72", true),
        ("stream: { command: [cat, abc] }", "900150983cd24fb0d6963f7d28e17f73", false),
    ])
    func whatTheStoreTook(_ body: String, _ tag: String, _ isRight: Bool) throws {
        let server = try ScriptedServer { request in
            request.numberOnConnection == 1 && request.path == "/moved"
                ? .respond(307, headers: [("Location", "/a")]) : .respond(200, headers: [("ETag", "\"\(tag)\"")])
        }
        defer { server.stop() }
        let stage = try Stage()
        try stage.folder.write("abc", "abc")
        for path in ["/a", "/moved"] {
            let run = try stage.run(
                job("  - { id: a, type: upload, method: PUT, url: \"\(server.url(path))\", body: { \(body) } }"))
            #expect(run.status == (isRight ? 0 : 1))
            if !isRight { #expect(try run.task("a", "error.name") == "checksumMismatch") }
        }
    }

    /// Each attempt is signed anew, with what it asks for.
    @Test func brokenOffAndGoneOnWith() throws {
        let whole = [UInt8](repeating: 7, count: 400_000)
        let server = try ScriptedServer { request in
            guard Self.isSigned(request) else { return .respond(403, body: "no") }
            let tag: [Script.Header] = [("ETag", "\"v1\"")]
            guard request.header("Range") != nil else {
                let head = Script.head(200, tag + [("Content-Length", "400000")])
                return [.bytes(head + whole[..<300_000]), .close]
            }
            return .respond(
                206, headers: tag + [("Content-Range", "bytes 300000-399999/400000")], body: Array(whole[300_000...]))
        }
        defer { server.stop() }
        let stage = try Stage()
        let run = try stage.run(
            job("  - { id: a, url: \"\(server.url("/a"))\", to: a, retry: { backoff: { initial: 10ms } } }"))
        #expect(run.status == 0, "\(run.errorText)")
        #expect(try stage.folder.bytes("a") == whole)
    }

    /// The rest of an upload is signed with its own digest, like all that can be read before it is sent.
    @Test(arguments: ["data: \(String(repeating: "x", count: 3_000))", "file: data.bin"])
    func theRestOfAnUpload(_ body: String) throws {
        let version: [Script.Header] = [("Upload-Draft-Interop-Version", "6")]
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on(
            "PUT /up",
            [
                .bytes(Script.head(104, version + [("Location", "/uploads/1")])), .wait(.milliseconds(40)),
                .readPart(1_000), .reset,
            ])
        server.on(
            "HEAD /uploads/1",
            .respond(204, headers: version + [("Upload-Offset", "1000"), ("Upload-Complete", "?0")]))
        server.on("PATCH /uploads/1", .respond(201))
        let stage = try Stage()
        try stage.folder.write("data.bin", Script.patternBytes(200_000))
        let credential = Self.credential.replacing("service: s3", with: "service: execute-api")
        let run = try stage.run(
            job(
                "  - { id: a, type: upload, method: PUT, url: \"\(server.url("/up"))\", body: { \(body) }, "
                    + "resumable: true, retry: { backoff: { initial: 10ms } } }", credential))
        #expect(run.status == 0, "\(run.errorText)")
        let rest = server.requests("/uploads/1")
        #expect(rest.map(\.method) == ["HEAD", "PATCH"])
        #expect(rest.allSatisfy { Self.isSigned($0, as: "execute-api") })
    }
}
