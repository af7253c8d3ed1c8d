import HTTPRules
import TestSupport
import Testing
import TransferModel

/// Where the next page is, and whether it may be asked for.
struct NextPagesTests {
    private func url(_ text: String) throws -> ResourceURL { try ResourceURL.parse(text) }

    private func target(
        _ reference: String, from text: String = "https://a.test/v1/items?page=1",
        _ change: (inout RedirectPolicy) -> Void = { _ in }
    ) throws -> String {
        var policy = RedirectPolicy()
        change(&policy)
        return try NextPages.target(reference, from: url(text), policy: policy).text
    }

    @Test func aReference_isResolvedAgainstTheLastPage() throws {
        #expect(try target("?page=2") == "https://a.test/v1/items?page=2")
        #expect(try target("more") == "https://a.test/v1/more")
        #expect(try target("//b.test/x") == "https://b.test/x")
        #expect(try target("https://b.test/ä b") == "https://b.test/%C3%A4%20b")
    }

    @Test func rulesOfRedirects_hold() throws {
        let refused: [(String, (inout RedirectPolicy) -> Void)] = [
            ("http://a.test/x", { _ in }), ("file:///etc/passwd", { _ in }),
            ("ftp://a.test/x", { $0.allowDowngrade = true }),
            ("https://b.test/x", { $0.follow = .sameHost }), ("https://a.test:8443/x", { $0.follow = .sameOrigin }),
            ("https://b.test/x", { $0.follow = .never }),
            ("https://b.test/x", { $0.allowHosts = [HostPattern("a.test")].compactMap { $0 } }),
        ]
        for (reference, change) in refused {
            let error = #expect(throws: TransferError.self, "\(reference)") { try target(reference, change) }
            #expect(error?.name == .redirectRefused, "\(reference)")
        }
        #expect(try target("http://a.test/x") { $0.allowDowngrade = true } == "http://a.test/x")
        #expect(try target("?2") { $0.follow = .never } == "https://a.test/v1/items?2")
        #expect(try target("?2") { $0.maximum = 0 } == "https://a.test/v1/items?2")
    }

    /// A cursor is a value of the first URL's, whatever it holds, and the first URL may be asked for wherever it led.
    @Test func aCursor_becomesAParameterOfTheFirstURL() throws {
        var policy = RedirectPolicy()
        policy.follow = .never
        let first = try url("https://a.test/items?limit=2&after=old")
        let target = try NextPages.target(first, setting: "after", to: "//evil.test/#a b&c", policy: policy)
        #expect(target.text == "https://a.test/items?limit=2&after=%2F%2Fevil.test%2F%23a%20b%26c")
        let file = try url("file:///etc/passwd")
        #expect(throws: TransferError.self) { try NextPages.target(file, setting: "p", to: "2", policy: policy) }
        let secured = try NextPages.target(
            try url("http://a.test/"), setting: "p", to: "2", policy: policy, secured: { $0.secured })
        #expect(secured.text == "https://a.test/?p=2")
    }

    @Test func aPageThatWasAskedFor_isALoop() throws {
        let asked = ["https://a.test/1", "https://a.test/2"]
        #expect(NextPages.loop(try url("https://a.test/3"), asked: asked) == nil)
        #expect(NextPages.loop(try url("https://a.test/2#x"), asked: asked)?.message.contains("names itself") == true)
        #expect(NextPages.loop(try url("https://a.test/1"), asked: asked)?.message.contains("names page 1") == true)
    }

    /// Whatever an answer says, it is a URL of http or https, or an error.
    @Test func anyReference_endsInAURLOrAnError() throws {
        var random = Seeded("anyReference_endsInAURLOrAnError")
        let pieces = [
            "http", "https:", "//", "/", "?", "#", "..", "a.test", ":", "@", "%", "[", "]", "\u{0}", "\r\n", "ä", " ",
            "\\",
        ]
        let from = try url("https://user:pw@a.test/v1/items?page=1")
        for _ in 0..<Rounds.scaled(2_000) {
            let reference = (0..<random.below(8)).map { _ in random.pick(pieces) }.joined()
            do throws(TransferError) {
                let target = try NextPages.target(reference, from: from, policy: RedirectPolicy())
                #expect(target.schemeIs("https"), "\(reference)")
                #expect(!target.text.utf8.contains { $0 <= 0x20 }, "\(reference)")
            } catch {
                #expect([.redirectRefused, .nextPageUnusable].contains(error.name), "\(reference)")
            }
        }
    }

    // MARK: Captures of pages

    private func value(_ name: String, _ value: PlainValue) -> CapturedValue {
        CapturedValue(name: name, text: "", value: value)
    }

    @Test func captures_becomeListsInThePagesOrder() throws {
        var captures = PageCaptures()
        try captures.add([
            value("one", .number("1")), value("all", .list([.string("a"), .string("b")])),
            value(Capture.nextPage, .string("x")),
        ])
        try captures.add([value("one", .number("2")), value("all", .list([]))])
        try captures.add([value("one", .string("3")), value("all", .list([.string("c")]))])
        #expect(captures.values.map(\.name) == ["one", "all"])
        #expect(captures.values[0].value == .list([.number("1"), .number("2"), .string("3")]))
        #expect(captures.values[1].value == .list([.string("a"), .string("b"), .string("c")]))
    }

    @Test func aListOfAllPages_hasABound() throws {
        var captures = PageCaptures()
        let half = PlainValue.list(Array(repeating: .null, count: CapturedValue.mostInList / 2))
        try captures.add([value("all", half)])
        try captures.add([value("all", half)])
        #expect(throws: TransferError.self) { try captures.add([value("all", .list([.null]))]) }
    }
}
