internal import TransferModel

/// Produces a line now and then that says that the run goes on and how far it is, for logs without a live part. Pure:
/// the caller gives the time.
struct Heartbeat {
    private let interval: TimeSpan?
    private(set) var due: WallTime?
    private var beganAt: WallTime?
    private var lastBeat: (time: WallTime, moved: Int64)?
    private var running: Set<TaskIndex> = []
    private var waiting: [TaskIndex: WaitReason] = [:]

    init(every interval: TimeSpan?) { self.interval = interval }

    mutating func begin(at time: WallTime) {
        beganAt = time
        lastBeat = (time, 0)
        due = interval.map { time + $0 }
    }

    mutating func end() { due = nil }

    mutating func began(_ task: TaskIndex) {
        guard interval != nil else { return }
        running.insert(task)
        waiting[task] = nil
    }

    mutating func ended(_ task: TaskIndex) { running.remove(task) }
    mutating func waits(_ task: TaskIndex, _ reason: WaitReason) { if interval != nil { waiting[task] = reason } }

    mutating func finished(_ task: TaskIndex) {
        running.remove(task)
        waiting[task] = nil
    }

    /// Returns the line when one is due: `[5m30s] 12 of 20 tasks done, 6 running, 2 waiting · 1.2 GiB · 10.0 MiB/s`.
    mutating func text(at now: WallTime, tasks: Int, _ tally: RunTally, moved: Int64) -> String? {
        guard let interval, let due, now >= due, let beganAt, let last = lastBeat else { return nil }
        self.due = now + interval
        lastBeat = (now, moved)
        let left = tasks - tally.finished - running.count
        let counts = [
            "\(HumanText.grouped(tally.finished)) of \(HumanText.count(tasks, "task")) done",
            tally.troubled > 0 ? "\(HumanText.grouped(tally.troubled)) not succeeded" : nil,
            running.isEmpty ? nil : "\(HumanText.grouped(running.count)) running",
            left > 0 ? "\(HumanText.grouped(left)) waiting\(reason(left))" : nil,
        ].compactMap { $0 }.joined(separator: ", ")
        let rate = HumanText.rate(moved - last.moved, in: now - last.time).map { "\(HumanText.size($0))/s" } ?? "0 B/s"
        return "[\(HumanText.duration(now - beganAt))] \(counts) · \(HumanText.size(moved)) · \(rate)"
    }

    /// What the tasks wait for, while none runs: the one reason of all of them, else how many wait for each of the two most
    /// frequent ones.
    private func reason(_ left: Int) -> String {
        guard running.isEmpty, !waiting.isEmpty else { return "" }
        let counts = waiting.values.reduce(into: [WaitReason: Int]()) { $0[$1, default: 0] += 1 }
        let order = WaitReason.allCases.filter { counts[$0] != nil }
            .sorted { counts[$0, default: 0] > counts[$1, default: 0] }
        if let only = order.first, counts[only] == left { return " for \(Explanation.words(only))" }
        let groups = order.prefix(2).map {
            "\(HumanText.grouped(counts[$0, default: 0])) for \(Explanation.words($0))"
        }
        return " (\(groups.joined(separator: ", ")))"
    }
}
