import CurlCore
import Testing
import TransferEngine
import TransferModel

/// Bodies that tasks send.
@Suite struct UploadTests {
    private func rig(_ task: String) throws -> EngineRig {
        let rig = try EngineRig(EngineRig.job(task))
        rig.start()
        return rig
    }

    @Test(
        arguments: [
            ("data: \"some text\"", "some text", nil), ("base64: aGVsbG8=", "hello", nil),
            ("json: { a: [1, true] }", "{\"a\":[1,true]}", "application/json"),
            ("form: { a: \"1 2\", b: \"&\" }", "a=1%202&b=%26", "application/x-www-form-urlencoded"),
        ] as [(String, String, String?)]) func body_isSentWithItsType(_ body: String, _ text: String, _ type: String?)
        throws
    {
        let rig = try rig("type: upload, method: POST, body: { \(body) }")
        let transfer = try rig.answer(200, [], "ok")
        #expect(String(decoding: transfer.sentBody, as: UTF8.self) == text)
        #expect(transfer.request.bodyLength == Int64(text.utf8.count))
        #expect(transfer.header("Content-Type")?.hasPrefix(type ?? "-") ?? (type == nil))
        #expect(rig.succeeded && rig.body() == "ok")
    }

    @Test func typedContentType_wins() throws {
        let rig = try rig("type: upload, body: { json: {} }, contentType: application/x-own")
        #expect(try rig.request().header("Content-Type") == "application/x-own")
    }

    @Test func contentTypeNone_sendsNone() throws {
        let rig = try rig("type: upload, body: { json: {} }, contentType: none")
        #expect(try rig.request().header("Content-Type") == nil)
    }

    @Test func uploadWithoutAMethod_isAPost() throws {
        let rig = try rig("type: upload, body: { data: x }")
        #expect(try rig.request().request.method == "POST")
    }

    @Test(arguments: [307, 308]) func body_isSentAgainAfterARedirectThatKeepsTheMethod(_ status: Int) throws {
        let rig = try rig("type: upload, method: PUT, body: { data: again }")
        try rig.answer(status, [("Location", "https://b.example/x")])
        let second = try rig.answer(201)
        #expect(String(decoding: second.sentBody, as: UTF8.self) == "again" && second.request.method == "PUT")
        #expect(rig.succeeded)
    }

    @Test func answerBeforeTheBodyIsRead_isNoSuccess() throws {
        let rig = try rig("type: upload, method: POST, body: { data: x }")
        try rig.answer(200, [], "ok", isEarly: true)
        #expect(!rig.succeeded && rig.verdict() != nil)
    }

    @Test func cutUpload_wasSent() throws {
        let rig = try rig("type: upload, method: POST, body: { data: x }")
        rig.readBody(of: try rig.request())
        try rig.cut()
        #expect(rig.error()?.name == .networkConnectionLost)
        #expect(rig.verdict()?.sentSomething == true && rig.verdict()?.isIdempotent == false)
    }

    @Test(arguments: [("PUT", true), ("POST", false), ("PATCH", false)])
    func idempotence_isThatOfTheMethod(_ method: String, _ isIdempotent: Bool) throws {
        let rig = try rig("type: upload, method: \(method), body: { data: x }")
        try rig.answer(503)
        #expect(rig.verdict()?.isIdempotent == isIdempotent)
    }

    @Test func getWithABody_isSentAsItIsWritten() throws {
        let rig = try rig("method: GET, body: { json: { query: all } }")
        let transfer = try rig.answer(200, [], "found")
        #expect(
            transfer.request.method == "GET"
                && String(decoding: transfer.sentBody, as: UTF8.self) == #"{"query":"all"}"#)
        #expect(rig.succeeded && rig.body() == "found")
    }

    /// Neither a condition nor a range goes with it: its URL does not say what was asked for.
    @Test func downloadByAGetWithABody_isWhole() throws {
        let rig = try rig("to: f, method: GET, body: { data: x }")
        try rig.answer(200, [("ETag", "\"1\""), ("Content-Length", "9")], "half")
        #expect(rig.error() != nil)
        rig.start(attempt: 2)
        #expect(try rig.request().header("Range") == nil)
        try rig.answer(200, [], "whole")
        #expect(rig.succeeded && rig.delivery.text("/here/f") == "whole")
    }

    // MARK: The answer as a file

