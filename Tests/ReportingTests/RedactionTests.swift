import Glibc
import Reporting
import TestSupport
import Testing
import TransferModel

@Suite struct RedactionTests {
    private func randomSecret(_ random: inout Seeded) -> String {
        let characters = Array("abcdefghijklmnopqrstuvwxyzABCDEFGHIJ0123456789+/%\"\\ =&é€😀:;")
        return String((0..<(8 + random.below(20))).map { _ in random.pick(characters) })
    }

    /// A secret anywhere in any event comes out nowhere, in none of the spellings it went in with.
    @Test func secretsNeverComeOut() throws {
        var random = Seeded("secretsNeverComeOut")
        for _ in 0..<Rounds.scaled(15) {
            let story = Story(random: Seeded(seed: random.next()), tasks: 12, secret: randomSecret(&random))
            let redactor = Redactor(story.job.secrets)
            let events = story.events.map { $0.redacted(by: redactor) }
            let sinks = [MemorySink(), MemorySink(), MemorySink()]
            let report = JSONReport(job: story.job, runner: runner)
            let style = PlainProgress.Style(amount: .verbose, color: true, isGitHub: true)
            try feed(events, to: report, &random)
            try feed(events, to: EventLines(job: story.job, sink: sinks[1]), &random)
            try feed(events, to: PlainProgress(job: story.job, sink: sinks[2], style: style), &random)
            try report.write(to: sinks[0])
            let read = [sinks[0].bytes[...]] + sinks[1].bytes.split(separator: UInt8(ascii: "\n"))
            let strings = try read.flatMap { try TestJSON.parse($0).strings }.joined(separator: "\u{1}")
            for text in sinks.map({ $0.text }) + [strings] { check(text, story) }
            #expect(sinks[0].text.contains("***") && sinks[1].text.contains("***"))
        }
    }

    private func check(_ text: String, _ story: Story) {
        for spelling in story.embedded {
            #expect(!text.utf8Contains(spelling), "\(story.secret ?? "") came out as \(spelling)")
        }
    }

    /// As mails, keys and `base64` write it.
    @Test(arguments: ["\n", "\r\n", "\n    ", "\\n", "\\r\\n", "%0A"]) func base64InLinesIsFound(_ end: String) {
        let secret = String((0..<40).flatMap { "k\($0 * 7919 % 1000)-" })
        for (value, width) in [(secret, 76), (secret, 64), ("hunter2-and-more", 20)] {
            let redactor = Redactor([KnownSecret(name: "a", value: value)])
            for offset in 0..<21 {
                let bytes = [UInt8](repeating: 0x21, count: offset) + Array(value.utf8) + [0x21, 0x21]
                let plain = Array(Spelled.base64(bytes, urlSafe: false))
                let lines = stride(from: 0, to: plain.count, by: width).map { String(plain[$0...].prefix(width)) }
                let clean = redactor.redacted("<" + lines.joined(separator: end) + ">")
                let rest = clean.replacing("***", with: "").utf8.count - 2
                #expect(clean.contains("***") && rest <= 8 + offset * 4 / 3 + 2 * end.utf8.count, "\(offset) \(clean)")
            }
        }
        let redactor = Redactor([KnownSecret(name: "a", value: secret)])
        let text = "some words of a longer line\nand others in the next, with_a_long_word_at_the_end\n  and so on"
        #expect(redactor.redacted(text) == text)
    }

