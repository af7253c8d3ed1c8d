import Exports
import Reporting
import Stores
import SystemIO
import TransferModel

/// The work that follows when all events of a run are in the journal: its report unless a follower writes it, the
/// `onFinish` of its sessions and of the job, and the note that it has ended. The next process can repeat each step.
struct RunEnding {
    let id: RunID
    let accepted: AcceptedRun
    /// The run's job; grows when templates become tasks.
    var job: Job
    let recipe: RunRecipe
    let tools: HostTools
    /// Cancels a running `onFinish` command when this process has to end.
    let cancellation: Command.Cancellation

    /// The run has not ended: its commands or report were cut short and the next process repeats them, or tasks were
    /// added.
    struct Left: Error {}

    /// Returns the report, with the run's earlier events, if it is sure to be written here. It takes later events as
    /// they happen, so that the end does not wait for them.
    func beginReport(_ journal: Journal) throws -> JSONReport? {
        recipe.isDetached || !commands.isEmpty ? try report(journal) : nil
    }

    /// Returns a report with all events that are in the journal.
    private func report(_ journal: Journal) throws(StoreError) -> JSONReport {
        let report = JSONReport(job: job, runner: tools.runner)
        if let path = accepted.report { report.grow(at: path) }
        try JournalledPast.read(id, journal) { report.consume([$0][...]) }
        return report
    }

    /// Ends the run. A follower writes the run's report; without one it is written here. `begun` is the report from
    /// `beginReport`, if it has every event.
    func perform(_ journal: Journal, _ begun: JSONReport?, isReported: Bool) throws {
        let commands = commands
        let writesReport = recipe.isDetached || !commands.isEmpty || !isReported
        let report = writesReport ? try begun ?? report(journal) : JSONReport(job: job, runner: tools.runner)
        var end = try recordedEnd(journal)
        let isLast = !isReported && (recipe.isDetached || !commands.isEmpty)
        var isWritten = writesReport ? try write(report, isLast: isLast) : false
        if !commands.isEmpty {
            end.hooks = try run(commands, end, report.ends, journal)
            report.hooks = end.hooks.map { $0.result(in: job) }
            if end.hooks.contains(where: { $0.exitStatus != 0 }), end.exitStatus == 0 {
                (end.outcome, end.exitStatus) = (.failed, Int(ExitStatus.failed.code))
                report.correction = (end.outcome, end.exitStatus)
            }
            isWritten = try write(report, isLast: isLast)
        }
        let delivered = isLast || recipe.isDetached && isWritten ? Clocks.wall() : nil
        // A command may have added tasks to the run at the last moment.
        guard try journal.recordEnd(of: id, end, tasks: job.tasks.count, deliveredAt: delivered) else { throw Left() }
    }

    /// Returns the end that the run's last event says.
    private func recordedEnd(_ journal: Journal) throws -> RunEnd {
        if let last = try journal.run(id)?.lastSequence, last > 0,
            let event = try journal.events(of: id, after: last - 1).last, case .runFinished(let record) = event.kind
        {
            return RunEnd(at: event.time, outcome: record.outcome, exitStatus: record.exitStatus)
        }
        throw ServiceTrouble("run \(id.raw) has no end in the journal")
    }

    /// Writes the report and its other formats; returns whether all were written. Throws where it is to be tried again later:
    /// if the process has no descriptor left, or if it cannot be written and no other process would do so (`isLast`).
    private func write(_ report: JSONReport, isLast: Bool) throws -> Bool {
        var problems: [OutputProblem] = []
        if let path = accepted.report {
            // The journal forgets the run soon: a power cut must not lose both.
            do throws(OutputProblem) { try report.write(to: path, isDurable: true) } catch { problems.append(error) }
        }
        problems += ReportExports(
            requests: recipe.exports, surroundings: ExportSurroundings(traceParent: recipe.traceParent),
            isDurable: true
        ).write(report, at: accepted.report)
        if let problem = problems.first(where: { isLast || $0.isOfProcessLimit }) {
            throw ServiceTrouble(problem.message)
        }
        for problem in problems { tools.log("run \(id.raw): \(problem)") }
        return problems.isEmpty
    }

    // MARK: onFinish

    /// The commands to be run, each with its session's identifier: those of the sessions with tasks, and the job's own
    /// where this process carries all of the job.
    private var commands: [(command: FinishCommand, identifier: String)] {
        let used = Set(job.tasks.map(\.session)).sorted().map { job.sessions[Int($0.raw)] }
        let own = job.onFinish.map { [(FinishCommand($0, in: job), "")] } ?? []
        return used.compactMap { session in
            session.onFinish.map { (FinishCommand($0, of: session.name, in: job), session.identifier ?? "") }
        } + own
    }

    private func run(
        _ commands: [(command: FinishCommand, identifier: String)], _ end: RunEnd, _ ends: RunEnds, _ journal: Journal
    ) throws -> [HookEnd] {
        let known = try journal.inputs(of: id, kind: InputKind.hook)
        return try commands.map { command, identifier in
            // A run to which tasks were added ends once more, and then `onFinish` runs again.
            let name = "\(command.session) \(end.at.nanoseconds)"
            if let note = known.first(where: { $0.name == name }),
                let hook = HookEnd(session: command.session, String(decoding: note.bytes, as: UTF8.self))
            {
                return hook
            }
            let facts = FinishCommand.Facts(
                report: accepted.report ?? "", outcome: end.outcome, identifier: identifier,
                delivery: "\(recipe.delivery).\(end.at.nanoseconds).\(identifier)", ends: ends)
            guard let hook = command.run(facts, cancellation: cancellation) else { throw Left() }
            if let trouble = hook.trouble { tools.log("run \(id.raw): \(hook.name) \(trouble)") }
            // A process that is killed before this line starts the command again.
            let note = JournalInput(kind: InputKind.hook, name: name, bytes: Array(hook.text.utf8))
            try journal.keep(note, of: id)
            return hook
        }
    }
}
