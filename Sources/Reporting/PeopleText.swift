/// Shortens messages for a line: long URLs and digests are cut. The report has them whole.
enum PeopleText {
    private static let longestWord = 100
    private static let digestDigits = 12

    static func message(_ text: String) -> String {
        guard text.utf8.count > 32 else { return text }
        return text.split(separator: " ", omittingEmptySubsequences: false).map { word($0) }.joined(separator: " ")
    }

    private static func word(_ word: Substring) -> String {
        if word.utf8.count > longestWord, word.contains("://") {
            return "\(word.prefix(64))…\(word.suffix(32))"
        }
        guard word.utf8.count >= 32 else { return String(word) }
        return shorteningDigests(word)
    }

    /// Cuts runs of 32 or more hexadecimal digits, which are digests: the first twelve tell two of them apart.
    private static func shorteningDigests(_ word: Substring) -> String {
        var result: [UInt8] = []
        var run: [UInt8] = []
        func end(_ run: [UInt8]) -> [UInt8] {
            run.count < 32 ? run : Array(run.prefix(digestDigits)) + Array("…".utf8)
        }
        for byte in word.utf8 {
            switch byte {
            case 0x30...0x39, 0x41...0x46, 0x61...0x66: run.append(byte)
            default:
                result += end(run) + [byte]
                run = []
            }
        }
        return String(decoding: result + end(run), as: UTF8.self)
    }
}
