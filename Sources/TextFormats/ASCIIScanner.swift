/// Reads fixed forms (dates, numbers, rules) from the front of some bytes. A method that fails returns `nil` or
/// `false`; `digits(_:)` and `number()` may then have consumed some digits.
struct ASCIIScanner {
    private let bytes: UnsafeBufferPointer<UInt8>
    private(set) var offset = 0

    init(_ bytes: UnsafeBufferPointer<UInt8>) { self.bytes = bytes }

    var isAtEnd: Bool { offset == bytes.count }
    var next: UInt8? { offset < bytes.count ? bytes[offset] : nil }

    mutating func skip() -> Bool {
        guard !isAtEnd else { return false }
        offset += 1
        return true
    }

    mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard next == UInt8(ascii: character) else { return false }
        offset += 1
        return true
    }

    mutating func take(anyOf characters: StaticString) -> Bool {
        guard let next, characters.withUTF8Buffer({ $0.contains(next) }) else { return false }
        offset += 1
        return true
    }

    mutating func take(word: StaticString) -> Bool {
        guard offset + word.utf8CodeUnitCount <= bytes.count else { return false }
        return word.withUTF8Buffer { word in
            for place in word.indices where bytes[offset + place] != word[place] { return false }
            offset += word.count
            return true
        }
    }

    mutating func digit() -> Int? {
        guard let next, next >= 0x30, next <= 0x39 else { return nil }
        offset += 1
        return Int(next - 0x30)
    }

    /// Takes exactly `count` digits.
    mutating func digits(_ count: Int) -> Int? {
        var value = 0
        for _ in 0..<count {
            guard let digit = digit() else { return nil }
            value = value * 10 + digit
        }
        return value
    }

    /// Takes one digit or more, while the number stays below a billion.
    mutating func number() -> Int? {
        guard var value = digit() else { return nil }
        while let digit = digit() {
            value = value * 10 + digit
            guard value < 1_000_000_000 else { return nil }
        }
        return value
    }

    /// Takes the first of `words` that stands here and returns its index.
    mutating func take(oneOf words: [StaticString]) -> Int? {
        for (index, word) in words.enumerated() where take(word: word) { return index }
        return nil
    }
}
