internal import TransferModel

/// What belongs into the command that runs a part of the job again, beside that part's names.
package struct RerunAdvice: Hashable, Sendable {
    /// `NAME=VALUE` of each variable that was set.
    package var assignments: [String]
    /// Other options that change what is done, word by word as they were typed.
    package var options: [String]
    /// Those that choose tasks.
    package var selection: [String]

    package init(assignments: [String] = [], options: [String] = [], selection: [String] = []) {
        self.assignments = assignments
        self.options = options
        self.selection = selection
    }

    /// In the place of what is not to be read in a log.
    static let mask = "***"

    /// The words after `run`. `tasks` are the ids of those that are meant; `nil` for all that were chosen.
    func words(_ job: Job, tasks: [String]?, hiding redactor: Redactor) -> [String] {
        // A file's name that would be read as an option is one of this folder.
        let file = job.file.hasPrefix("-") && job.file != "-" ? "./\(job.file)" : job.file
        let proofs = assignments.isEmpty ? [] : Self.proofs(in: job)
        let variables = assignments.flatMap { ["--set", Self.shown($0, proofs)] }
        let chosen = tasks.map { $0.flatMap { ["--only", $0] } } ?? selection
        return ([file] + variables + options + chosen).map { redactor.redacted($0) }
    }

    // MARK: What nobody declared and is a secret all the same

    private static let names = ["password", "passwd", "secret", "token", "apikey", "api_key", "credential"]

    private static func shown(_ assignment: String, _ proofs: Set<String>) -> String {
        guard let equals = assignment.firstIndex(of: "=") else { return assignment }
        let (name, value) = (assignment[..<equals].lowercased(), assignment[assignment.index(after: equals)...])
        let isProof = names.contains { name.contains($0) } || proofs.contains { $0.contains(value) }
        return !value.isEmpty && isProof ? "\(assignment[...equals])\(mask)" : assignment
    }

    /// What the job shows to servers to say who asks.
    private static func proofs(in job: Job) -> Set<String> {
        var proofs: Set<String> = []
        for session in job.sessions {
            for credential in session.taskDefaults.credentials { proofs.formUnion(texts(of: credential)) }
            proofs.formUnion(texts(of: session.headers))
        }
        var last: TaskOptions?
        for task in job.tasks {
            if let user = task.location.url?.userInformation { proofs.insert(PercentEncoding.decode(user) ?? user) }
            // Many tasks share theirs.
            if task.options === last { continue }
            last = task.options
            let values = task.options.values
            for credential in values.policies.credentials { proofs.formUnion(texts(of: credential)) }
            proofs.formUnion(texts(of: values.headers))
        }
        return proofs
    }

    private static func texts(of credential: Credential) -> [String] {
        switch credential.source {
        case .password(let user, let password): [user.revealed, password.revealed]
        case .token(let token): [token.revealed]
        case .aws(let accessKey, let secretKey, let token, _, _):
            [accessKey.revealed, secretKey.revealed] + (token.map { [$0.revealed] } ?? [])
        case .helper, .netrc: []
        }
    }

    private static func texts(of headers: [HeaderField]) -> [String] {
        headers.compactMap { header in
            let name = header.name.lowercased()
            let isProof = ["authorization", "cookie", "token", "key", "secret"].contains { name.contains($0) }
            return isProof ? header.value.revealed : nil
        }
    }
}
