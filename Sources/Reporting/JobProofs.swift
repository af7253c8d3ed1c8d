internal import TransferModel

/// Values that the job presents to servers as credentials: secrets, whether or not they are declared as ones.
enum JobProofs {
    /// Length below which a value occurs in many credentials by chance.
    private static let shortest = 4

    /// Returns the job's variables, with the values masked that are a credential or a part of one.
    static func hidden(in job: Job) -> [Job.Variable] {
        if job.variables.isEmpty { return [] }
        let proofs = texts(in: job)
        return job.variables.map { variable in
            guard let text = text(of: variable.value), !text.isEmpty,
                proofs.contains(where: { $0 == text || text.utf8.count >= shortest && $0.contains(text) })
            else { return variable }
            return Job.Variable(name: variable.name, value: .string(RerunAdvice.mask))
        }
    }

    private static func text(of value: PlainValue) -> String? {
        switch value {
        case .number(let text), .string(let text): text
        case .null, .boolean, .list, .map: nil
        }
    }

    static func texts(in job: Job) -> Set<String> {
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
        case .oauth2(let client): client.secrets.map(\.revealed)
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
