import TextFormats
package import TransferModel

/// What a task expects of an answer's body and takes from the answer, compiled once for all tasks that say the same.
package final class AnswerRules: Sendable {
    /// An answer's body is looked into up to here, a file's too: it must be in memory for that.
    package static let longest: Int64 = 16 << 20
    /// What a body of this length can cost is not worth another thread's while.
    private static let short = 64 << 10

    let contains: SecretText?
    let search: TextSearch
    let matches: TextFormats.Regex?
    let json: [(path: String, compiled: JSONPath, wanted: JSONTemplate)]
    let captures: [(capture: Capture, source: Source)]
    /// What the job file let through and cannot be compiled: no answer can meet it.
    let failure: TransferError?

    enum Source: Sendable {
        /// The name in small letters.
        case header(String, TextFormats.Regex?)
        case link(String)
        case json(JSONPath)
        case jsonList(JSONPath)
        case regex(TextFormats.Regex)

        var isHeader: Bool {
            switch self {
            case .header, .link: true
            case .json, .jsonList, .regex: false
            }
        }
        var isRegex: Bool { if case .regex = self { true } else { false } }
    }

    /// `nil` where nothing is asked: nearly always.
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
                }
            return source.map { (capture, $0) }
        }
        self.failure = failure
    }

    /// Whether the body is looked into.
    package var readsBody: Bool {
        contains != nil || matches != nil || !json.isEmpty || captures.contains { !$0.source.isHeader }
    }

    package var expectsOfBody: Bool { contains != nil || matches != nil || !json.isEmpty }

    package var capturesSecrets: Bool { captures.contains { $0.capture.isSecret } }

    /// Whether something in the body must not be told, once it is known what.
    package var hidesSomethingInBody: Bool { captures.contains { $0.capture.isSecret && !$0.source.isHeader } }

    /// Whether looking into a body of so many bytes can take so long that the loop should not do it.
    package func isHeavy(_ size: Int) -> Bool {
        readsBody && (size > Self.short || matches != nil || captures.contains { $0.source.isRegex })
    }
}

/// What was found in an answer.
package struct AnswerFindings: Sendable {
    package var captures: [CapturedValue] = []
    /// What nobody may tell from now on: captured secrets and, of one that is a list or a map, all that is in it.
    package var secrets: [KnownSecret] = []
    package var error: TransferError?
    /// All that the body misses of what is expected, beside what was not captured.
    package var missedBody: String?
    /// What a report tells of the body, where its own bytes would tell a secret in another writing.
    package var toldBody: [UInt8]?
    /// A secret must be in the body and could not be found: nothing of it is told.
    package var withholdsBody = false
    package init() {}
}
