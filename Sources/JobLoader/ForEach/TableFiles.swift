import TextFormats
import TransferModel

/// Parses the files that `forEach` reads into values.
enum TableFiles {
    struct Problem: Error {
        let message: String
        /// Line of the fault, from 1; 0 if it concerns no single line.
        let line: Int
    }

    private static func text(_ bytes: ArraySlice<UInt8>, line: Int) throws(Problem) -> String {
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw Problem(message: "not UTF-8 text", line: line)
        }
        return text
    }

    /// Returns the file's lines without line breaks, byte-order mark and empty lines; the numbers are those in the
    /// file.
    private static func rows(_ bytes: [UInt8]) -> [(number: Int, bytes: ArraySlice<UInt8>)] {
        let body = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? bytes.dropFirst(3) : bytes[...]
        var rows: [(Int, ArraySlice<UInt8>)] = []
        for (number, line) in body.split(separator: 0x0A, omittingEmptySubsequences: false).enumerated() {
            let bare = line.last == 0x0D ? line.dropLast() : line
            if !bare.isEmpty { rows.append((number + 1, bare)) }
        }
        return rows
    }

    static func lines(_ bytes: [UInt8]) throws(Problem) -> [Value] {
        var values: [Value] = []
        for row in rows(bytes) { values.append(.text(SecretText(try text(row.bytes, line: row.number)))) }
        return values
    }

    /// Parses CSV (RFC 4180): the first line names the columns; quotes protect commas, quotes and line breaks.
    static func csv(_ bytes: [UInt8]) throws(Problem) -> [Value] {
        let records = try CSV.records(bytes)
        guard let header = records.first else {
            throw Problem(message: "a line with the names of the columns is missing", line: 1)
        }
        if let twice = Dictionary(grouping: header.fields, by: { $0 }).first(where: { $0.value.count > 1 }) {
            throw Problem(message: "the column `\(Reader.short(twice.key))` is there twice", line: header.line)
        }
        var values: [Value] = []
        for record in records.dropFirst() {
            guard record.fields.count == header.fields.count else {
                throw Problem(
                    message: "\(record.fields.count) fields where the first line has \(header.fields.count)",
                    line: record.line)
            }
            let pairs = zip(header.fields, record.fields).map { (key: $0, value: Value.text(SecretText($1))) }
            values.append(.map(pairs))
        }
        return values
    }

    static func json(_ bytes: [UInt8]) throws(Problem) -> [Value] {
        let parsed = try JSONRows.parse(bytes)
        guard case .list(let values) = parsed else {
            throw Problem(message: "the file must hold a JSON list", line: 1)
        }
        return values
    }

    /// Parses GNU lines (`HASH  NAME`, `HASH *NAME`) and BSD lines (`SHA256 (NAME) = HASH`). The first line of another
    /// form is reported, unless it belongs to a signature; a file without any known line is no list. A Debian release
    /// file has each file once for each algorithm among its own fields: the lines of the strongest algorithm count.
    static func checksums(_ bytes: [UInt8]) throws(Problem) -> (values: [Value], other: Problem?) {
        var values: [Value] = []
        var released: [(value: Value, digits: Int)] = []
        var other: Problem?
        var frame = SignatureFrame()
        for row in rows(bytes) {
            let line = try text(row.bytes, line: row.number)
            if line.hasPrefix("#") { continue }
            guard let known = ChecksumList.Line(row.bytes) else {
                if !frame.takes(line), other == nil {
                    other = Problem(message: "no line of a checksum file: `\(Reader.short(line))`", line: row.number)
                }
                continue
            }
            let path = String(decoding: known.name, as: UTF8.self)
            if let size = known.size {
                let fields = [("path", path), ("checksum", known.checksum.description), ("size", "\(size)")]
                released.append((.record(text: path, fields: fields), known.checksum.bytes.count))
                continue
            }
            values.append(
                .record(text: path, fields: [("path", path), ("checksum", known.checksum.description)]))
        }
        if let most = released.map(\.digits).max() {
            return (values + released.filter { $0.digits == most }.map(\.value), nil)
        }
        if values.isEmpty, let other { throw other }
        return (values, other)
    }
}

/// Recognizes the lines that a clear-signed text (RFC 9580, section 7) has around its own.
private struct SignatureFrame {
    private enum Place { case text, headers, signature }
    private var place = Place.text

    /// Returns whether a line that is no checksum belongs to the signature.
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

/// Parses RFC 4180, with `\n` and `\r\n` as line ends.
enum CSV {
    struct Record {
        var fields: [String]
        let line: Int
    }

    static func records(_ bytes: [UInt8]) throws(TableFiles.Problem) -> [Record] {
        var records: [Record] = []
        var position = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
        var line = 1
        while position < bytes.count {
            let first = line
            let fields = try record(bytes, &position, &line)
            if fields.count > 1 || fields.first?.isEmpty == false {
                records.append(Record(fields: fields, line: first))
            }
        }
        return records
    }

    private static func record(
        _ bytes: [UInt8], _ position: inout Int, _ line: inout Int
    ) throws(TableFiles.Problem) -> [String] {
        var fields: [String] = []
        while true {
            fields.append(try field(bytes, &position, &line))
            guard position < bytes.count else { return fields }
            let byte = bytes[position]
            position += 1
            if byte == UInt8(ascii: ",") { continue }
            if byte == 0x0D, position < bytes.count, bytes[position] == 0x0A { position += 1 }
            line += 1
            return fields
        }
    }

    private static func field(
        _ bytes: [UInt8], _ position: inout Int, _ line: inout Int
    ) throws(TableFiles.Problem) -> String {
        let start = line
        let content =
            position < bytes.count && bytes[position] == UInt8(ascii: "\"")
            ? try quoted(bytes, &position, &line) : plain(bytes, &position)
        guard let text = String(validating: content, as: UTF8.self) else {
            throw TableFiles.Problem(message: "not UTF-8 text", line: start)
        }
        return text
    }

    private static func plain(_ bytes: [UInt8], _ position: inout Int) -> [UInt8] {
        let start = position
        while position < bytes.count, bytes[position] != UInt8(ascii: ","), bytes[position] != 0x0A {
            if bytes[position] == 0x0D, position + 1 < bytes.count, bytes[position + 1] == 0x0A { break }
            position += 1
        }
        return Array(bytes[start..<position])
    }

    private static func quoted(
        _ bytes: [UInt8], _ position: inout Int, _ line: inout Int
    ) throws(TableFiles.Problem) -> [UInt8] {
        let start = line
        var content: [UInt8] = []
        position += 1
        while position < bytes.count {
            let byte = bytes[position]
            position += 1
            if byte == UInt8(ascii: "\"") {
                if position < bytes.count, bytes[position] == byte {
                    position += 1
                } else {
                    let isEnd = position == bytes.count || [0x2C, 0x0A, 0x0D].contains(bytes[position])
                    guard isEnd else { throw TableFiles.Problem(message: "text after a closing quote", line: line) }
                    return content
                }
            }
            if byte == 0x0A { line += 1 }
            content.append(byte)
        }
        throw TableFiles.Problem(message: "a quote is not closed", line: start)
    }
}
