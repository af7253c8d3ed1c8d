import CLibcurl
import TestSupport
import Testing
import TransferModel

/// libcurl gets what `ResourceURL` serialises, and must read it the same way: two parsers that disagree leak
/// secrets to hosts that no rule has seen.
@Suite struct ResourceURLFuzzTests {
    @Test func libcurlReadsTheSame() throws {
        var random = Seeded("libcurlReadsTheSame")
        let reader = try #require(CurlURL())
        var accepted = 0
        let rounds = Rounds.scaled(60_000)
        for round in 0..<rounds {
            let text = URLMaker.make(&random)
            guard let url = try? ResourceURL.parse(text) else { continue }
            accepted += 1
            if let difference = reader.difference(to: url) {
                Issue.record("round \(round): \(text.debugDescription) became \(url.text): \(difference)")
                return
            }
            if let fault = URLMaker.fault(in: url) {
                Issue.record("round \(round): \(text.debugDescription) became \(url.text): \(fault)")
                return
            }
        }
        #expect(accepted > rounds / 4, "too few of them are URLs to prove much: \(accepted) of \(rounds)")
    }

    @Test func locationsResolveToWhatLibcurlReads() throws {
        var random = Seeded("locationsResolveToWhatLibcurlReads")
        let reader = try #require(CurlURL())
        for round in 0..<Rounds.scaled(10_000) {
            guard let base = try? ResourceURL.parse(URLMaker.make(&random)), base.isHTTP else { continue }
            let location = URLMaker.reference(&random)
            guard let url = try? base.resolving(location), url.isHTTP else { continue }
            if let difference = reader.difference(to: url) ?? URLMaker.fault(in: url) {
                Issue.record("round \(round): \(base) and \(location.debugDescription) gave \(url.text): \(difference)")
                return
            }
        }
    }
}

/// A `CURLU` and what it read.
private final class CurlURL {
    private let handle: OpaquePointer

    init?() {
        guard let handle = curl_url() else { return nil }
        self.handle = handle
    }

    deinit { curl_url_cleanup(handle) }

    func difference(to url: ResourceURL) -> String? {
        guard url.isHTTP || url.schemeIs("ftp") else { return nil }
        // As requests are sent: which dots an older version takes for a way up, and which a newer, does not matter.
        let code = curl_url_set(handle, CURLUPART_URL, url.text, UInt32(CURLU_PATH_AS_IS))
        guard code == CURLUE_OK else { return "libcurl refuses it: \(String(cString: curl_url_strerror(code)))" }
        let parts: [(String, String?, String?)] = [
            ("scheme", part(CURLUPART_SCHEME), url.scheme), ("host", part(CURLUPART_HOST), url.host),
            ("port", part(CURLUPART_PORT, UInt32(CURLU_DEFAULT_PORT)), "\(url.port)"),
            ("path", part(CURLUPART_PATH), url.path),
            // libcurl tells an empty query from none only in later versions.
            ("query", part(CURLUPART_QUERY) ?? "", url.query ?? ""),
            ("user", part(CURLUPART_USER), nil), ("fragment", part(CURLUPART_FRAGMENT), nil),
        ]
        for (name, theirs, ours) in parts where theirs != ours {
            return "\(name) is \(theirs ?? "none") to libcurl and \(ours ?? "none") to us"
        }
        return nil
    }

    private func part(_ which: CURLUPart, _ flags: UInt32 = 0) -> String? {
        var text: UnsafeMutablePointer<CChar>?
        guard curl_url_get(handle, which, &text, flags) == CURLUE_OK, let text else { return nil }
        defer { curl_free(text) }
        return String(cString: text)
    }
}

private enum URLMaker {
    static let hosts = [
        "example.org", "a", "A.b.C", "localhost", "127.0.0.1", "[::1]", "[2001:db8::FF]", "münchen.example", "x.",
        "0x7f.1", "1.2.3.4.", "a_b", "xn--mnchen-3ya.example", "127.0.0.1%2eevil", "a%00b", "例え.テスト", "-a.b-",
        "[::ffff:1.2.3.4]",
    ]
    static let pieces = [
        "/", "//", ".", "..", "/./", "/../", "%2e", "%2E%2e", "%", "%41", "%zz", "a", "b c", "ä", "?", "#", "@", ":",
        ";",
        "\\", "&", "=", "+", "[", "]", "{", "|", "\"", "'", "<", "^", "`", "~", "%00", "%0d%0a", "😀", "1", "0x1", "*",
        "!", ",",
    ]
    static let schemes = ["http", "https", "HTTP", "hTTps", "ftp", "http", "https", "file", "data", "x"]

    static func make(_ random: inout Seeded) -> String {
        var text = random.pick(schemes) + (random.oneIn(30) ? ":" : "://")
        if random.oneIn(6) { text += random.pick(["user@", "u:p@", "@", "a@b@", "u%40:p:q@", "é@", "u\\@"]) }
        text += random.oneIn(12) ? reference(&random) : random.pick(hosts)
        if random.oneIn(4) {
            text += random.pick([":80", ":443", ":", ":8080", ":0", ":65535", ":65536", ":21", ":007", ":x"])
        }
        text += reference(&random)
        return random.oneIn(2) ? text : mutate(text, &random)
    }

    static func reference(_ random: inout Seeded) -> String {
        var text = random.oneIn(5) ? "" : "/"
        for _ in 0..<random.below(7) { text += random.pick(pieces) }
        return text
    }

    private static func mutate(_ text: String, _ random: inout Seeded) -> String {
        var scalars = Array(text.unicodeScalars)
        for _ in 0...random.below(3) {
            let place = random.below(scalars.count + 1)
            switch random.below(4) {
            case 0: scalars.insert(Unicode.Scalar(UInt8(random.below(0x80))), at: place)
            case 1:
                scalars.insert(
                    random.pick(Array("/\\@:#?%.[]\u{FF0F}\u{2100}\u{3002}\u{AD}ß".unicodeScalars)), at: place)
            case 2: if place < scalars.count { scalars.remove(at: place) }
            default: if place < scalars.count { scalars[place] = Unicode.Scalar(UInt8(0x21 + random.below(0x5E))) }
            }
        }
        return String(String.UnicodeScalarView(scalars))
    }

    /// What must be true of every URL that was read.
    static func fault(in url: ResourceURL) -> String? {
        guard url.text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else { return "it holds what must be encoded" }
        guard let again = try? ResourceURL.parse(url.text) else { return "it is not read back" }
        if again.text != url.text { return "it is read back as \(again.text)" }
        if (again.scheme, again.host, again.port, again.path, again.query)
            != (url.scheme, url.host, url.port, url.path, url.query)
        {
            return "its parts are read back as others"
        }
        if url.host != url.host.lowercased() { return "its host is not in lower case" }
        return nil
    }
}
