import BackgroundService
import Exports
import Reporting
import Stores
import SystemIO
import TransferModel

/// `attach`: follows a session that an earlier command began, from its first event.
struct AttachedRun {
    let options: RunOptions
    let environment: [String: String]
    let console: Console

    func perform() -> Int32 {
        Signals.hold(stops: RunOutputs.draws(options, environment))
        guard let identifier = options.arguments.jobs.first else { return ExitStatus.invalidInput.code }
        do {
            let folder = try StateFolder.needed(options.stateDirectory, environment)
            CommandLineTool.tellOfDamage(folder, console)
            let starter = ServiceStarter.here(folder, environment)
            starter.goOn()
            let (run, handed): (JournalRun, HandedJob)
            switch try find(identifier, folder) {
            case .underWay(let found): (run, handed) = found
            case .over(let ended): return try tell(ended, identifier, folder)
            case nil: return ExitStatus.invalidInput.code
            }
            var options = options
            options.advice = RerunAdvice(handed.newest, here: options.advice)
            // Report, events and exports go where they would have gone if the earlier command had stayed.
            if options.report == .asJobSays { options.report = run.accepted.report.map { .path($0) } ?? .none }
            if options.events == .asJobSays, let path = run.accepted.events { options.events = .path(path) }
            for export in handed.recipe.exports where options.exports[export.format] == nil {
                options.exports[export.format] = export.path
            }
            return FollowedRun(
                run: run.id, identifier: identifier, cameBack: true, options: options, environment: environment,
                console: console, folder: folder, starter: starter
            ).perform(handed.part.job)
        } catch let error as UsageError {
            console.errors(error.text)
            return error.status.code
        } catch {
            return console.failed(error)
        }
    }

    private enum Found {
        case underWay((JournalRun, HandedJob))
        case over(JournalRun)
    }

    /// Returns the session's run, and its job while that is kept; `nil` after an error was printed.
    private func find(_ identifier: String, _ folder: StateFolder) throws -> Found? {
        do throws(CommandTrouble) {
            let run: JournalRun
            switch try SessionAbsence.find(identifier, folder) {
            case .underWay(let found): run = found
            case .over(let ended): return .over(ended)
            }
            do {
                return .underWay((run, try HandedJob(of: run.id, Journal.open(folder: folder.state))))
            } catch {
                // The run's end may have become known just now, and its job been deleted with that.
                guard case .over(let ended) = try SessionAbsence.find(identifier, folder) else {
                    throw CommandTrouble.broken("\(error)")
                }
                return .over(ended)
            }
        } catch {
            if case .broken(let why) = error { throw ServiceTrouble(why) }
            console.errors(error.text)
            return nil
        }
    }

    /// Prints how the run ended, as far as that is kept, and returns its exit status.
    private func tell(_ run: JournalRun, _ identifier: String, _ folder: StateFolder) throws(StoreError) -> Int32 {
        let ended = try EndedRun(run, folder)
        if options.amount != .quiet {
            console.errors("the session `\(identifier)` \(SessionAbsence.end(of: run, folder))\n")
        }
        if options.report != .asJobSays || options.events != .asJobSays || !options.exports.isEmpty {
            console.errors(
                "warning: nothing is written anew: what was handed over is erased once the end of its run is known\n")
        }
        var options = options
        // Nothing moves any more.
        if options.progress != .none { options.progress = .plain }
        let progress = RunOutputs.progress(ended.job, options, environment, reportPath: run.accepted.report)
        try? progress?.consume(ended.events[...])
        (progress as? PlainProgress)?.conclude(reportIsWritten: true)
        for warning in run.end?.hooks.compactMap(\.warning) ?? [] { console.errors(warning) }
        return Int32(run.end?.exitStatus ?? 0)
    }
}
