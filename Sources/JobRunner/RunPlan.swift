import Scheduling
import TransferModel

/// A job turned into the scheduler's numbers.
struct RunPlan {
    var scheduling = SchedulingPlan()
    var origins = OriginTable()

    init(_ job: Job, seed: UInt64, failFast: Bool) {
        scheduling.seed = seed
        scheduling.failFast = failFast
        scheduling.maximumConcurrentTasks = job.limits.maximumConcurrentTasks
        scheduling.sessions = job.sessions.map { session in
            SchedulingPlan.Session(
                maximumConnectionsPerHost: session.maximumConnectionsPerHost,
                maximumConcurrentTasks: session.maximumConcurrentTasks,
                streamsPerConnection: session.http.maximumStreamsPerConnection,
                cancelsOnInvalidation: session.onInvalidate == .cancel)
        }
        scheduling.tasks.reserveCapacity(job.tasks.count)
        var known: (options: TaskOptions, retry: Int)?
        var lastURL: (url: ResourceURL, origin: OriginID?)?
        for task in job.tasks {
            let options = task.options.values
            if known?.options !== task.options {
                scheduling.retries.append(options.policies.retry)
                known = (task.options, scheduling.retries.count - 1)
            }
            var origin: OriginID?
            if let url = task.location.url {
                if let lastURL, lastURL.url.hasSameOrigin(as: url) {
                    origin = lastURL.origin
                } else {
                    origin = url.isHTTP ? origins.id(of: url.origin) : nil
                    lastURL = (url, origin)
                }
            }
            scheduling.tasks.append(
                SchedulingPlan.Task(
                    session: task.session, origin: origin, needs: task.needs, priority: options.priority,
                    retry: known?.retry ?? 0, timeoutForResource: options.policies.timeoutForResource,
                    allowFailure: options.allowFailure))
        }
    }
}
