/// A set of HTTP statuses, written as `200`, `2xx`, `200-299`, or a list of these.
package struct StatusSet: Hashable, Sendable {
    /// The statuses as ranges, in the order they were written.
    package var ranges: [ClosedRange<UInt16>]

    package init(_ ranges: [ClosedRange<UInt16>]) { self.ranges = ranges }
    package init(_ statuses: UInt16...) { ranges = statuses.map { $0...$0 } }

    /// All statuses from 200 to 299.
    package static let success = StatusSet([200...299])

    /// Decides whether the status belongs to the set.
    package func contains(_ status: Int) -> Bool {
        ranges.contains { Int($0.lowerBound) <= status && status <= Int($0.upperBound) }
    }

    /// Returns the range that one entry of a list spells, or `nil` when it spells none or leaves 100…999.
    package static func range(_ text: some StringProtocol) -> ClosedRange<UInt16>? {
        let utf8 = Array(text.utf8)
        if utf8.count == 3, utf8[1] | 0x20 == 0x78, utf8[2] | 0x20 == 0x78, (0x31...0x39).contains(utf8[0]) {
            let hundreds = UInt16(utf8[0] - 0x30) * 100
            return hundreds...(hundreds + 99)
        }
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard let low = parts.first.flatMap({ number($0) }) else { return nil }
        if parts.count == 1 { return low...low }
        guard parts.count == 2, let high = number(parts[1]), low <= high else { return nil }
        return low...high
    }

    private static func number(_ text: some StringProtocol) -> UInt16? {
        guard text.utf8.count == 3, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return UInt16(text).flatMap { (100...999).contains($0) ? $0 : nil }
    }

    /// The set for messages: `200, 201, 300-399`.
    package var words: String {
        ranges.map { range in
            if range.lowerBound % 100 == 0, range.upperBound == range.lowerBound + 99 {
                return "\(range.lowerBound / 100)xx"
            }
            return range.count == 1 ? "\(range.lowerBound)" : "\(range.lowerBound)-\(range.upperBound)"
        }.joined(separator: ", ")
    }
}
