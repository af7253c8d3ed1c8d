import CommandLineTool
import TestSupport
import Testing

/// Markdown as roff: what a reader sees is the text, whatever characters are in it.
struct ManualTextTests {
    @Test func codeAndEmphasisAreFonts() {
        #expect(RoffText.inline("a `--set 'x'` b") == #"a \fB\-\-set \(aqx\(aq\fR b"#)
        #expect(RoffText.inline("*Built: `x`.* **y**") == #"\fIBuilt: \fBx\fI.\fR \fBy\fR"#)
        #expect(RoffText.inline("2 * 3 and *.example.org") == "2 * 3 and *.example.org")
        #expect(RoffText.inline("see [cli.md](cli.md), [a b](c.md)") == #"see \fIcli.md\fR, a b (\fIc.md\fR)"#)
        #expect(RoffText.inline("`*.b` or `*`") == #"\fB*.b\fR or \fB*\fR"#)
        #expect(RoffText.inline("an open ` and [x]") == "an open ` and [x]")
        #expect(RoffText.inline("…é") == #"...\&\[u00E9]"#)
    }

    @Test func aPageHasItsBlocks() {
        let page = """
            # Title

            One
            two.
            - first
              line
            - second

            | key | value | meaning |
            | --- | --- | --- |
            | `a\\|b` |  | *c* |
            ```sh
            | x
            ```
            ## Section
            """
        #expect(
            MarkdownBlock.parse(page) == [
                .heading(level: 1, "Title"), .paragraph("One two."), .bullet("first line"), .bullet("second"),
                .table([["key", "value", "meaning"], ["`a|b`", "", "*c*"]]), .code(["| x"]),
                .heading(level: 2, "Section"),
            ])
    }

    @Test func textIsNeverTakenForARequest() {
        var random = Seeded("textIsNeverTakenForARequest")
        let alphabet = Array(#".'"\-`^~ab é…*[](|#"#)
        for _ in 0..<Rounds.scaled(2000) {
            let text = String((0..<random.below(200)).map { _ in random.pick(alphabet) })
            #expect(Self.read(RoffText.escaped(text, isCode: true)) == text, "\(text)")
            #expect(Self.read(RoffText.escaped(text)) == text, "\(text)")
            var page = RoffPage("x", section: 1, date: "2026-11-28", version: "1", does: text)
            let beginning = page.text
            page.paragraph(text)
            page.entry(text, text, details: [text])
            page.code([text])
            let requests = page.text.dropFirst(beginning.count).split(separator: "\n").filter {
                $0.hasPrefix(".") || $0.hasPrefix("'")
            }
            #expect(requests == [".PP", ".TP", ".br", ".PP", ".RS 4", ".EX", ".EE", ".RE"], "\(text)")
        }
    }

    /// What roff prints for escaped text.
    private static func read(_ roff: String) -> String {
        let names: [(String, String)] = [
            ("\\(rs", "\\"), ("\\-", "-"), ("\\(aq", "'"), ("\\(ga", "`"), ("\\(ha", "^"), ("\\(ti", "~"),
            ("\\(dq", "\""),
            ("...\\&", "…"), ("\\[u00E9]", "é"),
        ]
        var text = ""
        var rest = Substring(roff)
        while let next = rest.first {
            if let (name, meaning) = names.first(where: { rest.hasPrefix($0.0) }) {
                text += meaning
                rest.removeFirst(name.count)
            } else {
                #expect(next != "\\")
                text.append(next)
                rest.removeFirst()
            }
        }
        return text
    }
}
