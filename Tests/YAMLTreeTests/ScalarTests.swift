import TestSupport
import Testing
import YAMLTree

@Suite struct ScalarTests {
    @Test(
        arguments: [
            ("null", .null), ("Null", .null), ("NULL", .null), ("~", .null), ("nULL", .string), ("none", .string),
            ("true", .boolean(true)), ("False", .boolean(false)), ("TRUE", .boolean(true)), ("tRue", .string),
            ("yes", .string), ("off", .string), ("0", .integer(0)), ("-0", .integer(0)), ("+12", .integer(12)),
            ("012", .integer(12)), ("0o644", .integer(420)), ("0x1F", .integer(31)), ("-0x1F", .string),
            ("0o8", .string),
            ("0x", .string), ("+", .string), (".", .string), ("1_000", .string), ("1:30", .string),
            ("9223372036854775807", .integer(.max)), ("-9223372036854775808", .integer(.min)),
            ("9223372036854775808", .float(9_223_372_036_854_775_808)), ("3.10", .float(3.1)), ("1.", .float(1)),
            (".5", .float(0.5)), ("-.5e-3", .float(-0.0005)), ("1e3", .float(1000)), ("1e", .string), ("e3", .string),
            (".inf", .float(.infinity)), ("-.INF", .float(-.infinity)), ("+.Inf", .float(.infinity)), ("inf", .string),
            ("-.nan", .string), ("2001-12-14", .string), ("1.2.3", .string), ("0xFFFFFFFFFFFFFFFF", .float(0x1p64)),
        ] as [(String, YAMLTree.Scalar)])
    func resolves(_ text: String, to scalar: YAMLTree.Scalar) throws {
        let (tree, items) = try Reading("- " + text).items()
        let id = try #require(items.first)
        #expect(tree.resolve(id) == scalar)
        #expect(tree.text(id) == text, "a number keeps its text")
    }

    @Test func notANumberIsAFloat() throws {
        let (tree, items) = try Reading("[.nan]").items()
        guard case .float(let value) = tree.resolve(items[0]) else {
            Issue.record("`.nan` is a float")
            return
        }
        #expect(value.isNaN)
    }

    @Test func knowsWhatYAML11ReadOtherwise() throws {
        let (tree, items) = try Reading("[yes, No, ON, off, y, 'yes', yesterday, 0644, 0o644, 0, 0899, '0644']").items()
        #expect(items.filter(tree.isYAML11Boolean).map(tree.text) == ["yes", "No", "ON", "off", "y"])
        #expect(items.filter(tree.looksOctal).map(tree.text) == ["0644"])
    }

    /// The hand-written rules against the schema's own regular expressions (YAML 1.2.2, section 10.3.2).
    @Test func agreesWithTheRegularExpressionsOfTheSchema() throws {
        var random = Seeded("ScalarTests")
        let alphabet = Array("0123456789+-.eExoaAfFinfINFnNuUlLtTrR~_")
        for _ in 0..<Rounds.scaled(2000) {
            let text = String(
                (0..<Int.random(in: 1...6, using: &random)).map { _ in alphabet.randomElement(using: &random)! })
            guard text != "-", let tree = Reading("[\(text)]").tree, let root = tree.root,
                let id = tree.children(root).first(where: { _ in true })
            else { continue }
            #expect(kind(tree.resolve(id)) == expectedKind(text), "\(text), seed \(random.seed)")
        }
    }

    private func kind(_ scalar: YAMLTree.Scalar) -> String {
        switch scalar {
        case .null: "null"
        case .boolean: "boolean"
        case .integer: "integer"
        case .float: "float"
        case .string: "string"
        }
    }

    private func expectedKind(_ text: String) -> String {
        if text.wholeMatch(of: /null|Null|NULL|~/) != nil { return "null" }
        if text.wholeMatch(of: /true|True|TRUE|false|False|FALSE/) != nil { return "boolean" }
        if text.wholeMatch(of: /[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+/) != nil { return "integer" }
        if text.wholeMatch(of: /[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?/) != nil { return "float" }
        if text.wholeMatch(of: /[-+]?(\.inf|\.Inf|\.INF)|\.nan|\.NaN|\.NAN/) != nil { return "float" }
        return "string"
    }
}
