// Errors of several tasks that have one cause: what one of them found out of a host, and what they have in common.

extension TransferError {
    /// The error of a task that waited for the host at which another task met this one: without that task's request.
    package var foundByAnotherTask: TransferError {
        var error = self
        error.message = Self.withoutRequest(message) + Self.foundWords
        return error
    }

    /// Whether another task met the error while this one waited for the host.
    package var wasFoundByAnotherTask: Bool { message.contains(Self.foundWords) }

    /// The error of a task that is given up because its host never answered in this run.
    package var ofSilentHost: TransferError {
        var error = self
        error.message += Self.silenceWords
        return error
    }

    /// The error of a task whose request is not sent again although that might help.
    package var notSentAgain: TransferError {
        var error = self
        error.message += Self.notSentAgainWords
        return error
    }

    /// Whether the request of the task may have had its effect, and was not sent a second time because of that.
    package var mayHaveBeenHeard: Bool {
        message.contains(Self.notSentAgainWords)
            || [TransferError.notSentAgain, .lostFromJournal].contains { message.contains($0.message) }
    }

    /// Whether both say the same of an attempt, but for how far it came.
    package func hasSameCause(as other: TransferError) -> Bool {
        name == other.name && Self.sharedMessage(message, of: name) == Self.sharedMessage(other.message, of: name)
    }

    /// Part of the message about a request that is not sent again.
    static let notSentAgainWords =
        "; it was not sent again, for the server may have acted on it (`retry.nonIdempotent`)"

    /// What may be said of all tasks that failed by one cause: neither who found it nor how long it was tried.
    package static func sharedMessage(_ message: String, of name: ErrorName?) -> String {
        let text = withoutNotes(message)
        // A host that does not answer does so whatever it is asked.
        guard name?.saysNobodyAnswered == true else { return text }
        let finding = withoutRequest(text)
        return finding.hasPrefix(cutWords) ? "the connection was cut in the middle of the body" : finding
    }

    /// Beginning of the message about a connection that was cut within a body; how much had come follows.
    package static let cutWords = "the connection was cut after "

    /// What the messages of tasks that failed by one cause have in common. `name` is the error's name.
    package static func commonWords(_ message: String, of name: ErrorName?) -> String {
        var text = sharedMessage(message, of: name)
        if name == .captureUnusable { text = withoutRow(text) }
        guard text.contains("://") else { return text }
        return text.split(separator: " ", omittingEmptySubsequences: false).map { word in
            guard word.contains("://") else { return String(word) }
            return word.hasSuffix(":") ? "…:" : "…"
        }.joined(separator: " ")
    }

    /// The message of the attempt that met the error.
    var finding: String { Self.withoutNotes(message) }

    private static let foundWords = " (found by another task: the host fails again and again)"
    private static let silenceWords = "; its host never answered in this run, so it was given up after a minute"

    private static func withoutNotes(_ message: String) -> String {
        var text = message
        for note in [silenceWords, foundWords] where text.hasSuffix(note) { text.removeLast(note.count) }
        return withoutPage(text)
    }

    /// `a.test port 9 refused the connection` of `GET http://a.test:9/f: a.test port 9 refused the connection`.
    private static func withoutRequest(_ message: String) -> String {
        guard let colon = message.firstRange(of: ": ") else { return message }
        let request = message[..<colon.lowerBound].split(separator: " ")
        guard request.count <= 2, request.last?.contains("://") == true else { return message }
        return String(message[colon.upperBound...])
    }
}
