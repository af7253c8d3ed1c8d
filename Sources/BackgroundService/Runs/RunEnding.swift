import Exports
package import Reporting
package import Stores
import SystemIO
package import TransferModel

/// The work that follows when all events of a run are in the journal: its report unless a follower writes it, its
/// sessions' `onFinish`, and the note that it has ended. The next process can repeat each step.
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
        recipe.isDetached || !hooked.isEmpty ? try report(journal) : nil
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
        let sessions = hooked
        let writesReport = recipe.isDetached || !sessions.isEmpty || !isReported
        let report = writesReport ? try begun ?? report(journal) : JSONReport(job: job, runner: tools.runner)
        var end = try told(journal)
        if writesReport, try !write(report) { end.exitStatus = Int(ExitStatus.runnerFailed.code) }
        if !sessions.isEmpty {
            end.hooks = try perform(sessions, end, journal)
            report.hooks = end.hooks.map { $0.result(in: job) }
            if end.hooks.contains(where: { $0.exitStatus != 0 }), end.exitStatus == 0 {
                (end.outcome, end.exitStatus) = (.failed, Int(ExitStatus.failed.code))
                report.correction = (end.outcome, end.exitStatus)
            }
            if try !write(report) { end.exitStatus = Int(ExitStatus.runnerFailed.code) }
        }
        let isDelivered = recipe.isDetached || (!sessions.isEmpty && !isReported)
        let delivered = isDelivered ? Clocks.wall() : nil
        // A command may have added tasks to the run at the last moment.
        guard try journal.finish(id, end, tasks: job.tasks.count, deliveredAt: delivered) else { throw Left() }
    }

    /// Returns the end that the run's last event says.
    private func told(_ journal: Journal) throws -> RunEnd {
        if let last = try journal.run(id)?.lastSequence, last > 0,
            let event = try journal.events(of: id, after: last - 1).last, case .runFinished(let record) = event.kind
        {
            return RunEnd(at: event.time, outcome: record.outcome, exitStatus: record.exitStatus)
        }
        throw ServiceTrouble("run \(id.raw) has no end in the journal")
    }

    /// Writes the report and its other formats; returns `false` when one could not be written and that makes the run
    /// fail.
    private func write(_ report: JSONReport) throws(Left) -> Bool {
        var problems: [OutputProblem] = []
        if let path = accepted.report {
            // The journal forgets the run soon: a power cut must not lose both.
            do throws(OutputProblem) { try report.write(to: path, isDurable: true) } catch { problems.append(error) }
        }
        problems += ReportExports(
            requests: recipe.exports, surroundings: ExportSurroundings(traceParent: recipe.traceParent),
            isDurable: true
        ).write(report, at: accepted.report)
        // The next process waits for the reader again.
        if problems.contains(where: \.isInterrupted) { throw Left() }
        for problem in problems { tools.log("run \(id.raw): \(problem)") }
        return problems.isEmpty || !recipe.isDetached
    }

    // MARK: onFinish

    /// The sessions with tasks that have an `onFinish` command.
    private var hooked: [SessionIndex] {
        let used = Set(job.tasks.map(\.session))
        return used.filter { job.sessions[Int($0.raw)].onFinish != nil }.sorted()
    }

    private static let timeout = TimeSpan.seconds(600)

    private func perform(_ sessions: [SessionIndex], _ end: RunEnd, _ journal: Journal) throws -> [HookEnd] {
        let known = try journal.inputs(of: id, kind: InputKind.hook)
        return try sessions.map { index in
            let session = job.sessions[Int(index.raw)]
            // A run to which tasks were added ends once more, and then `onFinish` runs again.
            let name = "\(session.name) \(end.at.nanoseconds)"
            if let note = known.first(where: { $0.name == name }),
                let hook = HookEnd(session: session.name, String(decoding: note.bytes, as: UTF8.self))
            {
                return hook
            }
            let hook = try run(session, end)
            // A process that is killed before this line starts the command again.
            let note = JournalInput(kind: InputKind.hook, name: name, bytes: Array(hook.text.utf8))
            try journal.keep(note, of: id)
            return hook
        }
    }

    private func run(_ session: SessionConfiguration, _ end: RunEnd) throws -> HookEnd {
        var command = Command((session.onFinish ?? []).map(\.revealed))
        let told = [
            "REPORT": accepted.report ?? "", "OUTCOME": end.outcome.rawValue, "IDENTIFIER": session.identifier ?? "",
            "DELIVERY_ID": "\(recipe.delivery).\(end.at.nanoseconds).\(session.identifier ?? "")",
        ]
        let prefix = "TRANSFER_RUN_HOOK_"
        command.environment =
            Surroundings.variables().filter { !$0.bytes.starts(with: prefix.utf8) }
            + told.map { RawName("\(prefix)\($0.key)=\($0.value)") }
        command.folder = job.baseDirectory
        command.timeout = Self.timeout
        let began = Clocks.instant()
        var hook = HookEnd(session: session.name, exitStatus: nil, duration: .zero)
        do throws(SystemError) {
            let result = try unsafe command.run(cancellation: cancellation) { _ in true }
            switch result.ending {
            case .exited(let status):
                hook.exitStatus = Int(status)
                if status != 0 { hook.trouble = "ended with status \(status)" + words(result.errors) }
            case .cancelled: throw SystemError(call: "onFinish", errno: 4)
            case .killed(let signal): hook.trouble = "was ended by signal \(signal)" + words(result.errors)
            case .timedOut: hook.trouble = "took longer than 10 minutes and was ended" + words(result.errors)
            }
        } catch {
            if error.call == "onFinish" { throw Left() }
            hook.trouble = "cannot be started: \(error)"
        }
        if let trouble = hook.trouble { tools.log("run \(id.raw): onFinish of `\(session.name)` \(trouble)") }
        hook.duration = Clocks.instant() - began
        return hook
    }

    /// Returns the last line of the command's errors, without secrets.
    private func words(_ errors: String) -> String {
        let lines = Redactor(job.secrets).redacted(errors).split(whereSeparator: \.isNewline)
        guard let last = lines.last(where: { line in line.contains { $0 != " " } }) else { return "" }
        let clean = last.unicodeScalars.map { $0.value < 0x20 || $0.value == 0x7F ? " " : Character($0) }
        return ": \(ForeignText.shortened(String(clean)))"
    }
}

extension HookEnd {
    /// Returns the result as the report of `job` states it.
    package func result(in job: Job) -> HookResult {
        let words = job.sessions.first { $0.name == session }?.onFinish ?? []
        return HookResult(command: words.map(\.redacted), exitStatus: exitStatus, duration: duration)
    }

    /// A line for the follower of the run, `nil` if the command succeeded: no event tells what comes after the last
    /// task's end.
    package var warning: String? {
        if let trouble { return "error: `onFinish` of the session `\(session)` \(trouble)\n" }
        return exitStatus == 0 ? nil : "error: `onFinish` of the session `\(session)` did not end by itself\n"
    }
}
