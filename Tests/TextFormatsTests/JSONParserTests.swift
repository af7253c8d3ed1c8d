import TestSupport
import Testing
import TextFormats

@Suite struct JSONParserTests {
    private func parse(_ text: String) throws(JSONProblem) -> JSONValue { try JSONParser.parse(Array(text.utf8)) }

    @Test func readsValues() throws {
        let value = try parse(
            "\u{FEFF} {\"a\" : [1.50, -0, 1e9, true, null], \"b\\u00e9\": \"\\ud83c\\udf89\", \"a\": {}}\r\n")
        #expect(
            value
                == .object([
                    .init(
                        name: "a",
                        value: .array([.number("1.50"), .number("-0"), .number("1e9"), .boolean(true), .null])),
                    .init(name: "bé", value: .string("🎉")), .init(name: "a", value: .object([])),
                ]))
        #expect(value["a"] == .object([]), "the last of several wins")
    }

    @Test(arguments: [
        ("", 1, 1), (" ", 1, 2), ("[1,]", 1, 4), ("{\"a\":1,}", 1, 8), ("{a:1}", 1, 2), ("[1 2]", 1, 4), ("01", 1, 2),
        ("1.", 1, 3), (".5", 1, 1), ("+1", 1, 1), ("1e", 1, 3), ("-", 1, 2), ("tru", 1, 1), ("nul", 1, 1),
        ("\"a", 1, 3), ("\"\\x\"", 1, 3), ("\"\\u12g4\"", 1, 6), ("\"a\tb\"", 1, 3), ("[\n\"é\",\n  ?]", 3, 3),
        ("{} {}", 1, 4), ("'a'", 1, 1), ("NaN", 1, 1), ("[", 1, 2), ("{\"a\"}", 1, 5),
    ])
    func saysWhereItIsWrong(_ text: String, line: Int, column: Int) {
        let problem = #expect(throws: JSONProblem.self) { try parse(text) }
        #expect(problem?.line == line)
        #expect(problem?.column == column)
    }

    /// Half of a character is nothing that a text could hold, so it is no U+FFFD either.
    @Test(arguments: [
        ("ud83c", 2), ("udf89", 2), ("ud83c\\u0041", 2), ("ud83c\\ud83c\\udf89", 2), ("ud83cx", 2),
        ("u0041\\ud83c\\n", 8), ("ud83c\\udf89\\udf89", 14),
    ])
    func halfACharacterIsToldApart(_ escapes: String, column: Int) throws {
        let text = "\"\\\(escapes)\""
        let problem = #expect(throws: JSONProblem.self) { try parse(text) }
        #expect(problem?.column == column && problem?.message.contains("half of a character") == true)
        let list = Array("[\(text), \"a\", \"\u{FFFD}\"]".utf8)
        guard case .array(let values) = try JSONParser.parse(list, keepsHalves: true) else {
            Issue.record("no list")
            return
        }
        guard case .broken(let shown) = values[0] else {
            Issue.record("taken for text: \(values[0])")
            return
        }
        #expect(shown.unicodeScalars.contains("\u{FFFD}") && values[0] != .string(shown))
        #expect(values[1...] == [.string("a"), .string("\u{FFFD}")], "what comes after is whole")
    }

    @Test func hasLimits() throws {
        func nested(_ depth: Int) -> [UInt8] {
            Array((String(repeating: "[", count: depth) + String(repeating: "]", count: depth)).utf8)
        }
        _ = try JSONParser.parse(nested(128))
        #expect(throws: JSONProblem.self) { try JSONParser.parse(nested(129)) }
        #expect(throws: JSONProblem.self) { try JSONParser.parse([UInt8](repeating: 0x5B, count: 1_000_000)) }
        #expect(throws: JSONProblem.self) { try JSONParser.parse(Array("[1,2]".utf8), limits: .init(values: 2)) }
        #expect(throws: JSONProblem.self) { try JSONParser.parse(Array("[1,2]".utf8), limits: .init(bytes: 4)) }
        #expect(throws: JSONProblem.self) { try JSONParser.parse([0x22, 0xC0, 0xAF, 0x22]) }
    }

    @Test func whatIsWrittenReadsBack() throws {
        var random = Seeded("JSONParserTests")
        for _ in 0..<Rounds.scaled(500) {
            let value = randomValue(depth: 4, using: &random)
            var writer = JSONWriter()
            value.append(to: &writer)
            #expect(try JSONParser.parse(writer.bytes) == value, "seed \(random.seed)")
        }
    }

    @Test func mutatedTextsNeverBreakTheParser() {
        var random = Seeded("JSONParserTests")
        let sample = Array(#"{"a":[1,2.5e-3,true,null,"x\u00e9\ud83c\udf89\n"],"b":{"c":[[],{}],"é":"漢"}}"#.utf8)
        for _ in 0..<Rounds.scaled(3000) {
            var bytes = sample
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                bytes[Int.random(in: bytes.indices, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            do throws(JSONProblem) {
                _ = try JSONParser.parse(bytes)
            } catch {
                #expect(error.offset <= bytes.count, "seed \(random.seed)")
            }
        }
    }

    private func randomValue(depth: Int, using random: inout Seeded) -> JSONValue {
        let text = String(
            (0..<Int.random(in: 0...8, using: &random)).map { _ in "aé\"\\\n漢🎉/".randomElement(using: &random)! })
        switch Int.random(in: 0..<(depth > 0 ? 6 : 4), using: &random) {
        case 0: return .null
        case 1: return .boolean(Bool.random(using: &random))
        case 2: return .number("\(Int.random(in: -1000...1000, using: &random))")
        case 3: return .string(text)
        case 4:
            return .array(
                (0..<Int.random(in: 0...4, using: &random)).map { _ in randomValue(depth: depth - 1, using: &random) })
        default:
            return .object(
                (0..<Int.random(in: 0...4, using: &random)).map {
                    .init(name: "\($0)\(text)", value: randomValue(depth: depth - 1, using: &random))
                })
        }
    }
}
