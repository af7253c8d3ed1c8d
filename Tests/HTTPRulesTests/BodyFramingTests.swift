import HTTPRules
import Testing
import TransferModel

struct BodyFramingTests {
    private func framing(
        _ lines: [(String, String)], status: Int = 200, method: String = "GET", version: HTTPProtocol = .http1
    ) throws -> BodyFraming {
        try BodyFraming.of(HeaderBlock(lines), status: status, method: method, version: version)
    }

    @Test(arguments: [
        ("0", 0), ("5", 5), ("005", 5), ("5, 5", 5), ("5,5 ,5", 5), ("9223372036854775807", Int64.max),
    ]) func aLengthIsRead(text: String, length: Int64) throws {
        #expect(try framing([("Content-Length", text)]) == .length(length))
    }

    @Test(arguments: [
        "", "+5", "-5", "-0", "5.0", "0x5", "5 5", "5\t5", "5,", ",5", "5, 6", "5;q=1", "five", "5b", "٥", "５",
        "5\u{301}",
        "9223372036854775808", "99999999999999999999999999",
    ]) func aLengthThatLiesIsAnError(text: String) {
        #expect(throws: TransferError.self) { try framing([("Content-Length", text)]) }
    }

    @Test(arguments: ["Content-Length ", "content-length\t", "Transfer-Encoding  "])
    func aNameWithABlankAfterItIsAnError(name: String) {
        #expect(throws: TransferError.self) { try framing([(name, "5")]) }
    }

    @Test func otherNamesWithABlankAreNoConcernOfTheFraming() throws {
        #expect(try framing([("X-Length ", "5"), ("Content-Length", "6")]) == .length(6))
    }

    @Test func aLieIsAnErrorWhereNoBodyFollowsToo() {
        for status in [204, 304] {
            #expect(throws: TransferError.self) { try framing([("Content-Length", "+5")], status: status) }
        }
        #expect(throws: TransferError.self) { try framing([("Content-Length", "1, 2")], method: "HEAD") }
        #expect(throws: TransferError.self) {
            try framing([("Transfer-Encoding", "chunked"), ("Content-Length", "-1")])
        }
    }

    @Test func twoLinesMustAgree() throws {
        #expect(try framing([("Content-Length", "7"), ("content-length", "7")]) == .length(7))
        let error = #expect(throws: TransferError.self) {
            try framing([("Content-Length", "7"), ("ETag", "x"), ("CONTENT-LENGTH", "8")])
        }
        #expect(error?.name == .badServerResponse)
        #expect(error?.message.contains("7 and 8") == true)
    }

    /// What comes after it is of another protocol, whatever its headers say.
    @Test(arguments: ["GET", "HEAD"]) func aSwitchOfProtocolsHasNoEnd(method: String) {
        let error = #expect(throws: TransferError.self) {
            try framing([("Content-Length", "7")], status: 101, method: method)
        }
        #expect(error?.name == .badServerResponse)
    }

    /// A folded line becomes one value with blanks in it: `5` and `0` must not become 50.
    @Test func aFoldedLengthIsNoOtherNumber() {
        let block = HeaderBlock(raw: Array("Content-Length: 5\r\n 0\r\n".utf8))
        #expect(throws: TransferError.self) {
            try BodyFraming.of(block, status: 200, method: "GET", version: .http1)
        }
    }

    @Test func someAnswersHaveNoBody() throws {
        let length = [("Content-Length", "100")]
        #expect(try framing(length, status: 204) == BodyFraming.none)
        #expect(try framing(length, status: 304) == BodyFraming.none)
        #expect(try framing(length, method: "HEAD") == BodyFraming.none)
        #expect(try framing([("Transfer-Encoding", "chunked")], method: "HEAD") == BodyFraming.none)
        #expect(try framing([], status: 200, method: "HEAD", version: .http2) == BodyFraming.none)
    }

    @Test func chunkedRulesOverALength() throws {
        #expect(try framing([("Transfer-Encoding", "chunked")]) == .chunked(announced: nil))
        #expect(try framing([("Transfer-Encoding", " ChunkeD ")]) == .chunked(announced: nil))
        #expect(try framing([("Transfer-Encoding", "identity, chunked")]) == .chunked(announced: nil))
        #expect(
            try framing([("Content-Length", "5"), ("Transfer-Encoding", "chunked")]) == .chunked(announced: 5))
    }

    @Test(arguments: [
        "gzip", "gzip, chunked", "chunked, chunked", "chunked, gzip", "chun ked", "xchunked", "chunked;a=b",
    ])
    func otherCodingsAreErrors(text: String) {
        #expect(throws: TransferError.self) { try framing([("Transfer-Encoding", text)]) }
    }

    @Test func chunkedIsNoPartOfHTTP2() {
        #expect(throws: TransferError.self) { try framing([("Transfer-Encoding", "chunked")], version: .http2) }
    }

    @Test func withoutALengthTheCloseIsTheEnd() throws {
        #expect(try framing([]) == .untilClose)
        #expect(try framing([("Transfer-Encoding", "identity")]) == .untilClose)
        #expect(try framing([("Transfer-Encoding", "identity"), ("Content-Length", "3")]) == .length(3))
    }

    // MARK: At the end of the body

    private func judge(
        _ framing: BodyFraming, received: Int64, version: HTTPProtocol = .http1, tls: Bool = false, notify: Bool = false
    ) -> Completeness {
        Completeness.judge(
            framing, BodyEnd(received: received, version: version, isSecure: tls, sawCloseNotify: notify))
    }

    private func isCut(_ completeness: Completeness) -> Bool {
        if case .cut = completeness { true } else { false }
    }

    @Test func aLengthProvesABody() {
        for version in [HTTPProtocol.http1, .http2] {
            #expect(judge(.length(10), received: 10, version: version) == .whole)
            #expect(isCut(judge(.length(10), received: 9, version: version)))
            #expect(isCut(judge(.length(10), received: 11, version: version)))
        }
        #expect(judge(.length(0), received: 0) == .whole)
    }

    @Test func theLastChunkProvesABodyUnlessItsLengthWasALie() {
        #expect(judge(.chunked(announced: nil), received: 10) == .whole)
        #expect(judge(.chunked(announced: 10), received: 10) == .whole)
        #expect(isCut(judge(.chunked(announced: 5), received: 10)))
        #expect(isCut(judge(.chunked(announced: 50), received: 10)))
    }

    @Test func aCloseProvesABodyOnlyUnderTLS() {
        #expect(judge(.untilClose, received: 10) == .unverified)
        #expect(judge(.untilClose, received: 10, tls: true, notify: true) == .whole)
        #expect(isCut(judge(.untilClose, received: 10, tls: true, notify: false)))
        #expect(judge(.untilClose, received: 10, version: .http2, tls: true, notify: true) == .unprovenStream)
    }
}
