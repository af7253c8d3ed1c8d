import Reporting
import Stores
import SystemIO

/// What `status` says of runs that were handed over and are not in the journal any more.
enum StateLoss {
    /// Returns the warnings; empty if nothing is missing. Call it before the background process is started, which tidies
    /// up what it finds.
    static func warnings(_ folder: StateFolder) -> String {
        let name = SafeText.line("\(folder.state)/journal.sqlite")
        guard Journal.isThere(folder: folder.state) else {
            guard Journal.hasLeftovers(folder: folder.state) else { return "" }
            return "warning: the journal \(name) is not there, and with it the runs that were handed over\n" + again
        }
        // Why it cannot be opened is an error of what comes next.
        guard let journal = try? Journal.open(folder: folder.state), journal.quarantined == nil else { return "" }
        let lost = (try? journal.lostRuns()) ?? []
        if !lost.isEmpty { return lost.map { $0.told }.joined() }
        let count = (try? journal.lostKeys()) ?? 0
        if count == 0 { return "" }
        let runs = count == 1 ? "a run that was" : "\(count) runs that were"
        return "warning: the journal \(name) has lost \(runs) handed over\n" + again
    }

    private static let again = "  hint: run their jobs again: they begin anew\n"

    /// What is said instead of sessions and runs where there are none.
    static func nothing(_ folder: StateFolder?) -> String {
        guard let folder, (try? FileFacts.of(folder.state)) == nil else { return "no run is under way" }
        return "no run is under way: the state folder \(SafeText.line(folder.state)) is not there; if a job was handed over "
            + "with it, run it again"
    }
}

extension LostRun {
    /// The warning of `status`.
    fileprivate var told: String {
        let sessions = identifiers.map { "`\(SafeText.line($0))`" }.joined(separator: ", ")
        return "warning: the journal has lost a run of the session \(sessions) (\(SafeText.line(job))): \(tasks) may have "
            + "been sent\n"
            + "  hint: run its job again: it begins anew and does not send what may have been sent; `--new-run` sends all\n"
    }
}
