/// A number from JSON with all of its digits: beyond 2^53, `Double` does not tell neighbouring integers apart.
package struct DecimalNumber: Hashable, Comparable, Sendable {
    /// Whether the number is less than 0.
    private let isNegative: Bool
    /// Significant digits as ASCII, without zeros at either end; empty for 0.
    private let digits: [UInt8]
    /// Position of the decimal point, counted from before the first of `digits`.
    private let exponent: Int

    /// Parses a number as JSON writes it; `nil` if the text has other characters, or an exponent outside of `Int`.
    package init?(_ text: String) {
        var rest = Array(text.utf8)[...]
        let hasMinus = rest.first == UInt8(ascii: "-")
        if hasMinus { rest = rest.dropFirst() }
        var power = 0
        if let mark = rest.firstIndex(where: { $0 == UInt8(ascii: "e") || $0 == UInt8(ascii: "E") }) {
            guard let written = Int(String(decoding: rest[(mark + 1)...], as: UTF8.self)) else { return nil }
            power = written
            rest = rest[..<mark]
        }
        let parts = rest.split(separator: UInt8(ascii: "."), maxSplits: 1, omittingEmptySubsequences: false)
        let all = parts.flatMap { $0 }
        guard !all.isEmpty, all.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        let significant = all.drop { $0 == 0x30 }
        let (place, isTooFar) = power.addingReportingOverflow(parts[0].count - (all.count - significant.count))
        guard !isTooFar else { return nil }
        digits = Array(significant.reversed().drop { $0 == 0x30 }.reversed())
        exponent = digits.isEmpty ? 0 : place
        isNegative = hasMinus && !digits.isEmpty
    }

    /// Compares by value.
    package static func < (left: DecimalNumber, right: DecimalNumber) -> Bool {
        if left.isNegative != right.isNegative { return left.isNegative }
        return left.isNegative ? right.isNearerToZero(than: left) : left.isNearerToZero(than: right)
    }

    private func isNearerToZero(than other: DecimalNumber) -> Bool {
        if digits.isEmpty || other.digits.isEmpty { return digits.isEmpty && !other.digits.isEmpty }
        if exponent != other.exponent { return exponent < other.exponent }
        return digits.lexicographicallyPrecedes(other.digits)
    }

    /// Returns whether two numbers have the same value, such as `1`, `1.0` and `10e-1`.
    package static func areSame(_ left: String, _ right: String) -> Bool {
        if left == right { return true }
        guard let left = DecimalNumber(left), let right = DecimalNumber(right) else { return false }
        return left == right
    }
}
