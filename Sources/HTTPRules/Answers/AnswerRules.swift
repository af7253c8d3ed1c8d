import TextFormats
package import TransferModel

/// What a task expects of an answer's body and captures from the answer; compiled once for all tasks with the same
/// rules.
package final class AnswerRules: Sendable {
    /// Bytes of an answer's body that are examined, a file's too, at most: the body must be in memory for that.
    package static let longest: Int64 = 16 << 20
    /// Length in bytes up to which a body is examined by the event loop itself; a longer one is left to another thread.
    private static let short = 64 << 10

    let contains: SecretText?
    let search: TextSearch
    let matches: TextFormats.Regex?
    let json: [(path: String, compiled: JSONPath, wanted: JSONTemplate)]
    let captures: [(capture: Capture, source: Source)]
    /// Error for a rule that the job file's check accepts and that cannot be compiled; no answer can meet it.
    let failure: TransferError?

    enum Source: Sendable {
        /// The name in lower case.
        case header(String, TextFormats.Regex?)
        case link(String)
        case json(JSONPath)
        case jsonList(JSONPath)
        case regex(TextFormats.Regex)
        case urlAt(JSONPath)
        case urlMatch(TextFormats.Regex)
        /// The counted page is not the last one: the path leads to something.
        case moreAt(JSONPath)
        /// The counted page is not the last one: it has at least so many rows.
        case moreRows(Int)

        var isHeader: Bool {
            switch self {
            case .header, .link: true
            case .json, .jsonList, .regex, .urlAt, .urlMatch, .moreAt, .moreRows: false
            }
        }
        var isRegex: Bool {
            switch self {
            case .regex, .urlMatch: true
            case .header, .link, .json, .jsonList, .urlAt, .moreAt, .moreRows: false
            }
        }
        var path: JSONPath? {
            switch self {
            case .json(let path), .jsonList(let path), .urlAt(let path), .moreAt(let path): path
            case .header, .link, .regex, .urlMatch, .moreRows: nil
            }
        }
    }

    /// `nil` where the task has no rules, which is the usual case.
    package init?(_ expect: Expectations, _ captures: [Capture]) {
        guard expect.bodyContains != nil || expect.bodyMatches != nil || !expect.bodyJSON.isEmpty || !captures.isEmpty
        else { return nil }
        contains = expect.bodyContains
        search = TextSearch(Array((expect.bodyContains?.revealed ?? "").utf8))
        var failure: TransferError?
        func compiled<Made>(_ text: String, _ make: (String) throws -> Made) -> Made? {
            do {
                return try make(text)
            } catch {
                failure = TransferError(.unexpectedResponse, "`\(text)` cannot be understood: \(error)")
                return nil
            }
        }
        matches = expect.bodyMatches.flatMap { compiled($0) { try TextFormats.Regex($0) } }
        json = expect.bodyJSON.compactMap { match in
            compiled(match.path) { try JSONPath($0) }.map { (match.path, $0, match.value) }
        }
        self.captures = captures.compactMap { capture in
            let source: Source? =
                switch capture.source {
                case .header(let name, nil): .header(name.lowercased(), nil)
                case .header(let name, let pattern?):
                    compiled(pattern) { try TextFormats.Regex($0) }.map { .header(name.lowercased(), $0) }
                case .link(let relation): .link(relation)
                case .json(let path): compiled(path) { try JSONPath($0) }.map { .json($0) }
                case .jsonList(let path): compiled(path) { try JSONPath($0) }.map { .jsonList($0) }
                case .regex(let pattern): compiled(pattern) { try TextFormats.Regex($0) }.map { .regex($0) }
                case .url(let path) where path.hasPrefix("$"): compiled(path) { try JSONPath($0) }.map { .urlAt($0) }
                case .url(let pattern): compiled(pattern) { try TextFormats.Regex($0) }.map { .urlMatch($0) }
                case .more(.json(let path)): compiled(path) { try JSONPath($0) }.map { .moreAt($0) }
                case .more(.rowsBelow(let count)): .moreRows(count)
                }
            return source.map { (capture, $0) }
        }
        self.failure = failure
    }

    /// Whether the rules need the body.
    package var readsBody: Bool {
        contains != nil || matches != nil || !json.isEmpty || captures.contains { !$0.source.isHeader }
    }

    /// Whether the rules expect anything of the body.
    package var expectsOfBody: Bool { contains != nil || matches != nil || !json.isEmpty }

    /// Whether any captured value is secret.
    package var capturesSecrets: Bool { captures.contains { $0.capture.isSecret } }

    /// Whether a secret is captured from the body, which then must be redacted wherever it is shown.
    package var hidesSomethingInBody: Bool { captures.contains { $0.capture.isSecret && !$0.source.isHeader } }

    /// Whether examining a body of `size` bytes can take so long that the event loop must leave it to another thread.
    package func isHeavy(_ size: Int) -> Bool {
        readsBody && (size > Self.short || matches != nil || captures.contains { $0.source.isRegex })
    }
}

/// The result of examining an answer.
package struct AnswerFindings: Sendable {
    /// Values captured from the answer.
    package var captures: [CapturedValue] = []
    /// Values to redact from now on: captured secrets and, of a secret list or object, everything in it.
    package var secrets: [KnownSecret] = []
    /// The error of expectations that failed or captures that are missing; `nil` without one.
    package var error: TransferError?
    /// The failed expectations of the body in words, without missing captures.
    package var missedBody: String?
    /// The body to show in a report, where the body's own bytes contain a secret in another encoding.
    package var toldBody: [UInt8]?
    /// Whether the body contains a secret that could not be found, so that nothing of it may be shown.
    package var withholdsBody = false
    package init() {}
}
