import TransferModel
import YAMLTree

/// The values of one name of `forEach`.
struct ForEachList {
    let name: String
    let node: NodeID
    let items: Items

    /// The list as it is before its captured values are known.
    var unexpanded: ForEachList {
        guard case .captured(let list, _) = items else { return self }
        return ForEachList(name: name, node: node, items: .captured(list, nil))
    }

    enum Items {
        case values([Value])
        /// Numbers, padded with zeros to `width` digits.
        case range(ClosedRange<Int64>, width: Int)
        /// Values that could not be read.
        case deferred
        /// A list that another task captures or brings; the values are `nil` until it has ended.
        case captured(CapturedList, CapturedValue?)

        var count: Int {
            switch self {
            case .values(let values): values.count
            case .range(let range, _): range.count
            case .deferred, .captured(_, nil): 1
            case .captured(_, let values?): if case .list(let list) = values.value { list.count } else { 0 }
            }
        }
        var isEmpty: Bool { count == 0 }
        var isDeferred: Bool {
            switch self {
            case .deferred, .captured(_, nil): true
            case .values, .range, .captured: false
            }
        }
        var isCaptured: Bool { if case .captured = self { true } else { false } }

        subscript(index: Int) -> Value {
            switch self {
            case .values(let values): return values[index]
            case .range(let range, let width): return .number(Self.padded(range.lowerBound + Int64(index), width))
            case .deferred: return .unknown
            case .captured(let list, let values):
                return .captured(
                    CapturedItem(
                        task: list.task, list: list.name, rows: list.rows, values: values,
                        index: values == nil ? -1 : index))
            }
        }

        private static func padded(_ number: Int64, _ width: Int) -> String {
            let digits = String(number.magnitude)
            let zeros = String(repeating: "0", count: max(0, width - digits.utf8.count))
            return (number < 0 ? "-" : "") + zeros + digits
        }
    }
}

/// Parses a range of numbers: `1..20`, also `01..20` (then every number has two digits).
enum RangeText {
    static let longest = 1_000_000

    enum Problem: Error {
        case notARange
        case backwards
        case tooLong
    }

    static func parse(_ text: String) throws(Problem) -> ForEachList.Items {
        guard let dots = text.utf8.firstIndex(of: UInt8(ascii: ".")) else { throw .notARange }
        let rest = text[dots...]
        guard rest.hasPrefix("..") else { throw .notARange }
        let (low, high) = (text[..<dots], rest.dropFirst(2))
        guard isNumber(low), isNumber(high), let from = Int64(low), let to = Int64(high) else { throw .notARange }
        guard from <= to else { throw .backwards }
        let (distance, overflow) = to.subtractingReportingOverflow(from)
        guard !overflow, distance < Int64(longest) else { throw .tooLong }
        return .range(from...to, width: max(width(low), width(high)))
    }

    private static func isNumber(_ text: Substring) -> Bool {
        let digits = text.utf8.first == UInt8(ascii: "-") ? text.dropFirst() : text
        return !digits.isEmpty && digits.utf8.allSatisfy { (0x30...0x39).contains($0) }
    }

    /// Returns the number of digits that leading zeros ask for.
    private static func width(_ text: Substring) -> Int {
        let digits = text.utf8.first == UInt8(ascii: "-") ? text.dropFirst() : text
        return digits.utf8.count > 1 && digits.utf8.first == UInt8(ascii: "0") ? digits.utf8.count : 0
    }
}
