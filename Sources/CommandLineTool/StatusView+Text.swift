import BackgroundService
import Diagnostics
import JobRunner
import Reporting
import Stores
import TransferModel

extension StatusView {
    /// Networks that can be used now first, then the others, each by the kernel's numbers.
    var networks: [NetworkInterface] {
        conditions.networks.filter { $0.isThere } + conditions.networks.filter { !$0.isThere }
    }

    /// Returns sessions and runs; below them networks and power, where these hold a task back or `showsNetworks` is
    /// set. `bars`: style in which the progress of running tasks is drawn, `nil` for none.
    func text(
        showsNetworks: Bool, folder: StateFolder?, rates: [WatchedRates.Key: Int64] = [:], bars: LiveFrame.Style? = nil
    ) -> String {
        var lines =
            sessions.isEmpty
            ? [] : ["sessions"] + sessions.flatMap { $0.lines(rates[.session($0.identifier)], bars, folder) }
        if !runs.isEmpty { lines += ["runs"] + runs.flatMap { $0.lines(rates[.run($0.process)], bars) } }
        if lines.isEmpty { lines = ["no run is under way"] }
        if showsNetworks || isHeldBack { lines += networkLines }
        return lines.joined(separator: "\n") + "\n"
    }

    /// Whether a task waits for a network or for power.
    private var isHeldBack: Bool {
        func holds(_ reason: WaitReason?) -> Bool { reason == .network || reason == .power }
        return sessions.contains { $0.tasks.contains { holds($0.waitingFor) } }
            || runs.contains { $0.status?.tasks.contains { holds($0.waitingFor) } == true }
    }

    private var networkLines: [String] {
        let names = networks.map { Visible.text($0.name) }
        let kinds = networks.map { $0.description }
        let width = (names.map { TextLayout.width(of: $0) }.max() ?? 0, kinds.map { $0.count }.max() ?? 0)
        var lines = ["networks"]
        for ((network, name), kind) in zip(zip(networks, names), kinds) {
            let state = network.isThere ? "there" : network.isUsable ? "local" : "not there"
            lines.append(
                "  \(TextLayout.padded(name, to: width.0))  \(TextLayout.padded(kind, to: width.1))  "
                    + "\(TextLayout.padded(state, to: 9))  \(Visible.text(network.why))")
        }
        if networks.isEmpty { lines.append("  none") }
        return lines + ["power: \(conditions.power.words)"]
    }
}

extension StatusView.Run {
    fileprivate func lines(_ rate: Int64?, _ bars: LiveFrame.Style?) -> [String] {
        guard let status else { return ["  \(process)  does not answer"] }
        let tasks = status.tasks.map { TaskLine($0) }
        // Finished tasks are not included, so the total is unknown.
        let amounts = amounts(tasks, isWhole: false, rate)
        return ["  \(process)  \(Visible.text(status.job)): \(words(for: status.counts))\(amounts)"]
            + taskLines(tasks, status.counts, bars)
    }
}

extension BackgroundSession {
    fileprivate func lines(_ rate: Int64?, _ bars: LiveFrame.Style?, _ folder: StateFolder?) -> [String] {
        let outcomes: [String] = TaskOutcome.allCases.compactMap { outcome in
            let count = tasks.count { $0.outcome == outcome }
            return state == .finished && count > 0 ? "\(count) \(outcome.rawValue)" : nil
        }
        let words = outcomes.isEmpty ? words(for: counts) : outcomes.joined(separator: ", ")
        let ending = endingSince.map {
            ["    its tasks have ended; its `onFinish` and its report are under way since \(SessionAbsence.moment($0))"]
        }
        let hint =
            state == .finished && !isLost && ending == nil && over == nil
            ? folder.map { ["    \($0.command("attach", identifier)) tells how it ended"] } ?? [] : []
        let end = over.flatMap { run in folder.map { ["    \(Visible.text(SessionAbsence.end(of: run, $0)))"] } } ?? []
        let isHeldUp = state != .finished && trouble?.hasPrefix(ServiceTrouble.turnWords) == false
        let held = trouble.map { ["    \(isHeldUp ? "held up: " : "")\(Visible.text($0))"] } ?? []
        let amounts = amounts(tasks.map { TaskLine($0) }, isWhole: true, rate)
        // What can never go on waits for nothing.
        let left = isLost ? [] : taskLines(tasks.filter { $0.state != .finished }.map { TaskLine($0) }, counts, bars)
        let isSuspended = !isLost && tasks.contains { $0.state == .suspended }
        let resume =
            isSuspended ? folder.map { ["    \($0.command("resume", identifier)) resumes what is suspended"] } : nil
        return ["  \(Visible.text(identifier))  \(Visible.text(job)): \(words)\(amounts)"] + held + left
            + (resume ?? []) + (ending ?? []) + hint + end
    }
}

