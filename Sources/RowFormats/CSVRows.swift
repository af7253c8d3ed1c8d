import TransferModel

/// Reads CSV (RFC 4180) with `\n` and `\r\n` as line ends: the first line names the columns; quotes protect commas,
/// quotes and line breaks.
final class CSVRows: RowParser {
    private enum State {
        case fieldStart
        case plain
        /// After a `\r` in a field without quotes: it belongs to the line's end, or to the field.
        case afterReturn
        case quoted
        /// After a quote in quotes, which ends the field or, doubled, stands for itself.
        case closing
        /// After a `\r` behind a closing quote, which ends the record.
        case ended
    }

    private let filter: FieldFilter
    private var state = State.fieldStart
    private var field: [UInt8] = []
    private var fields: [[UInt8]] = []
    private var line = 1
    /// Lines on which the present record, field and quotes began.
    private var recordLine = 1
    private var quoteLine = 1
    private var mark: [UInt8]? = []
    private var header: [String]?
    /// The columns to keep, by their place.
    private var kept: [Int] = []
    private var recordBytes = 0
    private var rows: [PlainValue] = []

    init(_ filter: FieldFilter) { self.filter = filter }

    func take(_ bytes: [UInt8]) throws(RowProblem) {
        for byte in withoutMark(bytes) { try take(byte) }
    }

    func finish() throws(RowProblem) -> RowTable {
        for byte in mark ?? [] { try take(byte) }
        mark = nil
        switch state {
        case .quoted: throw RowProblem("a quote is not closed", line: quoteLine)
        case .fieldStart where fields.isEmpty: break
        case .afterReturn:
            field.append(0x0D)
            try endRecord()
        default: try endRecord()
        }
        guard header != nil else { throw RowProblem("a line with the names of the columns is missing", line: 1) }
        return RowTable(rows: rows)
    }

    /// Drops a byte-order mark at the beginning, which may come in pieces.
    private func withoutMark(_ bytes: [UInt8]) -> [UInt8] {
        guard let held = mark else { return bytes }
        let start = held + bytes
        let whole: [UInt8] = [0xEF, 0xBB, 0xBF]
        if start.count < whole.count, whole.starts(with: start) {
            mark = start
            return []
        }
        mark = nil
        return start.starts(with: whole) ? Array(start.dropFirst(whole.count)) : start
    }

    private func take(_ byte: UInt8) throws(RowProblem) {
        recordBytes += 1
        guard recordBytes <= filter.limits.line else {
            throw RowProblem("a row is longer than \(filter.limits.line >> 10) KiB", line: recordLine)
        }
        switch state {
        case .fieldStart where byte == UInt8(ascii: "\""): (state, quoteLine) = (.quoted, line)
        case .fieldStart, .plain: try takePlain(byte)
        case .afterReturn:
            if byte == 0x0A { return try endLine() }
            field.append(0x0D)
            try takePlain(byte)
        case .quoted: takeQuoted(byte)
        case .closing: try takeAfterQuote(byte)
        case .ended:
            try endLine()
            if byte != 0x0A { try take(byte) }
        }
    }

    private func takePlain(_ byte: UInt8) throws(RowProblem) {
        switch byte {
        case UInt8(ascii: ","): endField()
        case 0x0A: try endLine()
        case 0x0D: state = .afterReturn
        default:
            state = .plain
            field.append(byte)
        }
    }

    private func takeQuoted(_ byte: UInt8) {
        if byte == UInt8(ascii: "\"") {
            state = .closing
            return
        }
        if byte == 0x0A { line += 1 }
        field.append(byte)
    }

    private func takeAfterQuote(_ byte: UInt8) throws(RowProblem) {
        switch byte {
        case UInt8(ascii: "\""):
            field.append(byte)
            state = .quoted
        case UInt8(ascii: ","): endField()
        case 0x0A: try endLine()
        case 0x0D: state = .ended
        default: throw RowProblem("text after a closing quote", line: line)
        }
    }

    private func endField() {
        fields.append(field)
        field = []
        state = .fieldStart
    }

    private func endLine() throws(RowProblem) {
        try endRecord()
        line += 1
        recordLine = line
    }

    private func endRecord() throws(RowProblem) {
        endField()
        let record = fields
        fields = []
        recordBytes = 0
        // A line without anything is no record.
        if record.count == 1, record[0].isEmpty { return }
        guard let header else { return try takeHeader(record) }
        guard record.count == header.count else {
            throw RowProblem(
                "\(record.count) fields where the first line has \(header.count)", line: recordLine)
        }
        var entries: [PlainValue.Entry] = []
        entries.reserveCapacity(kept.count)
        for place in kept {
            let text = try filter.text(record[place], line: recordLine)
            entries.append(PlainValue.Entry(key: header[place], value: .string(text)))
        }
        try filter.add(.map(entries), to: &rows, line: recordLine)
    }

    private func takeHeader(_ record: [[UInt8]]) throws(RowProblem) {
        var names: [String] = []
        for field in record { names.append(try filter.text(field, line: recordLine)) }
        if let twice = Dictionary(grouping: names, by: { $0 }).first(where: { $0.value.count > 1 }) {
            throw RowProblem("the column `\(Excerpt.short(twice.key))` is there twice", line: recordLine)
        }
        let missing = filter.wanted?.needed.first { name in !names.contains { $0.utf8.elementsEqual(name.utf8) } }
        if let missing {
            let known = names.prefix(12).map { "`\(Excerpt.short($0))`" }.joined(separator: ", ")
            throw RowProblem("there is no column `\(missing)`, only \(known)", line: recordLine)
        }
        header = names
        kept = names.indices.filter { filter.keeps(names[$0]) }
    }
}
