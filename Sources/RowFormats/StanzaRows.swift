import TransferModel

/// Reads the stanzas of a Debian index (`Packages`, `Sources`): fields `Name: value`, with continuation lines that begin
/// with a blank and are joined with one, and an empty line between stanzas. The letter case of a field's name is
/// ignored.
final class StanzaRows: LineParser {
    private struct Field {
        let name: String
        var value: [UInt8]
    }

    private var rows: [PlainValue] = []
    private var fields: [Field] = []
    private var hasFields = false
    /// Line on which the stanza begins.
    private var firstLine = 0
    /// Whether continuation lines belong to the last of `fields`; otherwise to a field that is not kept.
    private var isKept = false
    private let wanted: [(name: String, lower: [UInt8])]?

    override init(_ filter: FieldFilter) {
        wanted = filter.wantedNames?.map { ($0, Self.lowercased($0.utf8)) }
        super.init(filter)
    }

    private static func lowercased(_ name: some Sequence<UInt8>) -> [UInt8] {
        name.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }
    }

    private static func isSame(_ name: ArraySlice<UInt8>, _ lower: [UInt8]) -> Bool {
        name.count == lower.count && zip(name, lower).allSatisfy { ((0x41...0x5A).contains($0) ? $0 | 0x20 : $0) == $1 }
    }

    override func take(_ line: ArraySlice<UInt8>, _ number: Int) throws(RowProblem) {
        guard let first = line.first, !line.allSatisfy({ $0 == 0x20 || $0 == 0x09 }) else { return try endStanza() }
        if first == 0x20 || first == 0x09 { return try takeContinuation(line, number) }
        if first == UInt8(ascii: "#") { return }
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")), isName(line[..<colon]) else {
            let text = String(decoding: line.prefix(256), as: UTF8.self)
            throw RowProblem("no field of a Debian index: `\(Excerpt.short(text))`", line: number)
        }
        if !hasFields { (hasFields, firstLine) = (true, number) }
        begin(line[..<colon], Self.trimmed(line[(colon + 1)...]))
    }

    private func isName(_ name: ArraySlice<UInt8>) -> Bool {
        !name.isEmpty && name.first != UInt8(ascii: "-") && name.allSatisfy { $0 > 0x20 && $0 < 0x7F }
    }

    private func begin(_ name: ArraySlice<UInt8>, _ value: ArraySlice<UInt8>) {
        isKept = false
        let kept: String
        if let wanted {
            guard let found = wanted.first(where: { Self.isSame(name, $0.lower) }) else { return }
            kept = found.name
        } else {
            kept = String(decoding: name, as: UTF8.self)
        }
        // Of a field that is there twice the first counts.
        guard !fields.contains(where: { $0.name == kept }) else { return }
        fields.append(Field(name: kept, value: Array(value)))
        isKept = true
    }

    private func takeContinuation(_ line: ArraySlice<UInt8>, _ number: Int) throws(RowProblem) {
        guard hasFields else { throw RowProblem("a continuation line without a field", line: number) }
        guard isKept else { return }
        let last = fields.count - 1
        let more = Self.trimmed(line)
        guard fields[last].value.count + more.count <= filter.limits.value else {
            throw RowProblem(
                "the field `\(fields[last].name)` is longer than \(filter.limits.value >> 10) KiB", line: number)
        }
        if !fields[last].value.isEmpty { fields[last].value.append(0x20) }
        fields[last].value += more
    }

    private static func trimmed(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        var rest = text.drop { $0 == 0x20 || $0 == 0x09 }
        while let last = rest.last, last == 0x20 || last == 0x09 { rest.removeLast() }
        return rest
    }

    private func endStanza() throws(RowProblem) {
        guard hasFields else { return }
        var entries: [PlainValue.Entry] = []
        entries.reserveCapacity(fields.count)
        for field in fields {
            let text = try filter.text(field.value, line: firstLine)
            entries.append(PlainValue.Entry(key: field.name, value: .string(text)))
        }
        try filter.add(.map(entries), to: &rows, line: firstLine)
        fields.removeAll(keepingCapacity: true)
        (hasFields, isKept) = (false, false)
    }

    override func table() throws(RowProblem) -> RowTable {
        try endStanza()
        return RowTable(rows: rows)
    }
}
