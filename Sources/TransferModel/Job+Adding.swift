extension Job {
    /// Returns the job that a background run was accepted with, followed by the tasks that the job's file has got since
    /// (`other`: the same file as it is today); tasks are told apart by their ids.
    ///
    /// What was accepted stays as it was: tasks, limits, report, hooks and sessions. Only credentials, challenges and
    /// client certificates are taken as they are today.
    package func adding(_ other: Job) -> Job {
        var job = self
        let today = Dictionary(other.sessions.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        job.sessions = sessions.map { session in today[session.name].map { session.proving($0) } ?? session }
        var proofs = NewProofs(other)
        for index in job.tasks.indices { proofs.give(to: &job.tasks[index]) }
        let known = Set(tasks.map(\.id))
        let added = other.tasks.filter { !known.contains($0.id) }
        let places = Renumbering(
            tasks: Self.places(of: other.tasks, in: tasks + added, by: \.id),
            sessions: Self.unite(other.sessions, into: &job.sessions, by: \.name),
            groups: Self.unite(other.groups, into: &job.groups, by: \.name))
        job.tasks += added.map { places.applied(to: $0) }
        let secrets = Set(secrets)
        job.secrets += other.secrets.filter { !secrets.contains($0) }
        if let held = other.held?.only(for: added.map(\.id)) { job.held = self.held?.followed(by: held) ?? held }
        return job
    }

    /// Adds the values whose names are missing, and returns the place of each value afterwards.
    private static func unite<Value>(
        _ values: [Value], into all: inout [Value], by name: (Value) -> String
    ) -> [Int] {
        let known = Set(all.map(name))
        all += values.filter { !known.contains(name($0)) }
        return places(of: values, in: all, by: name)
    }

    private static func places<Value>(of values: [Value], in all: [Value], by name: (Value) -> String) -> [Int] {
        let places = Dictionary(zip(all.map(name), 0...), uniquingKeysWith: { first, _ in first })
        return values.map { value in
            guard let place = places[name(value)] else { preconditionFailure("`\(name(value))` was added before") }
            return place
        }
    }
}

/// Gives tasks their credentials and challenges of today. Tasks that shared their options still do afterwards.
private struct NewProofs {
    private struct Pair: Hashable {
        let own: ObjectIdentifier
        let other: ObjectIdentifier
    }
    private let today: [String: TaskOptions]
    private var known: [Pair: TaskOptions] = [:]

    init(_ job: Job) {
        today = Dictionary(job.tasks.map { ($0.id, $0.options) }, uniquingKeysWith: { first, _ in first })
    }

    mutating func give(to task: inout TaskSpecification) {
        guard let other = today[task.id] else { return }
        let pair = Pair(own: ObjectIdentifier(task.options), other: ObjectIdentifier(other))
        if let options = known[pair] { return task.options = options }
        var values = task.options.values
        values.policies.credentials = other.values.policies.credentials
        values.policies.challenges = other.values.policies.challenges
        task.options = TaskOptions(values)
        known[pair] = task.options
    }
}

/// Places of a job's tasks, sessions and groups in another job.
struct Renumbering {
    let tasks: [Int]
    let sessions: [Int]
    let groups: [Int]

    func applied(to task: TaskSpecification) -> TaskSpecification {
        var task = task
        task.session = SessionIndex(raw: UInt16(sessions[Int(task.session.raw)]))
        task.group = task.group.map { GroupIndex(raw: UInt16(groups[Int($0.raw)])) }
        task.needs = task.needs.map { place(of: $0) }
        // Many tasks share their options: only a task that names another one in them gets its own.
        guard case .task(let owner, let listed)? = task.options.values.checksum else { return task }
        var values = task.options.values
        values.checksum = .task(place(of: owner), listed)
        task.options = TaskOptions(values)
        return task
    }

    private func place(of task: TaskIndex) -> TaskIndex { TaskIndex(raw: UInt32(tasks[Int(task.raw)])) }
}

extension SessionConfiguration {
    /// Returns the session with the credentials, challenges and client certificates of another.
    fileprivate func proving(_ other: SessionConfiguration) -> SessionConfiguration {
        var session = self
        session.taskDefaults.credentials = other.taskDefaults.credentials
        session.taskDefaults.challenges = other.taskDefaults.challenges
        session.tls.clientCertificates = other.tls.clientCertificates
        return session
    }
}
