import HTTPRules
import TestSupport
import Testing

@Suite struct MultipartFormTests {
    private func head(_ name: String, _ filename: String? = nil, _ type: String? = nil) -> String {
        String(
            decoding: MultipartForm.head(name: name, filename: filename, contentType: type, boundary: "B"),
            as: UTF8.self)
    }

    @Test func aPartBeginsAsBrowsersWriteIt() {
        #expect(head("a") == "--B\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n")
        #expect(
            head("a", "b.txt", "text/plain")
                == "--B\r\nContent-Disposition: form-data; name=\"a\"; filename=\"b.txt\"\r\nContent-Type: text/plain\r\n\r\n"
        )
        #expect(String(decoding: MultipartForm.end(boundary: "B"), as: UTF8.self) == "--B--\r\n")
    }

    /// The WHATWG's rules: `%` and `\` stay, names are in UTF-8, and line ends of names are CR LF before they are escaped.
    @Test(arguments: [
        ("say \"x\"", "say %22x%22"), ("100%22\\", "100%22\\"), ("ü€", "ü€"), ("a\nb", "a%0D%0Ab"),
        ("a\rb", "a%0D%0Ab"),
        ("a\r\nb", "a%0D%0Ab"), ("\n\r", "%0D%0A%0D%0A"), ("a\r", "a%0D%0A"), ("", ""),
    ])
    func namesCannotLeaveTheirQuotes(_ name: String, _ written: String) {
        #expect(head(name).contains("; name=\"\(written)\"\r\n"))
    }

    @Test func lineEndsOfFileNamesAreEscapedAsTheyAre() {
        #expect(head("f", "a\nb\rc\"").contains("; filename=\"a%0Ab%0Dc%22\"\r\n"))
    }

    /// Whatever a name holds, it ends neither its line nor its quotes.
    @Test func anyNameStaysInItsPlace() {
        var random = Seeded("anyNameStaysInItsPlace")
        for _ in 0..<Rounds.scaled(500) {
            let letters = ["\"", "\r", "\n", "%", "a", "ü", "\r\n", ";", "\\"]
            let name = (0..<random.below(8)).map { _ in random.pick(letters) }.joined()
            let text = head(name, name)
            #expect(text.utf8.filter { $0 == 0x0A }.count == 3, "\(name.debugDescription)")
            #expect(text.utf8.filter { $0 == UInt8(ascii: "\"") }.count == 4, "\(name.debugDescription)")
        }
    }
}
