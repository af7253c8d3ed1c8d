/// What a server said of one task's file at an earlier time, to which a run holds it: an entry of a lock or of a saved
/// plan.
package struct HeldAnswer: Hashable, Sendable {
    /// URL that answered, after redirects, without secrets and, where a redirect led there, without its query:
    /// addresses that a server signs are new each time.
    package var url: String
    /// Length of the file in bytes; `nil` if it is unknown.
    package var size: Int64?
    /// `ETag`, as sent.
    package var etag: String?
    /// `Last-Modified`, as sent.
    package var lastModified: String?
    /// SHA-256 of the file's bytes.
    package var sha256: Checksum?
    /// `Content-Type` without parameters.
    package var mimeType: String?
    /// SHA-256 of the server's certificate, as `sha256:…`.
    package var certificate: String?

    package init(url: String) { self.url = url }

    /// Returns `final` as it is recorded: without secrets, and without its query where it is not the task's own URL.
    package static func recorded(_ final: String, of original: String?, _ redactor: Redactor) -> String {
        let text: String = redactor.redacted(final)
        let own: String? = redactor.redacted(original)
        guard text != own, let query = text.utf8.firstIndex(of: UInt8(ascii: "?")) else { return text }
        return String(decoding: text.utf8[..<query], as: UTF8.self)
    }
}

/// The answers to which a run holds its servers, by task id.
package final class HeldAnswers: Sendable {
    /// Where the answers are from, which decides what must agree and how a difference is called.
    package enum Kind: Hashable, Sendable {
        /// A lock: the final URL and the bytes must be the same.
        case lock
        /// A saved plan: the final URL, the size and the validator must be the same.
        case plan
    }

    /// A response to a task, as far as it is compared.
    package struct Response: Sendable {
        /// URL that answered; `nil` where any may.
        package var url: String?
        /// URL of the task itself; `nil` where it is not known before the run.
        package var original: String?
        /// Length of the whole file; `nil` if the response does not say.
        package var size: Int64?
        /// Its `ETag`.
        package var etag: String?
        /// Its `Last-Modified`.
        package var lastModified: String?

        package init(url: String?, original: String?) { (self.url, self.original) = (url, original) }
    }

    /// Where the answers are from.
    package let kind: Kind
    /// The file that they were read from, as named by the user.
    package let file: String
    /// Whether the final URL must be the same as then; if not, the bytes alone decide.
    package let holdsPlaces: Bool
    private let answers: [ExactText: HeldAnswer]
    private let redactor: Redactor
    /// Answers of another file, for tasks that this one has none for.
    private let others: HeldAnswers?

    package init(
        _ kind: Kind, file: String, _ answers: [ExactText: HeldAnswer], redactor: Redactor, others: HeldAnswers? = nil,
        holdsPlaces: Bool = true
    ) {
        self.holdsPlaces = holdsPlaces
        self.kind = kind
        self.file = file
        self.answers = answers
        self.redactor = redactor
        self.others = others
    }

    /// The answer for a task; `nil` if the file has none.
    package subscript(id: String) -> HeldAnswer? { answers[ExactText(id)] ?? others?[id] }

    /// Returns the answers for these tasks alone.
    package func only(for ids: [String]) -> HeldAnswers {
        let ids = Set(ids.map { ExactText($0) })
        return HeldAnswers(
            kind, file: file, answers.filter { ids.contains($0.key) }, redactor: redactor,
            holdsPlaces: holdsPlaces)
    }

    /// Returns these answers, and those of another file for tasks that these are not about.
    package func followed(by others: HeldAnswers) -> HeldAnswers {
        HeldAnswers(
            kind, file: file, answers, redactor: redactor, others: self.others?.followed(by: others) ?? others,
            holdsPlaces: holdsPlaces)
    }

    /// Ids that the file has answers for, ordered.
    package var ids: [String] { answers.keys.sorted().map(\.text) }

    /// Returns why a response is not the one that the task is held to; `nil` if it is, or if the file has no answer
    /// for the task.
    package func objection(to response: Response, of id: String) -> TransferError? {
        guard let held = answers[ExactText(id)] else { return others?.objection(to: response, of: id) }
        let url = response.url.map { HeldAnswer.recorded($0, of: response.original, redactor) }
        if let url, !url.isExactly(held.url) { return moved("comes from \(url)", held.url) }
        if let size = response.size, let known = held.size, size != known {
            return moved("has \(size) bytes", "\(known) bytes")
        }
        guard kind == .plan else { return nil }
        if let known = held.etag {
            guard let etag = response.etag else { return nil }
            return Self.opaque(etag) == Self.opaque(known) ? nil : moved("has the ETag \(etag)", "the ETag \(known)")
        }
        guard let known = held.lastModified, let date = response.lastModified, !date.isExactly(known) else {
            return nil
        }
        return moved("was changed at \(date)", "\(known)")
    }

    /// The error for a file that differs: what came, and what was recorded.
    private func moved(_ came: String, _ recorded: String) -> TransferError {
        switch kind {
        case .lock: TransferError(.lockMismatch, "the file \(came); \(file) has \(recorded)")
        case .plan: TransferError(.movedSincePlan, "the file \(came); the plan \(file) has \(recorded)")
        }
    }

    /// A weak validator and a strong one of the same text name the same version here.
    private static func opaque(_ tag: String) -> Substring { tag.hasPrefix("W/") ? tag.dropFirst(2) : tag[...] }
}
