import Reporting
import Testing

struct MarkdownTextTests {
    @Test(arguments: [
        ("2026-11-21 07:00:00 UTC", "2026-11-21 07:00:00 UTC"), ("404 Not Found: look", "404 Not Found: look"),
        ("https://a.test:443/x", "https\\://a.test:443/x"), ("so :smile: it", "so \\:smile: it"),
        ("error_code=\"a\"? _b_", "error_code=\"a\"? &#95;b&#95;"), ("a|b<i>`c`", "a&#124;b&#60;i&#62;&#96;c&#96;"),
    ])
    func textIsEscaped_onlyWhereItCouldMeanSomething(_ text: String, _ markdown: String) {
        #expect(MarkdownText.cell(text) == markdown)
    }

    @Test func origin_isCode_unlessItCouldEndIt() {
        #expect(MarkdownText.code(origin: "https://[::1]:8443") == "`https://[::1]:8443`")
        #expect(MarkdownText.code(origin: "https://a`b") == "https\\://a&#96;b")
    }
}
