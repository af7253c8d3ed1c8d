package import TransferModel

/// One challenge of a `WWW-Authenticate` or `Proxy-Authenticate` field (RFC 9110, section 11.6.1).
package struct OfferedChallenge: Hashable, Sendable {
    /// One parameter of a challenge.
    package struct Parameter: Hashable, Sendable {
        /// Name in lower case.
        package let name: String
        /// Value without quotes and escapes.
        package let value: String
    }
    /// Scheme in lower case.
    package let scheme: String
    /// Message of NTLM or Negotiate, which takes the place of parameters; else `nil`.
    package internal(set) var token: String?
    /// Parameters in the order of the field.
    package internal(set) var parameters: [Parameter] = []

    init(scheme: String) { self.scheme = scheme }

    /// The value of a parameter, of several with one name the first.
    package subscript(name: String) -> String? { parameters.first { $0.name == name }?.value }

    /// Returns all challenges in an answer's lines of that field, in their order. Only broken ones are left out.
    package static func all(in headers: HeaderBlock, ofProxy isProxy: Bool = false) -> [OfferedChallenge] {
        let values = isProxy ? headers.all("proxy-authenticate") : headers.all("www-authenticate")
        var challenges: [OfferedChallenge] = []
        for value in values where value.utf8.count <= ChallengeParser.longest {
            var parser = ChallengeParser(value)
            challenges += parser.challenges()
            if challenges.count >= ChallengeParser.most { break }
        }
        return Array(challenges.prefix(ChallengeParser.most))
    }
}

/// Parses one line. A comma separates challenges as well as parameters: which of the two it does shows only after the
/// next word, by its `=`.
struct ChallengeParser {
    /// Challenges in an answer, and parameters in a challenge, at most.
    static let most = 32
    /// Length in bytes of the longest line that is read.
    static let longest = 64 << 10
    private let bytes: [UInt8]
    private var place = 0

    init(_ text: String) { bytes = Array(text.utf8) }

    private var next: UInt8? { place < bytes.count ? bytes[place] : nil }

    mutating func challenges() -> [OfferedChallenge] {
        var found: [OfferedChallenge] = []
        while true {
            skip { $0 == UInt8(ascii: ",") || Self.isBlank($0) }
            guard next != nil else { return found }
            guard let word = word() else {
                skipMember()
                continue
            }
            let end = place
            skip(Self.isBlank)
            if next == UInt8(ascii: "="), !found.isEmpty {
                place += 1
                let value = value()
                guard let last = found.indices.last, found[last].parameters.count < Self.most else { continue }
                found[last].parameters.append(OfferedChallenge.Parameter(name: word.lowercased(), value: value))
            } else if next == UInt8(ascii: "=") {
                skipMember()
            } else {
                if found.count == Self.most { return found }
                found.append(OfferedChallenge(scheme: word.lowercased()))
                if place > end { found[found.count - 1].token = token68() }
            }
        }
    }

    /// Reads a token68, which only a comma or the end may follow: any other word is the name of a parameter.
    private mutating func token68() -> String? {
        let start = place
        skip { Self.isToken68($0) }
        guard place > start else { return nil }
        skip { $0 == UInt8(ascii: "=") }
        let end = place
        skip(Self.isBlank)
        if next == nil || next == UInt8(ascii: ",") { return String(decoding: bytes[start..<end], as: UTF8.self) }
        place = start
        return nil
    }

    private mutating func word() -> String? {
        let start = place
        skip(Self.isToken)
        return place > start ? String(decoding: bytes[start..<place], as: UTF8.self) : nil
    }

    /// Reads a parameter's value; a quoted text without end extends to the end of the line.
    private mutating func value() -> String {
        skip(Self.isBlank)
        guard next == UInt8(ascii: "\"") else {
            let start = place
            skip { $0 != UInt8(ascii: ",") && !Self.isBlank($0) }
            return String(decoding: bytes[start..<place], as: UTF8.self)
        }
        place += 1
        var value: [UInt8] = []
        while let byte = next {
            place += 1
            if byte == UInt8(ascii: "\"") { break }
            if byte == UInt8(ascii: "\\"), let escaped = next {
                value.append(escaped)
                place += 1
            } else {
                value.append(byte)
            }
        }
        return String(decoding: value, as: UTF8.self)
    }

    /// Skips to the next comma outside quotes.
    private mutating func skipMember() {
        while let byte = next, byte != UInt8(ascii: ",") {
            if byte == UInt8(ascii: "\"") { _ = value() } else { place += 1 }
        }
    }

    private mutating func skip(_ isSkipped: (UInt8) -> Bool) {
        while place < bytes.count, isSkipped(bytes[place]) { place += 1 }
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

    private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte | 0x20)
    }

    static func isToken(_ byte: UInt8) -> Bool {
        let others: StaticString = "!#$%&'*+-.^_`|~"
        return isLetterOrDigit(byte) || others.withUTF8Buffer { $0.contains(byte) }
    }

    static func isToken68(_ byte: UInt8) -> Bool {
        let others: StaticString = "-._~+/"
        return isLetterOrDigit(byte) || others.withUTF8Buffer { $0.contains(byte) }
    }
}
