import Reporting
import Stores
import SystemIO

/// What `status` says of runs that were handed over and are not in the journal any more.
enum StateLoss {
    /// Returns what is missing, as warnings; empty if nothing is. Call it before the background process is started, which
    /// tidies up what it finds. `isForPeople`: says also that there is no state folder, which is so at first as well.
    static func warnings(_ folder: StateFolder, isForPeople: Bool) -> String {
        let name = SafeText.line("\(folder.state)/journal.sqlite")
        guard Journal.isThere(folder: folder.state) else {
            guard Journal.hasLeftovers(folder: folder.state) else {
                return isForPeople && (try? FileFacts.of(folder.state)) == nil ? absence(of: folder) : ""
            }
            return "warning: the journal \(name) is not there, and with it the runs that were handed over\n" + again
        }
        // Why it cannot be opened is an error of what comes next.
        guard let journal = try? Journal.open(folder: folder.state), journal.quarantined == nil else { return "" }
        let lost = (try? journal.lostRuns()) ?? []
        if !lost.isEmpty { return lost.map { $0.told }.joined() }
        let count = (try? journal.lostKeys()) ?? 0
        // What was in a journal that was put aside has been told by what put it aside.
        if count == 0 || Journal.putAside(folder: folder.state) != nil { return "" }
        let runs = count == 1 ? "a run that was" : "\(count) runs that were"
        return "warning: the journal \(name) has lost \(runs) handed over\n" + again
    }

    private static func absence(of folder: StateFolder) -> String {
        "no background session was handed over here yet: there is no state folder \(SafeText.line(folder.state))\n"
    }

    private static let again = "  hint: run their jobs again: they begin anew\n"
}

extension LostRun {
    /// The warning of `status`.
    fileprivate var told: String {
        let sessions = identifiers.map { "`\(SafeText.line($0))`" }.joined(separator: ", ")
        return "warning: the journal has lost a run of the session \(sessions) (\(SafeText.line(job))): "
            + "\(tasks)\n"
            + "  hint: run its job again: it begins anew and does not send what may have been sent; `--new-run` sends "
            + "all\n"
    }
}
