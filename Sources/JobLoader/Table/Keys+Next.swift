import TransferModel
import YAMLTree

extension Sections {
    private static let ways = ["link", "json", "header", "page"]

    static let next = Section<NextDraft>(
        "next", in: "`next`", title: "`next`",
        """
        How the next page is found: by one of `link`, `json`, `header` and `page`. The first three say where an answer names \
        its URL or, with `query`, holds a cursor: a page without it, with `null`, `false` or an empty text there, is the \
        last. `page` counts.
        """,
        keys: [
            .text("link", \.link, default: "none", "the link of this relation (`next`) in the `Link` headers"),
            Key("json", \.json, .jsonPath, default: "none", "the text at this JSON path of the body") {
                $1.jsonPath($0).map { .some($0) }
            },
            Key("header", \.header, .text, default: "none", "the value of this header") {
                HeaderReader(reader: $1).headerName($0).map { .some($0) }
            },
            Key(
                "query", \.query, parameter, default: "none",
                "with `json` or `header`: what they find is no URL but a cursor, which becomes this query parameter of the first URL"
            ) { NextPageReader(reader: $1).parameterName($0).map { .some($0) } },
            Key(
                "page", \.page, parameter, default: "none",
                "a query parameter of the task's URL that counts up, in the first request too"
            ) { NextPageReader(reader: $1).parameterName($0).map { .some($0) } },
            .integer("from", \.from, 0...1_000_000_000, default: "1", "with `page`: its value in the first request"),
            .integer(
                "step", \.step, 1...1_000_000, default: "1",
                "with `page`: how much it grows; for an offset, how many rows a page has"),
            Key(
                "until", \.until, .either([.choice(["empty"]), .object("nextUntil")]), default: "required with `page`",
                "with `page`: what the last page is like; `empty`: it has no rows"
            ) { NextPageReader(reader: $1).pageEnd($0).map { .some($0) } },
            .integer(
                "maximum", \.maximum, 1...100_000, default: "100",
                "most pages: one more fails the task, unless `stop` is set"),
            .boolean(
                "stop", \.stop, default: "false",
                "`true`: a task with more pages than `maximum` ends with that one, well"),
        ],
        rules: [
            .atMostOne(ways), .always(.needsOne(of: ways)), .when(.has("query"), .needsOne(of: ["json", "header"])),
            .when(.has("page"), .needs(["until"])), .when(.has("from"), .needs(["page"])),
            .when(.has("step"), .needs(["page"])), .when(.has("until"), .needs(["page"])),
        ])

    static let nextUntil = Section<UntilDraft>(
        "nextUntil", in: "`until`", title: "`next.until`",
        """
        One of the two. The rows of an answer are the elements of the list that its JSON body is, or of the only list among \
        its members.
        """,
        keys: [
            Key(
                "json", \.json, .jsonPath, default: "none",
                "the last page has nothing at this JSON path, or only `null`, `false` and empty texts"
            ) { $1.jsonPath($0).map { .some($0) } },
            .integer("shorterThan", \.shorterThan, 1...1_000_000, default: "none", "the last page has fewer rows"),
        ], rules: [.exactlyOne(["json", "shorterThan"])])

    private static let parameter = Shape.pattern(".", words: "the name of a query parameter")

    struct NextDraft: Blank, Sendable {
        var link: String?
        var json: String?
        var header: String?
        var query: String?
        var page: String?
        var from: Int?
        var step: Int?
        var until: PageCount.End?
        var maximum = NextPage.standardMaximum
        var stop = false
        static var blank: NextDraft { NextDraft() }

        /// What finds the next page; `nil` where the keys say nothing, or no more than a part of it.
        var way: NextPage.Way? {
            if let page {
                return until.map { .count(PageCount(parameter: page, from: from ?? 1, step: step ?? 1, until: $0)) }
            }
            if let link { return .url(.link(link)) }
            guard let source: Capture.Source = json.map({ .json($0) }) ?? header.map({ .header($0) }) else {
                return nil
            }
            return query.map { .cursor(source, parameter: $0) } ?? .url(source)
        }
    }

    struct UntilDraft: Blank, Sendable {
        var json: String?
        var shorterThan: Int?
        static var blank: UntilDraft { UntilDraft() }
    }
}

extension Sections.NextDraft {
    /// A key that only a counting `page` has.
    var keyOfCount: String? { from != nil ? "from" : step != nil ? "step" : until != nil ? "until" : nil }
}
