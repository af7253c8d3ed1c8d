import HTTPRules
import TestSupport
import Testing
import TransferModel

struct SuggestedFilenameTests {
    private func name(_ disposition: String?, url: String = "https://h/dir/from-url.bin?x=1") throws -> String? {
        let headers = disposition.map { HeaderBlock([("Content-Disposition", $0)]) } ?? .empty
        return SuggestedFilename.of(headers, url: try ResourceURL.parse(url))
    }

    @Test(arguments: [
        ("attachment; filename=plain.txt", "plain.txt"), ("attachment; filename=\"two words.txt\"", "two words.txt"),
        ("attachment; FileName = \"a\\\"b.txt\" ; size=1", "a\"b.txt"),
        ("attachment; filename=\"semi;colon=1.txt\"", "semi;colon=1.txt"),
        ("attachment; filename=old.txt; filename*=UTF-8''na%C3%AFve.txt", "naïve.txt"),
        ("attachment; filename*=utf-8'en'%e2%82%ac.txt; filename=old.txt", "€.txt"),
        ("attachment; filename*=ISO-8859-1''%e4.txt", "ä.txt"),
        // An extended name that cannot be read leaves the plain one its word.
        ("attachment; filename*=UTF-8''%ff.txt; filename=old.txt", "old.txt"),
        ("attachment; filename*=koi8-r''x.txt; filename=old.txt", "old.txt"),
        ("attachment; filename*=broken; filename=old.txt", "old.txt"),
        ("inline", "from-url.bin"), ("attachment; filename=\"\"", "from-url.bin"), (";;;==;", "from-url.bin"),
        ("attachment; filename=\"unclosed.txt", "unclosed.txt"),
    ]) func aServersWord(disposition: String, wanted: String) throws {
        #expect(try name(disposition) == wanted)
    }

    @Test(arguments: [
        ("https://h/a/b.tar.gz", "b.tar.gz"), ("https://h/a/b%20c", "b c"),
        ("https://h/%2e%2e%2fetc%2fpasswd", "passwd"),
        ("https://h/dir/", "dir"), ("https://h/", nil), ("https://h", nil), ("https://h/%FF", "%FF"),
        ("https://h/caf%e9%2fx.txt", "caf%e9%2fx.txt"),
        ("https://h/a/%2e%2e", nil),
    ]) func theURLsName(url: String, wanted: String?) throws {
        #expect(try name(nil, url: url) == wanted)
    }

    @Test(arguments: [
        ("../../etc/passwd", "passwd"), ("/etc/passwd", "passwd"), ("..\\..\\boot.ini", "boot.ini"), ("a/../b", "b"),
        ("..", nil), (".", nil), ("", nil), ("   ", nil), ("/", nil), ("a/..", nil), (" .. ", nil), ("...", "___"),
        // To Swift a slash with a combining mark is another character; to the kernel it is a slash.
        ("..\u{2F}\u{301}etc", "\u{301}etc"), ("a\u{5C}\u{20E3}b", "\u{20E3}b"),
        (".bashrc", "_bashrc"), (".transfer-run-1-1", "_transfer-run-1-1"),
        (".transfer-run-\u{301}", "_transfer-run-\u{301}"),
        ("a\u{0}b\n\u{1B}[31m\u{7F}\u{9B}", "a_b__[31m__"), ("txt.\u{202E}exe", "txt._exe"),
        ("a\u{2066}b\u{200F}\u{61C}\u{2028}\u{FEFF}", "a_b____"), ("  padded  ", "padded"),
    ]) func madeSafe(text: String, wanted: String?) {
        #expect(SuggestedFilename.safe(text).map { Array($0.utf8) } == wanted.map { Array($0.utf8) })
    }

