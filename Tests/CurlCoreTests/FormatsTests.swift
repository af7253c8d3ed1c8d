import CLibcurl
import Glibc
import TestSupport
import Testing

/// What formats texts for libcurl is held against what it has for that itself.
@Suite struct FormatsTests {
    @Test func textsAreTheSameAsLibcurls() {
        var random = Seeded("textsAreTheSameAsLibcurls")
        for _ in 0..<Rounds.scaled(20_000) {
            let (format, arguments) = Self.format(&random)
            let (ours, theirs) = withVaList(arguments) { own in
                withVaList(arguments) { (Self.text(tr_formatted(format, own)), Self.text(curl_mvaprintf(format, $0))) }
            }
            #expect(ours == theirs, "\(format)")
        }
    }

    @Test func textsFillTheirPlaceAsLibcurlsDo() {
        var random = Seeded("textsFillTheirPlaceAsLibcurlsDo")
        for _ in 0..<Rounds.scaled(20_000) {
            let (format, arguments) = Self.format(&random)
            let room = random.below(3) == 0 ? random.below(4) : random.below(200)
            var (ours, theirs) = ([CChar](repeating: 0x7F, count: 256), [CChar](repeating: 0x7F, count: 256))
            let own = withVaList(arguments) { tr_formatted_into(&ours, room, format, $0) }
            let counted = withVaList(arguments) { curl_mvsnprintf(&theirs, room, format, $0) }
            #expect(own == counted && ours == theirs, "\(format) into \(room)")
        }
    }

    @Test func aTextMayBeLong() {
        for length in [16_383, 16_384, 16_385, 100_000] {
            let long = String(repeating: "x", count: length)
            #expect(withVaList([Self.pointer(long)]) { Self.text(tr_formatted("%s", $0)) } == long)
        }
    }

    /// The strings of a format live as long as the test.
    private static func pointer(_ text: String) -> UnsafeMutablePointer<CChar> { strdup(text) }

    private static func text(_ pointer: UnsafeMutablePointer<CChar>?) -> String? {
        defer { curl_free(pointer) }
        return pointer.map { String(cString: $0) }
    }

    private static func format(_ random: inout Seeded) -> (String, [any CVarArg]) {
        var (format, arguments) = ("", [any CVarArg]())
        let most = random.below(20) == 0 ? 70 : 8
        for _ in 0..<random.below(most) {
            switch random.below(12) {
            case 0...3:
                format += "%s"
                arguments.append(pointer(String(repeating: "å%", count: random.below(12))))
            case 4:
                format += "%d"
                arguments.append(random.pick([Int32.min, -1, 0, 7, 8_080, .max]))
            case 5:
                format += "%u"
                arguments.append(random.pick([UInt32.min, 10, .max]))
            case 6:
                format += random.pick(["%ld", "%zd"])
                arguments.append(random.pick([Int.min, -10, 0, 1 << 40, .max]))
            case 7:
                format += random.pick(["%lu", "%zu"])
                arguments.append(random.pick([UInt.min, 1 << 40, .max]))
            // What is left to libcurl.
            case 8:
                format += random.pick(["%x", "%5d", "%02d", "%c", "%-3d"])
                arguments.append(Int32(65 + random.below(50)))
            case 9: format += "%%"
            default: format += random.pick([": ", "\r\n", "HTTP/", "é", ""])
            }
        }
        return (format, arguments)
    }
}
