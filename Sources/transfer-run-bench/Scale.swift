import Glibc
import Scheduling
import Simulation
import SystemIO
import TransferModel

/// Whole jobs before a modelled network: what deciding costs, and how much of it one process can hold.
struct Scale {
    private static let hosts = 10_000
    private static let concurrency = 1_000
    private static let counts = [1_000, 10_000, 100_000, 1_000_000]
    /// Bounds of the largest job, in seconds and MiB.
    private static let mostSeconds = 10.0
    private static let mostMemory = 1.5 * 1024

    /// Whether the largest job stayed within its bounds.
    func run() -> Bool {
        print("tasks over \(Self.hosts) modelled hosts, \(Self.concurrency) at once, scheduled to their end\n")
        print(
            Table.pad("network", 26) + Table.pad("tasks", 9, left: true) + Table.pad("attempts", 10, left: true)
                + Table.pad("seconds", 9, left: true) + Table.pad("us a task", 11, left: true)
                + Table.pad("peak MiB", 10, left: true) + Table.pad("simulated s", 13, left: true))
        var isWithin = true
        for (name, model) in [("every request succeeds", Self.world()), ("one in fifty fails", Self.faulty())] {
            for count in Self.counts { isWithin = row(name, model, count) && isWithin }
        }
        print("\nbounds of the last row of each: \(Int(Self.mostSeconds)) s and \(Int(Self.mostMemory)) MiB")
        return isWithin
    }

    private func row(_ name: String, _ model: WorldModel, _ count: Int) -> Bool {
        let start = Clocks.threadTime()
        var run = SimulatedRun(SimulatedSetting(Self.plan(count)), in: model, observer: NoObserver())
        let result = run.run()
        let seconds = (Clocks.threadTime() - start).seconds
        let memory = Self.peakMemory()
        print(
            Table.pad(name, 26) + Table.pad("\(count)", 9, left: true) + Table.pad("\(result.attempts)", 10, left: true)
                + Table.pad(Table.number(seconds, 3), 9, left: true)
                + Table.pad(Table.number(seconds * 1e6 / Double(count), 2), 11, left: true)
                + Table.pad(Table.number(memory, 1), 10, left: true)
                + Table.pad(Table.number(result.duration.seconds, 1), 13, left: true))
        guard result.ending == .finished else {
            print("the run ended \(result.ending)")
            return false
        }
        return count < 1_000_000 || seconds <= Self.mostSeconds && memory <= Self.mostMemory
    }

    /// Peak memory of the process so far in MiB: rows come in the order of their size.
    private static func peakMemory() -> Double {
        var usage = rusage()
        getrusage(RUSAGE_SELF.rawValue, &usage)
        return Double(usage.ru_maxrss) / 1024
    }

    private static func plan(_ count: Int) -> SchedulingPlan {
        var plan = SchedulingPlan()
        plan.maximumConcurrentTasks = concurrency
        plan.policies = [SchedulingPlan.TaskPolicy()]
        plan.sessions = [
            SchedulingPlan.Session(
                maximumConnectionsPerHost: 6, maximumConcurrentTasks: nil, streamsPerConnection: 100,
                cancelsOnInvalidation: false)
        ]
        plan.tasks.reserveCapacity(count)
        for index in 0..<count {
            plan.tasks.append(
                SchedulingPlan.Task(
                    session: SessionIndex(raw: 0), origin: OriginID(raw: UInt32(index % hosts)), policy: 0))
        }
        return plan
    }

    private static func world() -> WorldModel {
        var host = WorldModel.Host()
        host.bandwidth = 10_000_000
        var model = WorldModel()
        model.hosts = Array(repeating: host, count: hosts)
        model.sizes = .between(1_000, 100_000)
        return model
    }

    private static func faulty() -> WorldModel {
        var model = world()
        for host in model.hosts.indices {
            model.hosts[host].faults.serverErrors = 8
            model.hosts[host].faults.cuts = 8
            model.hosts[host].faults.unavailable = 4
        }
        return model
    }
}
