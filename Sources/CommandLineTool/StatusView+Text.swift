import BackgroundService
import Diagnostics
import JobRunner
package import Reporting
package import Stores
package import TransferModel

extension StatusView {
    /// Networks that can be used now first, then the others, each by the kernel's numbers.
    var networks: [NetworkInterface] {
        conditions.networks.filter { $0.isThere } + conditions.networks.filter { !$0.isThere }
    }

    /// Returns sessions and runs; below them networks and power, where these hold a task back or `showsNetworks` is
    /// set. `bars`: style in which the progress of running tasks is drawn, `nil` for none. `namesAll`: each task that has
    /// not ended gets a line. `now`: the time for `in 23 s`; `nil` where the text is to stay while time goes on.
    package func text(
        showsNetworks: Bool, namesAll: Bool = false, folder: StateFolder, rates: [WatchedRates.Key: Int64] = [:],
        bars: LiveFrame.Style? = nil, now: WallTime? = nil
    ) -> String {
        let style = TaskStyle(bars: bars, namesAll: namesAll, now: now)
        var lines =
            sessions.isEmpty
            ? [] : ["sessions"] + sessions.flatMap { $0.lines(rates[.session($0.identifier)], style, folder) }
        if !runs.isEmpty { lines += ["runs"] + runs.flatMap { $0.lines(rates[.run($0.process)], style) } }
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
    fileprivate func lines(_ rate: Int64?, _ style: TaskStyle) -> [String] {
        guard let status else { return ["  \(process)  does not answer"] }
        let tasks = status.tasks.map { TaskLine($0) }
        // Finished tasks are not included, so the total is unknown.
        let amounts = amounts(tasks, isWhole: false, rate)
        return ["  \(process)  \(Visible.text(status.job)): \(words(for: status.counts))\(amounts)"]
            + style.lines(tasks, status.counts)
    }
}

extension BackgroundSession {
    fileprivate func lines(_ rate: Int64?, _ style: TaskStyle, _ folder: StateFolder) -> [String] {
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
            ? ["    \(folder.command("attach", identifier)) tells how it ended"] : []
        let end = over.map { ["    \(Visible.text(SessionAbsence.end(of: $0, folder)))"] } ?? []
        let isHeldUp = state != .finished && trouble?.hasPrefix(ServiceTrouble.turnWords) == false
        let held = trouble.map { ["    \(isHeldUp ? "held up: " : "")\(Visible.text($0))"] } ?? []
        let amounts = amounts(tasks.map { TaskLine($0) }, isWhole: true, rate)
        // What can never go on waits for nothing.
        let left = isLost ? [] : style.lines(tasks.filter { $0.state != .finished }.map { TaskLine($0) }, counts)
        let isSuspended = !isLost && tasks.contains { $0.state == .suspended }
        let resume = isSuspended ? ["    \(folder.command("resume", identifier)) resumes what is suspended"] : []
        return ["  \(Visible.text(identifier))  \(Visible.text(job)): \(words)\(amounts)"] + held + left
            + resume + (ending ?? []) + hint + end
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
    let isKnown = isWhole && tasks.allSatisfy { $0.task.expected != nil || $0.isFinished }
    let expected = tasks.reduce(0) { $0 &+ max($1.moved, $1.isFinished ? 0 : $1.task.expected ?? 0) }
    let whole = isKnown && expected > moved ? " of \(HumanText.size(expected))" : ""
    let parts = [
        moved == 0 ? nil : HumanText.size(moved) + whole,
        rate.map { "\(HumanText.size($0))/s" },
    ]
    return parts.compactMap { $0 }.map { " · \($0)" }.joined()
}

/// How tasks are told of.
private struct TaskStyle {
    /// How progress bars are drawn; `nil` for none.
    let bars: LiveFrame.Style?
    /// Whether each task that has not ended gets a line, however many there are.
    let namesAll: Bool
    /// The time for `in 23 s`; `nil` where the text stays while time goes on.
    let now: WallTime?

    private static let most = 10

    /// Lines for running tasks first, then for waiting ones with the reason; of many the first.
    func lines(_ tasks: [TaskLine], _ counts: [RunStatus.State: Int]) -> [String] {
        let running = tasks.filter { $0.isRunning }
        let reasoned = tasks.filter { $0.isHeld && $0.waitsFor != nil }
        // Where some have a reason to wait, the others are not left to be guessed.
        let others = namesAll || !reasoned.isEmpty ? tasks.filter { $0.isHeld && $0.waitsFor == nil } : []
        let waiting = reasoned + others
        let held = (counts[.waiting] ?? 0) + (counts[.suspended] ?? 0)
        return first(running, of: counts[.running] ?? 0, "run") { $0.running(bars) }
            + (waiting.isEmpty ? [] : first(waiting, of: held, "wait") { $0.waiting(now) })
    }

