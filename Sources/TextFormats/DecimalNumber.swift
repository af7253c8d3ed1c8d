/// A number as JSON writes it, with all of its digits: beyond 2^53 a `Double` takes neighbours for the same.
package struct DecimalNumber: Hashable, Comparable, Sendable {
    /// Never of 0.
    private let isNegative: Bool
    /// Without zeros at either end; none of 0.
    private let digits: [UInt8]
    /// The power of ten before whose first digit the point stands.
    private let exponent: Int

    /// `nil` for what is no number of JSON's, or has an exponent that fits nowhere.
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

    package static func < (left: DecimalNumber, right: DecimalNumber) -> Bool {
        if left.isNegative != right.isNegative { return left.isNegative }
        return left.isNegative ? right.isNearerToZero(than: left) : left.isNearerToZero(than: right)
    }

    private func isNearerToZero(than other: DecimalNumber) -> Bool {
        if digits.isEmpty || other.digits.isEmpty { return digits.isEmpty && !other.digits.isEmpty }
        if exponent != other.exponent { return exponent < other.exponent }
        return digits.lexicographicallyPrecedes(other.digits)
    }

    /// Whether two numbers mean the same: `1`, `1.0` and `10e-1`.
    package static func areSame(_ left: String, _ right: String) -> Bool {
        if left == right { return true }
        guard let left = DecimalNumber(left), let right = DecimalNumber(right) else { return false }
        return left == right
    }
}
