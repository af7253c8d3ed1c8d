import Digests
import Glibc
import SystemIO
import TestSupport
import Testing
import TransferModel

/// Downloads that break and go on: whatever the server does with the range, the file is right.
@Suite struct ResumeTests {
    private static let body = Script.patternBytes(300_000)
    private static let cut = 120_000

    private func job(_ server: ScriptedServer, _ more: String = "") -> String {
        """
        defaults: { retry: { backoff: { initial: 10ms, jitter: none } } }
        tasks: [{ id: t, url: "\(server.url("/f"))", to: f\(more) }]
        """
    }

    /// The first answer breaks off; what the second and third say is the test's.
    private func server(
        _ headers: [Script.Header] = [("ETag", "\"v1\"")], then answers: [Script]
    ) throws -> ScriptedServer {
        let server = try ScriptedServer()
        let head = Script.head(200, [("Content-Length", "\(Self.body.count)")] + headers)
        let broken = Script([.bytes(head), .bytes(Array(Self.body[..<Self.cut])), .close])
        let all = [broken] + answers
        server.on("/f") { request in all[min(request.number, all.count) - 1] }
        return server
    }

    private func part(
        from: Int = cut, to: Int = body.count, total: Int = body.count, headers: [Script.Header] = [("ETag", "\"v1\"")]
    ) -> Script {
        .respond(
            206, headers: [("Content-Range", "bytes \(from)-\(to - 1)/\(total)")] + headers,
            body: Array(Self.body[from..<to]))
    }

    private let whole = Script.respond(200, headers: [("ETag", "\"v1\"")], body: body)

    @Test func whatIsThereIsNotFetchedAgain() throws {
        let server = try server(then: [part()])
        defer { server.stop() }
        let stage = try Stage()
        let run = try stage.run(job(server))
        #expect(run.status == 0)
        #expect(try stage.folder.bytes("f") == Self.body)
        let second = try #require(server.requests().last)
        #expect(second.header("Range") == "bytes=\(Self.cut)-" && second.header("If-Range") == "\"v1\"")
        #expect(try run.value("$.tasks[0].source") == "resumed")
        #expect(try run.values("$.tasks[0].attempts[*].resumedFrom") == ["0", "\(Self.cut)"])
        #expect(try run.values("$.tasks[0].attempts[*].startedOver") == [nil, nil])
        // What the first attempt fetched is no saving.
        #expect(try run.value("$.totals.bytesSaved") == "0")
        #expect(run.story(of: "t").contains("resumedAtOffset"))
        #expect(stage.files == ["f"])
    }