    @Test func everySpellingIsFound() {
        let secret = "pässword/with+odd \"chars\"&%"
        let redactor = Redactor([KnownSecret(name: "a", value: secret)])
        let spellings = [
            secret, Spelled.percent(secret, upper: true, keeping: ""),
            Spelled.percent(secret, upper: false, keeping: ""),
            Spelled.percent(secret, upper: true, keeping: "/&"), Spelled.form(secret),
            Spelled.json(secret, all: false), Spelled.json(secret, all: true),
            Spelled.percent(Spelled.json(secret, all: false), upper: true, keeping: ""),
            Spelled.percent(Spelled.percent(secret, upper: true, keeping: ""), upper: false, keeping: ""),
            Spelled.html(secret, numeric: nil), Spelled.html(secret, numeric: 10), Spelled.html(secret, numeric: 16),
            Spelled.json(Spelled.html(secret, numeric: nil), all: false),
        ]
        for spelling in spellings { #expect(redactor.redacted("<\(spelling)>") == "<***>") }
        for offset in 0..<3 {
            for urlSafe in [false, true] {
                let bytes = [UInt8](repeating: 0x21, count: offset) + Array(secret.utf8) + [0x21, 0x21]
                let text = Spelled.base64(bytes, urlSafe: urlSafe)
                let clean = redactor.redacted(text)
                #expect(clean.contains("***") && clean.utf8.count <= text.utf8.count - secret.utf8.count)
                let encoded = Spelled.percent(text, upper: true, keeping: "")
                #expect(redactor.redacted(encoded).contains("***"))
            }
        }
    }

    @Test func shortSecretsAreFoundAsTheyAreOnly() {
        let redactor = Redactor([KnownSecret(name: "a", value: "a b"), KnownSecret(name: "e", value: "")])
        #expect(redactor.redacted("xa by") == "x***y")
        #expect(redactor.redacted("xa%20by") == "xa%20by")
        #expect(Redactor([KnownSecret(name: "e", value: "")]).isEmpty)
    }

    /// Blanks around a header's value are no part of it for whoever reads it.
    @Test(arguments: ["tok-abcdefgh ", "\ttok-abcdefgh", " tok-abcdefgh\n", "tok-abcdefgh"])
    func aSecretIsFoundWithoutTheBlanksAroundIt(_ secret: String) {
        let redactor = Redactor([KnownSecret(name: "a", value: secret)])
        for text in ["Bearer tok-abcdefgh", "Bearer%20tok%2Dabcdefgh", "dG9rLWFiY2RlZmdo"] {
            #expect(!redactor.redacted(text).contains("abcd") && redactor.redacted(text).contains("***"), "\(text)")
        }
        #expect(redactor.redacted(secret) == "***")
    }

    @Test func whatBlanksLeaveOfASecretIsSomeWord() {
        let redactor = Redactor([KnownSecret(name: "a", value: "ab "), KnownSecret(name: "b", value: "   ")])
        #expect(redactor.redacted("abc ab") == "abc ab" && redactor.redacted("ab c") == "***c")
    }

    /// Nobody can put a secret into a name, and a short one that is found there is none.
    @Test func shortSecretsAreNotFoundInNames() {
        let redactor = Redactor([KnownSecret(name: "a", value: "a"), KnownSecret(name: "b", value: "lpha")])
        #expect(redactor.redacted(name: "Date") == "Date")
        #expect(redactor.redacted(name: "alphabet") == "a***bet")
        #expect(redactor.redacted("Date") == "D***te")
        let headers = HeaderBlock([("Date", "a"), ("X-lpha", "b")]).redacted(by: redactor)
        #expect(headers.lines.map { headers.name($0) } == ["Date", "X-***"])
        #expect(headers.lines.map { headers.value($0) } == ["***", "b"])
        #expect(Redactor([]).redacted(name: "a") == "a")
    }

    @Test func overlappingAndTouchingSecretsLeaveNothingBetween() {
        let redactor = Redactor([KnownSecret(name: "a", value: "abcdef"), KnownSecret(name: "b", value: "defghi")])
        #expect(redactor.redacted("<abcdefghi>") == "<***>")
        #expect(redactor.redacted("<abcdefabcdef>") == "<***>")
        #expect(redactor.redacted("<abcdef-defghi>") == "<***-***>")
        let nested = Redactor([KnownSecret(name: "a", value: "cdef"), KnownSecret(name: "b", value: "abcdefgh")])
        #expect(nested.redacted("abcdefgh cdef abcdefg") == "*** *** ab***g")
    }

    @Test func textWithoutASecretComesBackAsItIs() {
        var random = Seeded("textWithoutASecretComesBackAsItIs")
        let redactor = Redactor([KnownSecret(name: "a", value: "zq0-zq1-zq2")])
        for _ in 0..<Rounds.scaled(200) {
            let bytes = random.bytes(random.below(200)).filter { $0 != UInt8(ascii: "z") && $0 < 0x80 }
            #expect(redactor.redacted(bytes) == bytes)
        }
    }

    /// The automaton against the simplest search there is.
    @Test func searchAgreesWithTheNaiveOne() {
        var random = Seeded("searchAgreesWithTheNaiveOne")
        for _ in 0..<Rounds.scaled(500) {
            let letters = Array("ab")
            func word(_ count: Int) -> String { String((0..<count).map { _ in random.pick(letters) }) }
            let secrets = (0..<3).map { _ in word(1 + random.below(3)) }
            let text = Array(word(random.below(40)).utf8)
            var hidden = [Bool](repeating: false, count: text.count)
            for secret in secrets.map({ Array($0.utf8) }) where secret.count <= text.count {
                for start in 0...(text.count - secret.count) where text[start...].starts(with: secret) {
                    for index in start..<(start + secret.count) { hidden[index] = true }
                }
            }
            var expected: [UInt8] = []
            var touching = naiveRanges(text, secrets)
            var index = 0
            while index < text.count {
                if let range = touching.first, range.lowerBound == index {
                    expected += Array("***".utf8)
                    index = range.upperBound
                    touching.removeFirst()
                } else {
                    #expect(!hidden[index])
                    expected.append(text[index])
                    index += 1
                }
            }
            let redactor = Redactor(secrets.map { KnownSecret(name: "s", value: $0) })
            #expect(redactor.redacted(text) == expected)
        }
    }

    /// Every occurrence, those that overlap or touch made one.
    private func naiveRanges(_ text: [UInt8], _ secrets: [String]) -> [Range<Int>] {
        var all: [Range<Int>] = []
        for secret in secrets.map({ Array($0.utf8) }) where secret.count <= text.count {
            for start in 0...(text.count - secret.count) where text[start...].starts(with: secret) {
                all.append(start..<(start + secret.count))
            }
        }
        all.sort { $0.lowerBound < $1.lowerBound }
        return all.reduce(into: []) { merged, range in
            if let last = merged.last, last.upperBound >= range.lowerBound {
                merged[merged.count - 1] = last.lowerBound..<max(last.upperBound, range.upperBound)
            } else {
                merged.append(range)
            }
        }
    }

    @Test func headersKeepTheirOrderAndNames() {
        let redactor = Redactor([KnownSecret(name: "t", value: "hunter22")])
        let block = HeaderBlock([("A", "1"), ("Set-Cookie", "x=hunter22; Path=/"), ("A", "2")])
        let clean = block.redacted(by: redactor)
        #expect(clean.lines.map { clean.name($0) } == ["A", "Set-Cookie", "A"])
        #expect(clean.lines.map { clean.value($0) } == ["1", "x=***; Path=/", "2"])
    }

    /// What a URL makes of a secret, by the text in which it turns up.
    @Test(arguments: [
        ("http://h:1?k=T0ken", "http://h:1/?k=T0ken", "***"), ("HookToken", "http://hooktoken.h/", "http://***.h/"),
        ("HTTP://Host/hook/./Key", "http://host/hook/Key", "***"),
        ("a/./Key/b", "http://h/x/a/Key/b", "http://h/x/***"),
        ("SomeKey/.", "http://h/x/SomeKey/", "http://h/x/***"), ("SomeKey#part", "/?k=SomeKey", "/?k=***"),
        ("http://h/hook/T0ken-123456", "/next/T0ken-123456/", "/next/***/"),
        ("host.h", "http://host.h/a", "http://***/a"),
        ("http://h/?user=me&sig=12%2F34567890ab", "sig is 12/34567890ab", "sig is ***"),
        ("http://h/services/file-1.2.3-x86", "services file-1.2.3-x86", "services file-1.2.3-x86"),
    ])
    func formsInURLs(_ secret: String, _ text: String, _ told: String) {
        #expect(Redactor([KnownSecret(name: "s", value: secret)]).redacted(text) == told)
    }

    @Test func linesOfAKey() {
        let lines = ["-----BEGIN KEY-----", "MIIabcdefghijkl", "short", "second/line==", "-----END KEY-----"]
        let redactor = Redactor([KnownSecret(name: "k", value: lines.joined(separator: "\n"))])
        #expect(redactor.redacted("<\(lines.joined(separator: "\r\n"))>") == "<***>")
        #expect(redactor.redacted("a \(lines[1]) b second%2Fline%3D%3D") == "a *** b ***")
        #expect(redactor.redacted("\(lines[0]) short") == "\(lines[0]) short")
        let sent = Redactor([KnownSecret(name: "k", value: lines.joined(separator: "\r\n"))])
        #expect(sent.redacted(lines.joined(separator: "\n")) == "***")
    }

    /// However short it is; one that the server gives is its own.
    @Test func theNameAtTheEndOfASecretURL() {
        let redactor = Redactor([KnownSecret(name: "u", value: "http://h/a/f.txt")])
        func name(_ url: String, _ name: String, _ headers: [(String, String)] = []) -> String? {
            let record = ResponseRecord(
                status: 200, url: url, method: "GET", mimeType: nil, charset: nil, expectedLength: nil,
                suggestedFilename: name, contentEncoding: nil, headers: HeaderBlock(headers))
            let event = Event(
                time: WallTime(nanoseconds: 0), sequence: 1, session: nil, task: nil, kind: .response(record))
            guard case .response(let told) = event.redacted(by: redactor).kind else { return nil }
            return told.suggestedFilename
        }
        #expect(name("http://h/a/f.txt", "f.txt") == "***")
        #expect(name("http://h/a/f.txt?q", "f.txt") == "***")
        #expect(name("http://h/b/f.txt", "f.txt") == "f.txt")
        #expect(name("http://h/a/f.txt/g.txt", "g.txt") == "g.txt")
        #expect(name("http://h/a/f.txt", "g.txt", [("Content-Disposition", "attachment; filename=g.txt")]) == "g.txt")
    }

    @Test func secretsLearnedLaterAreAdded() {
        let redactor = Redactor.none.adding([KnownSecret(name: "c", value: "captured")])
        #expect(redactor.redacted("is captured") == "is ***")
        #expect(Redactor.none.isEmpty && !redactor.isEmpty)
    }
}

extension String {
    /// By bytes, and quickly: it is asked for every spelling of every text.
    func utf8Contains(_ other: String) -> Bool {
        var (text, part) = (self, other)
        return text.withUTF8 { text in
            part.withUTF8 { part in
                var start = 0
                while start + part.count <= text.count,
                    let found = memchr(text.baseAddress! + start, Int32(part[0]), text.count - start - part.count + 1)
                {
                    if memcmp(found, part.baseAddress!, part.count) == 0 { return true }
                    start = found - UnsafeMutableRawPointer(mutating: text.baseAddress!) + 1
                }
                return false
            }
        }
    }

