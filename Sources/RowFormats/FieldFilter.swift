import TransferModel

/// Decides which fields of a row are kept, and makes the rows' values within their bounds.
struct FieldFilter {
    /// The fields to keep; `nil` for all.
    let wanted: RowFields?
    let limits: RowLimits
    private let names: [String]

    init(_ wanted: RowFields?, _ limits: RowLimits) {
        self.wanted = wanted
        self.limits = limits
        names = (wanted?.needed ?? []) + (wanted?.optional ?? [])
    }

    /// The names of the fields to keep; `nil` for all.
    var wantedNames: [String]? { wanted == nil ? nil : names }

    func keeps(_ name: String) -> Bool {
        wanted == nil || names.contains { $0.utf8.elementsEqual(name.utf8) }
    }

    /// Returns the bytes as text, if they are UTF-8 and not too long.
    func text(_ bytes: some Collection<UInt8>, line: Int) throws(RowProblem) -> String {
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw RowProblem("not UTF-8 text", line: line)
        }
        return try bounded(text, line: line)
    }

    func bounded(_ text: String, line: Int = 0) throws(RowProblem) -> String {
        try check(length: text.utf8.count, line: line)
        return text
    }

    func check(length: Int, line: Int = 0) throws(RowProblem) {
        guard length <= limits.value else {
            throw RowProblem("a value is longer than \(limits.value >> 10) KiB", line: line)
        }
    }

    func add(_ row: PlainValue, to rows: inout [PlainValue], line: Int = 0) throws(RowProblem) {
        guard rows.count < limits.rows else { throw RowProblem("more than \(limits.rows) rows", line: line) }
        rows.append(row)
    }

    /// Returns a row with a text of its own and the fields to keep.
    func row(_ text: String, _ fields: [(key: String, value: String)]) -> PlainValue {
        .row(text, wanted == nil ? fields : fields.filter { keeps($0.key) })
    }

    /// Throws if the text is not UTF-8, with the line at which it is not.
    static func checkUTF8(_ bytes: [UInt8]) throws(RowProblem) {
        guard String(validating: bytes, as: UTF8.self) == nil else { return }
        var line = 1
        for part in bytes.split(separator: 0x0A, omittingEmptySubsequences: false) {
            if String(validating: part, as: UTF8.self) == nil { break }
            line += 1
        }
        throw RowProblem("not UTF-8 text", line: line)
    }
}
