package import TransferModel

/// Why a list cannot be read.
package struct RowProblem: Error, Hashable, Sendable {
    /// What is wrong, in words for people.
    package let message: String
    /// Line of the fault, from 1; 0 if it concerns no single line.
    package let line: Int

    package init(_ message: String, line: Int = 0) {
        self.message = message
        self.line = line
    }
}

/// Bounds on a list.
package struct RowLimits: Sendable {
    /// Most bytes of a line.
    package var line: Int
    /// Most bytes of a value.
    package var value: Int
    /// Most rows.
    package var rows = 1_000_000
    /// Most bytes of a list that must be in memory as a whole to be read.
    package var whole = 64 << 20

    package init(line: Int, value: Int) {
        self.line = line
        self.value = value
    }

    /// For files of this machine, which have a bound of their own.
    package static let ofFiles = RowLimits(line: .max, value: .max)
    /// For what came from the network.
    package static let ofNetwork = RowLimits(line: 1 << 20, value: CapturedValue.longest)
}

/// The rows of a list.
package struct RowTable: Sendable {
    /// The rows, in order: maps of fields, or values without fields.
    package var rows: [PlainValue] = []
    /// The first line that was passed over because it is none of the list's.
    package var stray: RowProblem?
}

/// Reads one list, piece by piece. Used on one thread.
protocol RowParser: AnyObject {
    func take(_ bytes: [UInt8]) throws(RowProblem)
    func finish() throws(RowProblem) -> RowTable
}

/// Reads a list of any format that comes in pieces of any size.
///
/// Lists of lines and stanzas are read as they come; of other formats the whole text is kept until its end.
package struct RowReader {
    private let parser: any RowParser
    /// The first bytes, until they are enough to tell whether the list is packed; `nil` from then on.
    private var beginning: [UInt8]? = []

    /// `fields`: those to keep, all if `nil`. `page`: where the list comes from, against which links are resolved.
    package init(
        _ format: RowFormat, fields: RowFields? = nil, page: ResourceURL? = nil, limits: RowLimits = .ofNetwork
    ) {
        let keeping = FieldFilter(fields, limits)
        parser =
            switch format {
            case .lines: LineRows(keeping)
            case .csv: CSVRows(keeping)
            case .checksums: ChecksumRows(keeping)
            case .debian: StanzaRows(keeping)
            case .json(let path):
                WholeRows(limits) { bytes throws(RowProblem) in
                    try JSONRows.rows(bytes, path, keeping)
                }
            case .xml(let path):
                WholeRows(limits) { bytes throws(RowProblem) in
                    try XMLRows.rows(bytes, path, keeping)
                }
            case .links(let match):
                WholeRows(limits) { bytes throws(RowProblem) in
                    try LinkRows.rows(bytes, match, page, keeping)
                }
            }
    }

    /// Takes the next bytes of the list.
    package mutating func take(_ bytes: [UInt8]) throws(RowProblem) {
        guard let start = beginning else { return try parser.take(bytes) }
        beginning = start.isEmpty ? bytes : start + bytes
        if start.count + bytes.count >= Packing.telling { try passBeginning() }
    }

    /// Returns the rows once all bytes came.
    package mutating func finish() throws(RowProblem) -> RowTable {
        try passBeginning()
        return try parser.finish()
    }

    private mutating func passBeginning() throws(RowProblem) {
        guard let bytes = beginning else { return }
        beginning = nil
        if let packing = Packing.unknown(bytes) {
            throw RowProblem("packed by \(packing), which is not read; gzip, xz and zstd are")
        }
        try parser.take(bytes)
    }

    /// Reads a list that is in memory.
    package static func rows(
        _ bytes: [UInt8], _ format: RowFormat, fields: RowFields? = nil, page: ResourceURL? = nil,
        limits: RowLimits = .ofFiles
    ) throws(RowProblem) -> RowTable {
        var reader = RowReader(format, fields: fields, page: page, limits: limits)
        try reader.take(bytes)
        return try reader.finish()
    }
}

/// Keeps a list's whole text and reads it at the end.
private final class WholeRows: RowParser {
    private let limits: RowLimits
    private let parse: ([UInt8]) throws(RowProblem) -> RowTable
    private var text: [UInt8] = []

    init(_ limits: RowLimits, _ parse: @escaping ([UInt8]) throws(RowProblem) -> RowTable) {
        self.limits = limits
        self.parse = parse
    }

    func take(_ bytes: [UInt8]) throws(RowProblem) {
        guard text.count + bytes.count <= limits.whole else {
            throw RowProblem("larger than \(limits.whole >> 20) MiB")
        }
        text += bytes
    }

    func finish() throws(RowProblem) -> RowTable {
        defer { text = [] }
        return try parse(text)
    }
}

/// Recognizes files that are packed in a way that is not read.
private enum Packing {
    private static let marks: [(start: [UInt8], name: String)] = [
        (Array("BZh".utf8), "bzip2"), (Array("LZIP".utf8), "lzip"), ([0x04, 0x22, 0x4D, 0x18], "lz4"),
        ([0x5D, 0x00, 0x00], "lzma"), ([0x50, 0x4B, 0x03, 0x04], "zip"), ([0x37, 0x7A, 0xBC, 0xAF], "7z"),
        ([0x1F, 0x9D], "compress"),
    ]

    /// As many bytes tell it.
    static let telling = 64

    static func unknown(_ bytes: [UInt8]) -> String? {
        guard let mark = marks.first(where: { bytes.starts(with: $0.start) }) else { return nil }
        // A text may begin with letters, but it holds no such bytes soon after them.
        let isText = bytes.prefix(telling).allSatisfy {
            $0 >= 0x20 && $0 < 0x7F || $0 == 0x0A || $0 == 0x0D || $0 == 0x09
        }
        return isText ? nil : mark.name
    }
}
