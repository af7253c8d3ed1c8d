package import TransferModel

/// Judges `expect.magic` and `expect.notHTML` on the first bytes of a body as they arrive, so that an unwanted body is
/// recognized long before its end. The bytes are those that were sent, before any decoding.
package struct BodyStart: Sendable {
    /// Bytes of a body that are looked at, at most. A body undecided by then is no web page.
    package static let longest = 1024
    private let magic: Expectations.Magic?
    private var seen: [UInt8] = []
    private var needsMagic: Bool
    private var mayBeHTML: Bool

    /// `nil` when the expectations accept any beginning.
    package init?(_ expect: Expectations) {
        guard expect.magic != nil || expect.notHTML else { return nil }
        magic = expect.magic
        needsMagic = magic != nil
        mayBeHTML = expect.notHTML
    }

    /// Whether every expectation of the beginning is met.
    package var isSettled: Bool { !needsMagic && !mayBeHTML }

    /// Adds further bytes of the body; throws as soon as the body cannot meet the expectations any more.
    package mutating func take(_ bytes: some Sequence<UInt8>) throws(TransferError) {
        guard !isSettled else { return }
        seen += bytes.prefix(Self.longest - seen.count)
        try judge(isWhole: seen.count >= Self.longest)
    }

    /// Ends the body; throws when its beginning did not meet the expectations.
    package mutating func end() throws(TransferError) {
        if !isSettled { try judge(isWhole: true) }
    }

    private mutating func judge(isWhole: Bool) throws(TransferError) {
        if needsMagic, let magic {
            switch magic.begins(seen, isWhole: isWhole) {
            case true?: needsMagic = false
            case false?:
                throw TransferError(
                    .magicMismatch, "expected \(magic.words), \(Self.beginning(seen, like: magic))")
            case nil: break
            }
        }
        if mayBeHTML {
            switch WebPage.begins(seen, isWhole: isWhole) {
            case true?: throw TransferError(.unexpectedHTML, "the body begins like a web page")
            case false?: mayBeHTML = false
            case nil: break
            }
        }
    }

    /// Describes the body's first bytes, as many as may differ from the expected ones, between 8 and 64.
    private static func beginning(_ bytes: [UInt8], like magic: Expectations.Magic) -> String {
        guard !bytes.isEmpty else { return "the body is empty" }
        let shown = bytes.prefix(min(max(magic.longest, 8), 64))
        return "the body begins with `\(hex(shown, separator: " "))`"
    }

    fileprivate static func hex(_ bytes: some Sequence<UInt8>, separator: String) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined(separator: separator)
    }
}

extension Expectations.Magic {
    /// Byte sequences of which any may begin the body.
    private var signatures: [[UInt8]] {
        switch self {
        case .gzip: [[0x1F, 0x8B]]
        // A local file, an empty archive, a first part of several.
        case .zip: [[0x50, 0x4B, 3, 4], [0x50, 0x4B, 5, 6], [0x50, 0x4B, 7, 8]]
        case .xz: [[0xFD, 0x37, 0x7A, 0x58, 0x5A, 0]]
        // A frame, or one that decoders skip, which `pzstd` writes first.
        case .zstd: [[0x28, 0xB5, 0x2F, 0xFD]] + (0x50...0x5F).map { [$0, 0x2A, 0x4D, 0x18] }
        case .pdf: [Array("%PDF-".utf8)]
        case .elf: [[0x7F, 0x45, 0x4C, 0x46]]
        case .bytes(let bytes): [bytes]
        }
    }

    fileprivate var longest: Int { signatures.map(\.count).max() ?? 0 }

    /// Whether a body that begins with these bytes is of this kind; `nil` while more bytes could decide it.
    fileprivate func begins(_ bytes: [UInt8], isWhole: Bool) -> Bool? {
        if signatures.contains(where: { bytes.starts(with: $0) }) { return true }
        return !isWhole && signatures.contains { $0.starts(with: bytes) } ? nil : false
    }

    fileprivate var words: String {
        switch self {
        case .gzip: "gzip"
        case .zip: "zip"
        case .xz: "xz"
        case .zstd: "zstd"
        case .pdf: "pdf"
        case .elf: "elf"
        case .bytes(let bytes): "`\(BodyStart.hex(bytes, separator: ""))`"
        }
    }
}

/// How web pages begin: after a byte order mark, white space and an XML declaration, with a document type, with one of
/// the tags that open a page, or with a comment. Letter case is ignored.
package enum WebPage {
    private static let tags = ["html", "head", "body", "title", "meta", "script", "style", "iframe"]
    private static let openings = (["<!doctype html"] + tags.map { "<\($0)" }).map { Array($0.utf8) }
    /// Openings that tell a web page after an XML declaration; a comment does not, because XML has comments too.
    private static let openingsInXML = ["<!doctype html", "<html"].map { Array($0.utf8) }
    private static let comment = Array("<!--".utf8)
    private static let declaration = Array("<?xml".utf8)

    /// Whether a media type, in lower case and without parameters, is that of a web page.
    package static func isType(_ type: String) -> Bool { type == "text/html" || type == "application/xhtml+xml" }

    /// Whether a body that begins with these bytes is a web page; `nil` while more bytes could decide it.
    static func begins(_ bytes: [UInt8], isWhole: Bool) -> Bool? {
        let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
        if bytes.count < mark.count, mark.starts(with: bytes) { return isWhole ? false : nil }
        let text = (bytes.starts(with: mark) ? bytes.dropFirst(mark.count) : bytes[...]).drop(while: isBlank)
        guard text.starts(with: declaration) else {
            return opens(text, openings, comment: comment, isWhole: isWhole)
        }
        guard let end = text.indices.dropFirst().first(where: { text[$0 - 1] == 0x3F && text[$0] == 0x3E }) else {
            return isWhole ? false : nil
        }
        return opens(text[(end + 1)...].drop(while: isBlank), openingsInXML, comment: nil, isWhole: isWhole)
    }

    private static func opens(
        _ text: ArraySlice<UInt8>, _ openings: [[UInt8]], comment: [UInt8]?, isWhole: Bool
    ) -> Bool? {
        if let comment, text.starts(with: comment) { return true }
        let text = folded(text)
        var isOpen = false
        for opening in openings {
            if text.starts(with: opening) {
                // `<header` is no `<head`.
                guard text.count > opening.count else { return isWhole ? true : nil }
                let next = text[opening.count]
                if isBlank(next) || next == UInt8(ascii: ">") || next == UInt8(ascii: "/") { return true }
            } else if opening.starts(with: text) {
                isOpen = true
            }
        }
        let mayBecomeOne = isOpen || comment?.starts(with: text) == true || declaration.starts(with: text)
        return mayBecomeOne && !isWhole ? nil : false
    }

    /// The text in lower case, with one blank for any white space, up to the length of the longest opening.
    private static func folded(_ text: ArraySlice<UInt8>) -> [UInt8] {
        var folded: [UInt8] = []
        for byte in text {
            if folded.count > 16 { break }
            if isBlank(byte) {
                if folded.last != 0x20 { folded.append(0x20) }
            } else {
                folded.append((0x41...0x5A).contains(byte) ? byte | 0x20 : byte)
            }
        }
        return folded
    }

    private static func isBlank(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0C || byte == 0x0D
    }
}
