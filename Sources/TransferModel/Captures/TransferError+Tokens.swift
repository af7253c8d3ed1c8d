// A token that one task captured and another task's server refuses.

extension TransferError {
    /// Part of the message about a 401 after which no new token was captured.
    static let notRunAgainWords = "was not run again for a new token: "

    /// Returns the error of a task whose request held what another task captured and was answered 401, saying why that
    /// one was not run again; any other error as it is.
    package func namingTokenSource(of task: TaskSpecification, in job: Job) -> TransferError {
        guard task.options.values.awaitsCaptures, name == .unexpectedResponse, answeredStatus == 401,
            let source = task.tokenSource(in: job), let why = source.whyNotRunAgain
        else { return self }
        var error = self
        error.message += "; `\(source.id)` \(Self.notRunAgainWords)\(why)"
        return error
    }
}

extension TaskSpecification {
    /// The task whose captured value the request holds: in a header, or a secret one anywhere.
    fileprivate func tokenSource(in job: Job) -> TaskSpecification? {
        func source(_ text: SecretText, where isMeant: (Capture) -> Bool) -> TaskSpecification? {
            for case .capture(let id, let name, _) in text.pieces {
                guard let task = job.tasks.first(where: { $0.id == id }) else { continue }
                if task.options.values.captures.contains(where: { $0.name == name && isMeant($0) }) { return task }
            }
            return nil
        }
        var found: TaskSpecification?
        for field in options.values.headers { found = found ?? source(field.value) { _ in true } }
        forEachPlace { text in found = found ?? source(text, where: \.isSecret) }
        return found
    }

    /// Why the task is not run again for what it captures, although that was refused; `nil` where it is.
    package var whyNotRunAgain: String? {
        if type == .download || savesAnswer { return "it writes a file" }
        if options.values.next != nil { return "it has `next`" }
        if case .stream? = options.values.body { return "its body is a `stream`" }
        return nil
    }
}
