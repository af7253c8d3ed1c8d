import Testing
import TransferModel

@Suite struct StatusSetTests {
    @Test(
        arguments: [
            ("200", 200...200), ("2xx", 200...299), ("5XX", 500...599), ("200-299", 200...299), ("404-404", 404...404),
            ("9xx", 900...999), ("100-999", 100...999),
        ] as [(String, ClosedRange<UInt16>)])
    func reads(text: String, range: ClosedRange<UInt16>) {
        #expect(StatusSet.range(text) == range)
    }

    @Test(arguments: [
        "", "2", "20", "2000", "099", "0xx", "xxx", "2x", "2xxx", "299-200", "200-", "-200", "200-250-299", "+20",
        "２００", "2xx-3xx",
        " 200", "200 ",
    ])
    func refuses(text: String) {
        #expect(StatusSet.range(text) == nil)
    }

    @Test func containsAndSpeaks() {
        let set = StatusSet([200...299, 304...304, 400...403])
        #expect(
            [199, 200, 299, 300, 304, 403, 404].map { set.contains($0) } == [
                false, true, true, false, true, true, false,
            ])
        #expect(!set.contains(-1) && !set.contains(70_000))
        #expect(set.words == "2xx, 304, 400-403")
        #expect(StatusSet(408, 425) == StatusSet([408...408, 425...425]))
    }
}

@Suite struct SecretTextTests {
    private let mixed = SecretText(pieces: [
        .literal("Bearer "), .secret(name: "TOKEN", value: "s3cret", hosts: nil),
        .capture(task: "login", name: "id", escaping: .url),
    ])

    @Test func showsAndHides() {
        #expect(mixed.revealed == "Bearer s3cret")
        #expect(mixed.redacted == "Bearer ***${tasks.login.id}")
        #expect("\(mixed)" == mixed.redacted && String(reflecting: mixed) == mixed.redacted)
        #expect(mixed.plain == nil)
        #expect(mixed.isSecret && mixed.awaitsCapture)
        let plain: SecretText = "open"
        #expect((plain.revealed, plain.redacted, plain.plain) == ("open", "open", "open"))
        #expect(!plain.isSecret && !plain.awaitsCapture)
    }

    @Test func oneLiteralIsPlain() {
        #expect(SecretText(pieces: [.literal("a")]) == SecretText("a"))
        #expect(SecretText(pieces: []) == SecretText(""))
        #expect(SecretText(pieces: [.secret(name: "N", value: "a", hosts: nil)]) != SecretText("a"))
    }

    @Test func goesOnlyWhereItMay() throws {
        let host = try #require(HostPattern("*.example.org"))
        let bound = SecretText(pieces: [
            .secret(name: "FREE", value: "a", hosts: nil), .secret(name: "BOUND", value: "b", hosts: [host]),
        ])
        #expect(bound.secretBarred(from: Origin(scheme: "https", host: "a.example.org", port: 443)) == nil)
        #expect(bound.secretBarred(from: Origin(scheme: "https", host: "example.org", port: 443)) == "BOUND")
        #expect(mixed.secretBarred(from: Origin(scheme: "http", host: "x", port: 80)) == nil)
        let nowhere = SecretText(pieces: [.secret(name: "N", value: "a", hosts: [])])
        #expect(nowhere.secretBarred(from: Origin(scheme: "http", host: "x", port: 80)) == "N")
    }
}

@Suite struct HeaderBlockTests {
    private func pairs(_ text: String) -> [String] {
        let block = HeaderBlock(raw: Array(text.utf8))
        return block.lines.map { "\(block.name($0))=\(block.value($0))" }
    }

    @Test(arguments: [
        ("A: 1\r\nB:2\r\n", ["A=1", "B=2"]), ("A: 1\nB: 2", ["A=1", "B=2"]), ("A:\r\nB: \t\r\n", ["A=", "B="]),
        ("A:  1 2 \t\r\n", ["A=1 2"]), ("A: b: c\r\n", ["A=b: c"]), ("", []), ("\r\n\r\n", []),
        ("no colon\r\nA: 1\r\n", ["A=1"]), (": nameless\r\nA: 1\r\n", ["A=1"]),
        ("A: 1\r\n  2\r\nB: 3\r\n", ["A=1    2", "B=3"]), ("A:\r\n 2\r\n", ["A=2"]), ("A:\r\n\t\r\n  2\r\n", ["A=2"]),
        (" folded at once\r\nA: 1\r\n", ["A=1"]), ("A: 1\r\ngarbage\r\n folded\r\nB: 2\r\n", ["A=1", "B=2"]),
        ("A: 1\r\n 2\r\n 3\r\n", ["A=1   2   3"]), ("A: 1\r\n   \r\nB: 2\r\n", ["A=1", "B=2"]),
    ])
    func splits(text: String, expected: [String]) {
        #expect(pairs(text) == expected)
    }

    @Test func findsWhateverTheLetterCase() {
        let block = HeaderBlock([("Set-Cookie", "a"), ("ETag", "\"x\""), ("set-cookie", "b")])
        #expect(block.first("etag") == "\"x\"")
        #expect(block.all("set-cookie") == ["a", "b"])
        #expect(block.first("etags") == nil)
        #expect(block.first("eta") == nil)
    }

    @Test func repairsWhatIsNotUTF8() {
        let block = HeaderBlock(raw: Array("A: ".utf8) + [0xE9, 0x0D, 0x0A])
        #expect(block.first("a") == "\u{FFFD}")
    }
}

@Suite struct ErrorNameTests {
    @Test func everyNumberIsOneName() {
        let codes = ErrorName.allCases.compactMap(\.code)
        #expect(Set(codes).count == codes.count)
        #expect(codes.allSatisfy { $0 < 0 })
    }

    @Test func namesAreApples() {
        #expect(ErrorName.httpTooManyRedirects.rawValue == "tooManyRedirects")
        #expect(ErrorName.timedOut.code == -1001)
        #expect(ErrorName.timedOut.domain == "NSURLErrorDomain")
        #expect(ErrorName.checksumMismatch.code == nil)
        #expect(ErrorName.checksumMismatch.domain == "transfer-run")
        #expect(ErrorName.dataLengthExceedsMaximum.code == -1103)
        #expect(ErrorName.networkConnectionLost.code == -1005)
        #expect(ErrorName.backgroundSessionInUseByAnotherProcess.code == -996)
    }

    @Test(arguments: ErrorName.allCases) func everyOneSaysWhatHelps(name: ErrorName) {
        #expect(name.whatHelps.hasSuffix("."))
    }
}

@Suite struct ChecksumTests {
    @Test func printsItsAlgorithm() {
        #expect(Checksum(algorithm: .md5, bytes: [0, 0x9F, 0xFF]).description == "md5:009fff")
        #expect(DigestAlgorithm.allCases.map(\.byteCount) == [32, 64, 20, 16, 64])
    }
}
