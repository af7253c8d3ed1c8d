import CurlCore
import Digests
import FileDelivery
import Testing
import TextFormats
import TransferEngine
import TransferModel

/// What an answer must be to become a task's file or body, and what it becomes.
@Suite struct AnswerTests {
    private func run(
        _ task: String, _ status: Int = 200, _ headers: [(String, String)] = [], _ body: String = "text"
    ) throws -> EngineRig {
        let rig = try EngineRig(EngineRig.job(task))
        rig.start()
        try rig.answer(status, headers, body)
        return rig
    }

    @Test func bodyOfADataTask_isItsResult() throws {
        let rig = try run("type: data")
        #expect(rig.succeeded && rig.body() == "text" && rig.result()?.source == .network)
        #expect(rig.delivery.files.isEmpty)
    }

    @Test func bodyOfADownload_becomesItsFile() throws {
        let rig = try run("to: f")
        #expect(rig.succeeded && rig.delivery.text("/here/f") == "text" && rig.body() == nil)
        #expect(rig.result()?.file?.bytes == 4)
    }

    @Test func longBody_comesInPieces() throws {
        let rig = try EngineRig(EngineRig.job("to: f"))
        rig.start()
        let piece = String(repeating: "x", count: 200_000)
        let transfer = try rig.answer(200, [("Content-Length", "600000")], stays: true)
        for _ in 0..<3 { rig.send(piece, to: transfer) }
        rig.loop.complete(transfer)
        rig.turn()
        #expect(rig.succeeded && rig.delivery.files["/here/f"]?.bytes.count == 600_000)
    }

    // MARK: Status

    @Test(arguments: [400, 401, 403, 404, 410, 500, 503]) func errorStatus_failsAndWritesNothing(_ status: Int) throws {
        let rig = try run("to: f", status)
        #expect(rig.error()?.name == .unexpectedResponse && rig.verdict()?.status == status)
        #expect(rig.delivery.files.isEmpty)
    }

    @Test(arguments: [
        ("4xx", 404, true), ("4xx", 200, false), ("[200, 404]", 404, true), ("200-299", 204, true), ("201", 200, false),
    ]) func expectedStatus_decides(_ expected: String, _ status: Int, _ isGood: Bool) throws {
        let rig = try run("type: data, expect: { status: \(expected) }", status)
        #expect(rig.succeeded == isGood)
    }

    @Test(arguments: [429, 503]) func retryAfter_isTold(_ status: Int) throws {
        let rig = try run("to: f", status, [("Retry-After", "7")])
        #expect(rig.verdict()?.retryAfter == .seconds(7))
    }

    /// Some servers say so that they were asked too often.
    @Test func refusalThatAsksForQuiet_saysHowItIsWaitedFor() throws {
        let rig = try run("to: f", 403, [("Retry-After", "7")])
        #expect(rig.error()?.message.contains("; it asks for quiet by `Retry-After`: `7`") == true)
        #expect(rig.error()?.whatHelps(.download).contains("`retry: { statuses: [403") == true)
        #expect(try run("to: f", 403).error()?.whatHelps(.download).contains("what the credential may do") == true)
    }

    @Test func unaskedPartialAnswer_isNoFile() throws {
        let rig = try run("to: f", 206, [("Content-Range", "bytes 0-3/4")])
        #expect(!rig.succeeded && rig.delivery.files.isEmpty)
    }

    @Test func unasked304_isNoFile() throws {
        let rig = try run("to: f", 304, [], "")
        #expect(!rig.succeeded && rig.delivery.files.isEmpty)
    }

    // MARK: Length

    @Test func bodyShorterThanItsLength_fails() throws {
        let rig = try EngineRig(EngineRig.job("to: f"))
        rig.start()
        try rig.answer(200, [("Content-Length", "10")], "text", stays: true)
        try rig.cut(.partialFile, "transfer closed with 6 bytes remaining to read", systemError: 0)
        #expect(rig.error()?.name == .networkConnectionLost && rig.delivery.files.isEmpty)
        let words = "GET https://a.example/f: the connection was cut after 4 of 10 B"
        #expect(rig.error()?.message == words)
    }

    @Test(
        arguments: [
            (CurlCode.emptyReply, 0, ""), (.recvError, 104, ": Connection reset by peer"),
        ] as [(CurlCode, Int32, String)])
    func cutBeforeAnAnswer_namesTheHost(_ code: CurlCode, _ number: Int32, _ reason: String) throws {
        let rig = try EngineRig(EngineRig.job("to: f"))
        rig.start()
        try rig.cut(code, "Empty reply from server", systemError: number)
        let words = "GET https://a.example/f: a.example port 443 ended the connection without an answer\(reason)"
        #expect(rig.error()?.message == words)
    }

