import CurlCore
import TestSupport
import Testing
import TransferModel

@Suite struct ResponseHeadParserTests {
    /// Reads text as libcurl hands it over: a line with its end at a time. Returns what each line was.
    @discardableResult
    private func read(_ text: String, _ parser: inout ResponseHeadParser) -> [ResponseHeadParser.Line] {
        var kinds: [ResponseHeadParser.Line] = []
        for line in text.utf8.split(separator: 0x0A, omittingEmptySubsequences: false).dropLast() {
            let bytes = Array(line) + [0x0A]
            kinds.append(unsafe bytes.withUnsafeBytes { unsafe parser.read($0) })
        }
        return kinds
    }

    @Test func aHead_isItsStatusVersionAndLines() {
        var parser = ResponseHeadParser()
        #expect(read("HTTP/1.1 206 Partial\r\nA: 1\r\nB:2\r\n\r\n", &parser) == [.status, .field, .field, .end])
        #expect(!parser.isComplete && parser.size == 11)
        let head = parser.completeHead()
        #expect(head.status == 206 && head.version == .http1 && head.headers.bytes == Array("A: 1\r\nB:2\r\n".utf8))
        #expect(parser.isComplete && parser.size == 0 && parser.problem == nil)
    }

    @Test(arguments: [
        ("HTTP/2 200 \r\n", 200, HTTPProtocol.http2), ("HTTP/1.0 404 Not Found\r\n", 404, .http1),
        ("HTTP/1.1 20\r\n", 0, .http1), ("HTTP/1.1 2x0 OK\r\n", 0, .http1), ("HTTP/1.1\r\n", 0, .http1),
        ("HTTP/\n", 0, .http1), ("HTTP/1.1 9999\r\n", 999, .http1),
    ])
    func theStatusLine_isReadByItsDigits(_ line: String, _ status: Int, _ version: HTTPProtocol) {
        var parser = ResponseHeadParser()
        #expect(read(line, &parser) == [.status])
        #expect(parser.status == status && parser.version == version)
    }

    @Test func anotherStatusLine_beginsAnew() {
        var parser = ResponseHeadParser()
        read("HTTP/1.1 100 Continue\r\nX: 1\r\n\r\nHTTP/2 204\r\nY: 2\r\n", &parser)
        #expect(parser.status == 204 && parser.headers.bytes == Array("Y: 2\r\n".utf8))
        _ = parser.completeHead()
        read("HTTP/1.1 401 Who\r\n", &parser)
        #expect(!parser.isComplete && parser.size == 0)
    }

    @Test func aContinuation_isKeptWithItsLine() {
        var parser = ResponseHeadParser()
        #expect(read("HTTP/1.1 200 OK\r\nX-Long: a\r\n b\r\n\tc\r\n\r\n", &parser).last == .end)
        let value = parser.headers.first("x-long") ?? ""
        #expect(parser.problem == nil && value.split { $0 == " " || $0 == "\t" } == ["a", "b", "c"])
    }

    @Test(arguments: ["Transfer-Encoding: chun\r\n ked", "content-LENGTH: 1\r\n\t2", "A: b\r\nContent-Length:\r\n 5"])
    func aFoldedFraming_isRefused(_ lines: String) {
        var parser = ResponseHeadParser()
        #expect(read("HTTP/1.1 200 OK\r\n\(lines)\r\n", &parser).last == .violation)
        #expect(parser.problem == .foldedFraming)
    }

    @Test func aContinuationOfNothing_isRefused() {
        var parser = ResponseHeadParser()
        #expect(read("HTTP/1.1 200 OK\r\n A: 1\r\n", &parser) == [.status, .violation])
        #expect(parser.problem == .beginsFolded)
    }

    @Test func aTrailer_isNoPartOfTheHead_andBounded() {
        var parser = ResponseHeadParser()
        read("HTTP/1.1 200 OK\r\nA: 1\r\n\r\n", &parser)
        let head = parser.completeHead()
        #expect(read("Content-Length: 7\r\n more\r\n", &parser) == [.trailer, .trailer])
        #expect(parser.size == 0 && head.headers.bytes.count == 6)
        let line = "X: " + String(repeating: "x", count: 65_531) + "\r\n"
        #expect(read(line + line + line + line, &parser) == [.trailer, .trailer, .trailer, .trailer])
        #expect(read(line, &parser) == [.violation] && parser.problem == .endlessTrailer)
    }

    @Test func aFileWithoutAHead_isCompleteAllTheSame() {
        var parser = ResponseHeadParser()
        parser.completeWithoutHead()
        #expect(parser.isComplete && parser.status == 0)
    }

    /// Whatever lines come, the head is the lines between the last status line and the first empty one after it.
    @Test func anyLines_giveAHeadOrAProblem() {
        var random = Seeded("ResponseHeadParser")
        let words = [
            "HTTP/1.1 200 OK", "HTTP/2 103", "HTTP/", " folded", "\tfolded", "", "Content-Length: 1", "A: b", ":",
        ]
        for _ in 0..<Rounds.scaled(2_000) {
            var parser = ResponseHeadParser()
            var expected: [UInt8] = []
            for _ in 0..<random.below(12) {
                let line = words[random.below(words.count)] + (random.below(2) == 0 ? "\r\n" : "\n")
                switch read(line, &parser)[0] {
                case .status: expected = []
                case .field: expected += Array(line.utf8)
                case .trailer: #expect(parser.isComplete)
                case .violation: #expect(parser.problem != nil)
                case .end:
                    guard parser.problem == nil, !parser.isComplete else { break }
                    #expect(parser.completeHead().headers == HeaderBlock(raw: expected))
                }
                if parser.problem != nil { break }
            }
        }
    }
}