    /// Of a long body only the beginning is told, and only that is looked through: the same comes out as of the whole.
    @Test(arguments: [UInt8(ascii: "x"), 0xFF]) func theBeginningOfALongBodyIsMaskedAsInTheWhole(_ filler: UInt8) {
        let redactor = Redactor([KnownSecret(name: "S", value: "hush-hush-secret")])
        let shown = Redactor.shownOfBody
        let secret = Array("hush-hush-secret".utf8)
        let wrapped = Array("%68ush%2dhush-se\\u0063ret".utf8)
        for place in [0, 100, shown - 30, shown - 8, shown - 1, shown, 2 * shown - 8, 5 * shown] {
            for written in [secret, wrapped, secret + Array("&;%+\\ ü".utf8)] {
                var body = [UInt8](repeating: filler, count: 6 * shown)
                body.replaceSubrange(place..<place + written.count, with: written)
                let (part, whole) = (redactor.redacted(body: body), redactor.redacted(body))
                #expect(part.prefix(shown) == whole.prefix(shown), "\(place)")
                #expect(part.count > shown)
            }
        }
        // So many that what is left would be all: then all is looked through.
        let many = Array(repeating: secret, count: 40_000).flatMap { $0 }
        #expect(redactor.redacted(body: many) == redactor.redacted(many))
        let short = Array("a hush-hush-secret b".utf8)
        #expect(redactor.redacted(body: short) == Array("a *** b".utf8))
    }
}