    /// As browsers change them: options, home folders, devices and ends that Windows leaves out, what is not seen.
    @Test(arguments: [
        ("-rf", "_rf"), ("--help", "_-help"), ("~", "_"), ("~root", "_root"), ("a-b~", "a-b~"),
        ("con", "_con"), ("CON.txt", "_CON.txt"), ("nul.tar.gz", "_nul.tar.gz"), ("Aux ", "_Aux"),
        ("prn .x", "_prn .x"),
        ("com1", "_com1"), ("LPT9.log", "_LPT9.log"), ("com\u{B9}", "_com\u{B9}"), ("CONIN$", "_CONIN$"),
        ("clock$.x", "_clock$.x"), ("com0", "com0"), ("com10", "com10"), ("console", "console"), ("xcon", "xcon"),
        ("a.", "a_"), ("a. .", "a___"), ("con.", "_con_"), ("nul.txt.", "_nul.txt_"), ("a .txt", "a .txt"),
        ("a\u{200B}b\u{200D}c\u{2060}d", "a_b_c_d"), ("a\u{AD}b\u{FE0F}", "a_b_"), ("\u{E0041}", "_"),
        ("\u{3164}", "_"),
        ("\u{3000}a\u{A0}", "a"), ("\u{2003}", nil), ("a\u{85}b", "a_b"), ("\u{FEFF}.bashrc", "_.bashrc"),
    ]) func changedAsABrowserDoes(text: String, wanted: String?) {
        #expect(SuggestedFilename.safe(text).map { Array($0.utf8) } == wanted.map { Array($0.utf8) })
    }

    /// A name that was made safe stays as it is, whatever it was before.
    @Test func safeNamesStay() {
        var random = Seeded("safeNamesStay")
        let pieces = [
            "-", "~", ".", " ", "con", "NUL", "com1", "lpt\u{B2}", "\u{200D}", "\u{202E}", "\u{3000}", "/", "a", "€",
            "\u{301}", ".txt", String(repeating: "x", count: 250), "\u{1F600}",
        ]
        for _ in 0..<Rounds.scaled(20_000) {
            var text = ""
            for _ in 0..<random.below(7) { text += random.pick(pieces) }
            guard let name = SuggestedFilename.safe(text) else { continue }
            #expect(SuggestedFilename.safe(name).map { Array($0.utf8) } == Array(name.utf8), "\(text)")
            #expect(!name.isEmpty && name.utf8.count <= 255 && !".-~ ".utf8.contains(name.utf8.first ?? 0), "\(text)")
            #expect(!". ".utf8.contains(name.utf8.last ?? 0), "\(text)")
        }
    }

    @Test func longNamesKeepTheirExtension() {
        #expect(SuggestedFilename.safe(String(repeating: "a", count: 255))?.utf8.count == 255)
        let cut = SuggestedFilename.safe(String(repeating: "a", count: 400) + ".tar")
        #expect(cut?.utf8.count == 255)
        #expect(cut?.hasSuffix("a.tar") == true)
        // Not in the middle of a character.
        let wide = SuggestedFilename.safe(String(repeating: "€", count: 100) + ".txt")
        #expect(wide == String(repeating: "€", count: 83) + ".txt")
        let noExtension = SuggestedFilename.safe("x." + String(repeating: "y", count: 400))
        #expect(noExtension?.utf8.count == 255)
    }

    /// Whatever bytes a server sends, the name is one component that is neither hidden nor too long.
    @Test func hostileBytes() throws {
        var random = Seeded("hostileBytes")
        let pieces = [
            "/", "\\", "..", ".", "%2f", "%2e", "\"", ";", "'", "filename", "*=", "UTF-8''", "\u{301}", "\u{202E}", "a",
            " ", "\u{0}", "€", "=", "\t", "~", "%",
        ]
        for _ in 0..<Rounds.scaled(20_000) {
            var text = "attachment; filename\(random.oneIn(2) ? "*" : "")="
            for _ in 0..<random.below(12) { text += random.pick(pieces) }
            guard let name = try name(text, url: "https://h/") else { continue }
            let bytes = Array(name.utf8)
            #expect(!bytes.isEmpty && bytes.count <= 255 && bytes[0] != UInt8(ascii: "."), "\(text)")
            #expect(bytes.allSatisfy { $0 >= 0x20 && $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "\\") }, "\(text)")
        }
    }
}
