import JobLoader
import Testing
import TransferModel

/// `next`, `capture: { url }` and ranges as they are written.
struct NextKeyTests {
    private func next(_ text: String, url: String = "https://e.org/t") throws -> (next: NextPage?, url: String?) {
        let result = load("tasks: [{ id: t, url: \"\(url)\", next: \(text) }]")
        #expect(result.messages == "")
        let task = try #require(result.job?.tasks.first)
        return (task.options.values.next, task.location.url?.text)
    }

    @Test func eachWay_isWhatIsWritten() throws {
        #expect(try next("{ link: next }").next == NextPage(.url(.link("next"))))
        #expect(try next("{ json: $.c, query: after }").next == NextPage(.cursor(.json("$.c"), parameter: "after")))
        #expect(try next("{ header: X-C, query: c }").next == NextPage(.cursor(.header("X-C"), parameter: "c")))
        let (count, url) = try next("{ page: p, until: empty, maximum: 5, stop: true }")
        #expect(
            count == NextPage(.count(PageCount(parameter: "p", until: .rowsBelow(1))), maximum: 5, stopsAtMaximum: true)
        )
        #expect(url == "https://e.org/t?p=1")
        let offset = try next(
            "{ page: offset, from: 0, step: 50, until: { shorterThan: 50 } }", url: "https://e.org/t?offset=9&x=1")
        #expect(offset.url == "https://e.org/t?offset=0&x=1")
        #expect(try next("{ page: p, until: { json: $.more } }").next?.isCounted == true)
    }

    @Test(arguments: [
        ("{}", "needs one of `link`, `json`, `header` and `page`"), ("{ page: p }", "needs `until`"),
        ("{ json: $.c, link: next }", "exclude each other"),
        ("{ page: p, until: empty, json: $.c }", "exclude each other"),
        ("{ link: next, query: c }", "needs the place of a cursor"),
        ("{ link: next, step: 2 }", "`step` of `next` is for a `page`"),
        ("{ link: next, from: 2 }", "`from` of `next` is for a `page`"),
        ("{ json: $.c, until: empty }", "`until` of `next` is for a `page`"),
        ("{ page: p, until: full }", "`until` must be `empty`"),
        ("{ page: p, until: { json: $.a, shorterThan: 2 } }", "exclude"),
        ("{ page: p, until: {} }", "`until` needs one of"), ("{ page: p, step: 0, until: empty }", "from 1 to"),
        ("{ page: \"\", until: empty }", "must be the name of a query parameter"),
    ])
    func whatDoesNotFit_isTold(_ next: String, _ words: String) {
        let messages = load("tasks: [{ id: t, url: https://e.org/t, next: \(next) }]").messages
        #expect(messages.contains(words), "\(messages)")
        #expect(!messages.contains("\n"), "\(messages)")
    }

    @Test func aCapturedURL_isAPathOrAnExpression() throws {
        let keys = #"capture: { a: { url: $.href }, b: { url: 'href="([^"]+)"', secret: true } }"#
        let result = load("tasks: [{ id: t, url: https://e.org/t, \(keys) }]")
        #expect(result.messages == "")
        #expect(
            result.job?.tasks.first?.options.values.captures.map(\.source) == [
                .url("$.href"), .url(#"href="([^"]+)""#),
            ])
        for (capture, words) in [
            ("{ url: $.a, json: $.b }", "exclude each other"), ("{ url: '(' }", "is no regular expression"),
            ("{ url: '$[' }", "is no JSON path"),
            ("{ url: $.a, all: true }", "`all` takes every value of a `json` path"),
        ] {
            let messages = load("tasks: [{ id: t, url: https://e.org/t, capture: { a: \(capture) } }]").messages
            #expect(messages.contains(words), "\(messages)")
        }
    }

    @Test func aRangeAsAMap_isAnsweredWithItsForm() {
        let messages = load("tasks: [{ id: \"t-${n}\", url: https://e.org/t, forEach: { n: { range: [1, 4] } } }]")
            .messages
        #expect(messages == "unknown key `range` in `forEach` (a range is written `forEach: { n: 1..4 }`)")
    }
}
