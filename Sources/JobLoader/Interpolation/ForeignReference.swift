import Diagnostics
import YAMLTree

/// A variable's name written as other programs, or texts to be filled in by hand, write references. Here it is plain text.
struct ForeignReference {
    enum Form {
        /// `$name`
        case dollar
        /// `{{name}}`
        case doubleBraces
        /// `{name}`
        case braces
        /// `<name>`, also of several words
        case angles
    }

    let form: Form
    /// The reference as the file writes it.
    let written: String
    /// The name that it means.
    let name: String

    /// Whether the name is one that variables of the environment have.
    var isOfEnvironment: Bool {
        name.utf8.count > 1 && Names.isWellFormed(name) && !name.utf8.contains { (0x61...0x7A).contains($0) }
    }

    /// The reference as this job language writes it.
    var meant: String { "${\(name)}" }

    /// Returns the first one in a text that is meant as one; `nil` if there is none.
    static func first(in text: String, where isMeant: (ForeignReference) -> Bool) -> ForeignReference? {
        let bytes = Array(text.utf8)
        var position = 0
        while position < bytes.count {
            let rest = bytes[position...]
            if rest.starts(with: "$$".utf8) || rest.starts(with: "${".utf8) {
                position += 2
                continue
            }
            let found = rest.first == UInt8(ascii: "$") ? afterDollar(rest) : enclosed(rest)
            if let found, isMeant(found) { return found }
            position += 1
        }
        return nil
    }

    /// Whether a text has two characters with which a reference may begin: hardly any has, and all are looked at.
    static func mayStand(in text: UnsafeBufferPointer<UInt8>) -> Bool {
        var (last, before): (UInt8, UInt8) = (0, 0)
        for byte in unsafe text {
            switch last {
            case UInt8(ascii: "{"): if byte == last || before != UInt8(ascii: "$") && isPartOfWord(byte) { return true }
            case UInt8(ascii: "$"), UInt8(ascii: "<"): if isPartOfWord(byte) { return true }
            default: break
            }
            (last, before) = (byte, last)
        }
        return false
    }

    private static func afterDollar(_ text: ArraySlice<UInt8>) -> ForeignReference? {
        let name = String(decoding: text.dropFirst().prefix { isPartOfWord($0) }, as: UTF8.self)
        return name.isEmpty ? nil : ForeignReference(form: .dollar, written: "$\(name)", name: name)
    }

    private static func enclosed(_ text: ArraySlice<UInt8>) -> ForeignReference? {
        if text.starts(with: "{{".utf8) { return enclosed(text, .doubleBraces, "{{", "}}", " .-") }
        switch text.first {
        case UInt8(ascii: "{"): return enclosed(text, .braces, "{", "}", "")
        case UInt8(ascii: "<"): return enclosed(text, .angles, "<", ">", " -")
        default: return nil
        }
    }

    /// `others` are characters that may stand in it beside those of a word.
    private static func enclosed(
        _ text: ArraySlice<UInt8>, _ form: Form, _ open: String, _ close: String, _ others: String
    ) -> ForeignReference? {
        let inner = text.dropFirst(open.utf8.count).prefix { isPartOfWord($0) || others.utf8.contains($0) }
        guard text[inner.endIndex...].starts(with: close.utf8) else { return nil }
        let words = inner.split { !isPartOfWord($0) && $0 != UInt8(ascii: "-") }
            .map { String(decoding: $0, as: UTF8.self) }
        // `{{ secrets.TOKEN }}` means the last, `<your token>` both.
        let name = form == .doubleBraces ? words.last ?? "" : words.joined(separator: "_")
        // `a < b > c` compares.
        guard Names.isWellFormed(name), form != .angles || inner.first != UInt8(ascii: " ") else { return nil }
        let written = text[..<text.index(inner.endIndex, offsetBy: close.utf8.count)]
        return ForeignReference(form: form, written: String(decoding: written, as: UTF8.self), name: name)
    }

    private static func isPartOfWord(_ byte: UInt8) -> Bool {
        (0x61...0x7A).contains(byte | 0x20) && byte < 0x80 || (0x30...0x39).contains(byte) || byte == UInt8(ascii: "_")
    }
}

extension Reader {
    /// Returns the first reference of another tool's form in a scalar that means a name of this job.
    func foreignReference(_ node: NodeID) -> ForeignReference? {
        guard tree.withUTF8(node, { ForeignReference.mayStand(in: $0) }) else { return nil }
        return ForeignReference.first(in: tree.text(node)) {
            ($0.form == .dollar || $0.form == .doubleBraces) && isKnown($0.name)
        }
    }

    private func isKnown(_ name: String) -> Bool { names.defines(name) || scope.binding(name) != nil }

    /// Warns of a reference that is written as for another tool, and is plain text here.
    func warnOfForeignReference(_ node: NodeID) {
        if let found = foreignReference(node) { warn(of: found, node) }
    }

    /// A text that is sent to a server as it is written.
    enum SentText {
        case url
        /// A header's value, or one of a query.
        case value
        /// One that is a reference as a whole, or none: any sign may stand in a password, and a `$` may begin it.
        case credential, password
    }

    /// Warns of a reference that is written as for another tool, or for a reader to fill in, and would be sent so.
    func warnOfPlaceholder(_ node: NodeID, in sent: SentText) {
        guard tree.kind(node) == .scalar, tree.withUTF8(node, { ForeignReference.mayStand(in: $0) }) else { return }
        let text = tree.text(node)
        let found = ForeignReference.first(in: text) { found in
            switch sent {
            case .url, .value: break
            case .credential, .password: if found.written != text { return false }
            }
            return switch found.form {
            case .dollar:
                sent != .password && (found.isOfEnvironment || isKnown(found.name))
                    && !Self.isBeforeAt(found.written, in: text)
            case .doubleBraces: true
            case .braces: sent == .url
            case .angles: text == found.written || Self.isWord(found.written, in: text)
            }
        }
        if let found { warn(of: found, node) }
    }

    /// Whether it stands in the user or password of a URL.
    private static func isBeforeAt(_ written: String, in url: String) -> Bool {
        guard let start = url.utf8.firstIndex(of: UInt8(ascii: ":")) else { return false }
        let authority = url[start...].drop { ":/".contains($0) }.prefix { $0 != "/" }
        return authority.contains("@") && authority.contains(written)
    }

    /// Whether it stands between blanks, or is a value by itself: it is no mark of HTML then.
    private static func isWord(_ written: String, in text: String) -> Bool {
        let words = text.split { " =:,;&/".contains($0) }
        return words.contains { $0 == written } || written.contains(" ") && !text.contains("</")
    }

    private func warn(of found: ForeignReference, _ node: NodeID) {
        guard !isKnown(found.name) else {
            return warning(
                "foreign-reference", "`\(found.written)` is plain text here, though the job has a `\(found.name)`",
                hint: "write `\(found.meant)`", at: tree.span(node))
        }
        let variable = String(found.name.uppercased().map { $0 == "-" ? "_" : $0 })
        warning(
            "literal-placeholder", "`\(found.written)` is plain text here, and is sent so",
            hint:
                "write `${env.\(variable)}` for a variable of the environment, `${secret.\(found.name)}` for a secret, "
                + "`\(found.meant)` for a variable of the job", at: tree.span(node))
    }
}
