import TextFormats
import TransferModel

/// Splits a text that comes in pieces into lines, without line breaks and byte-order mark.
struct LineSplitter {
    private var buffer: [UInt8] = []
    private var start = 0
    private var scanned = 0
    private var isAtBeginning = true
    private let longest: Int
    /// Number of the line that was returned last, from 1.
    private(set) var number = 0

    init(longest: Int) { self.longest = longest }

    mutating func append(_ bytes: [UInt8]) {
        if start > 0 {
            buffer.removeFirst(start)
            (start, scanned) = (0, scanned - start)
        }
        buffer += bytes
    }

    /// Returns the next whole line; `nil` until more bytes come.
    mutating func next() throws(RowProblem) -> ArraySlice<UInt8>? {
        guard let end = buffer[scanned...].firstIndex(of: 0x0A) else {
            scanned = buffer.count
            guard buffer.count - start <= longest else { throw tooLong }
            return nil
        }
        return try line(upTo: end, then: end + 1)
    }

    /// Returns the last line, which no line break ends; `nil` if there is none.
    mutating func last() throws(RowProblem) -> ArraySlice<UInt8>? {
        start < buffer.count ? try line(upTo: buffer.count, then: buffer.count) : nil
    }

    private mutating func line(upTo end: Int, then next: Int) throws(RowProblem) -> ArraySlice<UInt8> {
        guard end - start <= longest else { throw tooLong }
        number += 1
        var line = buffer[start..<end]
        (start, scanned) = (next, next)
        if isAtBeginning, line.starts(with: [0xEF, 0xBB, 0xBF]) { line = line.dropFirst(3) }
        isAtBeginning = false
        return line.last == 0x0D ? line.dropLast() : line
    }

    private var tooLong: RowProblem { RowProblem("a line is longer than \(longest >> 10) KiB", line: number + 1) }
}

/// A parser of lines.
class LineParser: RowParser {
    let filter: FieldFilter
    private var lines: LineSplitter

    init(_ filter: FieldFilter) {
        self.filter = filter
        lines = LineSplitter(longest: filter.limits.line)
    }

    final func take(_ bytes: [UInt8]) throws(RowProblem) {
        lines.append(bytes)
        while let line = try lines.next() { try take(line, lines.number) }
    }

    final func finish() throws(RowProblem) -> RowTable {
        if let line = try lines.last() { try take(line, lines.number) }
        return try table()
    }

    /// Takes a line, which may be empty.
    func take(_ line: ArraySlice<UInt8>, _ number: Int) throws(RowProblem) {}
    /// Returns the rows after the last line.
    func table() throws(RowProblem) -> RowTable { RowTable() }
}

/// Each line that is not empty is a row.
final class LineRows: LineParser {
    private var rows: [PlainValue] = []

    override func take(_ line: ArraySlice<UInt8>, _ number: Int) throws(RowProblem) {
        guard !line.isEmpty else { return }
        try filter.add(.string(try filter.text(line, line: number)), to: &rows, line: number)
    }

    override func table() throws(RowProblem) -> RowTable { RowTable(rows: rows) }
}

/// Reads GNU lines (`HASH  NAME`, `HASH *NAME`) and BSD lines (`SHA256 (NAME) = HASH`). The first line of another form
/// is reported, unless it belongs to a signature; a file without any known line is no list. A Debian release file has
/// each file once for each algorithm among its own fields: the lines of the strongest algorithm count.
final class ChecksumRows: LineParser {
    private var rows: [PlainValue] = []
    private var released: [(row: PlainValue, digits: Int)] = []
    private var stray: RowProblem?
    private var frame = SignatureFrame()

    override func take(_ line: ArraySlice<UInt8>, _ number: Int) throws(RowProblem) {
        guard !line.isEmpty, line.first != UInt8(ascii: "#") else { return }
        guard let known = ChecksumList.Line(line) else {
            let text = try filter.text(line, line: number)
            if !frame.takes(text), stray == nil {
                stray = RowProblem("no line of a checksum file: `\(Excerpt.short(text))`", line: number)
            }
            return
        }
        let path = try filter.text(known.name, line: number)
        var fields = [(key: "path", value: path), (key: "checksum", value: known.checksum.description)]
        guard let size = known.size else {
            return try filter.add(filter.row(path, fields), to: &rows, line: number)
        }
        fields.append((key: "size", value: "\(size)"))
        guard released.count < filter.limits.rows else { throw RowProblem("more than \(filter.limits.rows) rows") }
        released.append((filter.row(path, fields), known.checksum.bytes.count))
    }

    override func table() throws(RowProblem) -> RowTable {
        if let most = released.map(\.digits).max() {
            return RowTable(rows: rows + released.filter { $0.digits == most }.map(\.row))
        }
        if rows.isEmpty, let stray { throw stray }
        return RowTable(rows: rows, stray: stray)
    }
}

/// Recognizes the lines that a clear-signed text (RFC 9580, section 7) has around its own.
struct SignatureFrame {
    private enum Place { case text, headers, signature }
    private var place = Place.text

    /// Returns whether a line that is none of the list's belongs to the signature.
    mutating func takes(_ line: String) -> Bool {
        switch line {
        case "-----BEGIN PGP SIGNED MESSAGE-----": place = .headers
        case "-----BEGIN PGP SIGNATURE-----": place = .signature
        case "-----END PGP SIGNATURE-----": place = .text
        default:
            switch place {
            case .text: return false
            case .headers: return ["Hash: ", "Charset: ", "Comment: ", "Version: "].contains { line.hasPrefix($0) }
            case .signature: return true
            }
        }
        return true
    }
}

/// Cuts texts for messages.
enum Excerpt {
    static func short(_ text: String) -> String {
        var visible: [Unicode.Scalar] = text.unicodeScalars.map { $0.value < 0x20 || $0.value == 0x7F ? " " : $0 }
        if visible.count > 60 { visible = Array(visible.prefix(57)) + Array("...".unicodeScalars) }
        return String(String.UnicodeScalarView(visible))
    }
}
