import BackgroundService
import Stores
import SystemIO
import TextFormats
import TransferModel

/// Finds background sessions by identifier, and explains why one cannot be found.
enum SessionAbsence {
    /// Returns the session's run whose end is not confirmed yet; throws the explanation without one.
    static func run(_ identifier: String, _ folder: StateFolder) throws(CommandTrouble) -> JournalRun {
        switch try find(identifier, folder) {
        case .underWay(let run): return run
        case .over(let run): throw .wrong(ended(identifier, run, folder))
        }
    }

    /// A run that an identifier names.
    enum Found {
        /// Its end is not confirmed yet.
        case underWay(JournalRun)
        /// The last one of the identifier, which ended.
        case over(JournalRun)
    }

    /// Returns the run of the session, or else the last one that ended; throws the explanation if nothing is known of it.
    static func find(_ identifier: String, _ folder: StateFolder) throws(CommandTrouble) -> Found {
        let named: NamedSession
        do throws(StoreError) {
            named = try NamedSession.find(identifier, folder)
        } catch {
            throw .broken(error.description)
        }
        switch named {
        case .run(let run): return .underWay(run)
        case .over(let run): return .over(run)
        case .unknown(let known):
            let names = known.prefix(10).map { "`\($0)`" } + (known.count > 10 ? ["…"] : [])
            // The process that found the damage reported it, which may have been the background process, in its log.
            let aside = Journal.putAside(folder: folder.state).map { "a damaged journal was put aside as \($0)" }
            let isFile = [".yaml", ".yml"].contains { identifier.hasSuffix($0) }
            let isThere = Journal.isThere(folder: folder.state)
            let lost = isThere ? (try? Journal.open(folder: folder.state).lostRuns()) ?? [] : []
            let hints = [
                lost.contains { $0.identifiers.contains(identifier) }
                    ? "the journal has lost a run of this session, and its job begins anew when it is run again" : nil,
                isFile ? "a session is named by its `identifier`, and not by the job file" : nil,
                known.isEmpty ? nil : "there are " + names.joined(separator: ", "), aside,
            ].compactMap { $0 }
            throw .wrong(
                UsageError(
                    "there is no background session `\(identifier)`",
                    hint: hints.isEmpty ? nil : hints.joined(separator: "; ")))
        }
    }

    /// The error for a session that has ended, for commands that need a run under way.
    static func ended(_ identifier: String, _ run: JournalRun, _ folder: StateFolder) -> UsageError {
        UsageError(
            "the session `\(identifier)` has ended (\(outcome(run)))",
            hint: "\(folder.command("attach", identifier)) tells how")
    }

    /// When and how the run ended, and where more is to be read: `ended at … with exit status 1; its report is …`.
    static func end(of run: JournalRun, _ folder: StateFolder) -> String {
        guard let end = run.end else { return "ended" }
        // Then the report is missing, or does not say how the run ended.
        let isRunners = end.exitStatus == Int(ExitStatus.runnerFailed.code)
        let report = run.accepted.report.flatMap { Folders.resolved($0) == nil ? nil : "; its report is \($0)" }
        let place = isRunners ? "; what the runner itself failed at stands in \(ServicePlace(folder).log)" : report
        return "ended at \(moment(end.at)) with exit status \(end.exitStatus)\(place ?? "")"
    }

    /// A time of the clock, such as `2026-11-28 21:20:56 UTC`.
    static func moment(_ time: WallTime) -> String {
        var bytes: [UInt8] = []
        RFC3339.append(time, to: &bytes)
        let date = String(decoding: bytes, as: UTF8.self)
        return "\(date.prefix(10)) \(date.dropFirst(11).prefix(8)) UTC"
    }

    private static func outcome(_ run: JournalRun) -> String { run.end?.outcome.rawValue ?? "unknown" }
}
