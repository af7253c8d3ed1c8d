import Reporting
package import TransferModel

/// Describes what a run of a job would do: an outlook for each task, and the sums over all tasks.
package struct JobPlan: Sendable {
    /// The job, with `--only` and `--except` applied.
    package let job: Job
    /// What the run would do for each task, by the task's number.
    package let outlooks: [TaskOutlook]
    /// Place of each task in the order of needs: 1 for a task that needs nothing, else one more than the highest of the
    /// tasks that it needs.
    package let steps: [Int]
    /// The servers in the order in which the job names them.
    package let hosts: [Host]
    /// Sums over all tasks.
    package let totals: Totals
    /// What each task's server said, by the task's number; empty where servers were not asked.
    package var words: [ServerAnswer]
    /// Where files go, with the room there.
    package var disks: [DiskRoom] = []
    /// Groups that remove files when they are published, with the number of files.
    package var removals: [Removal] = []
    /// How long the run would take at least, with what that rests on; `nil` where servers were not asked.
    package var duration: (span: TimeSpan, basis: String)?
    /// Sentences about what the plan cannot know.
    package var notes: [String] = []
    /// What an operator's policy made of the job's values.
    package var policyNotes: [PolicyNote] = []

    /// The tasks of one server, or a server that is asked for access tokens and has none.
    package struct Host: Hashable, Sendable {
        /// Scheme, host and port.
        package let origin: Origin
        /// How many tasks begin there.
        package var tasks = 0
        /// Bytes that are known to move there or from there.
        package var bytes: Int64 = 0
        /// Number of tasks whose bytes are not known.
        package var unknownSizes = 0
        /// Most simultaneous connections, over all sessions.
        package var connections = 0
    }

    /// What the publication of a group would remove.
    package struct Removal: Hashable, Sendable {
        /// The group's name.
        package let group: String
        /// Number of files that no task of the group names; `nil` if it is known only in the run.
        package let count: Int?
        package init(group: String, count: Int?) {
            self.group = group
            self.count = count
        }
    }

    /// Sums over all tasks of a plan.
    package struct Totals: Hashable, Sendable {
        /// How many tasks begin with each action.
        package var count: [TaskOutlook.Action: Int] = [:]
        /// Bytes that are known to move, by action.
        package var moving: [TaskOutlook.Action: Int64] = [:]
        /// Bytes of files that are there already, by action.
        package var there: [TaskOutlook.Action: Int64] = [:]
        /// Bytes of partial files and unfinished uploads that need not move again, by action.
        package var kept: [TaskOutlook.Action: Int64] = [:]
        /// Number of tasks whose bytes are not known.
        package var unknownSizes = 0
        /// Bytes that are known to move.
        package var bytes: Int64 { moving.values.reduce(0) { $0.saturating($1) } }
        /// Bytes of files that are there.
        package var bytesThere: Int64 { there.values.reduce(0) { $0.saturating($1) } }
        /// Bytes that are kept of unfinished transfers.
        package var bytesKept: Int64 { kept.values.reduce(0) { $0.saturating($1) } }
    }

    /// The room of a filesystem, and what the run would bring there.
    package struct DiskRoom: Hashable, Sendable {
        /// A folder on it that gets files.
        package var folder: String
        /// Bytes that are known to be written there.
        package var needed: Int64
        /// Bytes that are free there.
        package var free: Int64
        package init(folder: String, needed: Int64, free: Int64) {
            (self.folder, self.needed, self.free) = (folder, needed, free)
        }
    }

    package init(_ job: Job, _ outlooks: [TaskOutlook], words: [ServerAnswer] = []) {
        self.job = job
        self.outlooks = outlooks
        self.words = words
        steps = Self.steps(of: job)
        totals = Self.totals(outlooks)
        hosts = Self.hosts(of: job, outlooks)
        notes = Self.notes(job, outlooks)
    }

    /// The server that a task asks first; `nil` for none, or for one that is known in the run.
    package func origin(of task: Int) -> Origin? {
        job.tasks[task].location.url.flatMap { $0.needsConnection ? $0.origin : nil }
    }

    private static func totals(_ outlooks: [TaskOutlook]) -> Totals {
        var totals = Totals()
        for outlook in outlooks {
            let action = outlook.action
            totals.count[action, default: 0] += 1
            if let bytes = outlook.bytesToMove {
                totals.moving[action, default: 0].add(bytes)
            } else {
                totals.unknownSizes += 1
            }
            if let bytes = outlook.bytesThere { totals.there[action, default: 0].add(bytes) }
            if let bytes = outlook.bytesKept { totals.kept[action, default: 0].add(bytes) }
        }
        return totals
    }

    /// Calls `body` with each place that a task may ask for an access token: of GitHub's assertions, that of those too.
    private static func forEachTokenURL(of job: Job, _ body: (ResourceURL) -> Void) {
        for task in job.tasks {
            for credential in task.options.values.policies.credentials {
                guard case .oauth2(let client) = credential.source,
                    task.location.url.map({ credential.host?.matches($0.origin) ?? true }) ?? true
                else { continue }
                if case .assertion(.github(let url, _)) = client.grant { body(url) }
                body(client.tokenURL)
            }
        }
    }

    private static func hosts(of job: Job, _ outlooks: [TaskOutlook]) -> [Host] {
        var table = OriginTable()
        var hosts: [Host] = []
        var sessions: [Set<SessionIndex>] = []
        for index in job.tasks.indices {
            guard let url = job.tasks[index].location.url, url.needsConnection else { continue }
            let number = Int(table.id(of: url).raw)
            if number == hosts.count {
                hosts.append(Host(origin: url.origin))
                sessions.append([])
            }
            hosts[number].tasks += 1
            if let bytes = outlooks[index].bytesToMove {
                hosts[number].bytes.add(bytes)
            } else {
                hosts[number].unknownSizes += 1
            }
            if !sessions[number].contains(job.tasks[index].session) {
                sessions[number].insert(job.tasks[index].session)
                hosts[number].connections +=
                    job.sessions[Int(job.tasks[index].session.raw)].maximumConnectionsPerHost
            }
        }
        forEachTokenURL(of: job) { url in
            // It is asked once for all tasks.
            if Int(table.id(of: url).raw) == hosts.count { hosts.append(Host(origin: url.origin, connections: 1)) }
        }
        return hosts.map { host in
            var host = host
            let limits = job.limits.hosts.filter { $0.pattern.matches(host.origin) }
            host.connections = ([host.connections] + limits.compactMap(\.maximumConnections)).min() ?? 0
            return host
        }
    }

    private static func notes(_ job: Job, _ outlooks: [TaskOutlook]) -> [String] {
        var notes: [String] = []
        let late = job.tasks.indices.filter { index in
            if case .awaitingCapture = job.tasks[index].location { outlooks[index].action != .expand } else { false }
        }
        if !late.isEmpty {
            notes.append("\(HumanText.count(late.count, "URL")) that other tasks capture: known in the run")
        }
        let templates = outlooks.count { $0.action == .expand }
        if templates > 0 {
            notes.append(
                "how many tasks \(HumanText.count(templates, "`forEach`")) \(templates == 1 ? "becomes" : "become"), and what "
                    + "they move: known in the run")
        }
        return notes
    }

    // MARK: Order

    /// Returns the length of the longest chain of needs that ends at each task. A group stands between its members and
    /// the tasks that need it.
    private static func steps(of job: Job) -> [Int] {
        let count = job.tasks.count
        guard job.tasks.contains(where: { !$0.needs.isEmpty || !$0.options.values.neededGroups.isEmpty }) else {
            return [Int](repeating: 1, count: count)
        }
        var members = [[Int]](repeating: [], count: job.groups.count)
        for index in job.tasks.indices {
            if let group = job.tasks[index].group { members[Int(group.raw)].append(index) }
        }
        let numbers = Dictionary(job.groups.enumerated().map { ($1.name, $0) }) { first, _ in first }
        var steps = [Int](repeating: 0, count: count + job.groups.count)
        var open: [(node: Int, needs: [Int], next: Int)] = []
        func needs(of node: Int) -> [Int] {
            guard node < count else { return members[node - count] }
            return job.tasks[node].needs.map { Int($0.raw) }
                + job.tasks[node].options.values.neededGroups.compactMap { numbers[$0] }.map { count + $0 }
        }
        for first in 0..<count where steps[first] == 0 {
            open.append((first, needs(of: first), 0))
            while var top = open.popLast() {
                if top.next < top.needs.count {
                    let need = top.needs[top.next]
                    top.next += 1
                    open.append(top)
                    if steps[need] == 0 { open.append((need, needs(of: need), 0)) }
                } else if steps[top.node] == 0 {
                    let last = top.needs.map { steps[$0] }.max() ?? 0
                    steps[top.node] = top.node < count ? last + 1 : max(1, last)
                }
            }
        }
        return Array(steps[..<count])
    }
}

extension Int64 {
    /// The sum, at most `Int64.max`.
    func saturating(_ other: Int64) -> Int64 {
        let (sum, isOver) = addingReportingOverflow(other)
        return isOver ? .max : sum
    }

    mutating func add(_ other: Int64) { self = saturating(other) }
}
