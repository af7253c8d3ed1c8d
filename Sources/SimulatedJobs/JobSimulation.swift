import JobRunner
import Scheduling
import Simulation
package import TransferModel

/// Runs a job's own scheduler on a virtual clock against a modelled network.
package struct JobSimulation: Sendable {
    private let job: Job
    private let plan: ForeseenPlan
    private let world: WorldModel
    private let network: NetworkModel

    /// Stands for the server of tasks whose URL is known only in the run.
    private static let late = Origin(scheme: "https", host: "known-in-the-run", port: 443)
    /// Longest simulated time, which only a faulty scheduler reaches.
    private static let mostTime = TimeSpan.seconds(400 * 86_400)

    package init(_ job: Job, in network: NetworkModel, seed: UInt64, failFast: Bool = false) {
        self.job = job
        self.network = network
        var plan = ForeseenPlan(job, seed: seed, failFast: failFast, lateOrigin: Self.late)
        // A model has no networks and no power, which change on a real machine.
        plan.scheduling.conditions = nil
        self.plan = plan
        world = Self.world(job, plan, network, seed)
    }

    /// Runs the job to its end. A `consumer` gets the events that a run would write.
    package func run(telling consumer: (any EventConsumer)? = nil) -> SimulationSummary {
        let tape = consumer.map { EventTape($0, names: names) }
        var run = SimulatedRun(
            setting, in: world, observer: SimulationTally(plan.scheduling, hosts: plan.origins.count), tape: tape)
        let result = run.run(mostTime: Self.mostTime)
        return SimulationSummary(job, network, plan.origins, plan.hostLimits, result, run.observer)
    }

    private var setting: SimulatedSetting {
        var setting = SimulatedSetting(plan.scheduling)
        setting.hostLimits = plan.hostLimits
        return setting
    }

    private var names: EventTape.Names {
        let (tasks, origins, credentials) = (job.tasks, plan.origins, job.credentialNames)
        return EventTape.Names(
            origin: { origins[Int($0.raw)] },
            url: { task, origin in
                let location = tasks[Int(task.raw)].location
                guard let origin, location.originURL?.origin != origins[Int(origin.raw)] else {
                    return credentials.masked(location.shown)
                }
                return "\(origins[Int(origin.raw)])/"
            },
            path: { tasks[Int($0.raw)].type == .download ? tasks[Int($0.raw)].destination : nil })
    }

    // MARK: The world

    private static func world(_ job: Job, _ plan: ForeseenPlan, _ network: NetworkModel, _ seed: UInt64) -> WorldModel {
        var world = WorldModel()
        world.seed = seed
        world.deliveryTime = network.delivery
        world.segments = min(16, job.tasks.lazy.map { $0.options.values.segments }.max() ?? 1)
        let hosts = plan.origins.map { network.host($0) }
        world.hosts = hosts.map { host($0) }
        world.patience = job.sessions.map(\.taskDefaults.timeoutForRequest).min() ?? world.patience
        var sizes = [Int64](repeating: 0, count: job.tasks.count)
        for index in job.tasks.indices {
            guard let origin = plan.scheduling.tasks[index].origin else { continue }
            sizes[index] = size(job.tasks[index], index, hosts[Int(origin.raw)], network, seed)
            if job.tasks[index].type == .upload { world.uploadTasks.insert(index) }
        }
        world.sizes = .listed(sizes)
        return world
    }

    private static func host(_ model: NetworkModel.Host) -> WorldModel.Host {
        var host = WorldModel.Host()
        (host.latency, host.spread, host.connectTime) = (model.latency, model.spread, model.connect)
        (host.bandwidth, host.connectionBandwidth) = (model.bandwidth, model.connectionBandwidth)
        host.mostRequests = model.maximumConnections
        host.version = model.isShared ? .http2 : .http1
        host.faults.statuses = model.statuses.sorted { $0.key < $1.key }.map {
            WorldModel.Status($0.key, share: $0.value)
        }
        (host.faults.cuts, host.faults.hangUps, host.faults.silences) = (model.cuts, model.hangUps, model.timeouts)
        host.faults.retryAfter = model.retryAfter
        return host
    }

    /// Returns the size of a task's file: that of the job, else that of an earlier report, else that of the host in the
    /// model.
    private static func size(
        _ task: TaskSpecification, _ index: Int, _ host: NetworkModel.Host, _ network: NetworkModel, _ seed: UInt64
    ) -> Int64 {
        if let measured = network.sizes[task.id] { return measured }
        let values = task.options.values
        if let size = values.expect.size ?? values.sizeHint { return size }
        let width = UInt64(host.size.upperBound - host.size.lowerBound)
        guard width > 0 else { return host.size.lowerBound }
        var mixed = (seed &+ UInt64(index)) &* 0x9E37_79B9_7F4A_7C15
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return host.size.lowerBound + Int64((mixed ^ (mixed >> 31)) % (width + 1))
    }
}
