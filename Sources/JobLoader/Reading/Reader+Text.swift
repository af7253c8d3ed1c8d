import Diagnostics
import TransferModel
import YAMLTree

/// The place of an interpolated text, which decides the characters that a value may contain.
enum Place {
    case value
    case header
    case url
    case path
    /// A word of a command: no shell reads it, but a NUL would end it.
    case word
    /// A part of a JSON or form body.
    case body
}

extension Reader {
    /// Reads a text. `captures`: the key also allows captured values, which are known only when another task has ended;
    /// `runEnds`: what became of the run, which is known at its end.
    func secretText(
        _ node: NodeID, _ shape: Shape = .text, place: Place = .value, captures: Bool = false, runEnds: Bool = false
    ) -> SecretText? {
        switch scalar(node, shape, place: place) {
        case .text(let text):
            if text.awaitsCapture, !captures || !scope.isInTask, !(runEnds && text.awaitsRunEndsAlone) {
                return refuseCapture(node)
            }
            return checked(text, node, place) ? text : nil
        case .number(let number): return SecretText(number)
        case .boolean(let value) where acceptsWords(shape) || tree.hasDollar(node):
            return SecretText(tree.hasDollar(node) ? (value ? "true" : "false") : tree.text(node))
        case .null, .boolean:
            return wrongType(node, shape)
        case .unknown, nil: return nil
        }
    }

    /// Reports a captured value where the text decides what the job is and must be known before the run; returns `nil`.
    func refuseCapture<Text>(_ node: NodeID) -> Text? {
        forgetCaptures(in: node)
        return error(
            "capture-not-allowed", "a captured value cannot stand in `\(key)`",
            hint: "it is known only in mid-run; it can stand in a task's `url`, `query`, `headers`, `body`, "
                + "`contentType`, `to`, `checksum` and `expect.body`",
            node)
    }

    /// Forgets the uses of captured values in a node that cannot hold any: whether such a value exists does not matter
    /// then.
    func forgetCaptures(in node: NodeID) {
        let span = tree.span(node)
        scope.captureUses.removeAll { use in
            let (start, end) = ((use.span.line, use.span.column), (use.span.endLine, use.span.endColumn))
            return start >= (span.line, span.column) && end <= (span.endLine, span.endColumn)
        }
    }

    private func acceptsWords(_ shape: Shape) -> Bool {
        if case .scalar = shape { true } else { false }
    }

    func checked(_ text: SecretText, _ node: NodeID, _ place: Place) -> Bool {
        switch place {
        case .header: return refuse(text, node, "a header", [0x0D, 0x0A, 0x00])
        case .url: return refuse(text, node, "a URL", [0x0D, 0x0A, 0x00])
        case .path, .word: return refuse(text, node, "`\(key)`", [0x00])
        case .value, .body: return true
        }
    }

    private func refuse(_ text: SecretText, _ node: NodeID, _ what: String, _ bytes: [UInt8]) -> Bool {
        var revealed = text.plain ?? text.revealed
        guard let found = revealed.withUTF8({ $0.first { $0 < 0x0E && bytes.contains($0) } }) else { return true }
        let name = found == 0x0D ? "CR" : found == 0x0A ? "LF" : "NUL"
        error("control-character", "\(what) cannot hold \(name)", node)
        return false
    }

    // MARK: Paths

    /// Reads a path and makes it absolute; a relative one begins at the job's folder.
    func path(_ node: NodeID) -> String? {
        guard let text = text(node, .path, place: .path), checked(SecretText(text), node, .path),
            let path = absolutePath(text, node)
        else { return nil }
        warnOfShellPath(node)
        recordFile(["path", "to"].contains(key.description) ? .write : .read, path, node)
        return path
    }

    func pathText(_ node: NodeID) -> SecretText? {
        guard let text = secretText(node, .path, place: .path), let path = absolute(text, node) else { return nil }
        warnOfShellPath(node)
        recordFile(key.description == "to" ? .write : .read, path.redacted, node)
        return path
    }

