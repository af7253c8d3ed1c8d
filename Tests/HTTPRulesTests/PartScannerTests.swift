import HTTPRules
import TestSupport
import Testing
import TransferModel

@Suite struct PartScannerTests {
    private static func scanner() throws -> PartScanner { try #require(PartScanner(boundary: "b")) }

    /// What a body comes to: its parts, as far as they have ends, and whether the last boundary came.
    private static func read(_ body: [UInt8], pieces: [Int]) throws -> (parts: [String], isEnded: Bool) {
        var scanner = try scanner()
        for end in pieces + [body.count] { try scanner.scan(Array(body[..<end])) }
        let parts = scanner.parts.compactMap { part in
            part.end.map { "\(part.headers.lines.count):" + String(decoding: body[part.start..<$0], as: UTF8.self) }
        }
        return (parts, scanner.isEnded)
    }

    @Test(arguments: [
        ("--b\r\n\r\none\r\n--b\r\nA: 1\r\n\r\ntwo\r\n--b--", ["0:one", "1:two"]),
        ("preamble\r\n--b \t\r\n\r\n\r\n--b--\r\nepilogue\r\n--b\r\n", ["0:"]),
        ("--b\n\nlines\nof LF\n--b\nX: y\n\n\n--b--\n", ["0:lines\nof LF", "1:"]),
        ("--b\r\n\r\na--b\r\n--bc\r\n--b-\r\n--b--", ["0:a--b\r\n--bc\r\n--b-"]),
        ("--b\r\n\r\n--b\r\n\r\nx\r\n\r\n--b--", ["0:", "0:x\r\n"]),
        ("--b\r\n\r\n\r\r\n--b--", ["0:\r"]),
    ])
    func partsOf(_ body: String, _ parts: [String]) throws {
        let found = try Self.read(Array(body.utf8), pieces: [])
        #expect(found.parts == parts)
        #expect(found.isEnded)
    }

    /// A boundary that is named with the dashes that stand before it, as cameras do; one that has dashes of its own.
    @Test(arguments: [
        ("--b\r\n\r\none\r\n--b\r\n\r\ntwo\r\n--b--\r\n", ["one", "two"]),
        ("----b\r\n\r\none\r\n--b\r\n\r\nx\r\n----b--\r\n", ["one\r\n--b\r\n\r\nx"]),
        ("--b\r\n\r\none\r\n----b\r\n--b--", ["one\r\n----b"]), ("--b--", []), ("----b--", []),
    ])
    func dashesOfTheBoundary(_ body: String, _ parts: [String]) throws {
        let bytes = Array(body.utf8)
        for step in [1, bytes.count] {
            var scanner = try #require(PartScanner(boundary: "--b"))
            for end in stride(from: step, through: bytes.count, by: step) { try scanner.scan(Array(bytes[..<end])) }
            #expect(scanner.isEnded)
            let found = scanner.parts.map { String(decoding: bytes[$0.start..<($0.end ?? 0)], as: UTF8.self) }
            #expect(found == parts)
        }
    }

    @Test(arguments: [
        "", "--b", "--b\r\n", "--b\r\n\r\nx", "--b\r\n\r\nx\r\n--b", "--b\r\n\r\nx\r\n--b-", "x\n--b x\n",
    ])
    func whatEndsBeforeItsLastBoundaryIsCut(_ body: String) throws {
        var scanner = try Self.scanner()
        try scanner.scan(Array(body.utf8))
        #expect(throws: TransferError.self) { try scanner.end() }
    }

    @Test func onlyMixedReplaceIsTakenApart() {
        func of(_ type: String) -> Bool { PartScanner.of(HeaderBlock([("Content-Type", type)])) != nil }
        #expect(of("multipart/x-mixed-replace; boundary=b"))
        #expect(of("Multipart/X-Mixed-Replace;charset=x;boundary=\"b c\""))
        #expect(!of("multipart/x-mixed-replace"))
        #expect(!of("multipart/x-mixed-replaced; boundary=b"))
        #expect(!of("multipart/mixed; boundary=b"))
        #expect(PartScanner.of(.empty) == nil)
    }

    /// However a body is cut into pieces, and whatever stands in it, the same parts come out.
    @Test func piecesMakeNoDifference() throws {
        var random = Seeded("piecesMakeNoDifference")
        for _ in 0..<Rounds.scaled(300) {
            let words = ["--b", "--b--", "\r\n", "\n", "\r", "-", "x", "A: 1", " ", "--bb", "\r\n--b\r\n\r\n"]
            var body: [UInt8] = Array("--b\r\n\r\n".utf8)
            for _ in 0..<Int.random(in: 0..<30, using: &random) {
                body += Array((words.randomElement(using: &random) ?? "").utf8)
            }
            let whole = try Self.read(body, pieces: [])
            let cuts = (0..<Int.random(in: 0..<12, using: &random)).map { _ in
                Int.random(in: 0...body.count, using: &random)
            }
            let split = try Self.read(body, pieces: cuts.sorted())
            let single = try Self.read(body, pieces: Array(0..<body.count))
            #expect(split == whole)
            #expect(single == whole)
        }
    }

    /// Bytes of any kind never do more than fail.
    @Test func noiseIsHarmless() throws {
        var random = Seeded("noiseIsHarmless")
        for _ in 0..<Rounds.scaled(300) {
            var scanner = try Self.scanner()
            var body: [UInt8] = []
            for _ in 0..<20 {
                body += (0..<Int.random(in: 0..<20, using: &random)).map { _ in
                    Bool.random(using: &random)
                        ? [0x2D, 0x62, 0x0D, 0x0A][Int.random(in: 0..<4, using: &random)]
                        : UInt8.random(in: 0...255, using: &random)
                }
                try scanner.scan(body)
            }
            for part in scanner.parts { #expect(part.start <= part.end ?? body.count) }
        }
    }
}
