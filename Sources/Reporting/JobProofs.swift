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
            proofs.formUnion(texts(of: session.headers, job.credentialNames))
        }
        var last: TaskOptions?
        for task in job.tasks {
            if let user = task.location.url?.userInformation { proofs.insert(PercentEncoding.decode(user) ?? user) }
            proofs.formUnion(texts(of: task.location, job.credentialNames))
            // Many tasks share theirs.
            if task.options === last { continue }
            last = task.options
            let values = task.options.values
            for mirror in values.mirrors { proofs.formUnion(texts(of: mirror, job.credentialNames)) }
            for credential in values.policies.credentials { proofs.formUnion(texts(of: credential)) }
            proofs.formUnion(texts(of: values.headers, job.credentialNames))
        }
        return proofs
    }

    /// Returns the values of query parameters whose names mean credentials.
    private static func texts(of location: TaskSpecification.Location, _ names: CredentialNames) -> [String] {
        let text: String
        switch location {
        case .url(let url): text = url.text
        case .awaitingCapture(let url, let query):
            let fields = query.map { "&\($0.name)=\(PercentEncoding.encode($0.value.revealed))" }
            text = url.revealed + fields.joined()
        }
        let bytes = Array(text.utf8)
        return names.values(in: bytes.span).map { place in
            let value = String(decoding: bytes[place], as: UTF8.self)
            return PercentEncoding.decode(value) ?? value
        }
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

    private static func texts(of headers: [HeaderField], _ names: CredentialNames) -> [String] {
        headers.compactMap { header in
            let name = header.name.lowercased()
            let isProof =
                names.isHeader(name)
                || ["authorization", "cookie", "token", "key", "secret"].contains { name.contains($0) }
            return isProof ? header.value.revealed : nil
        }
    }
}