    /// Warns of a path that only a shell would take for one below the home folder or a variable's.
    func warnOfShellPath(_ node: NodeID) {
        let first = tree.withUTF8(node) { $0.first }
        guard first == UInt8(ascii: "~") || first == UInt8(ascii: "$") else { return warnOfForeignReference(node) }
        let word = tree.text(node).prefix { $0 != "/" }
        let name = word == "~" ? "HOME" : String(word.dropFirst())
        guard word == "~" || word.hasPrefix("$") && Names.isWellFormed(name), !names.defines(name) else {
            return warnOfForeignReference(node)
        }
        warning(
            "no-shell", "no shell reads `\(key)`: `\(word)` is the name of a folder here",
            hint: "write `${env.\(name)}`; for a folder of that name write `./\(word)`", at: tree.span(node))
    }

    private func absolute(_ text: SecretText, _ node: NodeID) -> SecretText? {
        if let plain = text.plain { return absolutePath(plain, node).map { SecretText($0) } }
        if case .literal(let start)? = text.pieces.first, start.hasPrefix("/") { return text }
        return SecretText(pieces: [.literal(baseDirectory == "/" ? "/" : baseDirectory + "/")] + text.pieces)
    }

    /// An absolute path made of one that is relative to the job's folder, without noting what it is for.
    func absolutePath(_ text: String, _ node: NodeID) -> String? {
        guard !text.isEmpty else { return error("invalid-value", "`\(key)` must be a path, not empty", node) }
        return Paths.absolute(text, in: baseDirectory)
    }

    // MARK: URLs

    func urlText(_ node: NodeID, captures: Bool = false) -> SecretText? {
        secretText(node, .url, place: .url, captures: captures)
    }

    func url(_ node: NodeID) -> ResourceURL? {
        urlText(node).flatMap { parseURL($0, node) }
    }

    func parseURL(_ text: SecretText, _ node: NodeID) -> ResourceURL? {
        do {
            guard let url = rewritten(try urls.parse(text.plain ?? text.revealed), node) else { return nil }
            // The host is unknown until the value is.
            if missingValues == .tolerated, MissingValue.stands(in: url.host) {
                recordUnknownHost("", node)
                return nil
            }
            if text.plain == nil, let name = text.secretBarred(from: url.origin) {
                return error(
                    "secret-elsewhere", "the secret `\(name)` may not be sent to `\(text.barredPlace(url.origin))`",
                    hint: "its `hosts` say where it may go", node)
            }
            warnOfPlaceholder(node, in: .url)
            recordHost(url, node)
            return url
        } catch {
            if missingValues == .tolerated, MissingValue.stands(in: text.revealed) {
                recordUnknownHost("", node)
                return nil
            }
            let shown = text.isSecret ? text.redacted : (text.plain ?? text.redacted)
            let message = text.isSecret ? "a part of it is wrong" : error.message
            return self.error(
                "invalid-url", "`\(Self.short(shown))` is no URL: \(message)",
                hint: foreignReference(node).map { "write `\($0.meant)` for `\($0.written)`" }
                    ?? (text.isSecret ? nil : urlHint(shown)), at: urlSpan(node, error.offset))
        }
    }

    /// Returns the URL that was probably meant by a text without a scheme, by a path, or by a scheme with a single `/`.
    private func urlHint(_ text: String) -> String? {
        func hint(_ meant: String) -> String? {
            (try? ResourceURL.parse(meant)).map { _ in "write `\(Self.short(meant))`" }
        }
        for scheme in ["http", "https", "ftp"] where text.hasPrefix("\(scheme):") {
            let rest = text.dropFirst(scheme.utf8.count + 1).drop { $0 == "/" }
            return rest.isEmpty ? nil : hint("\(scheme)://\(rest)")
        }
        if text.hasPrefix("//") { return hint("https:\(text)") }
        if text.hasPrefix("/") { return hint("file://\(text)") }
        if text.hasPrefix("./") || text.hasPrefix("../") {
            return hint("file://\(Paths.absolute(text, in: baseDirectory))")
        }
        let authority = text.prefix { $0 != "/" && $0 != "?" }
        let host = authority.prefix { $0 != ":" }
        let isHere = host == "localhost" || host.hasPrefix("127.")
        let port = authority.dropFirst(host.count)
        // A name with a dot alone may as well be a file's.
        guard isHere || host.contains(".") && authority.count < text.count || !port.isEmpty,
            port.isEmpty || port.count > 1 && port.dropFirst().allSatisfy(\.isNumber)
        else { return nil }
        return hint("\(isHere || port == ":80" || port == ":8080" ? "http" : "https")://\(text)")
    }

