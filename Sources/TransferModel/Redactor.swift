/// Replaces every known secret with `***`, in whatever form it is written: as it is, percent-encoded (also with `+` for
/// a space), escaped for JSON, in base64 of either alphabet at any alignment, and each of these inside another; and in
/// the other forms and parts that ``SecretForms`` knows.
///
/// Where it knows names too, the values that ``CredentialNames`` finds in URLs and headers are masked as well, in texts but
/// not in bodies: these are what the job asked for.
///
/// A text is searched as it stands and, when it holds a `%`, a `+` or a `\`, once more with those escapes undone; so it
/// does not matter which characters an encoder chose to escape, or in which case it writes hex.
package struct Redactor: Sendable {
    /// A redactor without secrets.
    package static let none = Redactor([])

    private let secrets: [KnownSecret]
    private let findsParts: Bool
    private let names: CredentialNames?
    /// Matches every secret and its other forms, in the text as it stands.
    private let plain: SecretMatcher
    /// Matches the long secrets and their other forms only: for the results of undone escapes, and for names.
    private let unescaped: SecretMatcher
    private static let shortest = 4
    private static let deepest = 3

    /// `findsParts`: a line of a secret, or a part of a secret URL, counts as the secret. Without it only the whole
    /// secret is found. `names`: those whose values are masked; `nil` for none.
    package init(_ secrets: [KnownSecret], findsParts: Bool = true, names: CredentialNames? = nil) {
        self.secrets = secrets
        self.names = names
        self.findsParts = findsParts
        let texts = Set(secrets.flatMap { [ExactText($0.value), ExactText(Self.withoutBlanks($0.value))] })
        let values = Set(texts.map { Array($0.text.utf8) }.filter { !$0.isEmpty })
        let long = values.filter { $0.count >= Self.shortest }
        var encoded = long.flatMap { [SecretMatcher.Pattern(bytes: $0)] + Self.base64Patterns(of: $0) }
        for value in texts {
            let forms = SecretForms(value.text)
            for form in forms.whole.union(findsParts ? forms.parts : []) where form.utf8.count >= Self.shortest {
                encoded.append(SecretMatcher.Pattern(bytes: Array(form.utf8)))
            }
        }
        unescaped = SecretMatcher(encoded)
        plain = SecretMatcher(values.map { SecretMatcher.Pattern(bytes: $0) } + encoded)
    }

    /// Returns the secret without the blanks around it, which readers of headers drop, unless so little is left that it
    /// could be anything.
    private static func withoutBlanks(_ value: String) -> String {
        func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }
        let bytes = value.utf8.drop { isBlank($0) }
        let end = bytes.lastIndex { !isBlank($0) }.map { bytes.index(after: $0) } ?? bytes.startIndex
        let rest = bytes[..<end]
        return rest.count < shortest ? value : String(Substring(rest))
    }

    /// Whether there is nothing to look for: every text is returned as it is, at no cost.
    package var isEmpty: Bool { plain.isEmpty && names == nil }

    /// The names, where there is no secret to look for beside them.
    var namesAlone: CredentialNames? { plain.isEmpty ? names : nil }

    /// Returns a redactor that also knows secrets learned during the run, such as captured values.
    package func adding(_ more: [KnownSecret]) -> Redactor {
        more.isEmpty ? self : Redactor(secrets + more, findsParts: findsParts, names: names)
    }

    /// Returns the text with `***` in the place of every secret.
    package func redacted(_ text: String) -> String {
        let clean = withoutSecrets(text)
        return names?.masked(clean) ?? clean
    }

    /// Redacts a path. Files are found again by it, so that no part of it is masked for a name beside it.
    func redacted(path: String) -> String { withoutSecrets(path) }

    /// Returns a header's value with `***` in the place of every secret, and of the whole value where its name says so.
    func redacted(_ value: String, ofHeader name: String) -> String {
        let clean = withoutSecrets(value)
        return names?.masked(clean, ofHeader: name) ?? clean
    }

    /// Whether something in the block is masked.
    func finds(in block: HeaderBlock) -> Bool { finds(in: block.bytes) || names?.concern(block) == true }

    private func withoutSecrets(_ text: String) -> String {
        if plain.isEmpty { return text }
        var text = text
        guard let clean = text.withUTF8({ withoutSecrets($0.span) }) else { return text }
        return String(decoding: clean, as: UTF8.self)
    }

    /// Redacts a name that the job's author, the protocol or the program chose: an id, a header's name, a method.
    /// Secrets cannot be put there, so that a short one found in it is chance: masking it would only give it away.
    package func redacted(name: String) -> String {
        if unescaped.isEmpty { return name }
        var name = name
        guard let clean = name.withUTF8({ withoutSecrets($0.span, plain: unescaped) }) else { return name }
        return String(decoding: clean, as: UTF8.self)
    }

    /// Returns the text with `***` in the place of every secret; `nil` stays `nil`.
    package func redacted(_ text: String?) -> String? { text.map { redacted($0) } }

    /// Returns the bytes with `***` in the place of every secret.
    package func redacted(_ bytes: [UInt8]) -> [UInt8] {
        plain.isEmpty ? bytes : withoutSecrets(bytes.span) ?? bytes
    }

    /// Redacts a body of which reports show the beginning only. Searching all of a long one would take seconds: only
    /// what is shown is searched, and behind it as much as a secret can take in any form.
    package func redacted(body: [UInt8]) -> [UInt8] {
        let longest = longestWriting
        let end = Self.characterBoundary(body, 2 * Self.shownOfBody)
        guard !plain.isEmpty, body.count > 4 * Self.shownOfBody, longest < Self.shownOfBody,
            Self.isText(body.span) == Self.isText(body.span.extracting(..<end))
        else { return redacted(body) }
        let clean = redacted(Array(body[..<end]))
        return clean.count > Self.shownOfBody + longest ? clean : redacted(body)
    }

    /// Bytes of a body that reports show.
    package static let shownOfBody = 64 << 10
    /// Most bytes that a secret can take in any form.
    package var longestWriting: Int { (secrets.map(\.value.utf8.count).max() ?? 0) * Self.widestWriting }

    /// Most bytes that may stand for one of a secret, escapes within escapes included.
    private static let widestWriting = 64

    private static func isText(_ bytes: Span<UInt8>) -> Bool { (try? UTF8Span(validating: bytes)) != nil }

    private static func characterBoundary(_ bytes: [UInt8], _ limit: Int) -> Int {
        guard bytes.count > limit else { return bytes.count }
        return (0..<4).map { limit - $0 }.first { bytes[$0] & 0xC0 != 0x80 } ?? limit
    }

    /// Decides whether a secret stands in the bytes, in any form.
    package func finds(in bytes: [UInt8]) -> Bool { !plain.isEmpty && withoutSecrets(bytes.span) != nil }

    /// Returns the text without secrets, or `nil` when it holds none, which is nearly always.
    private func withoutSecrets(_ text: Span<UInt8>, plain: SecretMatcher? = nil) -> [UInt8]? {
        var found = (plain ?? self.plain).matches(in: text)
        searchUnescaped(text, origins: nil, depth: 0, into: &found)
        if found.isEmpty { return nil }
        found.sort { $0.lowerBound < $1.lowerBound }
        var clean: [UInt8] = []
        clean.reserveCapacity(text.count)
        var position = 0
        var hidden = -1
        for range in found {
            for index in position..<max(position, range.lowerBound) { clean.append(text[index]) }
            if range.lowerBound > hidden { clean += [0x2A, 0x2A, 0x2A] }
            hidden = max(hidden, range.upperBound)
            position = max(position, range.upperBound)
        }
        for index in position..<text.count { clean.append(text[index]) }
        return clean
    }

    /// Undoes each kind of escape that the text may hold, searches the result, and repeats this with the result.
    private func searchUnescaped(_ text: Span<UInt8>, origins: [Int32]?, depth: Int, into found: inout [Range<Int>]) {
        guard depth < Self.deepest, !unescaped.isEmpty else { return }
        for escape in Escape.kinds(in: text) {
            let (bytes, places) = escape.undone(in: text)
            // The marks escape nothing: the text came out as it went in.
            if escape != .form, bytes.count == text.count { continue }
            // Where each byte began in the text that was given; one more for the end.
            let starts = origins.map { origins in places.map { origins[Int($0)] } } ?? places
            for range in unescaped.matches(in: bytes.span) {
                found.append(Int(starts[range.lowerBound])..<Int(starts[range.upperBound]))
            }
            searchMisread(text, escape, places, origins, into: &found)
            searchUnescaped(bytes.span, origins: starts, depth: depth + 1, into: &found)
        }
    }

    /// Searches behind every mark as if the mark escaped nothing. A stray mark right before a secret makes an escape of
    /// the secret's first characters (`%` before `b7…`), and the secret would be missed.
    private func searchMisread(
        _ text: Span<UInt8>, _ escape: Escape, _ places: [Int32], _ origins: [Int32]?, into found: inout [Range<Int>]
    ) {
        for (place, next) in zip(places, places.dropFirst()) where next > place + 1 {
            for start in Int(place + 1)..<Int(next) {
                guard let end = follow(text, from: start, escape) else { continue }
                found.append(origins.map { Int($0[start])..<Int($0[end]) } ?? start..<end)
            }
        }
    }

    /// Returns the end of the longest secret that begins exactly here, undoing escapes on the way; `nil` for none.
    private func follow(_ text: Span<UInt8>, from start: Int, _ escape: Escape) -> Int? {
        var state: Int32 = 0
        var index = start
        var end: Int?
        while index < text.count {
            let (length, meant) = escape.unescape(text, at: index)
            for byte in meant {
                state = unescaped.edge(state, byte)
                if state == 0 { return end }
            }
            index += length
            if unescaped.isEnd(state) { end = index }
        }
        return end
    }
}

