/// Shortens messages for a line: long URLs and digests are cut. The report has them whole.
package enum PeopleText {
    private static let longestWord = 100
    private static let digestDigits = 12
    /// Digits that are shown where two digests differ.
    private static let differingDigits = 8

    /// Returns the message with long URLs and digests cut.
    package static func message(_ text: String) -> String {
        guard text.utf8.count > 32 else { return text }
        let digests = digests(in: text)
        return text.split(separator: " ", omittingEmptySubsequences: false).map { word($0, digests) }
            .joined(separator: " ")
    }

    private static func word(_ word: Substring, _ digests: [[UInt8]]) -> String {
        if word.utf8.count > longestWord, word.contains("://") {
            return "\(word.prefix(64))…\(word.suffix(32))"
        }
        guard word.utf8.count >= 32 else { return String(word) }
        var result: [UInt8] = []
        for run in runs(Array(word.utf8)) { result += isDigest(run) ? short(run, digests) : run }
        return String(decoding: result, as: UTF8.self)
    }

    /// The first twelve digits of a digest; of one that begins like another in the message also those around the first
    /// difference: `7eb8a90cc1d0…714a85`.
    private static func short(_ digest: [UInt8], _ digests: [[UInt8]]) -> [UInt8] {
        let cut = Array(digest.prefix(digestDigits)) + Array("…".utf8)
        let shared = digests.filter { $0 != digest }.map { zip($0, digest).prefix { $0 == $1 }.count }.max() ?? 0
        guard shared >= digestDigits, shared < digest.count else { return cut }
        let end = min(digest.count, max(shared - 1, digestDigits) + differingDigits)
        let start = max(digestDigits, end - differingDigits)
        let rest = end < digest.count ? Array("…".utf8) : []
        return (start == digestDigits ? Array(digest.prefix(digestDigits)) : cut) + digest[start..<end] + rest
    }

    private static func digests(in text: String) -> [[UInt8]] { runs(Array(text.utf8)).filter(isDigest) }

    /// Splits bytes into runs of hexadecimal digits and of other bytes.
    private static func runs(_ bytes: [UInt8]) -> [[UInt8]] {
        var runs: [[UInt8]] = []
        var wasDigit: Bool?
        for byte in bytes {
            if isHexDigit(byte) == wasDigit { runs[runs.count - 1].append(byte) } else { runs.append([byte]) }
            wasDigit = isHexDigit(byte)
        }
        return runs
    }

    private static func isDigest(_ run: [UInt8]) -> Bool { run.count >= 32 && isHexDigit(run[0]) }

    private static func isHexDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x46, 0x61...0x66: true
        default: false
        }
    }
}
