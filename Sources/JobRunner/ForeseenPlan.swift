package import Scheduling
package import TransferModel

/// The scheduler's plan of a job without a run: for simulations.
package struct ForeseenPlan: Sendable {
    /// What the scheduler is given. Templates count as tasks of their own.
    package var scheduling: SchedulingPlan
    /// The servers, by the numbers that the plan uses.
    package var origins: [Origin]
    /// `limits.hosts` for the servers that have some.
    package let hostLimits: [(origin: OriginID, limits: OriginLimits)]

    /// `lateOrigin`: the server of tasks whose host is known in the run alone.
    package init(_ job: Job, seed: UInt64, failFast: Bool, lateOrigin: Origin) {
        var settings = RunSettings(userAgent: "", seed: seed)
        settings.failFast = failFast
        settings.tellsLimitWaits = false
        var plan = RunPlan(job, settings: settings)
        var late: OriginID?
        for index in job.tasks.indices where job.tasks[index].location.originURL == nil {
            let origin = late ?? plan.origins.id(of: lateOrigin)
            late = origin
            plan.scheduling.tasks[index].origin = origin
        }
        plan.scheduling.templates = []
        scheduling = plan.scheduling
        origins = plan.origins.origins
        hostLimits = plan.origins.origins.enumerated().compactMap { number, origin in
            job.limits.limits(of: origin).map { (OriginID(raw: UInt32(number)), $0) }
        }
    }
}
