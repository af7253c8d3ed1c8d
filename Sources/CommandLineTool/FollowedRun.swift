import BackgroundService
import JobRunner
import Reporting
import Stores
import SystemIO
import TransferModel

/// Follows a run of the background process: its events become report, lines and progress as for a run of this process.
struct FollowedRun {
    let run: RunID
    let identifier: String
    /// Whether an earlier command began the run.
    let cameBack: Bool
    let options: RunOptions
    let environment: [String: String]
    let console: Console
    let folder: StateFolder
    let starter: ServiceStarter

    func perform(_ job: Job) -> Int32 {
        do {
            let outputs = try RunOutputs(job, options, environment, isOneOfSeveral: cameBack)
            if cameBack { outputs.cameBack(to: Set(job.tasks.map(\.session))) }
            let follower = try Follower(run, identifier, of: job, folder: folder, starter: starter)
            if outputs.wantsProgress { follower.wantsProgress(of: job) }
            switch try follow(follower, outputs) {
            case .interrupted(let number): return interrupted(number, job)
            case .heldBack(let held):
                LiveTerminal.standardError.clear()
                console.errors(held.words(job.redactor) + Self.goesOn(job, folder))
                return ExitStatus.incomplete.code
            case .finished(let end, let trouble):
                outputs.heard(end.hooks.map { $0.result(in: job) })
                return try runEnded(end, trouble, outputs, follower)
            }
        } catch {
            LiveTerminal.standardError.clear()
            let isKnown = cameBack && !folder.hasLost(identifier)
            console.errors("error: \(error)\n" + (isKnown ? "" : folder.handedOver(identifier)))
            return ExitStatus.runnerFailed.code
        }
    }

    /// How long the end of a run may take after its last task before the user is told what is waited for.
    private static let shortEnd = TimeSpan.seconds(1)

    private func follow(_ follower: Follower, _ outputs: RunOutputs) throws(ServiceTrouble) -> Follower.End {
        let heard = HeardSignal()
        let interrupt = follower.interrupt
        try? Signals.watch(aroundStop: LiveTerminal.standardError.standAside) { number in
            if case .second = heard.signalReceived(number) { Terminal.endAtOnce(number) }
            interrupt()
        }
        let consumers = outputs.consumers
        var wasHeld = false
        // A task may wait for a moment for what the process then finds by itself, such as a credential.
        let look = { (held: HeldBack) -> Bool in
            defer { wasHeld = held.isEverything }
            return held.isEverything && wasHeld
        }
        var over: Instant?
        var holdup = Holdup(identifier)
        var hasEnded = false
        return try follower.follow(
            signal: {
                if let time = over, Clocks.instant() - time >= Self.shortEnd {
                    console.errors("the tasks have ended: the end of `onFinish` is waited for, or of the report\n")
                    over = nil
                }
                return heard.number
            },
            hear: {
                console.errors(holdup.words($0, hasEnded: hasEnded))
            },
            due: { consumers.compactMap(\.nextTick).min() },
            tick: { now in
                for consumer in consumers where consumer.nextTick.map({ $0 <= now }) == true { try? consumer.tick(now) }
            },
            look: options.noWait ? look : nil,
            take: { events in
                for consumer in consumers { try? consumer.consume(events) }
                guard let last = events.last else { return }
                hasEnded = if case .runFinished = last.kind { true } else { false }
                over = hasEnded ? Clocks.instant() : nil
            })
    }

    private func interrupted(_ number: Int32, _ job: Job) -> Int32 {
        LiveTerminal.standardError.clear()
        console.errors(Self.goesOn(job, folder))
        return ExitStatus.signal(number).code
    }

    /// Returns a line for each background session with tasks of the job.
    static func goesOn(_ job: Job, _ folder: StateFolder) -> String {
        Set(job.tasks.map(\.session)).sorted().compactMap { job.sessions[Int($0.raw)].identifier }.map { identifier in
            "the session `\(identifier)` goes on in the background: \(folder.command("attach", identifier)) follows it, "
                + "\(folder.command("cancel", identifier)) ends it\n"
        }.joined()
    }

    private func runEnded(
        _ end: RunEnd, _ trouble: String?, _ outputs: RunOutputs, _ follower: Follower
    ) throws -> Int32 {
        if let trouble { console.errors("error: \(trouble)\n") }
        for warning in end.hooks.compactMap(\.warning) { console.errors(warning) }
        outputs.correct((end.outcome, end.exitStatus))
        do throws(OutputProblem) {
            try outputs.write()
        } catch {
            // The end is not confirmed, so that the next `attach` still gets it.
            let elsewhere = folder.command("attach", identifier, "--report", "PATH")
            console.errors("error: \(error)\n  hint: \(elsewhere) writes it elsewhere\n")
            return ExitStatus.runnerFailed.code
        }
        try follower.deliver()
        return Int32(end.exitStatus)
    }
}

extension HeldBack {
    /// Most tasks that have a line of their own.
    private static let most = 10

    /// What each task waits for, a line for each.
    func words(_ redactor: Redactor) -> String {
        if let trouble { return "put off: nothing can go on now, the run is held up: \(SafeText.line(trouble))\n" }
        let count = HumanText.count(tasks.count, "task")
        var lines = ["put off: \(count) cannot go on now, and no other is left (`--no-wait`)"]
        for task in tasks.prefix(Self.most) {
            let what = task.lacks ?? task.waitingFor.map { Explanation.words($0) } ?? "the next turn"
            lines.append("  \(redactor.redacted(name: task.id)) waits for \(redactor.redacted(what))")
        }
        if tasks.count > Self.most { lines.append("  and \(tasks.count - Self.most) more wait") }
        return lines.map { SafeText.line($0) + "\n" }.joined()
    }
}

/// Tells the follower of a session that it is held up, and that it goes on.
package struct Holdup {
    private let identifier: String
    /// What was told last, and whether the run's tasks had ended by then.
    private var told: (trouble: String, isOfTheEnd: Bool)?

    package init(_ identifier: String) { self.identifier = identifier }

    /// Returns the warning that the session's events wait in the background process, or that it waits for its turn; without
    /// `trouble`, that this is over. `hasEnded`: the run's last event was told.
    package mutating func words(_ trouble: String?, hasEnded: Bool = false) -> String {
        let before = told
        told = trouble.map { ($0, hasEnded) }
        let isTurn = (trouble ?? before?.trouble)?.hasPrefix(ServiceTrouble.turnWords) == true
        guard let trouble else {
            // The report could not be written: whether it can be now shows when this command writes it.
            if before?.isOfTheEnd == true { return "" }
            return "the session `\(identifier)` \(isTurn ? "has its turn" : "is held up no more")\n"
        }
        if isTurn { return "the session `\(identifier)`: \(trouble)\n" }
        return "warning: the session `\(identifier)` is held up: \(trouble)\n"
            + "  hint: it goes on by itself once that is mended, and nothing of it is lost\n"
    }
}
