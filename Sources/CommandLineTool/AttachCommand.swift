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
            let folder = try StateFolder(options.stateDirectory, environment)
            CommandLineTool.tellOfDamage(folder, console)
            let starter = ServiceStarter.here(folder, environment)
            starter.goOn()
            guard let (run, handed) = try find(identifier, folder) else { return ExitStatus.invalidInput.code }
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
        } catch {
            return console.failed(error)
        }
    }

    /// Returns the session's run and job; `nil` after an error was printed.
    private func find(_ identifier: String, _ folder: StateFolder) throws -> (JournalRun, HandedJob)? {
        do throws(CommandTrouble) {
            let run = try SessionAbsence.run(identifier, folder)
            return (run, try handed(run, identifier, folder))
        } catch {
            if case .broken(let why) = error { throw ServiceTrouble(why) }
            console.errors(error.text)
            return nil
        }
    }

    private func handed(
        _ run: JournalRun, _ identifier: String, _ folder: StateFolder
    ) throws(CommandTrouble) -> HandedJob {
        do {
            return try HandedJob(of: run.id, Journal.open(folder: folder.state))
        } catch {
            // The run's end may have become known just now, and its job been deleted with that: the next call then
            // reports so.
            _ = try SessionAbsence.run(identifier, folder)
            throw .broken("\(error)")
        }
    }
}
