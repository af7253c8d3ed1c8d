import HTTPRules
import TestSupport
import Testing
import TransferModel

@Suite struct AnswerRulesTests {
    @Test(arguments: [
        ("iso-8859-1", [0x80, 0xFC, 0x41], "€üA"), ("ISO-8859-15", [0xA4], "€"), ("windows-1251", [0xCF, 0xF0], "Пр"),
        ("koi8-r", [0xD0], "п"), ("utf-16be", [0, 0x41, 0xD8, 0x3D, 0xDE, 0], "A😀"),
        ("utf-16", [0x41, 0, 0x42], "A\u{FFFD}"),
        ("utf-8", [0xC3, 0xBC], "ü"), ("us-ascii", [0x41], "A"), ("windows-1253", [0xD2], "\u{FFFD}"),
    ])
    func charsets(_ label: String, _ bytes: [UInt8], _ text: String) throws {
        #expect(String(decoding: try BodyText(bytes, charset: label).bytes, as: UTF8.self) == text)
    }

    @Test func aMarkHasTheFirstWordAndUnknownNamesAreRefused() throws {
        #expect(try BodyText([0xEF, 0xBB, 0xBF, 0x41], charset: "utf-16").bytes == [0x41])
        #expect(try BodyText([0xFE, 0xFF, 0, 0x41], charset: "utf-8").bytes == [0x41])
        #expect(try BodyText([0xFF, 0x00], charset: nil).bytes == [0xFF, 0x00])
        #expect(throws: TransferError.self) { try BodyText([0x41], charset: "iso-2022-jp") }
    }

    /// Whatever the bytes are, what is told is UTF-8.
    @Test func anyBytesGiveText() throws {
        let labels = [
            "iso-8859-1", "iso-8859-2", "iso-8859-5", "iso-8859-7", "iso-8859-9", "iso-8859-15", "windows-1250",
            "windows-1251", "windows-1252", "windows-1253", "windows-1257", "koi8-r", "koi8-u", "utf-16", "utf-16be",
        ]
        var random = Seeded("anyBytesGiveText")
        for _ in 0..<Rounds.scaled(50) {
            let bytes = (0..<Int.random(in: 0..<64, using: &random)).map { _ in
                UInt8.random(in: 0...255, using: &random)
            }
            for label in labels {
                let text = try BodyText([0x41, 0x41] + bytes, charset: label).told
                #expect(String(validating: text, as: UTF8.self) != nil, "\(label) \(bytes)")
            }
        }
    }

    /// What stands for nothing is no U+FFFD: an expectation that names that one finds it only where it was sent.
    @Test(arguments: [
        ("windows-1253", [0x41, 0xD2], false), ("utf-16be", [0, 0x41, 0xD8, 0x3D], false),
        ("utf-16be", [0, 0x41, 0xFF], false), ("utf-16be", [0, 0x41, 0xFF, 0xFD], true),
        ("utf-8", [0x41, 0xFF], false), ("utf-8", [0x41, 0xEF, 0xBF, 0xBD], true),
    ])
    func whatStandsForNothingIsNotFound(_ label: String, _ bytes: [UInt8], _ isFound: Bool) throws {
        for isExpression in [false, true] {
            let rules = try Self.rules([]) { expect in
                if isExpression { expect.bodyMatches = "A\u{FFFD}" } else { expect.bodyContains = "A\u{FFFD}" }
            }
            let findings = rules.examine(bytes, charset: label, .empty, hiding: Redactor([]))
            #expect((findings.error == nil) == isFound, "\(label) \(bytes)")
        }
    }

    private static func rules(_ captures: [Capture], _ change: (inout Expectations) -> Void = { _ in }) throws
        -> AnswerRules
    {
        var expect = Expectations()
        change(&expect)
        return try #require(AnswerRules(expect, captures))
    }

    private static func secret(_ source: Capture.Source) -> Capture {
        var capture = Capture(name: "s", source: source)
        capture.isSecret = true
        return capture
    }

