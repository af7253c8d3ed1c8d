extension UInt8 {
    var isASCIIDigit: Bool { (0x30...0x39).contains(self) }
    var isASCIILetter: Bool { (0x61...0x7A).contains(self | 0x20) && self < 0x80 }

    /// Whether a URL encodes the byte in none of its parts.
    var isUnreserved: Bool { isASCIIDigit || isASCIILetter || "-._~".utf8.contains(self) }
}

extension StringProtocol {
    /// The text after its leading blanks and tabs.
    var afterBlanks: SubSequence { drop { $0 == " " || $0 == "\t" } }

    /// The text without white space at its ends.
    var trimmed: String {
        var text = drop { $0.isWhitespace }
        while text.last?.isWhitespace == true { text = text.dropLast() }
        return String(text)
    }
}
