package import TransferModel

/// Derives the name of a downloaded file from its answer: `Content-Disposition` (RFC 6266), else the URL, made safe.
package enum SuggestedFilename {
    /// Returns the name; `nil` when neither source gives a usable one.
    package static func of(_ headers: HeaderBlock, url: ResourceURL) -> String? {
        if let disposition = headers.first("content-disposition") {
            let parameters = HeaderParameters(disposition)
            if let extended = parameters["filename*"].flatMap(decodeExtended), let name = safe(extended) { return name }
            if let plain = parameters["filename"], let name = safe(plain) { return name }
        }
        return url.lastPathComponent.flatMap { safe($0) }
    }

    /// Decodes an extended value (RFC 8187): `UTF-8''na%C3%AFve.txt`.
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

    /// Length in bytes of the longest name that Linux filesystems accept.
    private static let maximumLength = 255
    /// Length in bytes up to which the end after a dot counts as an extension, which is kept when a name is cut.
    private static let maximumExtension = 20

    /// Returns `name` as one path component that names a visible, ordinary file, or `nil`: no folder, no way up, no
    /// control character, nothing that makes a terminal or a file manager show another name than it is. Works on
    /// scalars throughout: to Swift a `/` that a combining mark follows is another character, to the kernel it is a
    /// `/`.
    package static func safe(_ name: String) -> String? {
        if isPlain(name) { return name }
        let last = Array(name.unicodeScalars).split { $0 == "/" || $0 == "\\" }.last ?? []
        var scalars = last.map { isHarmless($0) ? $0 : "_" }[...]
        scalars = scalars.drop { $0 == " " }
        while scalars.last == " " { scalars.removeLast() }
        if scalars.elementsEqual(["."]) || scalars.elementsEqual([".", "."]) { return nil }
        // A name from the network must not hide a file, or look like a temporary file of this program.
        if scalars.first == "." { scalars[scalars.startIndex] = "_" }
        let result = shortened(scalars)
        return result.isEmpty ? nil : result
    }

    /// Whether the name needs no change, as nearly every name: printable ASCII, no separator, not hidden, not too long.
    private static func isPlain(_ name: String) -> Bool {
        guard let first = name.utf8.first, first != UInt8(ascii: "."), name.utf8.count <= maximumLength else {
            return false
        }
        return name.utf8.allSatisfy {
            (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "\\")
        }
    }

    private static func isHarmless(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0x7F..<0xA0: false
        // Marks that turn the direction of writing, line ends, and the byte order mark.
        case 0x061C, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069, 0xFEFF: false
        default: true
        }
    }

    /// The name cut to the longest length, before the extension if there is one.
    private static func shortened(_ scalars: ArraySlice<Unicode.Scalar>) -> String {
        guard size(scalars) > maximumLength else { return text(scalars) }
        var ending: ArraySlice<Unicode.Scalar> = []
        if let dot = scalars.lastIndex(of: "."), dot > scalars.startIndex, size(scalars[dot...]) <= maximumExtension {
            ending = scalars[dot...]
        }
        var room = maximumLength - size(ending)
        let stem = scalars.prefix { scalar in
            room -= UTF8.width(scalar)
            return room >= 0
        }
        return text(stem) + text(ending)
    }

    private static func size(_ scalars: ArraySlice<Unicode.Scalar>) -> Int {
        scalars.reduce(0) { $0 + UTF8.width($1) }
    }

    private static func text(_ scalars: ArraySlice<Unicode.Scalar>) -> String {
        String(String.UnicodeScalarView(scalars))
    }
}
