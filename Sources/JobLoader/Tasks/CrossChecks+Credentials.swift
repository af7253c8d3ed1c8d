import Diagnostics
import TransferModel

/// Checks of what tasks send that gives access to something, where an answer has a part in it.
extension TaskChecker {
    /// Warns of a captured credential that outputs show, and of secrets that go wherever an answer says.
    mutating func checkCredentials() {
        if reader.problems.list.hasErrors { return }
        var warned: Set<String> = []
        for capture in checks.captures {
            let task = tasks[Int(capture.task)]
            if let header = credentialHeader(of: task, with: capture.use), let owner = ids.owner(of: capture.use.task),
                tasks[Int(owner)].options.values.captures.contains(where: {
                    $0.name == capture.use.name && !$0.isSecret
                }),
                warned.insert("\(owner) \(capture.use.name)").inserted
            {
                reader.warning(
                    "captured-credential",
                    "`\(capture.use.name)` goes into `\(header)`, and reports show it as `\(capture.use.task)` captured it",
                    hint: "write `secret: true` where it is captured", at: capture.use.span)
            }
            guard isHost(capture.use, of: task), let secret = unboundSecret(of: task) else { continue }
            guard warned.insert("\(capture.use.span.line) \(capture.use.span.column)").inserted else { continue }
            reader.warning(
                "secret-anywhere",
                "an answer says to which host this request goes, and the secret `\(secret)` goes with it",
                hint: "name the hosts that may get it: `secrets: { \(secret): { hosts: [api.example.org] } }`",
                at: capture.use.span)
        }
    }

    private func credentialHeader(of task: TaskSpecification, with use: CaptureUse) -> String? {
        task.options.values.headers.first { field in
            CredentialNames.standard.isHeader(field.name)
                && field.value.pieces.contains {
                    if case .capture(use.task, use.name, _) = $0 { true } else { false }
                }
        }?.name
    }

    /// Whether the task's URL begins with the captured value.
    private func isHost(_ use: CaptureUse, of task: TaskSpecification) -> Bool {
        guard case .awaitingCapture(let text, _) = task.location,
            case .capture(use.task, use.name, _)? = text.pieces.first
        else { return false }
        return true
    }

    /// A secret of the task's own headers, body or credentials that may go to any host.
    private func unboundSecret(of task: TaskSpecification) -> String? {
        let values = task.options.values
        let shown = values.policies.credentials.filter { $0.host == nil && !$0.isForProxy }.compactMap(\.shownText)
        for text in values.headers.map(\.value) + (values.body?.texts ?? []) + shown {
            if let name = text.unboundSecret { return name }
        }
        return nil
    }
}

extension Credential {
    /// The text that servers are shown, where the job has it.
    fileprivate var shownText: SecretText? {
        switch source {
        case .password(_, let password): password
        case .token(let token): token
        case .helper, .netrc, .oauth2, .aws: nil
        }
    }
}