    /// A checksum is of all bytes, whichever attempt brought them.
    @Test(arguments: [true, false]) func theChecksumIsOfTheWhole(_ isRight: Bool) throws {
        let server = try server(then: [part(), whole])
        defer { server.stop() }
        let stage = try Stage()
        try stage.folder.write("sum", Self.body)
        let sum = stage.folder.path("sum")
        let found = try Binary(program: "/usr/bin/sha256sum").run(sum).outputText.prefix(64)
        let digest = isRight ? String(found) : String(found.reversed())
        let run = try stage.run(job(server, ", checksum: \"sha256:\(digest)\""))
        #expect(run.status == (isRight ? 0 : 1))
        #expect(stage.folder.exists("f") == isRight)
        if !isRight { #expect(try run.task("t", "error.name") == "checksumMismatch") }
        // The end is what a whole download has: the first that was put together may have been of two versions.
        let offsets = try run.values("$.tasks[0].attempts[*].resumedFrom")
        #expect(offsets == (isRight ? ["0", "\(Self.cut)"] : ["0", "\(Self.cut)", "0"]))
    }

    /// Servers have been seen that keep the tag of a file that they change.
    @Test func twoVersionsUnderOneTagAreFetchedAgain() throws {
        let other = Script.patternBytes(Self.body.count, from: 7)
        let mixed = Script.respond(
            206,
            headers: [
                ("Content-Range", "bytes \(Self.cut)-\(other.count - 1)/\(other.count)"), ("ETag", "\"v1\""),
            ], body: Array(other[Self.cut...]))
        let server = try server(then: [mixed, .respond(200, headers: [("ETag", "\"v1\"")], body: other)])
        defer { server.stop() }
        let stage = try Stage()
        try stage.folder.write("sum", other)
        let sum = try Binary(program: "/usr/bin/sha256sum").run(stage.folder.path("sum")).outputText.prefix(64)
        let run = try stage.run(job(server, ", checksum: \"sha256:\(sum)\""))
        #expect(run.status == 0)
        #expect(try stage.folder.bytes("f") == other)
        #expect(try run.values("$.tasks[0].attempts[*].error.name") == ["networkConnectionLost", "checksumMismatch"])
    }

    /// Each leads to a whole file, by a request more where the answer was of no use.
    @Test(arguments: [
        "no ranges", "another version", "shifted", "wrong total", "short", "several ranges", "no Content-Range",
        "416", "another tag in 206", "no tag in 206", "a redirect to another place",
    ]) func anyAnswerLeadsToTheRightFile(_ kind: String) throws {
        let other = Script.patternBytes(250_000, from: 7)
        let server: ScriptedServer
        var expected = Self.body
        switch kind {
        case "no ranges": server = try self.server(then: [whole])
        case "another version":
            server = try self.server(then: [.respond(200, headers: [("ETag", "\"v2\"")], body: other)])
            expected = other
        case "shifted": server = try self.server(then: [part(from: Self.cut + 1), whole])
        case "wrong total": server = try self.server(then: [part(total: Self.body.count + 1), whole])
        case "short": server = try self.server(then: [part(to: 200_000), whole])
        case "several ranges":
            let type = [("Content-Type", "multipart/byteranges; boundary=b")]
            server = try self.server(then: [.respond(206, headers: type, body: "--b--"), whole])
        case "no Content-Range": server = try self.server(then: [.respond(206, body: Self.body), whole])
        case "416":
            server = try self.server(then: [.respond(416, headers: [("Content-Range", "bytes */9")], body: ""), whole])
        case "no tag in 206":
            // Of another version, from a server that does not know `If-Range`.
            let span = ("Content-Range", "bytes \(Self.cut)-\(Self.body.count - 1)/\(Self.body.count)")
            let rest = Script.patternBytes(Self.body.count - Self.cut, from: 5)
            server = try self.server(then: [.respond(206, headers: [span], body: rest), whole])
        case "another tag in 206": server = try self.server(then: [part(headers: [("ETag", "\"v2\"")]), whole])
        default:
            server = try self.server(then: [.redirect(302, to: "/g")])
            server.serve("/g", ServedResource(Self.body))
        }
        defer { server.stop() }
        let stage = try Stage()
        let run = try stage.run(job(server))
        #expect(run.status == 0)
        #expect(try stage.folder.bytes("f") == expected)
        #expect(try run.value("$.tasks[0].source") == "network")
        #expect(try run.value("$.tasks[0].attempts[1].startedOver") != nil)
        #expect(stage.files == ["f"])
    }

    /// A range says how long it is; a body that is not so long is no rest, however it is framed.
    @Test(arguments: [
        "a shorter length", "a longer length", "too few in chunks", "too many in chunks", "closed early", "closed late",
        "an unknown total", "packed",
    ]) func theRestIsAsLongAsItsRange(_ kind: String) throws {
        let rest = Array(Self.body[Self.cut...])
        let (short, long) = (Array(rest.dropLast(7)), rest + Array("no more".utf8))
        let range = ("Content-Range", "bytes \(Self.cut)-\(Self.body.count - 1)/\(Self.body.count)")
        let tag = ("ETag", "\"v1\"")
        let bad: Script
        switch kind {
        case "a shorter length": bad = .respond(206, headers: [range, tag], body: short)
        case "a longer length": bad = .respond(206, headers: [range, tag], body: long)
        case "too few in chunks": bad = chunked([range, tag], short)
        case "too many in chunks": bad = chunked([range, tag], long)
        case "closed early", "closed late":
            let head = Script.head(206, [range, tag, ("Connection", "close")])
            bad = Script([.bytes(head), .bytes(kind == "closed early" ? short : long), .close])
        case "an unknown total":
            let server = try ScriptedServer()
            defer { server.stop() }
            let part = [("Content-Range", "bytes \(Self.cut)-\(Self.cut + 99)/*"), tag]
            let first = Script([
                .bytes(Script.head(200, [("Transfer-Encoding", "chunked"), tag])),
                .bytes(Array("\(String(Self.cut, radix: 16))\r\n".utf8) + Self.body[..<Self.cut]), .close,
            ])
            let answers = [first, .respond(206, headers: part, body: Array(rest[..<100])), whole]
            server.on("/f") { answers[min($0.number, 3) - 1] }
            return try expectWhole(server)
        default: bad = .respond(206, headers: [range, tag, ("Content-Encoding", "gzip")], body: rest.reversed())
        }
        let server = try server(then: [bad, whole])
        defer { server.stop() }
        try expectWhole(server)
    }

    private func chunked(_ headers: [Script.Header], _ bytes: [UInt8]) -> Script {
        let size = Array("\(String(bytes.count, radix: 16))\r\n".utf8)
        return Script([
            .bytes(Script.head(206, headers + [("Transfer-Encoding", "chunked")])),
            .bytes(size + bytes + Array("\r\n0\r\n\r\n".utf8)),
        ])
    }

    private func expectWhole(_ server: ScriptedServer) throws {
        let stage = try Stage()
        let run = try stage.run(job(server))
        #expect(run.status == 0)
        #expect(try stage.folder.bytes("f") == Self.body)
        #expect(stage.files == ["f"])
    }

    /// A part that was asked for to complete what is there stands for the whole.
    @Test func whoExpects200GoesOnWithAPart() throws {
        let server = try server(then: [part()])
        defer { server.stop() }
        let stage = try Stage()
        let run = try stage.run(job(server, ", expect: { status: 200 }"))
        #expect(run.status == 0)
        #expect(try stage.folder.bytes("f") == Self.body)
        #expect(try run.value("$.tasks[0].source") == "resumed")
    }

    /// As release servers do: the place is the same, the signature in its query is new each time.
    @Test func aRedirectMayBeSignedAnew() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/f") { .redirect(302, to: "/store/f?Key-Pair-Id=k&Signature=\($0.number)") }
        server.on("/store/f") { request in
            let resource = ServedResource(Self.body)
            return request.number == 1 ? resource.broken(after: Self.cut) : resource.answer(request)
        }
        let stage = try Stage()
        let run = try stage.run(job(server))
        #expect(run.status == 0)
        #expect(try stage.folder.bytes("f") == Self.body)
        #expect(server.requests("/store/f").last?.header("Range")?.hasPrefix("bytes=") == true)
        // Nothing but a redirect could come from there.
        #expect(server.requests("/f").allSatisfy { $0.header("Range") == nil })
        #expect(try run.value("$.tasks[0].source") == "resumed")
    }

