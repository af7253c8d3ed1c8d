import Testing
import TextFormats

@Suite struct JSONPathTests {
    private static let store = #"""
        {"store":{"book":[{"category":"reference","author":"Rees","price":8.95},
        {"category":"fiction","author":"Waugh","price":12.99},
        {"category":"fiction","author":"Melville","isbn":"0-553","price":8.99},
        {"category":"fiction","author":"Tolkien","isbn":"0-395","price":22.99}],
        "bicycle":{"color":"red","price":399}},"o'k":{"é":1},"list":[0,1,2,3,4,5],"none":null}
        """#

    /// What stands in RFC 9535, section 1.5, and the corners of its sections 2.3 and 2.4.
    @Test(
        arguments: [
            ("$.store.book[*].author", #"["Rees","Waugh","Melville","Tolkien"]"#),
            ("$..author", #"["Rees","Waugh","Melville","Tolkien"]"#),
            ("$.store..price", "[8.95,12.99,8.99,22.99,399]"),
            ("$..book[2].author", #"["Melville"]"#),
            ("$..book[-1].author", #"["Tolkien"]"#),
            ("$..book[0,1].price", "[8.95,12.99]"),
            ("$..book[:2].price", "[8.95,12.99]"),
            ("$..book[?@.isbn].price", "[8.99,22.99]"),
            ("$..book[?@.price<10].author", #"["Rees","Melville"]"#),
            ("$..book[?@.price < 10 && !@.isbn].author", #"["Rees"]"#),
            ("$..book[?(@.author=='Rees' || @['author'] == \"Waugh\")].price", "[8.95,12.99]"),
            ("$.store.book[?@.price >= $.store.book[1].price].author", #"["Waugh","Tolkien"]"#),
            ("$['o\\'k']['\\u00e9']", "[1]"),
            ("$[\"o'k\"].é", "[1]"),
            ("$.list[1:5:2]", "[1,3]"),
            ("$.list[5:1:-2]", "[5,3]"),
            ("$.list[::-1]", "[5,4,3,2,1,0]"),
            ("$.list[-2:]", "[4,5]"),
            ("$.list[1:3:0]", "[]"),
            ("$.list[0,0,'x']", "[0,0]"),
            ("$.list[9]", "[]"),
            ("$.list[-7]", "[]"),
            ("$.none", "[null]"),
            ("$.absent.more", "[]"),
            ("$.list[?@ == 3]", "[3]"),
            ("$.list[?@ > 3.5 || @ == 0.0]", "[0,4,5]"),
            ("$[?@.absent == @.missing].é", "[1]"),
            ("$ .store [ 'bicycle' ] . color", nil),
            ("$ .store [ 'bicycle' ].color", #"["red"]"#),
        ] as [(String, String?)])
    func selects(_ path: String, giving expected: String?) throws {
        guard let expected else {
            #expect(throws: JSONPath.Problem.self) { try JSONPath(path) }
            return
        }
        let root = try JSONParser.parse(Array(JSONPathTests.store.utf8))
        var writer = JSONWriter()
        JSONValue.array(try JSONPath(path).select(from: root)).append(to: &writer)
        #expect(String(decoding: writer.bytes, as: UTF8.self) == expected)
    }

    /// `é` as one character and as two look alike; whoever wrote both meant two names, and two values.
    @Test func whatOnlyLooksAlikeIsNotTheSame() throws {
        let (one, two) = ("\u{E9}", "e\u{301}")
        let root = try JSONParser.parse(Array(#"{"\#(one)":"\#(one)","\#(two)":"\#(two)"}"#.utf8))
        func selected(_ path: String) throws -> [[UInt8]] {
            try JSONPath(path).select(from: root).map {
                var writer = JSONWriter()
                $0.append(to: &writer)
                return writer.bytes
            }
        }
        #expect(try selected("$['\(one)']") == [Array("\"\(one)\"".utf8)])
        #expect(try selected("$['\(two)']") == [Array("\"\(two)\"".utf8)])
        #expect(try selected("$[?@ == '\(one)']") == [Array("\"\(one)\"".utf8)])
        #expect(try selected("$[?@ != '\(one)']") == [Array("\"\(two)\"".utf8)])
        #expect(JSONValue.array([.string(one)]) != .array([.string(two)]))
        let alike = try JSONParser.parse(Array(#"[{"\#(one)":1},{"\#(two)":1}]"#.utf8))
        #expect(try JSONPath("$[?@ == $[0]]").select(from: alike).count == 1)
    }

    @Test func theRootAlone() throws {
        #expect(try JSONPath("$").select(from: .number("1")) == [.number("1")])
    }

    @Test(arguments: [
        ("", 0), ("a", 0), ("$.", 2), ("$.1", 2), ("$[", 2), ("$[]", 2), ("$[01]", 2), ("$[-0]", 2), ("$['a", 4),
        ("$[1", 3), ("$.a b", 3), ("$[?@.a==@..b]", 8), ("$[?1]", 4), ("$[?size(@)>1]", 3), ("$[?(@.a]", 7),
        ("$...a", 3),
        ("$[9007199254740992]", 2), ("$['\\q']", 2), ("$['\\uD800']", 2), ("$[\"\\uDC00\"]", 2),
        ("$['\\uD83Dx']", 2), ("$['\\uD83D\\uD83D\\uDE00']", 2), ("$['\\uDE00\\uD83D']", 2), ("$[?@=='\\uD800']", 6),
    ])
    func saysWhereAPathIsWrong(_ path: String, offset: Int) {
        let problem = #expect(throws: JSONPath.Problem.self) { try JSONPath(path) }
        #expect(problem?.offset == offset)
    }

    @Test(arguments: ["$['\\uD83D\\uDE00']", "$[\"\\ud83d\\ude00\"]", "$['😀']"])
    func aPairOfHalvesIsACharacter(_ path: String) throws {
        let document = JSONValue.object([JSONValue.Member(name: "😀", value: .null)])
        #expect(try JSONPath(path).select(from: document) == [.null])
        #expect(try JSONPath("$['\\\\uD800']").select(from: document).isEmpty)
    }

    /// A deep document and a few `..` would make more values than memory holds.
    @Test func aWalkIsBounded() throws {
        var deep = JSONValue.array([])
        for _ in 0..<120 { deep = .array([deep, .number("1")]) }
        #expect(try JSONPath("$..*..*..*..*..*").select(from: deep, steps: 100_000) == nil)
        #expect(try JSONPath("$..[?@..*]").select(from: deep, steps: 5_000) == nil)
        #expect(try JSONPath("$[0][1]").select(from: deep, steps: 100)?.count == 1)
        #expect(try JSONPath("$..*").select(from: deep, steps: 100_000) == JSONPath("$..*").select(from: deep))
    }

    /// RFC 9535, section 2.3.5.2.2: by their code points.
    @Test func namesAndTextsAreComparedAsTheyAreWritten() throws {
        let (composed, decomposed) = ("caf\u{E9}", "cafe\u{301}")
        func member(_ name: String, _ value: JSONValue) -> JSONValue.Member {
            JSONValue.Member(name: name, value: value)
        }
        let document = JSONValue.object([member(composed, .number("1")), member(decomposed, .number("2"))])
        #expect(try JSONPath("$['\(composed)']").select(from: document) == [.number("1")])
        #expect(try JSONPath("$['\(decomposed)']").select(from: document) == [.number("2")])
        let list = JSONValue.array([.string(composed), .string(decomposed)])
        let found = try JSONPath("$[?@ == '\(decomposed)']").select(from: list)
        #expect(found.count == 1 && found.first == .string(decomposed))
    }
}