    /// How far a path leads, and the names there: no values.
    @Test(arguments: [
        ("$.data.tokenId", "`$.data` has the keys `token_id`, `items`, `kind`"),
        ("$.data.items[3].id", "`$.data.items` is a list of 1"), ("$.data['kind'].x", "`$.data['kind']` is a text"),
        ("$.nothing.a", "the body has the keys `data`, `n`, `empty`"), ("$.n.a", "`$.n` is a number"),
        ("$.empty[0]", "`$.empty` is an empty list"), ("$.data.items[*].id", "`$.data.items[*]` has the key `name`"),
        ("$.data.*.id", "the first of 3 values of `$.data.*` is a text"),
    ])
    func aPathThatLeadsToNothing_saysWhatIsThere(_ path: String, _ words: String) throws {
        let body =
            #"{"data": {"token_id": "v4lue", "items": [{"name": "v4lue"}], "kind": "v4lue"}, "n": 1, "empty": []}"#
        let rules = try Self.rules([Capture(name: "x", source: .json(path))])
        let findings = rules.examine(Array(body.utf8), charset: nil, .empty, hiding: .none)
        #expect(findings.error?.name == .captureNotFound)
        #expect(findings.error?.message == "`x` was not captured: `\(path)` leads to nothing; \(words)")
    }

    /// Few names of many, none of them at length, and none that could be a secret.
    @Test func theNamesThatAreThere_areFewAndMasked() throws {
        let names = (0..<40).map { "name-\($0)" } + [String(repeating: "x", count: 500)]
        func message(_ names: [String], _ capture: Capture, _ redactor: Redactor = .none) throws -> String {
            let body = "{" + names.map { "\"\($0)\": 1" }.joined(separator: ", ") + "}"
            let rules = try Self.rules([capture])
            let findings = rules.examine(Array(body.utf8), charset: nil, .empty, hiding: redactor)
            return ForeignText.told(findings.error?.message ?? "") { redactor.redacted($0) }
        }
        let plain = Capture(name: "x", source: .json("$.a"))
        #expect(try message(names, plain).hasSuffix("`name-10`, `name-11` and 29 more"))
        let long = try message(Array(names.reversed()), plain)
        #expect(long.contains("`xxx") && long.count < 200, "\(long)")
        let known = Redactor([KnownSecret(name: "s", value: "name-1")])
        #expect(try message(["name-1", "b"], plain, known).hasSuffix("has the keys `***`, `b`"))
        let odd = ["access_token", "3f9a8b7c6d5e4f3a2b1c", String(repeating: "t", count: 25)]
        let end = TransferError.withheldBodyWords
        #expect(try message(odd, Self.secret(.json("$.a"))).hasSuffix("has the keys `access_token` and 2 more\(end)"))
        #expect(try message([odd[1]], Self.secret(.json("$.a"))).hasSuffix("the body has 1 key\(end)"))
    }

    @Test(arguments: [
        ("text/html; charset=utf-8", "<p>", "the body is no JSON but `text/html`: "),
        ("application/json", "<p>", "the body is no JSON: "), ("text/html", "", "the body is empty"),
    ])
    func aBodyThatIsNoJSON_saysWhatItIs(_ type: String, _ body: String, _ words: String) throws {
        let rules = try Self.rules([Capture(name: "x", source: .json("$.a"))])
        let findings = rules.examine(
            Array(body.utf8), charset: nil, HeaderBlock([("Content-Type", type)]), hiding: .none)
        #expect(findings.error?.message.hasPrefix("`x` was not captured: \(words)") == true, "\(findings)")
    }