/// `3 waiting, 1 running`
private func words(for counts: [RunStatus.State: Int]) -> String {
    let words = RunStatus.State.allCases.compactMap { state in
        counts[state].flatMap { $0 > 0 ? "\($0) \(state.rawValue)" : nil }
    }
    return words.isEmpty ? "no tasks" : words.joined(separator: ", ")
}

/// ` · 1.2 GiB of 3.4 GiB · 5.0 MiB/s`. `isWhole`: `tasks` are all tasks of the run, so that the total is known.
private func amounts(_ tasks: [TaskLine], isWhole: Bool, _ rate: Int64?) -> String {
    let moved = tasks.reduce(0) { $0 &+ $1.moved }
    let isKnown = isWhole && tasks.allSatisfy { $0.expected != nil || $0.isFinished }
    let expected = tasks.reduce(0) { $0 &+ max($1.moved, $1.isFinished ? 0 : $1.expected ?? 0) }
    let whole = isKnown && expected > moved ? " of \(HumanText.size(expected))" : ""
    let parts = [
        moved == 0 ? nil : HumanText.size(moved) + whole,
        rate.map { "\(HumanText.size($0))/s" },
    ]
    return parts.compactMap { $0 }.map { " · \($0)" }.joined()
}

/// Lines for running tasks first, then for waiting ones with the reason; of many the first.
private func taskLines(
    _ tasks: [TaskLine], _ counts: [RunStatus.State: Int], _ bars: LiveFrame.Style?
) -> [String] {
    let most = 10
    let running = tasks.filter { $0.isRunning && $0.bytes != nil }
    let waiting = tasks.filter { $0.waitsFor != nil }
    var lines = running.prefix(most).map { task in
        let bar = bars.flatMap { style in
            task.expected.map { LiveFrame(style).bar(task.moved, of: $0, columns: 20) + " " }
        }
        return "    \(Visible.text(task.id)): \(bar ?? "")\(task.bytes ?? "")"
    }
    lines += waiting.prefix(most).map { task in
        let bytes = task.bytes.map { " (\($0))" } ?? ""
        return "    \(Visible.text(task.id)) waits for \(Visible.text(task.waitsFor ?? ""))\(bytes)"
    }
    let held = (counts[.waiting] ?? 0) + (counts[.suspended] ?? 0) - min(waiting.count, most)
    if held > 0, !waiting.isEmpty { lines.append("    and \(held) more wait") }
    return lines
}

/// One task in the form that lines are made from.
private struct TaskLine {
    let id: String
    let isRunning: Bool
    let isFinished: Bool
    let waitsFor: String?
    /// Bytes of the body in either direction; for a waiting task the bytes received, from which it resumes.
    let moved: Int64
    let expected: Int64?

    /// `1.5 MiB of 20.0 MiB`; `nil` before the first byte.
    var bytes: String? {
        guard moved > 0 else { return nil }
        return HumanText.size(moved) + (expected.map { " of \(HumanText.size($0))" } ?? "")
    }

    init(_ task: RunStatus.Task) {
        self.init(
            task.id, task.state, task.lacks, task.waitingFor, task.bytesReceived, task.bytesSent, task.expected)
    }

    init(_ task: SessionTask) {
        self.init(
            task.id, task.state, task.lacks, task.waitingFor, task.bytesReceived, task.bytesSent, task.expected)
    }

    private init(
        _ id: String, _ state: RunStatus.State, _ lacks: String?, _ reason: WaitReason?, _ received: Int64,
        _ sent: Int64, _ expected: Int64?
    ) {
        self.id = id
        isRunning = state == .running
        isFinished = state == .finished
        waitsFor = lacks ?? reason.map { Explanation.words($0) }
        // While a credential is looked up, the bytes are those of the refusal and not of the file.
        moved = isRunning || isFinished ? max(received, sent) : reason == .credential ? 0 : received
        self.expected = expected
    }
}

extension PowerState {
    /// `battery, 73 %, falling`
    fileprivate var words: String {
        ([source.rawValue] + (battery.map { ["\(Int($0)) %"] } ?? []) + (isFalling ? ["falling"] : []))
            .joined(separator: ", ")
    }
}
