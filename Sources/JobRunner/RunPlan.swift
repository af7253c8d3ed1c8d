package import Scheduling
import TextFormats
package import TransferModel

/// Translates a job into the scheduler's plan.
struct RunPlan {
    var scheduling = SchedulingPlan()
    var origins = OriginTable()

    init(_ job: Job, settings: RunSettings) {
        scheduling.seed = settings.seed
        scheduling.failFast = settings.failFast || job.failFast
        scheduling.stopWhen = job.limits.stopWhen
        scheduling.putsOffWhatWaits = settings.putsOffWhatWaits
        scheduling.waitsForResume = settings.waitsForResume
        scheduling.tellsLimitWaits = settings.tellsLimitWaits
        scheduling.maximumConcurrentTasks = job.limits.maximumConcurrentTasks
        scheduling.bandwidth = job.limits.bandwidth.map { RateRule($0) }
        scheduling.timeout = job.limits.timeout
        scheduling.timeIsOver = job.timeIsOver
        scheduling.bytesAreSpent = job.byteRule.map { .bytesAreSpent($0) }
        scheduling.finishBy = job.limits.finishBy
        scheduling.maximumBytes = job.limits.maximumBytes
        scheduling.groupCount = job.groups.count
        scheduling.sessions = job.sessions.map { Self.session($0) }
        addTasks(job, from: 0)
    }

    /// Plan of the tasks that were added to a job, from that number on. New origins go into the table.
    static func added(_ job: Job, from start: Int, _ origins: inout OriginTable) -> AddedTasks {
        var plan = RunPlan(origins: origins)
        plan.addTasks(job, from: start)
        origins = plan.origins
        var added = AddedTasks()
        added.tasks = plan.scheduling.tasks
        added.policies = plan.scheduling.policies
        added.mirrors = plan.scheduling.mirrors
        added.unrepeatable = JobRun.unrepeatable(job, from: start)
        return added
    }

    private init(origins: OriginTable) { self.origins = origins }

    private static func session(_ session: SessionConfiguration) -> SchedulingPlan.Session {
        var plan = SchedulingPlan.Session(
            maximumConnectionsPerHost: session.maximumConnectionsPerHost,
            maximumConcurrentTasks: session.maximumConcurrentTasks,
            streamsPerConnection: session.http.maximumStreamsPerConnection,
            cancelsOnInvalidation: session.onInvalidate == .cancel)
        plan.connectionRange = session.connectionRange
        plan.requestsPerSecond = session.requestsPerSecond
        plan.bandwidth = session.bandwidth.map { RateRule($0) }
        plan.window = session.window.map { rule(of: $0) }
        plan.waitsForCredentials = session.kind == .background
        plan.isPatient = session.kind == .background
        return plan
    }

    private static func rule(of window: TimeWindow) -> WindowRule {
        let hours = WindowHours(inItsZone: window)
        return WindowRule { date in
            WindowRule.State(isOpen: hours.isOpen(at: date), changesAt: hours.nextChange(after: date))
        }
    }

