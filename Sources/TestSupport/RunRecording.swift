package import Scheduling
package import Simulation
package import TextFormats
internal import TransferModel

/// A real run read back from the lines of its events: its plan, and how its attempts went.
package struct RunRecording: Sendable {
    /// The plan that the run had, as far as `facts` and events tell.
    package let plan: SchedulingPlan
    /// How the run's attempts went, for a simulation to replay.
    package let script: RecordedRun

    /// Reads the lines of a run's events. `facts` are those of its job; a session has the connections per host that are
    /// its default.
    package init(_ lines: [JSONValue], _ facts: TraceFacts) throws {
        var origins = OriginTable()
        var attempts = [[RecordedRun.Attempt]](repeating: [], count: facts.tasks.count)
        var firstOrigins = [OriginID?](repeating: nil, count: facts.tasks.count)
        var status = [Int?](repeating: nil, count: facts.tasks.count)
        var pauses = [TimeSpan?](repeating: nil, count: facts.tasks.count)
        var hops = [[OriginID]](repeating: [], count: facts.tasks.count)
        for line in lines {
            let step = try TraceStep(line, facts)
            guard let task = step.task else { continue }
            switch step.kind {
            case .attemptStarted:
                let origin = try Self.origin(line, "url", &origins)
                if firstOrigins[task] == nil { firstOrigins[task] = origin }
                status[task] = nil
                hops[task] = []
            case .redirect: if let next = try Self.origin(line, "to", &origins) { hops[task].append(next) }
            case .response(let code): status[task] = code
            case .attemptFinished(let end):
                pauses[task] = end.backoff
                attempts[task].append(
                    RecordedRun.Attempt(
                        duration: end.duration, outcome: end.outcome, error: end.error, status: status[task],
                        hops: hops[task]))
            // The server asked for this pause.
            case .waiting(.retryAfter): attempts[task][attempts[task].count - 1].retryAfter = pauses[task]
            default: break
            }
        }
        script = RecordedRun(attempts: attempts)
        plan = Self.plan(facts, firstOrigins)
    }

    private static func origin(
        _ line: JSONValue, _ member: String, _ origins: inout OriginTable
    ) throws -> OriginID? {
        guard case .string(let text)? = line[member] else { return nil }
        let url = try ResourceURL.parse(text)
        return url.needsConnection ? origins.id(of: url) : nil
    }

    private static func plan(_ facts: TraceFacts, _ origins: [OriginID?]) -> SchedulingPlan {
        var plan = SchedulingPlan()
        plan.maximumConcurrentTasks = facts.maximumConcurrentTasks
        plan.failFast = facts.failFast
        plan.tellsLimitWaits = true
        plan.sessions = facts.sessions.map { session in
            SchedulingPlan.Session(
                maximumConnectionsPerHost: 6, maximumConcurrentTasks: session.maximumConcurrentTasks,
                streamsPerConnection: 100, cancelsOnInvalidation: false)
        }
        for (index, task) in facts.tasks.enumerated() {
            var policy = SchedulingPlan.TaskPolicy()
            policy.retry = task.retry
            policy.earliestBegin = task.earliestBegin
            policy.allowFailure = task.mayFail ? .any : .no
            plan.policies.append(policy)
            plan.tasks.append(
                SchedulingPlan.Task(
                    session: SessionIndex(raw: UInt16(task.session)), origin: origins[index], policy: index,
                    needs: task.needs.map { TaskIndex(raw: UInt32($0)) }))
        }
        return plan
    }
}
