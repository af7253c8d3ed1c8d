import BackgroundService
import Diagnostics
import JobRunner
import Reporting
import TransferModel

extension StatusView {
    /// What can be used now first, then by the kernel's numbers.
    var networks: [NetworkInterface] {
        conditions.networks.filter { $0.isThere } + conditions.networks.filter { !$0.isThere }
    }

    var text: String {
        var lines = ["networks"]
        let names = networks.map { Visible.text($0.name) }
        let kinds = networks.map { $0.description }
        let width = (names.map { $0.count }.max() ?? 0, kinds.map { $0.count }.max() ?? 0)
        for ((network, name), kind) in zip(zip(networks, names), kinds) {
            let state = network.isThere ? "there" : network.isUsable ? "local" : "not there"
            lines.append(
                "  \(name.padded(to: width.0))  \(kind.padded(to: width.1))  \(state.padded(to: 9))  "
                    + Visible.text(network.why))
        }
        if networks.isEmpty { lines.append("  none") }
        lines.append("power: \(conditions.power.words)")
        lines += sessionLines + runLines
        return lines.joined(separator: "\n") + "\n"
    }

    private var sessionLines: [String] {
        sessions.isEmpty ? [] : ["sessions"] + sessions.flatMap { $0.lines }
    }

    private var runLines: [String] {
        if runs.isEmpty { return sessions.isEmpty ? ["no run is under way"] : [] }
        return ["runs"] + runs.flatMap { $0.lines }
    }
}

extension StatusView.Run {
    fileprivate var lines: [String] {
        guard let status else { return ["  \(process)  does not answer"] }
        return ["  \(process)  \(Visible.text(status.job)): \(words(for: status.counts))"]
            + taskLines(status.tasks.map { TaskLine($0) }, status.counts)
    }
}

extension BackgroundSession {
    fileprivate var lines: [String] {
        let outcomes: [String] = TaskOutcome.allCases.compactMap { outcome in
            let count = tasks.count { $0.outcome == outcome }
            return state == .finished && count > 0 ? "\(count) \(outcome.rawValue)" : nil
        }
        let words = outcomes.isEmpty ? words(for: counts) : outcomes.joined(separator: ", ")
        let hint =
            state == .finished ? ["    `transfer-run attach \(Visible.text(identifier))` tells how it ended"] : []
        let held = trouble.map { ["    held up: \(Visible.text($0))"] } ?? []
        return ["  \(Visible.text(identifier))  \(Visible.text(job)): \(words)"] + held
            + taskLines(tasks.filter { $0.state != .finished }.map { TaskLine($0) }, counts) + hint
    }
}

/// `3 waiting, 1 running`
private func words(for counts: [RunStatus.State: Int]) -> String {
    let words = RunStatus.State.allCases.compactMap { state in
        counts[state].flatMap { $0 > 0 ? "\($0) \(state.rawValue)" : nil }
    }
    return words.isEmpty ? "no tasks" : words.joined(separator: ", ")
}

/// Those that run first, then why the others do not; of many the first.
private func taskLines(_ tasks: [TaskLine], _ counts: [RunStatus.State: Int]) -> [String] {
    let most = 10
    let running = tasks.filter { $0.isRunning && $0.bytes != nil }
    let waiting = tasks.filter { $0.waitsFor != nil }
    var lines = running.prefix(most).map { "    \(Visible.text($0.id)): \($0.bytes ?? "")" }
    lines += waiting.prefix(most).map { "    \(Visible.text($0.id)) waits for \(Visible.text($0.waitsFor ?? ""))" }
    let held = (counts[.waiting] ?? 0) + (counts[.suspended] ?? 0) - min(waiting.count, most)
    if held > 0 { lines.append("    and \(held) more wait") }
    return lines
}

/// What there is to say of a task that has not ended.
private struct TaskLine {
    let id: String
    let isRunning: Bool
    let waitsFor: String?
    /// `1.5 MiB of 20.0 MiB`; `nil` before the first byte.
    let bytes: String?

    init(_ task: RunStatus.Task) {
        self.init(
            task.id, task.state, task.lacks, task.waitingFor, max(task.bytesReceived, task.bytesSent), task.expected)
    }

    init(_ task: SessionTask) {
        self.init(
            task.id, task.state, task.lacks, task.waitingFor, max(task.bytesReceived, task.bytesSent), task.expected)
    }

    private init(
        _ id: String, _ state: RunStatus.State, _ lacks: String?, _ reason: WaitReason?, _ moved: Int64,
        _ expected: Int64?
    ) {
        self.id = id
        isRunning = state == .running
        waitsFor = lacks ?? reason.map { Explanation.words($0) }
        let whole = expected.map { " of \(HumanText.size($0))" } ?? ""
        bytes = moved > 0 ? HumanText.size(moved) + whole : nil
    }
}

extension PowerState {
    /// `battery, 73 %, falling`
    fileprivate var words: String {
        ([source.rawValue] + (battery.map { ["\(Int($0)) %"] } ?? []) + (isFalling ? ["falling"] : []))
            .joined(separator: ", ")
    }
}

extension String {
    fileprivate func padded(to width: Int) -> String {
        self + String(repeating: " ", count: max(0, width - count))
    }
}
