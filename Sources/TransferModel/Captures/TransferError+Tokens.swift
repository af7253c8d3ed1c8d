// A token that one task captured and another task's server refuses.

extension TransferError {
    /// Part of the message about a 401 of a server that the task does not name, to which its credential did not go.
    package static let heldBackWords = "no credential was sent to another server than the job names: "
    /// Part of the message about a 401 after which no new token was captured.
    static let notRunAgainWords = "was not run again for a new token: "

    /// Returns the error of a task whose request held what another task captured and was answered 401, saying why that
    /// one was not run again; any other error as it is.
    package func namingTokenSource(of task: TaskSpecification, in job: Job) -> TransferError {
        guard name == .unexpectedResponse, answeredStatus == 401,
            let place = task.tokenSource(in: job, at: { id in job.tasks.firstIndex { $0.id == id } }),
            let why = job.tasks[place].whyNotRunAgain
        else { return self }
        var error = self
        error.message += "; `\(job.tasks[place].id)` \(Self.notRunAgainWords)\(why)"
        return error
    }
}

extension TaskSpecification {
    /// The number of the task that captured the credential of the request: what a header holds whose name means credentials,
    /// or else a secret value anywhere. `place` finds a task's number by its id.
    ///
    /// Where the job itself wrote the credential, that one was refused, and no task is run again for another value.
    package func tokenSource(in job: Job, at place: (String) -> Int?) -> Int? {
        guard options.values.awaitsCaptures else { return nil }
        func source(_ text: SecretText, where isMeant: (Capture) -> Bool) -> Int? {
            for case .capture(let id, let name, _) in text.pieces {
                guard let number = place(id) else { continue }
                let captures = job.tasks[number].options.values.captures
                if captures.contains(where: { $0.name == name && isMeant($0) }) { return number }
            }
            return nil
        }
        let credentials = options.values.headers.filter { CredentialNames.standard.isHeader($0.name) }
        var found: Int?
        for field in credentials { found = found ?? source(field.value) { _ in true } }
        if !credentials.isEmpty { return found }
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