    /// A build's number in the query names another file, though its tag and length be the same.
    @Test(arguments: [true, false]) func anotherQueryIsAnotherFile(_ hasChecksum: Bool) throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        let other = Self.body.map { $0 ^ 0xFF }
        server.on("/f") { .redirect(302, to: "/get?build=\(hasChecksum ? 7 : $0.number)&n=\($0.number)") }
        server.on("/get") { request in
            if request.number == 1 { return ServedResource(Self.body).broken(after: Self.cut) }
            return ServedResource(hasChecksum ? Self.body : other).answer(request)
        }
        let stage = try Stage()
        let sum = try Checksum.of(Self.body, .sha256)
        let run = try stage.run(job(server, hasChecksum ? ", checksum: '\(sum)'" : ""))
        #expect(run.status == 0)
        #expect(try stage.folder.bytes("f") == (hasChecksum ? Self.body : other))
        // A digest proves the whole.
        #expect(try run.value("$.tasks[0].source") == (hasChecksum ? "resumed" : "network"))
    }

    /// The tail of a file under the status of a whole one.
    @Test func aPartThatCallsItselfTheWholeIsAskedForAgain() throws {
        let range = ("Content-Range", "bytes \(Self.cut)-\(Self.body.count - 1)/\(Self.body.count)")
        let tail = Array(Self.body[Self.cut...])
        let server = try server(then: [.respond(200, headers: [("ETag", "\"v1\""), range], body: tail), whole])
        defer { server.stop() }
        let stage = try Stage()
        let run = try stage.run(job(server))
        #expect(run.status == 0)
        #expect(try stage.folder.bytes("f") == Self.body)
        // Where nobody asked for a part, it is an error.
        server.on("/f", .respond(200, headers: [range], body: tail))
        let second = try stage.run(job(server, ", existing: replace, retry: { attempts: 1 }"))
        #expect(try second.task("t", "error.name") == "badServerResponse")
        #expect(try stage.folder.bytes("f") == Self.body)
    }

    /// What a 206 to `If-Range` need not repeat is known from the first answer, and the next run asks with it.
    @Test(arguments: [
        "expect: { mimeType: application/x-foo }, to: f", "expect: { headers: { X-Full: yes } }, to: f",
        "expect: { headers: { Content-Length: '^300000$' } }, to: f", "to: d/",
        "capture: { name: { header: X-Full } }, to: f",
    ]) func aPartStandsForWhatTheFirstAnswerSaid(_ more: String) throws {
        let past = "Wed, 01 Jan 2020 12:00:00 GMT"
        let server = try server(
            [
                ("ETag", "\"v1\""), ("Content-Type", "application/x-foo"), ("X-Full", "yes"), ("Last-Modified", past),
                ("Content-Disposition", "attachment; filename=nice"),
            ],
            then: [part(), .respond(304, headers: [("ETag", "\"v1\"")])])
        defer { server.stop() }
        let stage = try Stage()
        let job = """
            defaults: { retry: { backoff: { initial: 10ms, jitter: none } } }
            tasks: [{ id: t, url: "\(server.url("/f"))", \(more) }]
            """
        #expect(try stage.run(job).status == 0)
        let file = more.hasSuffix("to: d/") ? "d/nice" : "f"
        #expect(try stage.folder.bytes(file) == Self.body)
        #expect(try FileFacts.of(stage.folder.path(file)).modifiedNanoseconds == 1_577_880_000_000_000_000)
        // What is captured needs an answer each time.
        guard !more.hasPrefix("capture") else { return }
        let second = try stage.run(job)
        #expect(try second.status == 0 && second.task("t", "source") == "unchanged")
        #expect(server.requests().last?.header("If-None-Match") == "\"v1\"")
    }

    /// Two halves of different versions would make a third that nobody has.
    @Test(
        arguments: [[], [("ETag", "W/\"v1\"")], [("ETag", "\"v1\""), ("Accept-Ranges", "none")]] as [[Script.Header]])
    func withoutProofItStartsOver(_ headers: [Script.Header]) throws {
        let server = try server(headers, then: [whole])
        defer { server.stop() }
        let stage = try Stage()
        let run = try stage.run(job(server))
        #expect(run.status == 0)
        #expect(try stage.folder.bytes("f") == Self.body)
        #expect(server.requests().last?.header("Range") == nil)
        #expect(try run.values("$.tasks[0].attempts[*].resumedFrom") == ["0", "0"])
    }

    /// A server that knows nothing of `If-Range`, and leaves the tag out of a part, says by the date which version it is:
    /// one that was made in the second of the first answer says nothing.
    @Test(arguments: [true, false]) func aDateProvesAVersionOnceItIsPast(_ isPast: Bool) throws {
        let (second, later) = ("Wed, 01 Jan 2020 12:00:00 GMT", "Wed, 01 Jan 2020 12:05:00 GMT")
        let dates = [("Last-Modified", second), ("Date", isPast ? later : second)]
        let other = Self.body.map { $0 ^ 0xFF }
        let now = isPast ? Self.body : other
        let rest = Script.respond(
            206, headers: [("Content-Range", "bytes \(Self.cut)-\(now.count - 1)/\(now.count)")] + dates,
            body: Array(now[Self.cut...]))
        let all = Script.respond(200, headers: [("ETag", "\"v2\"")] + dates, body: now)
        let server = try server([("ETag", "\"v1\"")] + dates, then: [rest, all])
        defer { server.stop() }
        let stage = try Stage()
        let run = try stage.run(job(server))
        #expect(run.status == 0)
        #expect(try stage.folder.bytes("f") == now)
        #expect(try run.value("$.tasks[0].source") == (isPast ? "resumed" : "network"))
        #expect(server.requests().count == (isPast ? 2 : 3))
    }

    /// A busy server in between costs nothing of what is there.
    @Test func whatIsThereSurvivesOtherFailures() throws {
        let server = try server(then: [.respond(503, body: "busy"), part()])
        defer { server.stop() }
        let stage = try Stage()
        let run = try stage.run(job(server))
        #expect(run.status == 0)
        #expect(try stage.folder.bytes("f") == Self.body)
        #expect(try run.values("$.tasks[0].attempts[*].resumedFrom") == ["0", "0", "\(Self.cut)"])
    }

    /// The version is known to be longer: what says nothing of its length was cut, however orderly it ended.
    @Test(arguments: [false, true]) func aWholeAnswerIsAsLongAsItsVersionWas(_ isChunked: Bool) throws {
        let short = Array(Self.body[..<100_000])
        let tag = [("ETag", "\"v1\"")]
        let cut: Script =
            isChunked ? .chunked(200, headers: tag, [short]) : .untilClose(200, headers: tag, body: short)
        let server = try server(then: isChunked ? [cut, whole] : [cut, cut, whole])
        defer { server.stop() }
        let stage = try Stage()
        let run = try stage.run(job(server, ", retry: { attempts: 4 }"))
        #expect(run.status == 0)
        #expect(try stage.folder.bytes("f") == Self.body)
        let errors = try run.values("$.tasks[0].attempts[*].error.name")
        #expect(errors.count == (isChunked ? 1 : 2) + 1)
        #expect(try run.value("$.tasks[0].attempts[1].error.message")?.contains("100000") == true)
        #expect(try run.value("$.tasks[0].length") == "verified")
    }

    /// Something on the way lets no range through, and says so in a way of its own: a file is not blocked by what is there.
    @Test(arguments: ["204", "300", "304", "no byte", "no chunk", "silence"])
    func aRangeThatNeverComesDoesNotBlockTheFile(_ kind: String) throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        let rest = Self.body.count - Self.cut
        let span = ("Content-Range", "bytes \(Self.cut)-\(Self.body.count - 1)/\(Self.body.count)")
        let tag = ("ETag", "\"v1\"")
        server.on("/f") { [whole] request in
            if request.number == 1 {
                let head = Script.head(200, [("Content-Length", "\(Self.body.count)"), tag])
                return Script([.bytes(head), .bytes(Array(Self.body[..<Self.cut])), .close])
            }
            guard request.header("Range") != nil else { return whole }
            switch kind {
            case "no byte":
                return Script([.bytes(Script.head(206, [("Content-Length", "\(rest)"), span, tag])), .close])
            case "no chunk": return .chunked(206, headers: [span, tag], [])
            case "silence": return [.wait(.seconds(600))]
            default: return .headOnly(Int(kind)!, headers: [tag], length: 0)
            }
        }
        let stage = try Stage()
        let patience = kind == "silence" ? ", timeoutForRequest: 300ms" : ""
        let run = try stage.run(job(server, ", retry: { attempts: 5 }\(patience)"))
        #expect(run.status == 0, "\(run.errorText)")
        #expect(try stage.folder.bytes("f") == Self.body)
        let ranges = server.requests().map { $0.header("Range") != nil }
        let isRefused = Int(kind) != nil
        #expect(ranges == (isRefused ? [false, true, false] : [false, true, true, false]))
        let why = try #require(try run.values("$.tasks[0].attempts[*].startedOver").last ?? nil)
        #expect(why.contains(isRefused ? "answered \(kind)" : "2 requests for the rest brought nothing of it"))
    }

    /// A server that has no time says nothing of the range, however often.
    @Test func aServerWithoutTimeKeepsWhatIsThere() throws {
        let busy = Script.respond(503, body: "busy")
        let server = try server(then: [busy, busy, busy, part()])
        defer { server.stop() }
        let stage = try Stage()
        let run = try stage.run(job(server, ", retry: { attempts: 5 }"))
        #expect(run.status == 0)
        #expect(try stage.folder.bytes("f") == Self.body)
        #expect(try run.task("t", "source") == "resumed")
    }

    @Test func aPartNobodyAskedForIsNoFile() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/f", part())
        let stage = try Stage()
        let run = try stage.run(job(server, ", retry: { attempts: 1 }"))
        #expect(run.status == 1)
        #expect(try run.task("t", "error.name") == "badServerResponse")
        #expect(stage.files.isEmpty)
    }

    @Test func aFailedDownloadLeavesNothing() throws {
        let server = try server(then: [.respond(404, body: "gone")])
        defer { server.stop() }
        let stage = try Stage()
        #expect(try stage.run(job(server)).status == 1)
        #expect(stage.files.isEmpty)
    }

    @Test func aSuspendedDownloadGoesOn() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        let head = Script.head(200, [("Content-Length", "\(Self.body.count)"), ("ETag", "\"v1\"")])
        let answers = [Script([.bytes(head), .bytes(Array(Self.body[..<Self.cut])), .wait(.seconds(3))]), part()]
        server.on("/f") { request in answers[min(request.number, 2) - 1] }
        let stage = try Stage()
        let program = try stage.start(job(server))
        #expect(server.waitForRequests(1))
        // Until its bytes are there.
        #expect(server.waitUntilRead(Self.cut, "/f"))
        #expect(try stage.binary.run("suspend", "\(program.processID)").exitStatus == 0)
        #expect(try stage.binary.run("resume", "\(program.processID)").exitStatus == 0)
        let run = try stage.finish(program)
        #expect(run.status == 0)
        #expect(try stage.folder.bytes("f") == Self.body)
        #expect(try run.value("$.tasks[0].source") == "resumed")
    }
}
