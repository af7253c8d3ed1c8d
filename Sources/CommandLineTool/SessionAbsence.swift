import BackgroundService
import Stores
import SystemIO
import TransferModel

/// Finds background sessions by identifier, and explains why one cannot be found.
enum SessionAbsence {
    /// Returns the session's run whose end is not confirmed yet; throws the explanation without one.
    static func run(_ identifier: String, _ folder: StateFolder) throws(CommandTrouble) -> JournalRun {
        let named: NamedSession
        do throws(StoreError) {
            named = try NamedSession.find(identifier, folder)
        } catch {
            throw .broken(error.description)
        }
        switch named {
        case .run(let run): return run
        case .over(let run):
            // Then the report is missing, or does not say how the run ended.
            let isRunners = run.end?.exitStatus == Int(ExitStatus.runnerFailed.code)
            let report = run.accepted.report.flatMap { Folders.resolved($0) == nil ? nil : "its report is \($0)" }
            throw .wrong(
                UsageError(
                    "the session `\(identifier)` has ended (\(outcome(run))), and its end is known",
                    hint: isRunners
                        ? "what the runner itself failed at stands in \(ServicePlace(folder).log)" : report))
        case .unknown(let known):
            let names = known.prefix(10).map { "`\($0)`" } + (known.count > 10 ? ["…"] : [])
            // The process that found the damage reported it, which may have been the background process, in its log.
            let aside = Journal.putAside(folder: folder.state).map { "a damaged journal was put aside as \($0)" }
            let hints = [known.isEmpty ? nil : "there are " + names.joined(separator: ", "), aside].compactMap { $0 }
            throw .wrong(
                UsageError(
                    "there is no background session `\(identifier)`",
                    hint: hints.isEmpty ? nil : hints.joined(separator: "; ")))
        }
    }

    /// The error for a session that has ended, for commands that need a run under way.
    static func ended(_ identifier: String, _ run: JournalRun) -> UsageError {
        UsageError(
            "the session `\(identifier)` has ended (\(outcome(run)))",
            hint: "`transfer-run attach \(identifier)` tells how")
    }

    private static func outcome(_ run: JournalRun) -> String { run.end?.outcome.rawValue ?? "unknown" }
}