    private mutating func addTasks(_ job: Job, from start: Int) {
        let groups = Dictionary(
            job.groups.enumerated().map { ($1.name, GroupIndex(raw: UInt16($0))) },
            uniquingKeysWith: { first, _ in first })
        scheduling.tasks.reserveCapacity(job.tasks.count - start)
        // Most tasks share their options with the one before, and its host.
        var known: (options: TaskOptions, session: SessionIndex, policy: Int)?
        var lastURL: (url: ResourceURL, session: SessionIndex, origin: OriginID?)?
        for index in job.tasks.indices[start...] {
            // Not the task as a whole: copying it costs more than what is done here.
            let session = job.tasks[index].session
            let options = job.tasks[index].options
            if known?.options !== options.kin || known?.session != session {
                scheduling.policies.append(Self.policy(options.values, job.sessions[Int(session.raw)]))
                known = (options.kin, session, scheduling.policies.count - 1)
            }
            if options.values.template != nil { scheduling.templates.insert(TaskIndex(raw: UInt32(index))) }
            var origin: OriginID?
            if let url = job.tasks[index].location.originURL {
                if let lastURL, lastURL.session == session, lastURL.url.hasSameOrigin(as: url) {
                    origin = lastURL.origin
                } else {
                    origin = slotOrigin(of: url, in: job.sessions[Int(session.raw)])
                    lastURL = (url, session, origin)
                }
            }
            if !options.values.mirrors.isEmpty {
                let session = job.sessions[Int(session.raw)]
                scheduling.mirrors[TaskIndex(raw: UInt32(index))] = options.values.mirrors.map { place in
                    place.originURL.flatMap { slotOrigin(of: $0, in: session) }
                }
            }
            if job.tasks[index].toStandardOutput { scheduling.outputTasks.append(TaskIndex(raw: UInt32(index))) }
            scheduling.tasks.append(
                SchedulingPlan.Task(
                    session: session, origin: origin, policy: known?.policy ?? 0, needs: job.tasks[index].needs,
                    group: job.tasks[index].group,
                    neededGroups: options.values.neededGroups.compactMap { groups[$0] }))
        }
    }

    private mutating func slotOrigin(of url: ResourceURL, in session: SessionConfiguration) -> OriginID? {
        session.takesSlot(url) ? origins.id(of: url) : nil
    }

    /// Among tasks of equal priority the larger goes first: a long task begun last would delay the end of the run. The
    /// value is less than the difference of any two priorities that a person writes.
    private static func precedence(ofSize hint: Int64?) -> Double {
        guard let hint, hint > 0 else { return 0 }
        return Double(64 - hint.leadingZeroBitCount) * 1e-9
    }

    private static func policy(
        _ options: TaskOptions.Values, _ session: SessionConfiguration
    ) -> SchedulingPlan.TaskPolicy {
        var policy = SchedulingPlan.TaskPolicy()
        policy.priority = options.priority + precedence(ofSize: options.sizeHint)
        policy.retry = options.policies.retry
        policy.timeoutForResource = options.policies.timeoutForResource
        policy.allowFailure = options.allowFailure
        policy.when = options.when
        policy.bandwidth = options.bandwidth.map { RateRule($0) }
        // The tasks that replace a template wait, not the template.
        policy.earliestBegin = options.template == nil ? options.earliestBegin : nil
        policy.isSuspended = options.template == nil && options.suspended
        policy.terms = options.policies.networkTerms
        policy.waitsForConnectivity = options.policies.waitsForConnectivity
        policy.isDiscretionary = session.discretionary == true
        return policy
    }
}

extension WindowHours {
    /// The window in the time zone that it names, or the machine's.
    init(inItsZone window: TimeWindow) {
        self.init(window, zone: window.timezone.map { TimeZoneFile.load($0) } ?? TimeZoneFile.local())
    }
}

extension RateRule {
    /// The rule in the time zones that its hours name, or the machine's.
    package init(_ bandwidth: Bandwidth) {
        switch bandwidth {
        case .steady(let rate): self = .steady(rate)
        case .byTimeOfDay(let entries):
            let hours = entries.map { (hours: WindowHours(inItsZone: $0.window), rate: $0.rate) }
            self.init { date in
                State(
                    rate: hours.first { $0.hours.isOpen(at: date) }?.rate,
                    changesAt: hours.compactMap { $0.hours.nextChange(after: date) }.min())
            }
        }
    }
}

extension RunLimits {
    /// Limits of `limits.hosts` for an origin: of several patterns that match, the strictest limit of each kind.
    func limits(of origin: Origin) -> OriginLimits? {
        let matching = hosts.filter { $0.pattern.matches(origin) }
        guard !matching.isEmpty else { return nil }
        return OriginLimits(
            maximumConnections: matching.compactMap(\.maximumConnections).min(),
            requestsPerSecond: matching.compactMap(\.requestsPerSecond).min { $0.perSecond < $1.perSecond })
    }
}
