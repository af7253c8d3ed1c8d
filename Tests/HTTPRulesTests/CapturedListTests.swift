import HTTPRules
import TestSupport
import Testing
import TransferModel

/// `capture: { NAME: { json: …, all: true } }`
struct CapturedListTests {
    private func findings(_ path: String, _ body: String, isSecret: Bool = false) throws -> AnswerFindings {
        var capture = Capture(name: "list", source: .jsonList(path))
        capture.isSecret = isSecret
        let rules = try #require(AnswerRules(Expectations(), [capture]))
        return rules.examine(Array(body.utf8), charset: nil, .empty, hiding: .none)
    }

    @Test func allValuesAtThePathAreOneList() throws {
        let found = try findings("$.a[*].u", #"{"a": [{"u": "x"}, {"n": 1}, {"u": 3.10}, {"u": true}]}"#)
        #expect(found.error == nil)
        #expect(found.captures.map(\.value) == [.list([.string("x"), .number("3.10"), .boolean(true)])])
    }

    @Test(arguments: [
        ("$.a[*]", #"{"a": []}"#), ("$.a[*]", #"{"a": null}"#), ("$.a[*].b", #"{"a": []}"#), ("$[*]", "[]"),
        ("$.a[?@.x == 1]", #"{"a": [{"x": 2}]}"#), ("$..b", #"{"a": []}"#), ("$.a[*].b[*]", #"{"a": [{"b": []}, {}]}"#),
    ])
    func aListWithoutElementsIsEmpty(_ path: String, _ body: String) throws {
        let found = try findings(path, body)
        #expect(found.error == nil && found.captures.map(\.value) == [.list([])])
    }

    /// A server that names its list anew must not look like one that has nothing to do.
    @Test(arguments: [
        ("$.items[*]", #"{"data": [{"id": 1}], "next": null}"#, "`$.items[*]` leads to nothing; the body has the keys"),
        ("$.a[*].id", #"{"a": [{"key": 1}]}"#, "`$.a[*].id` leads to nothing"),
        ("$.a[*]", #"{"a": 7}"#, "`$.a[*]` leads to nothing"), ("$[*]", "true", "`$[*]` leads to nothing"),
    ])
    func aListThatIsNotThereIsNotCaptured(_ path: String, _ body: String, _ words: String) throws {
        let found = try findings(path, body)
        #expect(found.captures.isEmpty && found.error?.name == .captureNotFound)
        #expect(found.error?.message.contains(words) == true, "\(found.error?.message ?? "")")
    }

    @Test func objectsKeepTheirMembers() throws {
        let found = try findings("$[*]", #"[{"name": "a", "size": 7}]"#)
        let entries = [
            PlainValue.Entry(key: "name", value: .string("a")), PlainValue.Entry(key: "size", value: .number("7")),
        ]
        #expect(found.captures.map(\.value) == [.list([.map(entries)])])
    }

    @Test(arguments: [
        (#"[1, null]"#, "value 2 of `$[*]` is null"), (#"[[1]]"#, "value 1 of `$[*]` is a list"),
        (#"["\ud800"]"#, "holds half of a character"), ("{", "the body is no JSON"),
    ])
    func whatCannotStandInAListIsNotCaptured(_ body: String, _ words: String) throws {
        let found = try findings("$[*]", body)
        #expect(found.captures.isEmpty && found.error?.message.contains(words) == true, "\(found.error?.message ?? "")")
    }

    @Test func aListHasAtMostSoManyValues_eachOfTheLengthOfOne() throws {
        let most = CapturedValue.mostInList
        let many = "[" + String(repeating: "1,", count: most) + "1]"
        #expect(try findings("$[*]", many).error?.message.contains("\(most + 1) values") == true)
        #expect(try findings("$[*]", many.replacing("[1,", with: "[")).error == nil)
        let long = String(repeating: "x", count: CapturedValue.longest)
        #expect(try findings("$[*]", "[\"\(long)\"]").error == nil)
        #expect(try findings("$[*]", "[\"\(long)x\"]").error?.message.contains("longer than 64 KiB") == true)
        #expect(try findings("$[*]", "[{\"n\": \"\(long)x\"}]").error?.message.contains("`n` longer") != nil)
    }

    @Test func allTextsOfASecretListAreSecret() throws {
        let found = try findings("$[*]", #"[{"k": "word-one"}, "word-two"]"#, isSecret: true)
        #expect(Set(found.secrets.map(\.value)).isSuperset(of: ["word-one", "word-two"]))
        #expect(found.captures.first?.told.value == .string("***"))
        #expect(Set(found.captures.first?.secretTexts ?? []) == ["word-one", "word-two"])
    }
}
