/// Headers consist of bytes, not of characters: a `/` or `,` that a combining mark follows still counts as one.
extension Collection where Element == UInt8 {
    /// The bytes without the blanks at both ends; those inside stay.
    func trimmed() -> [UInt8] { Array(Array(self)[...].withoutBlanks) }
}

extension ArraySlice<UInt8> {
    /// The slice without the blanks at both ends, without copying.
    var withoutBlanks: ArraySlice {
        var rest = drop { $0 == 0x20 || $0 == 0x09 }
        while let last = rest.last, last == 0x20 || last == 0x09 { rest.removeLast() }
        return rest
    }
}

extension String {
    /// Decodes UTF-8; invalid bytes become U+FFFD.
    init(_ bytes: [UInt8]) { self = String(decoding: bytes, as: UTF8.self) }
}