    @Test func answerToAnUpload_becomesTheFileOfItsTo() throws {
        let rig = try rig("type: upload, to: answer, body: { data: x }")
        let transfer = try rig.answer(200, [], "the answer")
        #expect(String(decoding: transfer.sentBody, as: UTF8.self) == "x")
        #expect(transfer.header("Accept-Encoding") == "identity")
        #expect(rig.succeeded && rig.delivery.text("/here/answer") == "the answer" && rig.body() == nil)
        #expect(rig.result()?.file?.path == "/here/answer" && rig.result()?.file?.changed == true)
        #expect(!rig.events().contains { if case .becameDownload = $0 { true } else { false } })
    }

    @Test func answerInAFolder_getsItsName() throws {
        let rig = try rig("type: upload, to: out/, body: { data: x }")
        try rig.answer(200, [("Content-Disposition", "attachment; filename=\"../a.txt\"")], "named")
        #expect(rig.succeeded && rig.delivery.text("/here/out/a.txt") == "named")
    }

    /// What is no answer of the kind that was wanted leaves the file as it was.
    @Test(arguments: [500, 204]) func answerThatIsNotWanted_replacesNothing(_ status: Int) throws {
        let rig = try rig("type: upload, to: answer, body: { data: x }")
        rig.delivery.put("/here/answer", "old")
        try rig.answer(status, [], status == 204 ? "" : "sorry")
        #expect(!rig.succeeded && rig.delivery.text("/here/answer") == "old")
    }

    @Test func answerThatIsCut_replacesNothing() throws {
        let rig = try rig("type: upload, to: answer, body: { data: x }")
        rig.delivery.put("/here/answer", "old")
        try rig.answer(200, [("Content-Length", "9")], "half")
        #expect(!rig.succeeded && rig.delivery.text("/here/answer") == "old")
    }

    @Test func answerWhoseBodyIsNotAsExpected_replacesNothing() throws {
        let rig = try rig("type: upload, to: answer, body: { data: x }, expect: { body: { contains: good } }")
        try rig.answer(200, [], "bad")
        #expect(rig.error()?.name == .unexpectedResponse && rig.delivery.text("/here/answer") == nil)
    }

    // MARK: Logins

    /// A refusal for want of a login does not cost the body; once the server has let the login in, nothing is asked.
    @Test func longBodyThatALoginMayCost_isSentOnce() throws {
        let body = "method: PUT, type: upload, body: { data: \(String(repeating: "x", count: 70_000)) }"
        let rig = try EngineRig(
            """
            sessions: { default: { credentials: [{ host: a.example, user: me, password: "${env.PASSWORD}" }] } }
            tasks:
              - { id: t, url: "http://a.example/f", \(body) }
              - { id: u, url: "http://a.example/g", \(body) }
            """, environment: ["PASSWORD": "open sesame"])
        rig.start("t")
        let first = try rig.answer(401, [("WWW-Authenticate", "Basic realm=\"r\"")], isEarly: true)
        #expect(first.request.expectsContinue && first.sentBody.isEmpty)
        let second = try rig.answer(201)
        #expect(second.request.expectsContinue && second.sentBody.count == 70_000)
        #expect(rig.succeeded)
        rig.start("u")
        #expect(try !rig.request().request.expectsContinue)
        #expect(try rig.request().header("Authorization") != nil)
    }

    // MARK: `existing: skip`

    @Test(arguments: [404, 410]) func skip_sendsWhereNothingIs(_ status: Int) throws {
        let rig = try rig("type: upload, method: PUT, existing: skip, body: { data: x }")
        #expect(try rig.request().request.method == "HEAD")
        try rig.answer(status)
        #expect(try rig.request().request.method == "PUT")
        try rig.answer(201)
        #expect(rig.succeeded && rig.result()?.source == .network)
    }

    @Test func skip_sendsNothingWhereSomethingIs() throws {
        let rig = try rig("type: upload, method: PUT, existing: skip, body: { data: x }")
        try rig.answer(200, [("Content-Length", "1")])
        #expect(rig.succeeded && rig.result()?.source == .unchanged)
        #expect(rig.loop.transfers.map(\.request.method) == ["HEAD"])
    }

    @Test(arguments: [401, 403, 500]) func skip_failsWhereTheServerDoesNotSay(_ status: Int) throws {
        let rig = try rig("type: upload, method: PUT, existing: skip, body: { data: x }")
        try rig.answer(status)
        #expect(!rig.succeeded && rig.verdict() != nil)
        #expect(rig.loop.transfers.map(\.request.method) == ["HEAD"])
    }
}
