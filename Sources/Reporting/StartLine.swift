internal import TransferModel

/// The first line of a run: `20 tasks · 3 hosts · 4.0 GiB · 6 at a time to a host`.
enum StartLine {
    /// Returns the line; `nil` for a job of one task, whose own line says all of it.
    static func text(_ job: Job) -> String? {
        guard job.tasks.count > 1 else { return nil }
        let hosts = hosts(job)
        let parts = [
            HumanText.count(job.tasks.count, "task"), hosts > 1 ? HumanText.count(hosts, "host") : nil, size(job),
            limits(job, hosts: hosts), job.limits.bandwidth.map { rate($0) },
        ]
        return parts.compactMap { $0 }.joined(separator: " · ")
    }

    private static func hosts(_ job: Job) -> Int {
        var origins: Set<Origin> = []
        var last: ResourceURL?
        for index in job.tasks.indices {
            guard case .url(let url) = job.tasks[index].location, url.needsConnection else { continue }
            if let last, last.hasSameOrigin(as: url) { continue }
            last = url
            origins.insert(url.origin)
        }
        return origins.count
    }

    /// Sum of the sizes that the job file gives for its tasks; `nil` without any.
    private static func size(_ job: Job) -> String? {
        var known: Int64 = 0
        var unknown = 0
        for index in job.tasks.indices {
            let values = job.tasks[index].options.values
            if let size = values.expect.size ?? values.sizeHint {
                known = known.addingReportingOverflow(size).partialValue
            } else {
                unknown += 1
            }
        }
        guard known > 0 else { return nil }
        return unknown == 0 ? HumanText.size(known) : "at least \(HumanText.size(known))"
    }

    /// The limits that keep some of the tasks waiting.
    private static func limits(_ job: Job, hosts: Int) -> String? {
        let tasks = job.tasks.count
        let run = job.limits.maximumConcurrentTasks
        let perHost = job.sessions.filter { $0.maximumConnectionsPerHost * max(1, hosts) < tasks }
            .max { $0.maximumConnectionsPerHost < $1.maximumConnectionsPerHost }
        let parts = [
            run < tasks ? "\(run) at a time" : nil,
            perHost.flatMap { session in
                guard session.maximumConnectionsPerHost < run else { return nil }
                let least = session.connectionRange.map { "\($0.minimum) to " } ?? ""
                return "\(least)\(session.maximumConnectionsPerHost) to a host"
            },
        ].compactMap { $0 }
        return parts.isEmpty ? nil : parts.joined(separator: ", ")
    }

    private static func rate(_ bandwidth: Bandwidth) -> String {
        switch bandwidth {
        case .steady(let rate): "\(HumanText.size(rate))/s"
        case .byTimeOfDay: "bandwidth by time of day"
        }
    }
}