// MARK: - Base64

extension Redactor {
    /// Returns the characters that a secret alone decides, for each of the three alignments that it can have in base64.
    private static func base64Patterns(of secret: [UInt8]) -> [SecretMatcher.Pattern] {
        var patterns: [SecretMatcher.Pattern] = []
        for alignment in 0..<3 {
            let bits = (alignment + secret.count) * 8
            let first = (alignment * 8 + 5) / 6
            for isURLSafe in [false, true] {
                let all = base64([UInt8](repeating: 0, count: alignment) + secret, isURLSafe: isURLSafe)
                let decided = Array(all[first..<(bits / 6)])
                patterns.append(
                    .init(bytes: decided, blursStart: alignment != 0, blursEnd: bits % 6 != 0))
            }
        }
        return patterns
    }

    /// Returns the bytes in base64 without padding.
    private static func base64(_ bytes: [UInt8], isURLSafe: Bool) -> [UInt8] {
        let alphabet = Array(
            ("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789" + (isURLSafe ? "-_" : "+/")).utf8)
        var text: [UInt8] = []
        var pending = 0
        var count = 0
        for byte in bytes {
            pending = (pending << 8 | Int(byte)) & 0xFFFF
            count += 8
            while count >= 6 {
                count -= 6
                text.append(alphabet[pending >> count & 63])
            }
        }
        if count > 0 { text.append(alphabet[pending << (6 - count) & 63]) }
        return text
    }
}
