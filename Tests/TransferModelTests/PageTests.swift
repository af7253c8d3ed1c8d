import Testing
import TransferModel

/// URLs of pages that a parameter counts or a cursor names, and failures of such pages.
struct PageTests {
    @Test(arguments: [
        ("https://a.test/x", "https://a.test/x?page=2"), ("https://a.test/x?q=1", "https://a.test/x?q=1&page=2"),
        ("https://a.test/x?page=1&q=1", "https://a.test/x?page=2&q=1"),
        ("https://a.test/x?pag%65=1&q=1&page=7", "https://a.test/x?page=2&q=1"),
        ("https://a.test/x?page", "https://a.test/x?page=2"),
        ("https://a.test/x?pages=1", "https://a.test/x?pages=1&page=2"),
        ("https://a.test/x?", "https://a.test/x?page=2"),
    ])
    func aParameterThatIsSet_replacesItsOldValue(_ url: String, _ set: String) throws {
        #expect(try ResourceURL.parse(url).setting(query: "page", to: "2").text == set)
    }

    @Test func nameAndValueOfAParameter_areEncoded() throws {
        let url = try ResourceURL.parse("https://u:p@a.test/x").setting(query: "page[after]", to: "a&b=/#\r\n")
        #expect(url.text == "https://a.test/x?page%5Bafter%5D=a%26b%3D%2F%23%0D%0A")
        #expect(url.userInformation == "u:p" && url.path == "/x")
    }

    @Test func theFirstPageOfACount_hasItsFirstNumber() throws {
        let url = try ResourceURL.parse("https://a.test/x")
        let count = PageCount(parameter: "offset", from: 0, step: 50, until: .rowsBelow(50))
        #expect(NextPage(.count(count)).first(url).text == "https://a.test/x?offset=0")
        #expect(count.value(ofPage: 3) == 100)
        #expect(NextPage(.url(.link("next"))).first(url).text == url.text)
        #expect(NextPage(.cursor(.json("$.c"), parameter: "c")).first(url).text == url.text)
    }

    private let failure = TransferError(.unexpectedResponse, "GET https://a.test/p2: 404 Not Found: \"no\"")

    @Test func aFailedPage_saysWhichItWas_andWhereItsURLCameFrom() {
        let named = failure.ofPage(2, "list", NextPage(.url(.link("next"))))
        #expect(named.message == failure.message + "; it was page 2 of `list`, whose URL page 1 named")
        #expect(named.whatHelps(.data) == "See what page 1 named as the next one, and `next` in the job.")
        let cursor = failure.ofPage(3, "list", NextPage(.cursor(.json("$.c"), parameter: "after")))
        #expect(cursor.message.hasSuffix("page 3 of `list`, whose `after` page 2 named"))
        let count = PageCount(parameter: "page", until: .rowsBelow(1))
        let counted = failure.ofPage(4, "list", NextPage(.count(count)))
        #expect(counted.message.hasSuffix("page 4 of `list`, whose `page` was counted by `next`"))
        #expect(counted.whatHelps(.data) == "Correct `next`: its `until` did not end with page 3.")
    }

    /// Of other causes a page is told the same as any request.
    @Test(arguments: [
        (ErrorName.unexpectedResponse, "GET https://a.test/p2: 401 Unauthorized; no credential was sent"),
        (.timedOut, "the host a.test did not answer"), (.cannotConnectToHost, "a.test port 9 refused the connection"),
    ])
    func anAdvice_isThatOfTheErrorItself(_ name: ErrorName, _ message: String) {
        let error = TransferError(name, message)
        let page = error.ofPage(2, "list", NextPage(.url(.link("next"))))
        #expect(page.whatHelps(.data) == error.whatHelps(.data))
        #expect(TransferError.commonWords(page.message, of: name) == TransferError.commonWords(message, of: name))
    }
}
