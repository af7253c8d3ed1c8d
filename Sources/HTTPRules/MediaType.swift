import TransferModel

/// A media type from a `Content-Type` header, which `expect.mimeType` compares and the report shows.
package struct MediaType: Hashable, Sendable {
    /// Type and subtype in lower case, without parameters.
    package let type: String
    /// Value of the `charset` parameter, letter case as written; `nil` without one.
    package let charset: String?

    /// `nil` when the text is no media type.
    package init?(_ text: String) {
        let parameters = HeaderParameters(text)
        let parts = parameters.value.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        guard parts.count == 2, parts.allSatisfy({ !$0.isEmpty && $0.allSatisfy(Self.isTokenByte) }) else {
            return nil
        }
        type = parameters.value.lowercased()
        charset = parameters["charset"].flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Whether a byte may be part of a token (RFC 9110, section 5.6.2).
    private static func isTokenByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
    }

    /// Whether `pattern` is well-formed, so that a type can match it; types are compared without their parameters.
    package static func isPattern(_ pattern: String) -> Bool {
        let parts = pattern.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        guard parts.allSatisfy({ !$0.isEmpty && $0.allSatisfy(isTokenByte) }) else { return false }
        return parts.count == 2 || parts.count == 1 && pattern.utf8.contains(UInt8(ascii: "*"))
    }

    /// Whether the type matches `pattern`, in which `*` stands for anything: `image/*`, `*/*`, `application/*+json`.
    package func matches(_ pattern: String) -> Bool {
        Self.matches(Array(type.utf8)[...], Array(pattern.lowercased().utf8)[...])
    }

    private static func matches(_ text: ArraySlice<UInt8>, _ pattern: ArraySlice<UInt8>) -> Bool {
        let pieces = pattern.split(separator: UInt8(ascii: "*"), omittingEmptySubsequences: false)
        guard pieces.count > 1, let first = pieces.first, let last = pieces.last else {
            return text.elementsEqual(pattern)
        }
        guard text.starts(with: first), text.count >= first.count + last.count, text.suffix(last.count) == last
        else { return false }
        var rest = text.dropFirst(first.count).dropLast(last.count)
        for piece in pieces.dropFirst().dropLast() where !piece.isEmpty {
            guard let found = rest.indices.first(where: { rest[$0...].starts(with: piece) }) else { return false }
            rest = rest[(found + piece.count)...]
        }
        return true
    }
}

/// A parsed header value of the shape `value; name=text; name="quoted \" text"`, as in Content-Type and
/// Content-Disposition.
struct HeaderParameters {
    let value: String
    private var parameters: [(name: String, value: String)] = []

    init(_ text: String) {
        var rest = Array(text.utf8)[...]
        value = String(Self.take(&rest, until: ";", or: ";").trimmed())
        while !rest.isEmpty {
            rest = rest.drop { $0 == UInt8(ascii: ";") || $0 == 0x20 || $0 == 0x09 }
            let name = String(Self.take(&rest, until: "=", or: ";").trimmed()).lowercased()
            guard rest.first == UInt8(ascii: "=") else { continue }
            rest = rest.dropFirst().drop { $0 == 0x20 || $0 == 0x09 }
            let text =
                rest.first == UInt8(ascii: "\"")
                ? Self.takeQuoted(&rest) : String(Self.take(&rest, until: ";", or: ";").trimmed())
            if !name.isEmpty { parameters.append((name, text)) }
        }
    }

    /// The first parameter of that name, which must be in lower case.
    subscript(name: String) -> String? { parameters.first { $0.name == name }?.value }

    private static func take(
        _ rest: inout ArraySlice<UInt8>, until stop: Unicode.Scalar, or other: Unicode.Scalar
    ) -> ArraySlice<UInt8> {
        let end = rest.firstIndex { $0 == UInt8(ascii: stop) || $0 == UInt8(ascii: other) } ?? rest.endIndex
        let taken = rest[rest.startIndex..<end]
        rest = rest[end...]
        return taken
    }

    private static func takeQuoted(_ rest: inout ArraySlice<UInt8>) -> String {
        rest = rest.dropFirst()
        var text: [UInt8] = []
        while let byte = rest.popFirst(), byte != UInt8(ascii: "\"") {
            text.append(byte == UInt8(ascii: "\\") ? rest.popFirst() ?? byte : byte)
        }
        return String(decoding: text, as: UTF8.self)
    }
}
