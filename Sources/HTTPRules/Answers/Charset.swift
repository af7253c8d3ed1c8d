package import TransferModel

/// A character encoding that an answer may name.
///
/// The decoders are this program's own: the server chooses the name, and the system's decoders are many, load code from
/// files and have had holes. An encoding unknown here is rejected by name.
enum Charset: Equatable, Sendable {
    case utf8
    case utf16(isBigEndian: Bool)
    case singleByte([UInt16])

    /// Finds an encoding by its label in the WHATWG's Encoding Standard, by which `iso-8859-1` and `us-ascii` are
    /// windows-1252.
    init?(label: String) {
        switch label.lowercased() {
        case "utf-8", "utf8", "unicode-1-1-utf-8": self = .utf8
        // A mark gives the byte order; without one it is that of nearly all machines.
        case "utf-16", "utf-16le", "unicode", "ucs-2", "iso-10646-ucs-2": self = .utf16(isBigEndian: false)
        case "utf-16be": self = .utf16(isBigEndian: true)
        case "iso-8859-1", "iso8859-1", "iso_8859-1", "latin1", "l1", "us-ascii", "ascii", "ansi_x3.4-1968",
            "windows-1252", "cp1252", "x-cp1252":
            self = .singleByte(CharsetTables.windows1252)
        case "iso-8859-15", "iso8859-15", "iso_8859-15", "latin-9", "l9": self = .singleByte(CharsetTables.latin9)
        case "iso-8859-2", "iso8859-2", "latin2", "l2": self = .singleByte(CharsetTables.latin2)
        case "iso-8859-5", "iso8859-5", "cyrillic": self = .singleByte(CharsetTables.cyrillic)
        case "iso-8859-7", "iso8859-7", "greek": self = .singleByte(CharsetTables.greek)
        case "iso-8859-9", "iso8859-9", "latin5", "l5", "windows-1254", "cp1254":
            self = .singleByte(CharsetTables.windows1254)
        case "windows-1250", "cp1250": self = .singleByte(CharsetTables.windows1250)
        case "windows-1251", "cp1251": self = .singleByte(CharsetTables.windows1251)
        case "windows-1253", "cp1253": self = .singleByte(CharsetTables.windows1253)
        case "windows-1257", "cp1257": self = .singleByte(CharsetTables.windows1257)
        case "koi8-r", "koi8": self = .singleByte(CharsetTables.koi8r)
        case "koi8-u", "koi8-ru": self = .singleByte(CharsetTables.koi8u)
        default: return nil
        }
    }

    /// Replaces bytes that encode no character: no text has this byte, so no search finds it.
    private static let nothing: UInt8 = 0xFF

    /// The bytes as UTF-8, with `nothing` for bytes that encode no character.
    func utf8(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        switch self {
        case .utf8: Array(bytes)
        case .utf16(let isBigEndian): Self.utf8(utf16: bytes, isBigEndian: isBigEndian)
        case .singleByte(let upper): Self.utf8(bytes, upper)
        }
    }

    private static func utf8(_ bytes: ArraySlice<UInt8>, _ upper: [UInt16]) -> [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity(bytes.count + bytes.count / 8)
        for byte in bytes {
            if byte < 0x80 {
                text.append(byte)
            } else if let scalar = Unicode.Scalar(upper[Int(byte - 0x80)]), scalar != "\u{FFFD}" {
                text.append(contentsOf: String(Character(scalar)).utf8)
            } else {
                text.append(nothing)
            }
        }
        return text
    }

    private static func utf8(utf16 bytes: ArraySlice<UInt8>, isBigEndian: Bool) -> [UInt8] {
        let bytes = Array(bytes)
        var units: [UInt16] = []
        units.reserveCapacity(bytes.count / 2)
        for place in stride(from: 0, to: bytes.count - 1, by: 2) {
            let (first, second) = (UInt16(bytes[place]), UInt16(bytes[place + 1]))
            units.append(isBigEndian ? first << 8 | second : second << 8 | first)
        }
        var text: [UInt8] = []
        text.reserveCapacity(bytes.count)
        var parser = Unicode.UTF16.ForwardParser()
        var rest = units.makeIterator()
        scalars: while true {
            switch parser.parseScalar(from: &rest) {
            case .valid(let scalar): text.append(contentsOf: String(Character(UTF16.decode(scalar))).utf8)
            case .error: text.append(nothing)
            case .emptyInput: break scalars
            }
        }
        // Half a code unit at the end.
        if bytes.count % 2 == 1 { text.append(nothing) }
        return text
    }
}

/// An answer's body as the text that expressions, expectations and paths are applied to, in UTF-8 as far as it is text.
package struct BodyText: Sendable {
    /// The text in UTF-8; bytes that encode no character stay invalid.
    package let bytes: [UInt8]
    /// The text to show to people: U+FFFD for bytes that encode no character.
    package var told: [UInt8] { Array(String(decoding: bytes, as: UTF8.self).utf8) }
    /// Whether the body has another encoding, so that its own bytes differ from `bytes`.
    package let wasConverted: Bool

    /// A byte order mark decides the encoding, else `charset`. Without either the bytes stay as they are: nearly always
    /// they are UTF-8, and bytes that are no text can contain a text all the same. Throws for an unknown encoding.
    package init(_ body: [UInt8], charset: String?) throws(TransferError) {
        if body.starts(with: [0xEF, 0xBB, 0xBF]) {
            (bytes, wasConverted) = (Array(body.dropFirst(3)), false)
        } else if body.starts(with: [0xFE, 0xFF]) {
            (bytes, wasConverted) = (Charset.utf16(isBigEndian: true).utf8(body.dropFirst(2)), true)
        } else if body.starts(with: [0xFF, 0xFE]) {
            (bytes, wasConverted) = (Charset.utf16(isBigEndian: false).utf8(body.dropFirst(2)), true)
        } else if let charset, !charset.isEmpty {
            guard let known = Charset(label: charset) else {
                throw TransferError(
                    .unexpectedResponse,
                    "the body is written in \(ForeignText.quoted(charset)), which is not known: "
                        + "nothing can be looked for in it"
                )
            }
            bytes = known.utf8(body[...])
            wasConverted = known != .utf8 && bytes != body
        } else {
            (bytes, wasConverted) = (body, false)
        }
    }
}