    /// The system says more of a connection that was reset.
    @Test func cutOfABodyWithoutLength_saysWhatCame() throws {
        let rig = try EngineRig(EngineRig.job("to: f"))
        rig.start()
        try rig.answer(200, [("Transfer-Encoding", "identity")], "text", stays: true)
        try rig.cut(.recvError, "Recv failure: Connection reset by peer", systemError: 104)
        #expect(
            rig.error()?.message
                == "GET https://a.example/f: the connection was cut after 4 B: Connection reset by peer")
    }

    @Test(arguments: [false, true]) func bodyWhoseEndNothingProves_isMarked(_ isRequired: Bool) throws {
        let rig = try EngineRig(
            EngineRig.job("to: f, url: \"http://a.example/f\", requireLength: \(isRequired)")
                .replacing("url: \"https://a.example/f\", ", with: ""))
        rig.start()
        try rig.answer(200, [("Transfer-Encoding", "identity")], "text")
        if isRequired {
            #expect(rig.error()?.name == .lengthUnproven && rig.delivery.files.isEmpty)
        } else {
            #expect(rig.succeeded && rig.result()?.lengthUnverified == true)
        }
    }

    @Test(arguments: [3, 4]) func maximumSize_bounds(_ most: Int) throws {
        let rig = try run("to: f, maximumSize: \(most)")
        #expect(rig.succeeded == (most == 4))
        if most == 3 { #expect(rig.error()?.name == .dataLengthExceedsMaximum && rig.delivery.files.isEmpty) }
    }

    @Test(arguments: [("size: 4", true), ("size: 5", false), ("minimumSize: 4", true), ("minimumSize: 5", false)])
    func expectedSize_decides(_ rule: String, _ isGood: Bool) throws {
        let rig = try run("to: f, expect: { \(rule) }")
        #expect(rig.succeeded == isGood && (rig.delivery.files.isEmpty != isGood))
    }

    @Test func headAnswer_hasTheLengthThatItNames() throws {
        let rig = try EngineRig(EngineRig.job("type: data, method: HEAD"))
        rig.start()
        try rig.answer(200, [("Content-Length", "77")])
        #expect(rig.succeeded && rig.responses.first?.expectedLength == 77)
    }

    // MARK: What it must be

    @Test(arguments: [
        ("mimeType: text/plain", "text/plain", true), ("mimeType: text/*", "text/plain", true),
        ("mimeType: image/*", "text/plain", false), ("notHTML: true", "text/html", false),
        ("notHTML: true", "text/plain", true),
    ]) func expectedType_decides(_ rule: String, _ type: String, _ isGood: Bool) throws {
        let rig = try run("to: f, expect: { \(rule) }", 200, [("Content-Type", type)])
        #expect(rig.succeeded == isGood)
    }

    @Test(arguments: [("X-A: \"^o\"", true), ("X-A: \"^x\"", false), ("X-B: \".\"", false)])
    func expectedHeader_decides(_ rule: String, _ isGood: Bool) throws {
        let rig = try run("to: f, expect: { headers: { \(rule) } }", 200, [("X-A", "one")])
        #expect(rig.succeeded == isGood)
    }

    @Test(arguments: [
        ("contains: tex", true), ("contains: none", false), ("matches: \"^t.*t$\"", true), ("matches: \"^x\"", false),
    ]) func expectedBody_decides(_ rule: String, _ isGood: Bool) throws {
        for kind in ["type: data", "to: f"] {
            let rig = try run("\(kind), expect: { body: { \(rule) } }")
            #expect(rig.succeeded == isGood, "\(kind)")
        }
    }

    @Test(arguments: [("$.a", "1", true), ("$.a", "2", false), ("$.b", "1", false)])
    func expectedJSON_decides(_ path: String, _ value: String, _ isGood: Bool) throws {
        let task = "type: data, expect: { body: { json: { \"\(path)\": \(value) } } }"
        let rig = try run(task, 200, [("Content-Type", "application/json")], "{\"a\":1}")
        #expect(rig.succeeded == isGood)
    }

    @Test(arguments: [("gzip", "\u{1F}", false), ("pdf", "%PDF-1.7", true), ("pdf", "text", false)])
    func expectedMagic_decides(_ kind: String, _ body: String, _ isGood: Bool) throws {
        let rig = try run("to: f, expect: { magic: \(kind) }", 200, [], body)
        #expect(rig.succeeded == isGood)
    }

    // MARK: What the server says of it

    @Test(arguments: [true, false]) func serversDigest_isHeldAgainstTheBody(_ isRight: Bool) throws {
        let bytes = try Checksum.of(Array((isRight ? "text" : "other").utf8), .sha256).bytes
        let rig = try run("to: f", 200, [("Repr-Digest", "sha-256=:\(Base64.encode(bytes)):")])
        #expect(rig.succeeded == isRight && rig.delivery.files.isEmpty != isRight)
        if !isRight { #expect(rig.error()?.name == .checksumMismatch) }
    }

    @Test func suggestedName_isUsedInAFolder() throws {
        let rig = try run("to: dir/", 200, [("Content-Disposition", "attachment; filename=\"a b.txt\"")])
        #expect(rig.succeeded && rig.delivery.text("/here/dir/a b.txt") == "text")
    }

    @Test(arguments: ["../../etc/passwd", "/etc/passwd", "..", ".", ""]) func suggestedName_neverLeavesTheFolder(
        _ name: String
    )
        throws
    {
        let rig = try run("to: dir/", 200, [("Content-Disposition", "attachment; filename=\"\(name)\"")])
        for path in rig.delivery.files.keys {
            #expect(path.hasPrefix("/here/dir/") && !path.contains("/../") && !path.hasSuffix("/.."))
        }
    }

    @Test func nameFromTheURL_isUsedInAFolder_whereTheServerSaysNone() throws {
        let rig = try run("to: dir/")
        #expect(rig.delivery.text("/here/dir/f") == "text")
    }

    // MARK: Captures

    @Test(arguments: [
        ("header: X-A", "one"), ("json: $.a", "1"), ("regex: \"b\\\":(..)\"", "\"x"),
        ("header: X-A, regex: \"o(.)e\"", "n"),
    ]) func capture_takesItsValue(_ rule: String, _ value: String) throws {
        let rig = try run("type: data, capture: { v: { \(rule) } }", 200, [("X-A", "one")], "{\"a\":1,\"b\":\"x\"}")
        #expect(rig.result()?.captures.first.map { "\($0.value)" }?.contains(value) == true)
    }

    @Test(arguments: ["header: X-B", "json: $.none", "regex: \"none\""]) func captureOfNothing_fails(_ rule: String)
        throws
    {
        let rig = try run("type: data, capture: { v: { \(rule) } }", 200, [], "{\"a\":1}")
        #expect(rig.error()?.name == .captureNotFound)
    }

    // MARK: Rules at the head

    @Test func answerThatARuleCancels_isNotRead() throws {
        let rig = try run("type: data, onResponse: [{ largerThan: 3, do: cancel }]")
        #expect(rig.error()?.name == .cancelled)
    }

    @Test func answerThatARuleTurnsIntoADownload_becomesAFile() throws {
        let rig = try run(
            "type: data, onResponse: [{ mimeType: text/*, do: download, to: g }]", 200, [("Content-Type", "text/plain")]
        )
        #expect(rig.succeeded && rig.delivery.text("/here/g") == "text" && rig.body() == nil)
        #expect(rig.events().contains { if case .becameDownload = $0 { true } else { false } })
    }

    // MARK: Files

    @Test func diskThatIsFull_failsTheAttempt() throws {
        let rig = try EngineRig(EngineRig.job("to: f"))
        rig.delivery.failure = TransferError(.notEnoughDiskSpace, "full")
        rig.start()
        try rig.answer()
        #expect(rig.error()?.name == .notEnoughDiskSpace && rig.delivery.files.isEmpty)
    }

    @Test(arguments: [true, false]) func flushingSession_endsWithTheFlush(_ flushes: Bool) throws {
        let rig = try EngineRig(
            EngineRig.job("to: f", "sessions: { default: { durability: \(flushes ? "flush" : "none") } }"))
        rig.start()
        try rig.answer()
        #expect(rig.succeeded)
        let hurries = rig.delivery.orders.contains { if case .hurry = $0 { true } else { false } }
        #expect(hurries == flushes)
    }

    @Test func slotIsGivenBack_beforeTheFileIsWritten() throws {
        let rig = try EngineRig(EngineRig.job("to: f"))
        rig.start()
        rig.delivery.isHeld = true
        try rig.answer()
        #expect(rig.verdict() == nil)
        #expect(rig.reports.contains { if case .released = $0 { true } else { false } })
        #expect(rig.reports.contains { if case .transferred = $0 { true } else { false } })
        rig.delivery.isHeld = false
        rig.turn()
        #expect(rig.succeeded)
    }
}
