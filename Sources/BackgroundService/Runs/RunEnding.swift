import Exports
package import Reporting
package import Stores
import SystemIO
package import TransferModel

/// What is to be done when all events of a run are in the journal: its report where nobody else writes it, its sessions'
/// `onFinish`, and the note that it has ended. Each step can be done again by the next process.
struct RunEnding {
    let id: RunID
    let accepted: AcceptedRun
    /// Grows when templates become tasks.
    var job: Job
    let recipe: RunRecipe
    let tools: HostTools
    /// Ends a command that runs when this process has to.
    let cancellation: Command.Cancellation

    /// It has not ended: commands or the report were cut short, which the next process starts again, or tasks were added.
    struct Left: Error {}

    /// What is known to be reported here, with all that happened before: it takes the rest as it happens, so that nobody
    /// waits for it in the end.
    func beginReport(_ journal: Journal) throws -> JSONReport? {
        recipe.isDetached || !hooked.isEmpty ? try report(journal) : nil
    }

    /// With all that is in the journal.
    private func report(_ journal: Journal) throws(StoreError) -> JSONReport {
        let report = JSONReport(job: job, runner: tools.runner)
        if let path = accepted.report { report.grow(at: path) }
        try JournalledPast.read(id, journal) { report.consume([$0][...]) }
        return report
    }

    /// A run is reported by who follows it; what nobody follows, here. `begun` is the report that was begun, if it has
    /// everything.
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
        // A command may have added tasks to it in the last moment.
        guard try journal.finish(id, end, tasks: job.tasks.count, deliveredAt: delivered) else { throw Left() }
    }

    /// As its last event says.
    private func told(_ journal: Journal) throws -> RunEnd {
        if let last = try journal.run(id)?.lastSequence, last > 0,
            let event = try journal.events(of: id, after: last - 1).last, case .runFinished(let record) = event.kind
        {
            return RunEnd(at: event.time, outcome: record.outcome, exitStatus: record.exitStatus)
        }
        throw ServiceTrouble("run \(id.raw) has no end in the journal")
    }

    /// The report and its other formats. `false` when one of them could not be written and its absence is a failure.
    private func write(_ report: JSONReport) throws(Left) -> Bool {
        var problems: [OutputProblem] = []
        if let path = accepted.report {
            // The journal forgets the run soon: a power cut must not leave neither.
            do throws(OutputProblem) { try report.write(to: path, isDurable: true) } catch { problems.append(error) }
        }
        problems += ReportExports(
            requests: recipe.exports, surroundings: ExportSurroundings(traceParent: recipe.traceParent),
            isDurable: true
        ).write(report, at: accepted.report)
        // The next process waits for its reader again.
        if problems.contains(where: \.isInterrupted) { throw Left() }
        for problem in problems { tools.log("run \(id.raw): \(problem)") }
        return problems.isEmpty || !recipe.isDetached
    }

    // MARK: onFinish

    /// Sessions with tasks whose end somebody wants to hear of.
    private var hooked: [SessionIndex] {
        let used = Set(job.tasks.map(\.session))
        return used.filter { job.sessions[Int($0.raw)].onFinish != nil }.sorted()
    }

    private static let timeout = TimeSpan.seconds(600)

    private func perform(_ sessions: [SessionIndex], _ end: RunEnd, _ journal: Journal) throws -> [HookEnd] {
        let known = try journal.inputs(of: id, kind: InputKind.hook)
        return try sessions.map { index in
            let session = job.sessions[Int(index.raw)]
            // A run to which tasks were added ends once more, and that is told as well.
            let name = "\(session.name) \(end.at.nanoseconds)"
            if let note = known.first(where: { $0.name == name }),
                let hook = HookEnd(session: session.name, String(decoding: note.bytes, as: UTF8.self))
            {
                return hook
            }
            let hook = try run(session, end)
            // Whoever is killed between the command's end and this line starts it again.
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

    /// What it said last, without secrets.
    private func words(_ errors: String) -> String {
        let lines = Redactor(job.secrets).redacted(errors).split(whereSeparator: \.isNewline)
        guard let last = lines.last(where: { line in line.contains { $0 != " " } }) else { return "" }
        let clean = last.unicodeScalars.map { $0.value < 0x20 || $0.value == 0x7F ? " " : Character($0) }
        return ": \(ForeignText.shortened(String(clean)))"
    }
}

extension HookEnd {
    /// As the report of `job` tells it.
    package func result(in job: Job) -> HookResult {
        let words = job.sessions.first { $0.name == session }?.onFinish ?? []
        return HookResult(command: words.map(\.redacted), exitStatus: exitStatus, duration: duration)
    }

    /// For who follows the run: no event tells what comes after the last task's end.
    package var warning: String? {
        if let trouble { return "error: `onFinish` of the session `\(session)` \(trouble)\n" }
        return exitStatus == 0 ? nil : "error: `onFinish` of the session `\(session)` did not end by itself\n"
    }
}