    /// Returns the position of a fault within the URL, where that can be determined.
    private func urlSpan(_ node: NodeID, _ offset: Int) -> SourceSpan {
        let span = tree.span(node)
        let text = tree.text(node)
        guard tree.isPlain(node), !tree.hasDollar(node), span.line == span.endLine, offset < text.utf8.count else {
            return span
        }
        let before = String(decoding: text.utf8.prefix(offset), as: UTF8.self).unicodeScalars.count
        return SourceSpan(
            line: span.line, column: span.column + Int32(before), endLine: span.line, endColumn: span.endColumn)
    }
}

enum Paths {
    /// Returns the path made absolute in `folder`, which has no `/` at its end unless it is the root. Empty and `.`
    /// segments are removed; `..` and a last `/` stay: a link in the path may lead elsewhere than its text says.
    static func absolute(_ path: String, in folder: String) -> String {
        let joined = path.utf8.first == UInt8(ascii: "/") ? path : (folder == "/" ? "/" : folder + "/") + path
        return isTidy(joined) ? joined : tidied(joined)
    }

    private static func isTidy(_ path: String) -> Bool {
        var previous: UInt8 = 0
        var path = path
        return path.withUTF8 { bytes in
            for (index, byte) in bytes.enumerated() {
                if previous == UInt8(ascii: "/") {
                    if byte == UInt8(ascii: "/") { return false }
                    let following = index + 1 < bytes.count ? bytes[index + 1] : UInt8(ascii: "/")
                    if byte == UInt8(ascii: "."), following == UInt8(ascii: "/") { return false }
                }
                previous = byte
            }
            return true
        }
    }

    private static func tidied(_ path: String) -> String {
        let kept = path.split(separator: "/").filter { $0 != "." }
        let isFolder = path.hasSuffix("/") && !kept.isEmpty
        return "/" + kept.joined(separator: "/") + (isFolder ? "/" : "")
    }

    /// Returns the path without `..`, the form in which two paths are compared.
    static func resolvingDots(_ path: String) -> String {
        hasTwoDots(path) ? PathText.withoutDots(path) : path
    }

    /// Returns the path with the `..` after `folder` resolved, as far as they stay below it.
    static func resolvingDots(_ path: String, below folder: String) -> String {
        let start = folder == "/" ? "/" : folder + "/"
        guard path.utf8.starts(with: start.utf8), hasTwoDots(path) else { return path }
        var kept: [String] = []
        // Compared by bytes: a slash with a combining mark after it is still a separator.
        let slash = UInt8(ascii: "/")
        for segment in path.utf8.dropFirst(start.utf8.count).split(separator: slash) {
            let isUp = segment.elementsEqual("..".utf8)
            if !isUp { kept.append(String(Substring(segment))) } else if kept.popLast() == nil { return path }
        }
        return start + kept.joined(separator: "/") + (path.utf8.last == slash && !kept.isEmpty ? "/" : "")
    }

    /// Returns whether `..` occurs anywhere in the path: a cheap test that usually settles the question.
    static func hasTwoDots(_ path: String) -> Bool {
        var path = path
        return path.withUTF8 { bytes in
            var previous: UInt8 = 0
            for byte in bytes {
                if byte == UInt8(ascii: "."), previous == byte { return true }
                previous = byte
            }
            return false
        }
    }

    /// Returns the path before the last `/`; `/` for a name in the root.
    static func folder(of path: String) -> String {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "" }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    static func lastComponent(of path: String) -> String {
        path.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(path[path.index(after: $0)...]) } ?? path
    }
}