    private func first(
        _ tasks: [TaskLine], of count: Int, _ verb: String, _ words: (TaskLine) -> String
    ) -> [String] {
        // A line that says `1 more` says less than that one's.
        let most = namesAll || tasks.count <= Self.most + 1 ? tasks.count : Self.most
        let lines = tasks.prefix(most).map { "    \(Visible.text($0.task.id))\(words($0))" }
        return lines + (count > most ? ["    and \(count - most) more \(verb)"] : [])
    }
}

/// One task in the form that lines are made from.
private struct TaskLine {
    let task: RunStatus.Task

    init(_ task: RunStatus.Task) { self.task = task }

    init(_ task: SessionTask) {
        self.task = RunStatus.Task(
            id: task.id, state: task.state, waitingFor: task.waitingFor, lacks: task.lacks,
            bytesReceived: task.bytesReceived, bytesSent: task.bytesSent, expected: task.expected,
            attempts: task.attempts, error: task.error, nextAttemptAt: task.nextAttemptAt,
            startedOver: task.startedOver)
    }

    var isRunning: Bool { task.state == .running }
    var isFinished: Bool { task.state == .finished }
    var isHeld: Bool { !isRunning && !isFinished }
    var waitsFor: String? { task.lacks ?? task.waitingFor.map { Explanation.words($0) } }

    /// Bytes of the body in either direction; for a waiting task the bytes received, from which it resumes.
    var moved: Int64 {
        if isRunning || isFinished { return max(task.bytesReceived, task.bytesSent) }
        // While a credential is looked up, the bytes are those of the refusal and not of the file.
        return task.waitingFor == .credential ? 0 : task.bytesReceived
    }

    /// `1.5 MiB of 20.0 MiB`; `nil` before the first byte.
    private var bytes: String? {
        guard moved > 0 else { return nil }
        return HumanText.size(moved) + (task.expected.map { " of \(HumanText.size($0))" } ?? "")
    }

    private var message: String? { task.error.map { Visible.text(PeopleText.message($0.message)) } }

    /// `: 1.5 MiB of 20.0 MiB, attempt 3; the last one: the server answered 503`
    func running(_ bars: LiveFrame.Style?) -> String {
        let bar = bars.flatMap { style in
            task.expected.flatMap { moved > 0 ? LiveFrame(style).bar(moved, of: $0, columns: 20) + " " : nil }
        }
        let isSent = task.bytesReceived == 0 && task.bytesSent > 0 && task.bytesSent >= task.expected ?? .max
        let words = [
            (bar ?? "") + (bytes ?? "under way, no byte yet") + (isSent ? " sent, no answer yet" : ""),
            task.attempts > 1 ? "attempt \(task.attempts)" : nil,
        ]
        return ": " + words.compactMap(\.self).joined(separator: ", ")
            + (task.startedOver.map { "; started over: \(Visible.text($0))" } ?? "")
            + (message.map { "; the last one: \($0)" } ?? "")
    }

    /// ` waits for a network it may use (1.5 MiB); 3 attempts, the last one: the server answered 503`, or where only time
    /// is waited for `: 127.0.0.1 port 80 refused the connection; 3 attempts; tried again at 14:03:20 UTC (in 23 s)`.
    func waiting(_ now: WallTime?) -> String {
        let bytes = bytes.map { " (\($0))" } ?? ""
        let tries = task.attempts == 0 ? nil : HumanText.count(task.attempts, "attempt")
        guard let message, let reason = pause else {
            let failed = message.map { "; \(tries.map { "\($0), the last one: " } ?? "")\($0)" } ?? ""
            return (waitsFor.map { " waits for \(Visible.text($0))" } ?? " begins as soon as it can") + bytes + failed
        }
        return ": "
            + [message, tries, reason(task.nextAttemptAt.map { Self.moment($0, now) })].compactMap(\.self)
            .joined(separator: "; ") + bytes
    }

    /// The words for a wait that only time ends, made of that time; `nil` for other waits.
    private var pause: ((_ until: String?) -> String)? {
        switch task.waitingFor {
        case .backoff: { "tried again\($0.map { " at \($0)" } ?? " next")" }
        case .retryAfter: { "the server asked for quiet\($0.map { " until \($0)" } ?? "")" }
        case .hostParked: { "its host is tried again\($0.map { " at \($0)" } ?? " first")" }
        default: nil
        }
    }

    /// `14:03:20 UTC (in 23 s)`, with the date where that is another day; without `now` only the date and the time.
    private static func moment(_ time: WallTime, _ now: WallTime?) -> String {
        let words = SessionAbsence.moment(time)
        guard let now else { return words }
        let isToday = words.prefix(10) == SessionAbsence.moment(now).prefix(10)
        return (isToday ? String(words.dropFirst(11)) : words)
            + (time > now ? " (in \(HumanText.duration(time - now)))" : "")
    }
}

extension PowerState {
    /// `battery, 73 %, falling`
    fileprivate var words: String {
        ([source.rawValue] + (battery.map { ["\(Int($0)) %"] } ?? []) + (isFalling ? ["falling"] : []))
            .joined(separator: ", ")
    }
}
