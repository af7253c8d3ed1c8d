package import TransferModel

/// The earlier answer that one task's result must match.
package struct HeldTask: Sendable {
    private let answers: HeldAnswers
    private let id: String
    /// URL of the attempt; `nil` where any of several `urls` may answer, since the bytes decide.
    private let original: String?
    /// Secrets of the job and those that came up in the run: a lock or plan was written from text without them.
    private let redactor: Redactor

    /// Makes the answer for the task; `nil` if there is none. `isOneOfSeveral`: the task has several `urls`. `redactor`
    /// is the one of the run's log.
    package init?(
        _ answers: HeldAnswers, id: String, url: ResourceURL, isOneOfSeveral: Bool, redactor: Redactor
    ) {
        guard let held = answers[id] else { return nil }
        self.answers = answers
        self.id = id
        self.redactor = redactor
        let takesAnyPlace = !answers.holdsPlaces || isOneOfSeveral && held.sha256 != nil
        original = takesAnyPlace ? nil : redactor.redacted(url.text)
    }

    /// Returns why a response with these headers is not the one that the task is held to; `nil` if it is.
    ///
    /// - Parameter size: The length of the whole file, also where the response brings a range.
    func objection(to headers: HeaderBlock, from url: ResourceURL, size: Int64?) -> TransferError? {
        var response = HeldAnswers.Response(
            url: original == nil ? nil : redactor.redacted(url.text), original: original)
        response.size = size
        response.etag = redactor.redacted(headers.first("etag"))
        response.lastModified = headers.first("last-modified")
        return answers.objection(to: response, of: id)
    }

    /// Returns a checksum mismatch as `lockMismatch` where the lock file demanded the checksum; any other error as it
    /// is.
    package func renamed(_ error: TransferError) -> TransferError {
        guard error.name == .checksumMismatch, answers.kind == .lock, answers[id]?.sha256 != nil else { return error }
        var error = error
        error.name = .lockMismatch
        error.message = "the file is not the one in \(answers.file): \(error.message)"
        return error
    }
}
