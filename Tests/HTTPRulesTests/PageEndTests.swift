import HTTPRules
import Testing
import TransferModel

/// What an answer says of further pages, and links that are captured from it.
struct PageEndTests {
    private func findings(_ next: NextPage, _ body: String) throws -> AnswerFindings {
        try #require(AnswerRules(Expectations(), [Capture(next)])).examine(
            Array(body.utf8), charset: nil, .empty, hiding: .none)
    }

    private func counted(_ until: PageCount.End) -> NextPage {
        NextPage(.count(PageCount(parameter: "p", until: until)))
    }

    /// `nil`: it is an error.
    private func hasMore(_ until: PageCount.End, _ body: String) throws -> Bool? {
        let found = try findings(counted(until), body)
        if found.error != nil { return nil }
        return found.captures.contains { $0.name == Capture.nextPage }
    }

    @Test(
        arguments: [
            (#"{"more": true}"#, true), (#"{"more": 7}"#, true), (#"{"more": [1]}"#, true), (#"{"more": "x"}"#, true),
            (#"{"more": false}"#, false), (#"{"more": null}"#, false), (#"{"more": ""}"#, false), ("{}", false),
            ("{", nil),
        ] as [(String, Bool?)])
    func aPathWithNothing_isTheEnd(_ body: String, _ isMore: Bool?) throws {
        #expect(try hasMore(.json("$.more"), body) == isMore)
    }

    @Test(arguments: [(#"{"items": [{}, {}]}"#, true), (#"{"items": []}"#, false), (#"{"items": null}"#, false)])
    func aPathOfRows_endsWhereThereAreNone(_ body: String, _ isMore: Bool) throws {
        #expect(try hasMore(.json("$.items[*]"), body) == isMore)
    }

    @Test(
        arguments: [
            ("[1, 2]", 2, true), ("[1]", 2, false), ("[]", 1, false), ("[0]", 1, true),
            (#"{"total": 9, "items": [1]}"#, 1, true),
            (#"{"total": 9, "items": []}"#, 1, false), (#"{"items": [1], "facets": []}"#, 1, nil),
            (#"{"data": {"items": []}}"#, 1, nil), ("3", 1, nil), ("", 1, nil),
        ] as [(String, Int, Bool?)])
    func rows_areThoseOfTheOneList(_ body: String, _ count: Int, _ isMore: Bool?) throws {
        #expect(try hasMore(.rowsBelow(count), body) == isMore)
    }

    @Test(arguments: [
        (#"{"items": [1], "facets": []}"#, "the body has 2 lists: `items`, `facets`"),
        (#"{"data": {"items": []}}"#, "the body has the key `data`"),
    ])
    func whereRowsAreIsAsked_whatTheAnswerHasIsSaid(_ body: String, _ words: String) throws {
        let error = try #require(try findings(counted(.rowsBelow(1)), body).error)
        #expect(error.name == .nextPageUnusable && error.message.contains(words), "\(error.message)")
        #expect(error.message.contains("`until: { json: $.rows[*] }`"))
    }

    @Test(
        arguments: [
            (#"{"c": "x/y"}"#, "x/y"), (#"{"c": 17}"#, "17"), (#"{"c": ""}"#, ""), (#"{"c": null}"#, nil), ("{}", nil),
            (#"{"c": false}"#, nil),
        ] as [(String, String?)])
    func aCursor_isATextOrANumber(_ body: String, _ cursor: String?) throws {
        let found = try findings(NextPage(.cursor(.json("$.c"), parameter: "after")), body)
        #expect(found.error == nil && found.captures.first?.text == cursor)
        let map = try findings(NextPage(.cursor(.json("$.c"), parameter: "after")), #"{"c": {"id": 1}}"#)
        #expect(map.error?.message.contains("which names no page") == true)
    }

    /// An answer that names a next page is not the last one, whatever the job's path is.
    @Test(
        arguments: [
            ("$.nextcursor", #"{"next_cursor": "c2"}"#, "next_cursor"),
            ("$.cursor", #"{"nextPageToken": 7}"#, "nextPageToken"),
            ("$.meta.cursor", #"{"meta": {"next": "/2"}}"#, "meta.next"),
            ("$.next_cursor", #"{"items": [1], "meta": {"next_cursor": "c2"}}"#, "meta.next_cursor"),
            ("$.next", #"{"data": [1], "links": {"self": "/1", "next": "/2"}}"#, "links.next"),
            ("$.next", #"{"_links": {"self": {"href": "/1"}, "next": {"href": "/2"}}}"#, "_links.next"),
            (
                "$.next", #"{"data": {"all": {"nodes": [], "pageInfo": {"hasNextPage": true}}}}"#,
                "data.all.pageInfo.hasNextPage"
            ),
            ("$.next", #"{"content": [1], "last": false}"#, "last"),
            ("$.next", #"{"Items": [], "LastEvaluatedKey": {"id": "7"}}"#, "LastEvaluatedKey"),
            ("$.next", #"{"story": {"next": "/chapter-2"}, "last": true, "links": {"next": null}}"#, nil),
            ("$.paging.next", #"{"paging": {"cursors": {"after": "of the last page, too"}}}"#, nil),
            ("$.page.cursor", #"{"has_more": true}"#, "has_more"),
            ("$.nxt", #"{"@odata.nextLink": "https://a.test/2"}"#, "@odata.nextLink"),
            ("$.nextcursor", #"{"next_cursor": null, "hasMore": false, "nextRun": "today"}"#, nil),
            ("$.cursor", #"{"cursor": "", "has_more": true}"#, nil), ("$.cursor", #"{"cursor": null, "next": 1}"#, nil),
            ("$.cursor", #"{"items": [{"next": 1}]}"#, nil),
            ("$.cursor", #"{"has_more": 0, "next": {}, "nextUrl": []}"#, nil),
        ] as [(String, String, String?)])
    func aPathBesideTheNextPage_isNoEnd(_ path: String, _ body: String, _ name: String?) throws {
        for next in [
            NextPage(.cursor(.json(path), parameter: "after")), NextPage(.url(.json(path))), counted(.json(path)),
        ] {
            let found = try findings(next, body)
            guard let name else {
                #expect(found.error == nil)
                continue
            }
            let words = "the next page was not found: `\(path)` leads to nothing, and the answer has `\(name)`"
            #expect(
                found.error?.name == .nextPageUnusable && found.error?.message == words, "\(found.error?.message ?? "")"
            )
        }
    }

    // MARK: Captured URLs

    private func link(_ source: String, _ body: String) throws -> AnswerFindings {
        let rules = try #require(AnswerRules(Expectations(), [Capture(name: "x", source: .url(source))]))
        return rules.examine(
            Array(body.utf8), charset: nil, .empty, at: try ResourceURL.parse("https://a.test/v1/list?page=2"),
            hiding: .none)
    }

    @Test(arguments: [
        ("$.href", #"{"href": "items/3"}"#, "https://a.test/v1/items/3"),
        ("$.href", #"{"href": "/x"}"#, "https://a.test/x"),
        ("$.href", #"{"href": "https://b.test/ä"}"#, "https://b.test/%C3%A4"),
        ("$.id", #"{"id": 3}"#, "https://a.test/v1/3"),
        (#"href="([^"]+)""#, #"<a href="../z?a=1">"#, "https://a.test/z?a=1"),
    ])
    func aCapturedURL_isResolvedAgainstItsAnswer(_ source: String, _ body: String, _ url: String) throws {
        let found = try link(source, body)
        #expect(found.error == nil && found.captures.map(\.text) == [url], "\(found.error?.message ?? "")")
    }

    @Test(arguments: [
        ("$.href", #"{"href": ""}"#, "it is an empty text, which is no URL"),
        ("$.href", #"{"href": {"a": 1}}"#, "which is no URL"), ("$.href", #"{"href": "https://"}"#, "which is no URL"),
        ("$.href", "{}", "`$.href` leads to nothing"), ("nowhere", "{}", "matches nothing"),
    ])
    func whatIsNoURL_isNotCaptured(_ source: String, _ body: String, _ words: String) throws {
        #expect(try link(source, body).error?.message.contains(words) == true)
    }

    /// Values know the answer that they are of: links in them are relative to it.
    @Test func captures_knowTheirAnswer() throws {
        let rules = try #require(AnswerRules(Expectations(), [Capture(name: "x", source: .jsonList("$[*]"))]))
        let url = try ResourceURL.parse("https://a.test/v1/list")
        let found = rules.examine(Array(#"["a", "b"]"#.utf8), charset: nil, .empty, at: url, hiding: .none)
        #expect(found.captures.first?.answers == [.init(url: "https://a.test/v1/list")])
        var pages = PageCaptures()
        try pages.add(found.captures)
        try pages.add(
            rules.examine(Array(#"["c"]"#.utf8), charset: nil, .empty, at: try url.resolving("?p=2"), hiding: .none)
                .captures)
        #expect(
            pages.values.first?.answers
                == [.init(url: "https://a.test/v1/list"), .init(first: 2, url: "https://a.test/v1/list?p=2")])
    }
}
