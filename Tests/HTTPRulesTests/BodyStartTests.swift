import HTTPRules
import TestSupport
import Testing
import TransferModel

/// What the first bytes of a body give away.
struct BodyStartTests {
    private func expectations(_ magic: Expectations.Magic? = nil, notHTML: Bool = false) -> Expectations {
        var expect = Expectations()
        (expect.magic, expect.notHTML) = (magic, notHTML)
        return expect
    }

    /// The verdict on a body that comes in these pieces; `nil` when it may be delivered.
    private func verdict(_ pieces: [[UInt8]], _ expect: Expectations) -> ErrorName? {
        guard var start = BodyStart(expect) else { return nil }
        do throws(TransferError) {
            for piece in pieces { try start.take(piece) }
            try start.end()
            return nil
        } catch {
            return error.name
        }
    }

    private func verdict(_ text: String, _ expect: Expectations) -> ErrorName? { verdict([Array(text.utf8)], expect) }

    @Test(
        arguments: [
            (Expectations.Magic.gzip, [0x1F, 0x8B, 8, 0]), (.zip, [0x50, 0x4B, 3, 4, 0]), (.zip, [0x50, 0x4B, 5, 6]),
            (.zip, [0x50, 0x4B, 7, 8, 0x50]), (.xz, [0xFD, 0x37, 0x7A, 0x58, 0x5A, 0, 0]),
            (.zstd, [0x28, 0xB5, 0x2F, 0xFD]), (.zstd, [0x5A, 0x2A, 0x4D, 0x18, 4]), (.pdf, Array("%PDF-1.7".utf8)),
            (.elf, [0x7F, 0x45, 0x4C, 0x46, 2]), (.bytes([1, 2, 3]), [1, 2, 3]),
        ] as [(Expectations.Magic, [UInt8])])
    func eachKindIsKnownByItsBeginning(_ magic: Expectations.Magic, _ body: [UInt8]) {
        let expect = expectations(magic)
        #expect(verdict([body], expect) == nil)
        #expect(verdict(body.map { [$0] }, expect) == nil)
        #expect(verdict([], expect) == .magicMismatch)
        #expect(verdict([[body[0]]], expect) == .magicMismatch)
        #expect(verdict([[0] + body], expect) == .magicMismatch)
        #expect(verdict([[body[0], body[1] ^ 1] + body.dropFirst(2)], expect) == .magicMismatch)
        #expect(verdict("<html>", expect) == .magicMismatch)
    }

    @Test func theErrorSaysWhatCame() throws {
        var start = try #require(BodyStart(expectations(.bytes([0xAB]))))
        let error = #expect(throws: TransferError.self) { try start.take(Array("<p>".utf8)) }
        #expect(error?.message == "expected `ab`, the body begins with `3c 70 3e`")
    }

    /// A signature that differs late is shown as far as that.
    @Test func theErrorShowsTheDifference() throws {
        let magic = (0..<12).map { UInt8($0) }
        var start = try #require(BodyStart(expectations(.bytes(magic))))
        let error = #expect(throws: TransferError.self) { try start.take(magic[..<11] + [0xFF, 0xEE]) }
        #expect(error?.message.hasSuffix("the body begins with `00 01 02 03 04 05 06 07 08 09 0a ff`") == true)
    }

    @Test func itIsSettledAsSoonAsItCanBe() throws {
        #expect(BodyStart(expectations()) == nil)
        var start = try #require(BodyStart(expectations(.gzip, notHTML: true)))
        try start.take([0x1F])
        #expect(!start.isSettled)
        try start.take([0x8B])
        #expect(start.isSettled)
        // What comes now is not looked at.
        try start.take(Array("<html>".utf8))
        try start.end()
    }

    @Test(arguments: [
        "<!doctype html>", "<!DOCTYPE HTML PUBLIC \"x\">", " \r\n\t\u{C}<html>", "\u{FEFF}<html lang=en>", "<HTML\n>",
        "<!doctype\n  html>", "<head>", "<body class=x>", "<!-- x --><p>", "<title>x", "<script src=x>", "<style>",
        "<meta charset=utf-8>", "<iframe/>", "<?xml version=\"1.0\"?><html xmlns=\"x\">",
        "<?xml version=\"1.0\"?>\n<!DOCTYPE html PUBLIC \"x\">", "<html", "\n<html>",
    ]) func pages(_ text: String) {
        let expect = expectations(notHTML: true)
        #expect(verdict(text, expect) == .unexpectedHTML)
        #expect(verdict(text.utf8.map { [$0] }, expect) == .unexpectedHTML)
    }

    @Test(arguments: [
        "", " ", "\u{FEFF}", "plain text", "{}", "<", "<ht", "<header>", "<html5>", "<p>", "<!doctype svg>",
        "<!doctypehtml>", "<?xml version=\"1.0\"?><rss>", "<?xml version=\"1.0\"?><!-- x --><rss/>", "<?xml",
        "x<html>", "<!-", "< html>", "&lt;html", "<svg>", "\0<html>",
    ]) func noPages(_ text: String) {
        let expect = expectations(notHTML: true)
        #expect(verdict(text, expect) == nil)
        #expect(verdict(text.utf8.map { [$0] }, expect) == nil)
    }

    @Test func onlyTheFirstKibibyteCounts() {
        let expect = expectations(notHTML: true)
        let blanks = String(repeating: " ", count: BodyStart.longest - 6)
        #expect(verdict(blanks + "<html>", expect) == .unexpectedHTML)
        #expect(verdict(blanks + "   <html>", expect) == nil)
        #expect(verdict("<?xml " + blanks + "?><html>", expect) == nil)
    }

    /// However the bytes are cut, the verdict is the same; and random bytes are no trouble.
    @Test func theCutDoesNotMatter() {
        var random = Seeded("theCutDoesNotMatter")
        let pieces: [[UInt8]] = [
            [0xEF, 0xBB, 0xBF], [0xEF], [0x20], [0x0A], [0x1F, 0x8B], [0x50, 0x4B], [3, 4], [0x28, 0xB5, 0x2F],
        ]
        let words = ["<", "<html", ">", "<!--", "<!doctype", " html", "<?xml", "?>", "<head", "er", "text", "%PDF-"]
        let kinds: [Expectations.Magic?] = [nil, .gzip, .zip, .zstd, .pdf, .bytes([0x20])]
        for _ in 0..<Rounds.scaled(3_000) {
            var body: [UInt8] = []
            for _ in 0..<random.below(8) {
                body += random.oneIn(2) ? random.pick(pieces) : Array(random.pick(words).utf8)
            }
            if random.oneIn(4) { body += random.bytes(random.below(1_500)) }
            let expect = expectations(random.pick(kinds), notHTML: random.oneIn(2))
            var cut: [[UInt8]] = []
            var rest = body[...]
            while !rest.isEmpty {
                let count = 1 + random.below(rest.count)
                cut.append(Array(rest.prefix(count)))
                rest = rest.dropFirst(count)
            }
            #expect(verdict([body], expect) == verdict(cut, expect), "\(body.prefix(64))")
        }
    }
}
