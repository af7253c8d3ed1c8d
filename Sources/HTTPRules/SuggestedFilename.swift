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
    /// control character, nothing that makes a terminal or a file manager show another name than it is, nothing that a
    /// shell, a program's options or Windows take for something else. Browsers change the same names. Works on scalars
    /// throughout: to Swift a `/` that a combining mark follows is another character, to the kernel it is a `/`.
    package static func safe(_ name: String) -> String? {
        if isPlain(name) { return name }
        let last = Array(name.unicodeScalars).split { $0 == "/" || $0 == "\\" }.last ?? []
        var scalars = last.map { isHarmless($0) ? $0 : "_" }[...].drop(while: isBlank)
        while let end = scalars.last, isBlank(end) { scalars.removeLast() }
        guard let first = scalars.first, !scalars.elementsEqual(["."]), !scalars.elementsEqual([".", "."]) else {
            return nil
        }
        // A name from the network must not hide a file, look like a temporary file of this program, or like an option.
        if first == "." || first == "-" || first == "~" { scalars[scalars.startIndex] = "_" }
        if isDevice(scalars) { scalars = ["_"] + scalars }
        return withPlainEnd(shortened(scalars))
    }

    /// Whether the name needs no change, as nearly every name: printable ASCII, no separator, not hidden, no option, no
    /// device, not too long.
    private static func isPlain(_ name: String) -> Bool {
        let bytes = name.utf8
        guard let first = bytes.first, let last = bytes.last, !".-~".utf8.contains(first), last != UInt8(ascii: "."),
            bytes.count <= maximumLength
        else { return false }
        let isReadable = bytes.allSatisfy {
            (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "\\")
        }
        // Names of devices begin so, and are not longer: CON, PRN, AUX, NUL, COM1, LPT1, CONOUT$, CLOCK$.
        let mayBeDevice =
            "CPANLcpanl".utf8.contains(first) && bytes.prefix(8).prefix { $0 != UInt8(ascii: ".") }.count < 8
        return isReadable && !(mayBeDevice && isDevice(name.unicodeScalars))
    }

    /// Whether Windows takes the name, with any extension, for a device.
    private static func isDevice(_ name: some Collection<Unicode.Scalar>) -> Bool {
        var stem = name.prefix { $0 != "." }.prefix(9).map { scalar -> Unicode.Scalar in
            ("a"..."z").contains(scalar) ? Unicode.Scalar(UInt8(scalar.value) - 0x20) : scalar
        }
        while stem.last == " " { stem.removeLast() }
        let text = String(String.UnicodeScalarView(stem))
        if ["CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$", "CLOCK$"].contains(text) { return true }
        guard stem.count == 4, text.hasPrefix("COM") || text.hasPrefix("LPT") else { return false }
        return ("1"..."9").contains(stem[3]) || ["\u{B9}", "\u{B2}", "\u{B3}"].contains(stem[3])
    }

    /// Returns the name with `_` for each dot and space at its end, which Windows would leave out.
    private static func withPlainEnd(_ name: String) -> String {
        let scalars = Array(name.unicodeScalars)
        let count = scalars.reversed().prefix { $0 == "." || isBlank($0) }.count
        return count == 0 ? name : text(scalars.dropLast(count)) + String(repeating: "_", count: count)
    }

    private static func isBlank(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x20, 0xA0, 0x1680, 0x2000...0x200A, 0x202F, 0x205F, 0x3000: true
        default: false
        }
    }

    /// Whether the scalar is shown, and changes nothing about how others are shown.
    private static func isHarmless(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0x7F..<0xA0: false
        // Line ends, marks that turn the direction of writing, and the byte order mark.
        case 0x061C, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069, 0xFEFF: false
        // Of no width: joiners, hyphens, fillers, selectors of a variant, tags, controls of musical and old scripts.
        case 0xAD, 0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x180B...0x180F, 0x200B...0x200D, 0x2060...0x206F, 0x3164,
            0xFE00...0xFE0F, 0xFFA0, 0xFFF0...0xFFFB, 0x1_BCA0...0x1_BCA3, 0x1_D173...0x1_D17A, 0xE_0000...0xE_0FFF:
            false
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
