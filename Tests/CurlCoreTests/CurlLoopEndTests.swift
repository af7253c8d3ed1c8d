import CurlCore
import TestSupport
import Testing
import TransferModel

/// How answers begin and end, in order or not.
@Suite struct CurlLoopEndTests {
    private static let whole = Script.respond(200, body: "hello")
    private static let endOfHead: Script.Header = ("Content-Length", "10")

    /// What a server does with a request, and how the transfer then ends.
    struct Ending: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let script: Script
        let code: CurlCode
        var statuses = [200]
        var body = "hello"
    }

    static let endings = [
        Ending(testDescription: "as long as announced", script: whole, code: .ok),
        Ending(
            testDescription: "shorter than announced",
            script: [.bytes(Script.head(200, [endOfHead])), .send("hello"), .cut],
            code: .partialFile),
        Ending(
            testDescription: "at the connection's end", script: .untilClose(200, body: Array("hello".utf8)), code: .ok),
        Ending(testDescription: "in chunks", script: .chunked(200, [Array("hel".utf8), Array("lo".utf8)]), code: .ok),
        Ending(
            testDescription: "chunks without the last",
            script: [.bytes(Script.head(200, [("Transfer-Encoding", "chunked")])), .send("5\r\nhello\r\n"), .cut],
            code: .partialFile),
        Ending(
            testDescription: "no answer", script: [.cut], code: .gotNothing, statuses: [], body: ""),
        Ending(
            testDescription: "no HTTP", script: [.send("220 ready, and not for HTTP\r\n\r\n"), .cut],
            code: .unsupportedProtocol, statuses: [], body: ""),
        Ending(testDescription: "no content", script: .respond(204), code: .ok, statuses: [204], body: ""),
        Ending(testDescription: "not modified", script: .respond(304), code: .ok, statuses: [304], body: ""),
    ]

    @Test(arguments: endings) func answer_endsAsItsBytesSay(_ ending: Ending) throws {
        let server = try ScriptedServer { _ in ending.script }
        defer { server.stop() }
        let end = try LoopStage().fetch(server.url())
        #expect(end.code == ending.code && end.message.isEmpty == (ending.code == .ok), "\(end.code) \(end.message)")
        #expect(end.recorded.heads.map(\.status) == ending.statuses)
        #expect(end.recorded.body == Array(ending.body.utf8) && end.systemError == 0 && !end.sawCloseNotify)
        #expect((end.error == nil) == (ending.code == .ok) && end.proxyHead == nil)
    }

    @Test func answerToHEAD_hasALengthAndNoBody() throws {
        let server = try ScriptedServer { _ in .headOnly(200, length: 5_000) }
        defer { server.stop() }
        let stage = try LoopStage()
        let end = try stage.fetch(server.url(), method: "HEAD")
        #expect(end.code == .ok && end.recorded.heads[0].headers.first("content-length") == "5000")
        #expect(end.recorded.body.isEmpty && server.requests()[0].method == "HEAD")
        #expect(try stage.fetch(server.url(), method: "HEAD").metrics.isReused)
    }

    @Test func connectionThatIsReset_namesTheSystemsError() throws {
        let server = try ScriptedServer { _ in
            [.bytes(Script.head(200, [Self.endOfHead])), .send("hello"), .gate("reset"), .reset]
        }
        defer { server.stop() }
        let stage = try LoopStage()
        let receiver = try stage.start(server.url())
        stage.turn { receiver.body.count == 5 }
        server.open(gate: "reset")
        let end = try stage.finish(receiver)
        #expect(end.code == .receiveError && end.code.saysNothingCame && end.systemError == 104)
        #expect(end.metrics.downloadedBytes == 5 && end.error?.name == .networkConnectionLost)
    }

    // MARK: Heads

    @Test func head_comesWithItsLinesInOrder() throws {
        let server = try ScriptedServer { _ in .respond(404, headers: [("A", "1"), ("B", " two "), ("a", "3")]) }
        defer { server.stop() }
        let end = try LoopStage().fetch(server.url(), method: "DELETE") { $0.headers = ["X-Own: yes", "Accept:"] }
        let head = try #require(end.recorded.heads.first)
        #expect(head.status == 404 && head.version == .http1 && head.isHTTP && !head.wasAskedForCertificate)
        #expect(head.headers.all("a") == ["1", "3"] && head.headers.first("b") == "two")
        let request = try #require(server.requests().first)
        #expect(request.method == "DELETE" && request.header("X-Own") == "yes" && request.header("Accept") == nil)
    }

    /// A thousand lines of 200 bytes are within what libcurl takes (300 KiB).
    @Test func longHeadWithinBounds_comesWhole() throws {
        let lines = (0..<1_000).map { ("X-\($0)", String(repeating: "v", count: 190)) }
        let server = try ScriptedServer { _ in .respond(200, headers: lines, body: "hello") }
        defer { server.stop() }
        let end = try LoopStage().fetch(server.url())
        #expect(end.code == .ok && end.recorded.heads[0].headers.lines.count == 1_001)
        #expect(end.metrics.headerBytes > 195_000)
    }

    @Test(arguments: [
        (lines: 1, length: 200 << 10, says: "a header line of the answer is longer than libcurl takes"),
        (lines: 3_000, length: 190, says: "the headers of the answer are too long"),
    ])
    func headBeyondBounds_isNotParsed(_ given: (lines: Int, length: Int, says: String)) throws {
        let lines = (0..<given.lines).map { ("X-\($0)", String(repeating: "v", count: given.length)) }
        let server = try ScriptedServer { _ in .respond(200, headers: lines, body: "hello") }
        defer { server.stop() }
        let end = try LoopStage().fetch(server.url())
        #expect(end.recorded.heads.isEmpty && end.error?.name == .cannotParseResponse)
        #expect(end.error?.message.hasPrefix(given.says) == true, "\(end.code) \(end.message)")
    }

    @Test(arguments: [
        (head: "HTTP/1.1 200 OK\r\n folded: 1\r\n\r\n", says: "begin with a continuation line"),
        (head: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n 5\r\n\r\n", says: "how its body ends over two lines"),
    ])
    func foldedHeadThatChangesItsMeaning_isRefused(_ given: (head: String, says: String)) throws {
        let server = try ScriptedServer { _ in [.send(given.head), .send("hello"), .cut] }
        defer { server.stop() }
        let end = try LoopStage().fetch(server.url())
        // Some versions of libcurl refuse the first by themselves, without a word.
        #expect(end.code == .oddReply && end.message.contains(given.says) || end.message.isEmpty, "\(end.message)")
        #expect(end.error?.name == .cannotParseResponse)
        #expect(end.recorded.heads.isEmpty && end.recorded.body.isEmpty)
    }

    @Test func endlessTrailer_endsTheTransferAfterTheBody() throws {
        let trailers = (0..<2_000).map { ("X-\($0)", String(repeating: "v", count: 190)) }
        let server = try ScriptedServer { _ in .chunked(200, [Array("hello".utf8)], trailers: trailers) }
        defer { server.stop() }
        let end = try LoopStage().fetch(server.url())
        #expect(end.code == .oddReply && end.message.contains("headers came after the body"), "\(end.message)")
        #expect(end.recorded.heads.count == 1 && end.recorded.body == Array("hello".utf8))
        #expect(server.waitUntilIdle())
    }

    // MARK: Interim answers

    @Test func interimAnswers_areNoHeads_andA104IsPassedOn() throws {
        let hints = Script.head(103, [("Link", "</style.css>; rel=preload")])
        let offset = Script.head(104, [("Upload-Offset", "7")])
        let server = try ScriptedServer { _ in [.bytes(hints + offset)] + Self.whole }
        defer { server.stop() }
        let end = try LoopStage().fetch(server.url())
        #expect(end.code == .ok && end.recorded.heads.map(\.status) == [200])
        #expect(end.recorded.interims.map { $0.first("upload-offset") } == ["7"])
        #expect(end.recorded.heads[0].headers.lines.count == 1 && end.recorded.body == Array("hello".utf8))
    }

    /// No answer follows a change of protocols.
    @Test func switchOfProtocols_isAHead() throws {
        let server = try ScriptedServer { _ in [.bytes(Script.head(101, [])), .cut] }
        defer { server.stop() }
        let end = try LoopStage().fetch(server.url())
        #expect(end.recorded.heads.map(\.status) == [101] && end.recorded.interims.isEmpty)
    }

    @Test func receiverThatRefusesA104_endsTheTransfer() throws {
        let server = try ScriptedServer { _ in [.bytes(Script.head(104, [])), .stall] }
        defer { server.stop() }
        let receiver = RecordingReceiver()
        receiver.acceptsHeads = false
        #expect(try LoopStage().fetch(server.url(), receiver).code == .writeError)
        #expect(receiver.interims.count == 1 && receiver.heads.isEmpty && server.waitUntilIdle())
    }

    // MARK: TLS

    @Test(arguments: [true, false]) func bodyThatEndsWithItsConnection_isProvenByACloseNotify(_ inOrder: Bool) throws {
        let server = try ScriptedServer(tls: TLSOptions(closesInOrder: inOrder)) { _ in
            .untilClose(200, body: Array("hello".utf8))
        }
        defer { server.stop() }
        let end = try LoopStage(trusting: server).fetch(server.url())
        #expect(end.recorded.body == Array("hello".utf8))
        // Versions of libcurl differ in whether they see the cut themselves.
        #expect((end.code == .ok && end.sawCloseNotify) == inOrder, "\(end.code) \(end.message)")
    }

    @Test func secureConnection_isMeasured() throws {
        let server = try ScriptedServer(tls: TLSOptions(maximum: .v1_2)) { _ in Self.whole }
        defer { server.stop() }
        let stage = try LoopStage(trusting: server)
        let first = try stage.fetch(server.url()).metrics
        #expect(first.tlsVersion == 0x0303 && first.tlsCipher != 0 && first.secureConnect >= first.connect)
        #expect(first.tlsFingerprint == server.certificate?.fingerprint && first.tlsExpiry != nil)
        let second = try stage.fetch(server.url()).metrics
        #expect(second.isReused && second.tlsFingerprint == first.tlsFingerprint && second.tlsVersion == 0x0303)
    }

    @Test(arguments: [
        (CertificateAuthority.Flaw.expired, ErrorName.serverCertificateHasBadDate),
        (.notYetValid, .serverCertificateNotYetValid), (.otherHost, .serverCertificateWrongHost),
        (.selfSigned, .serverCertificateUntrusted),
    ])
    func certificateWithAFlaw_endsTheHandshake(_ flaw: CertificateAuthority.Flaw, _ name: ErrorName) throws {
        let server = try ScriptedServer(tls: TLSOptions(flaw: flaw)) { _ in Self.whole }
        defer { server.stop() }
        let end = try LoopStage(trusting: server).fetch(server.url())
        #expect(end.code == .untrusted && end.verifyResult != 0 && end.error?.name == name, "\(end.message)")
        #expect(end.metrics.requestBytes == 0 && happens { server.failedHandshakes == 1 })
    }

    @Test func authorityThatIsUnknown_endsTheHandshake() throws {
        let server = try ScriptedServer(tls: TLSOptions()) { _ in Self.whole }
        defer { server.stop() }
        let end = try LoopStage().fetch(server.url())
        #expect(end.code == .untrusted && end.error?.name == .serverCertificateHasUnknownRoot, "\(end.message)")
    }

    @Test func serverOfAnOlderTLS_endsTheHandshake() throws {
        let server = try ScriptedServer(tls: TLSOptions(maximum: .v1_2)) { _ in Self.whole }
        defer { server.stop() }
        let end = try LoopStage(trusting: server) { $0.minimum = .v1_3 }.fetch(server.url())
        #expect(end.code == .noHandshake && !end.speaksNoTLS && !end.wasHungUpOn, "\(end.message)")
        #expect(end.error?.name == .secureConnectionFailed)
    }

    @Test func serverThatSpeaksNoTLS_isNamed() throws {
        let server = try ScriptedServer { _ in Self.whole }
        defer { server.stop() }
        server.onAccept { _ in [.send("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")] }
        let end = try LoopStage().fetch("https://127.0.0.1:\(server.port)/")
        #expect(end.code == .noHandshake && end.speaksNoTLS && !end.wasHungUpOn, "\(end.message)")
    }

    @Test func serverThatHangsUpInTheHandshake_isNamed() throws {
        let server = try ScriptedServer(tls: TLSOptions())
        defer { server.stop() }
        server.onAccept { _ in [.cut] }
        let end = try LoopStage(trusting: server).fetch(server.url())
        #expect(end.code == .noHandshake && end.wasHungUpOn && !end.speaksNoTLS, "\(end.message)")
    }

    @Test func serverThatWantsACertificate_isNamed() throws {
        let server = try ScriptedServer(tls: TLSOptions(maximum: .v1_2, requiresClientCertificate: true)) { _ in
            Self.whole
        }
        defer { server.stop() }
        let end = try LoopStage(trusting: server).fetch(server.url())
        #expect(end.code != .ok && end.wasAskedForCertificate && end.certificateAlert == .required, "\(end.message)")
    }

    // MARK: No connection

    @Test func portThatRefuses_namesTheSystemsError() throws {
        let server = try ScriptedServer()
        server.stop()
        let end = try LoopStage().fetch(server.url())
        #expect(end.code == .noConnection && end.systemError == 111 && end.foundNoConnection && !end.isUnroutable)
        #expect(end.metrics.nameLookup > 0 && end.metrics.connect == 0 && end.refusal == nil && !end.hasOtherFamily)
    }

    @Test func hostWithoutAnAddress_isNamed() throws {
        let end = try LoopStage().fetch("http://nowhere.invalid/")
        #expect(end.code == .noAddress && end.foundNoAddress && end.error?.name == .cannotFindHost)
        #expect(end.metrics.nameLookup == 0 && end.metrics.openedConnections == 0)
    }

    @Test func addressOfTheOtherFamily_isNotConnectedTo() throws {
        let server = try ScriptedServer { _ in Self.whole }
        defer { server.stop() }
        var path = ConnectionPath()
        path.family = .ipv6
        let end = try LoopStage(path: path).fetch(server.url())
        #expect(end.code != .ok && end.hasOtherFamily && server.totalConnections == 0)
    }
}