    /// Against a search that nobody can get wrong, over few letters, so that much nearly fits.
    @Test func aTextIsFoundWhereItStands() throws {
        var random = Seeded("aTextIsFoundWhereItStands")
        for _ in 0..<Rounds.scaled(500) {
            let text = String((0..<random.below(40)).map { _ in random.pick(Array("aab")) })
            let needle = String((0..<(1 + random.below(6))).map { _ in random.pick(Array("aab")) })
            let rules = try Self.rules([]) { $0.bodyContains = SecretText(needle) }
            let isFound = rules.examine(Array(text.utf8), charset: nil, .empty, hiding: .none).error == nil
            #expect(isFound == text.contains(needle), "`\(needle)` in `\(text)`")
        }
    }

    @Test func askingNothingCostsNothing() { #expect(AnswerRules(Expectations(), []) == nil) }

    @Test func allTextsOfASecretMapAreSecret() throws {
        let rules = try Self.rules([Self.secret(.json("$.a"))])
        let body = #"{"a": {"b": "word-one", "c": [12345, {"d": "word-two"}], "e": "ab"}}"#
        let findings = rules.examine(Array(body.utf8), charset: nil, .empty, hiding: .none)
        let hidden = Set(findings.secrets.map(\.value))
        #expect(hidden.isSuperset(of: ["word-one", "12345", "word-two"]))
        #expect(!hidden.contains("ab"), "what is that short stands anywhere")
        #expect(findings.captures.first?.told.value == .string("***"))
    }

    @Test func aSecretIsNotToldByAMissEitherNorHalfOfIt() throws {
        let word = String(repeating: "s", count: 70)
        let rules = try Self.rules([Self.secret(.regex("(s{70})"))]) {
            $0.bodyContains = "missing"
            $0.bodyMatches = "^missing"
            $0.bodyJSON = [Expectations.JSONMatch(path: "$.a", value: .string("x"))]
        }
        let body = #"{"a": "0123456789\#(word)"}"#
        let findings = rules.examine(Array(body.utf8), charset: nil, .empty, hiding: .none)
        let message = try #require(findings.error?.message)
        #expect(!message.contains("sssss"), "\(message)")
        #expect(message.contains("0123456789***"))
    }

    @Test func valuesAreBounded() throws {
        let rules = try Self.rules([Capture(name: "v", source: .regex("x+"))])
        let long = Array(repeating: UInt8(ascii: "x"), count: CapturedValue.longest)
        #expect(rules.examine(long, charset: nil, .empty, hiding: .none).captures.count == 1)
        let findings = rules.examine(long + long, charset: nil, .empty, hiding: .none)
        #expect(findings.error?.message.contains("longer than 64 KiB") == true)
    }

    @Test func onlyHeavyWorkIsForAnotherThread() throws {
        #expect(try !Self.rules([Capture(name: "v", source: .header("x"))]).isHeavy(1 << 20))
        #expect(try Self.rules([Capture(name: "v", source: .regex("x"))]).isHeavy(1))
        #expect(try !Self.rules([Capture(name: "v", source: .json("$.x"))]).isHeavy(1000))
        #expect(try Self.rules([Capture(name: "v", source: .json("$.x"))]).isHeavy(1 << 20))
    }

    /// Hostile bodies: never more than a miss.
    @Test func noiseIsHarmless() throws {
        let rules = try Self.rules(
            [Capture(name: "a", source: .json("$..a[?@.b>1]")), Capture(name: "b", source: .regex("(a|b)*c"))]
        ) { $0.bodyContains = "needle" }
        let words = ["{", "}", "[", "]", "\"a\"", ":", ",", "1", "\\u12", "\u{1}", "needle", "ab", "c", "\u{FF}"]
        var random = Seeded("noiseIsHarmless")
        for _ in 0..<Rounds.scaled(300) {
            var body: [UInt8] = []
            for _ in 0..<Int.random(in: 0..<60, using: &random) {
                body += Array((words.randomElement(using: &random) ?? "").utf8)
            }
            if Bool.random(using: &random) { body.append(UInt8.random(in: 0...255, using: &random)) }
            _ = rules.examine(
                body, charset: ["utf-16", nil, "latin1"].randomElement(using: &random) ?? nil, .empty, hiding: .none)
        }
    }
}
