package import TransferModel

/// What to call a file that a server sends: its own word (RFC 6266), else the URL's, made safe.
package enum SuggestedFilename {
    /// `nil` when neither gives a usable name.
    package static func of(_ headers: HeaderBlock, url: ResourceURL) -> String? {
        if let disposition = headers.first("content-disposition") {
            let parameters = HeaderParameters(disposition)
            if let extended = parameters["filename*"].flatMap(decodeExtended), let name = safe(extended) { return name }
            if let plain = parameters["filename"], let name = safe(plain) { return name }
        }
        return url.lastPathComponent.flatMap { safe($0) }
    }

    /// RFC 8187: `UTF-8''na%C3%AFve.txt`.
    private static func decodeExtended(_ text: String) -> String? {
        let parts = text.split(separator: "'", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3 else { return nil }
        let bytes = PercentEncoding.decodeBytes(parts[2])
        switch parts[0].lowercased() {
        case "utf-8": return String(validating: bytes, as: UTF8.self)
        case "iso-8859-1": return String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
        default: return nil
        }
    }

    /// One path component that names a visible, ordinary file: no folder, no way up, no control character.
    package static func safe(_ name: String) -> String? {
        isPlain(name) ? name : madeSafe(name)
    }

    /// Nothing in it needs a closer look: printable ASCII without a separator, not hidden, not long.
    private static func isPlain(_ name: String) -> Bool {
        guard let first = name.utf8.first, first != UInt8(ascii: "."), name.utf8.count <= 255 else { return false }
        return name.utf8.allSatisfy {
            (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "\\")
        }
    }

    private static func madeSafe(_ name: String) -> String? {
        let last = name.split(whereSeparator: { $0 == "/" || $0 == "\\" }).last.map(String.init) ?? ""
        let scalars = last.unicodeScalars.map { scalar -> Unicode.Scalar in
            switch scalar.value {
            case 0..<0x20, 0x7F, 0x80..<0xA0, 0x202A...0x202E, 0x2066...0x2069, 0x200E, 0x200F: "_"
            default: scalar
            }
        }
        var result = String(String.UnicodeScalarView(scalars))
        while let first = result.first, first == " " { result.removeFirst() }
        while let end = result.last, end == " " { result.removeLast() }
        if result.hasPrefix(".transfer-run-") { result = "_" + result }
        while result.utf8.count > 255 { result.removeLast() }
        return result.isEmpty || result == "." || result == ".." ? nil : result
    }
}
