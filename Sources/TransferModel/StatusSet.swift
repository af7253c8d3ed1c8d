/// A set of HTTP statuses: `200`, `2xx`, `200-299`, or a list of them.
package struct StatusSet: Hashable, Sendable {
    package var ranges: [ClosedRange<UInt16>]

    package init(_ ranges: [ClosedRange<UInt16>]) { self.ranges = ranges }
    package init(_ statuses: UInt16...) { ranges = statuses.map { $0...$0 } }

    package static let success = StatusSet([200...299])

    package func contains(_ status: Int) -> Bool {
        ranges.contains { Int($0.lowerBound) <= status && status <= Int($0.upperBound) }
    }

    /// One entry as it is written; `nil` when it is none, or out of 100…999.
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

    /// `200, 201, 300-399`: for messages.
    package var words: String {
        ranges.map { range in
            if range.lowerBound % 100 == 0, range.upperBound == range.lowerBound + 99 {
                return "\(range.lowerBound / 100)xx"
            }
            return range.count == 1 ? "\(range.lowerBound)" : "\(range.lowerBound)-\(range.upperBound)"
        }.joined(separator: ", ")
    }
}
