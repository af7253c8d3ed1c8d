import HTTPRules
import Testing
import TransferModel

struct LinkHeaderTests {
    private func target(_ relation: String, _ lines: String...) -> String? {
        let raw = lines.map { "Link: \($0)\r\n" }.joined()
        return LinkHeader.target(of: relation, in: HeaderBlock(raw: Array(raw.utf8)))
    }

    @Test(arguments: [
        ("<https://a.test/?page=2>; rel=\"next\"", "https://a.test/?page=2"), ("</2>;rel=next", "/2"),
        ("<x>; rel=prev, <y>; rel=next", "y"),
        ("<x,z>; rel=\"prev\" , <y>; title=\"a, b; rel=next\"; rel=\"next\"", "y"),
        ("<y>; rel=\"first NEXT\"", "y"), ("<y>; title=\"say \\\"hi\\\", you\"; rel=next", "y"),
        (", ,<y>;rel=next,", "y"),
        ("<>; rel=next", ""),
    ])
    func theFirstLinkOfTheRelation_isTaken(_ line: String, _ target: String) {
        #expect(self.target("next", line) == target)
    }

    @Test(arguments: ["", "y; rel=next", "<y; rel=next", "<y>", "<y>; rel=nexts", "<y>; rev=next"])
    func whatIsNoSuchLink_isNone(_ line: String) { #expect(target("next", line) == nil) }

    @Test func severalLines_areReadAlike() {
        #expect(target("last", "<a>; rel=next", "<b>; rel=last") == "b")
    }
}
