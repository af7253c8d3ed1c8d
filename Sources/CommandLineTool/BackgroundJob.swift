import BackgroundService
import Diagnostics
import Exports
import JobLoader
import JobRunner
import Reporting
import RunControl
import Stores
import SystemIO
import TransferModel

/// A job with background sessions: hands their tasks over to the background process, and follows them as if they ran
/// here.
struct BackgroundJob {
    let carrier: RunningJob

    private var options: RunOptions { carrier.options }
    private var environment: [String: String] { carrier.environment }
    private var console: Console { carrier.console }

    func perform(_ job: Job, _ loaded: JobSource.Loaded, _ networks: NetworkSettings) throws(UsageError) -> Int32 {
        let problems = JobSplit.problems(job, isDetached: options.detach)
        guard problems.isEmpty else { return refuse(problems, loaded) }
        let folder = try StateFolder.needed(options.stateDirectory, environment)
        switch Overlap(job: job, options: options, environment: environment, console: console).enter(loaded.file) {
        case .end(let status): return status.code
        case .clear(let lock):
            defer { lock?.release() }
            return try handOver(job, loaded, folder, networks)
        }
    }

    private func refuse(_ problems: [Diagnostic], _ loaded: JobSource.Loaded) -> Int32 {
        let color = options.color.isOn(isTerminal: Terminal.isTerminal(2), environment: environment)
        let places = TaskPlaces(loaded.text)
        let found = problems.map { problem in
            var problem = problem
            problem.source = loaded.text
            problem.span = problem.span.map { span in
                let isOfNeeds = ["detached-needs", "captured-across-sessions", "when-across-sessions"].contains(
                    problem.code)
                return places.span(ofTask: span.line, isOfNeeds ? "needs" : nil) ?? span
            }
            return problem
        }
        console.errors(
            options.isGitHub ? DiagnosticRenderer.github(found) : DiagnosticRenderer.text(found, color: color))
        return ExitStatus.invalidInput.code
    }

    // MARK: Handing over

    private func handOver(
        _ job: Job, _ loaded: JobSource.Loaded, _ folder: StateFolder, _ networks: NetworkSettings
    ) throws(UsageError) -> Int32 {
        guard let inputs = loaded.inputs else { throw UsageError("the job was only checked") }
        let split = JobSplit(job)
        // Loading a job with relative paths has already failed without a working folder.
        let working = try StrayBytes.workingFolder() ?? "/"
        let place = place(split, in: working)
        let recipe = recipe(inputs, job, place)
        let accepted = accepted(job, split, in: working, place)
        do throws(OutputProblem) {
            if let path = accepted.report { try JSONReport.preflight(path) }
            for export in recipe.exports { try AtomicFile.preflight(export.path) }
        } catch {
            console.errors("error: \(error)\n")
            return ExitStatus.runnerFailed.code
        }
        var handover = Handover(folder)
        handover.isNew = options.newRun
        handover.tell = { console.errors($0.warning) }
        handover.tellLost = {
            console.errors("warning: an earlier run cannot be gone on with, and the job begins anew: \($0)\n")
        }
        handover.tellBegun = { console.errors($0.warning) }
        do throws(Handover.Problem) {
            let result = try handOver(accepted, recipe, split.background, handover, folder)
            let identifier = accepted.identifiers.first ?? ""
            if let earlier = result.earlier {
                console.errors(UnheededOptions.warning(of: recipe, earlier: earlier, identifier, folder) ?? "")
            }
            if result.cameBack { console.errors(Self.stayed(result.editedSessions(in: job), identifier, folder)) }
            if !result.cameBack { tellOfEarlier(accepted, folder) }
            return goOn(result, recipe.changed(job), accepted.identifiers, folder, networks)
        } catch {
            return refuse(error, folder)
        }
    }

    /// Says that this run begins anew if an earlier one ended a short time ago: the command may have been meant to come back
    /// to it.
    private func tellOfEarlier(_ accepted: AcceptedRun, _ folder: StateFolder) {
        let start = accepted.createdAt + (.zero - Self.recent)
        guard options.amount != .quiet, !options.newRun, let identifier = accepted.identifiers.first,
            let end = EndedRun.last(of: accepted.identifiers, after: start, folder)?.end
        else { return }
        console.errors(
            "an earlier run of `\(identifier)` ended at \(SessionAbsence.moment(end.at)) (\(end.outcome.rawValue)); this "
                + "begins a new one\n")
    }

    /// How long after the end of a run a new one mentions it.
    private static let recent = TimeSpan.seconds(3600)

    /// Hands the run over once an earlier one, whose tasks have all ended, has told its end.
    private func handOver(
        _ accepted: AcceptedRun, _ recipe: RunRecipe, _ background: JobPart, _ handover: Handover, _ folder: StateFolder
    ) throws(Handover.Problem) -> Handover.Result {
        var isTold = false
        while true {
            do throws(Handover.Problem) {
                return try handover.perform(accepted, recipe, background)
            } catch {
                guard case .ending(let holder) = error else { throw error }
                if !isTold {
                    console.errors(
                        "the tasks of an earlier run of `\(holder.identifier)` have ended: waiting for its `onFinish` and its "
                            + "report, then this one begins\n")
                    isTold = true
                }
                // Whoever carried it may have died.
                let link: ServiceLink
                do throws(ServiceTrouble) {
                    link = try ServiceStarter.here(folder, environment).connect()
                } catch {
                    throw .failed("the background process cannot be reached: \(error)")
                }
                _ = try? link.ask(.ring(holder.identifier))
                Polling.sleep(milliseconds: 200)
            }
        }
    }

    /// Returns a function that turns paths of this command into those of the background process's files.
    private func place(_ split: JobSplit, in working: String) -> (String) -> String {
        { path in
            let path = path.hasPrefix("/") ? path : "\(working == "/" ? "" : working)/\(path)"
            return split.isWhole ? path : Self.besides(path)
        }
    }

    private func recipe(_ inputs: RecordedInputs, _ job: Job, _ place: (String) -> String) -> RunRecipe {
        var recipe = RunRecipe(
            inputs, sha256: job.sha256?.text, delivery: String(UInt64.random(in: 1...UInt64.max), radix: 36))
        recipe.selection = options.selection
        recipe.changes.maximumConcurrentTasks = options.maximumConcurrentTasks
        recipe.changes.bandwidth = options.bandwidth
        recipe.changes.failsFast = options.failFast
        recipe.changes.reportsUnchanged = options.exitUnchanged
        recipe.changes.network = options.networkText
        recipe.held = carrier.heldFile
        recipe.mask = OwnPlace.mask()
        recipe.isDetached = options.detach
        // Standard output belongs to this command.
        recipe.exports = RunOutputs.exports(job, options).filter { $0.path != "-" }.map {
            ExportRequest($0.format, place($0.path))
        }
        recipe.traceParent = ExportSurroundings(environment).traceParent
        return recipe
    }

    private func accepted(
        _ job: Job, _ split: JobSplit, in working: String, _ place: (String) -> String
    ) -> AcceptedRun {
        let used = Set(split.background.job.tasks.map(\.session))
        return AcceptedRun(
            identifiers: used.sorted().compactMap { job.sessions[Int($0.raw)].identifier }, job: job.name,
            file: job.file, folder: working, report: RunOutputs.reportPath(job, options.report).map(place),
            events: RunOutputs.eventsPath(job, options.events).map(place), createdAt: Clocks.wall(),
            boot: CurrentProcess.bootID() ?? "")
    }

    /// The path of the background process's file where this command writes its own: `jobs.report.json` here,
    /// `jobs.report.background.json` there.
    private static func besides(_ path: String) -> String {
        let (folder, name) = Folders.split(path)
        let dot = name.lastIndex(of: ".").flatMap { $0 == name.startIndex ? nil : $0 } ?? name.endIndex
        let other = "\(name[..<dot]).background\(name[dot...])"
        return folder == "/" ? "/\(other)" : "\(folder)/\(other)"
    }

    private func refuse(_ problem: Handover.Problem, _ folder: StateFolder) -> Int32 {
        switch problem {
        case .inUse(let holder, let job):
            console.errors(
                "error: \(ErrorName.backgroundSessionInUseByAnotherProcess.rawValue): the identifier "
                    + "`\(holder.identifier)` is in use by the job `\(job)`\n"
                    + "  hint: use another `identifier`, or wait for the other job "
                    + "(\(folder.command("attach", holder.identifier)) follows it); a job that is to be the same from "
                    + "another place needs a `name`\n")
            return ExitStatus.overlapping.code
        case .underWay(let holder):
            console.errors(
                "error: an earlier run of the session `\(holder.identifier)` is under way: `--new-run` cannot begin "
                    + "another beside it\n"
                    + "  hint: \(folder.command("cancel", holder.identifier)) ends it, "
                    + "\(folder.command("attach", holder.identifier)) follows it\n")
            return ExitStatus.overlapping.code
        case .ending(let holder):
            console.errors("error: an earlier run of the session `\(holder.identifier)` is ending\n")
            return ExitStatus.overlapping.code
        case .otherPolicy(let holder):
            console.errors(
                "error: an earlier run of the session `\(holder.identifier)` goes on under the rules that it was handed over "
                    + "with, which are not those of this command's `--policy`\n"
                    + "  hint: \(folder.command("cancel", holder.identifier)) ends it; then the same command begins anew\n"
            )
            return ExitStatus.overlapping.code
        case .failed(let why):
            console.errors("error: the job cannot be handed over: \(why)\n")
            return ExitStatus.runnerFailed.code
        }
    }

    // MARK: Afterwards

    private func goOn(
        _ result: Handover.Result, _ job: Job, _ identifiers: [String], _ folder: StateFolder,
        _ networks: NetworkSettings
    ) -> Int32 {
        let starter = ServiceStarter.here(folder, environment)
        guard let identifier = identifiers.first else { return ExitStatus.succeeded.code }
        let rest = result.rest(of: job)
        console.errors(Self.stayed(result.edited(in: job)))
        // To leave one that has ended alone would look as if something went on.
        if options.detach, !result.hasEnded {
            if let failure = leave(identifiers, folder, starter) { return failure }
            if rest.numbers.isEmpty {
                if options.noWait, options.amount != .quiet {
                    console.errors(
                        "`--no-wait` changes nothing beside `--detach`: what has to wait does so in the background\n")
                }
                return ExitStatus.succeeded.code
            }
        }
        if result.cameBack, options.amount != .quiet {
            console.errors("came back to the session `\(identifier)`\n")
        }
        guard rest.numbers.isEmpty else {
            return join(result, rest, identifier, job, folder, starter, networks)
        }
        return FollowedRun(
            run: result.run, identifier: identifier, cameBack: result.cameBack, options: options,
            environment: environment, console: console, folder: folder, starter: starter
        ).perform(result.part.job)
    }

    /// One warning for all tasks that stay as they were handed over.
    private static func stayed(_ tasks: [String]) -> String {
        guard let first = tasks.first else { return "" }
        if tasks.count == 1 { return "warning: task `\(first)` stays as it was handed over\n" }
        let named = tasks.prefix(3).map { "`\($0)`" }.joined(separator: ", ")
        return "warning: \(tasks.count) tasks stay as they were handed over: \(named)\(tasks.count > 3 ? ", …" : "")\n"
    }

    /// A warning for each session that stays as it was handed over.
    private static func stayed(
        _ sessions: [(session: String, keys: [String])], _ identifier: String, _ folder: StateFolder
    ) -> String {
        sessions.map { session, keys in
            let names = keys.map { "`\($0)`" }.joined(separator: ", ")
            return
                "warning: the session `\(session)` stays as it was handed over: what the file says of \(names) by now does "
                + "not count for it\n  hint: \(folder.command("cancel", identifier)) ends it; then the same command begins "
                + "anew\n"
        }.joined()
    }

    private func join(
        _ result: Handover.Result, _ rest: JobPart, _ identifier: String, _ job: Job, _ folder: StateFolder,
        _ starter: ServiceStarter, _ networks: NetworkSettings
    ) -> Int32 {
        guard let memory = carrier.memory(rest.job) else {
            console.errors(folder.handedOver(identifier))
            return ExitStatus.runnerFailed.code
        }
        for warning in BatchRoom.warnings(rest.job) + BatchBytes.warnings(rest.job) { console.errors(warning) }
        let background = HandedPart(
            run: result.run, identifier: identifier, part: result.part, folder: folder, starter: starter)
        return JoinedRun(
            background: background, cameBack: result.cameBack, foreground: rest, carrier: carrier
        ).perform(result.whole(job), memory, networks)
    }

    /// Prints that the session continues, and wakes the background process; `nil` on success. The handed-over job is
    /// durable: a process that cannot be started now will be by the next command.
    private func leave(_ identifiers: [String], _ folder: StateFolder, _ starter: ServiceStarter) -> Int32? {
        console.output(identifiers.joined(separator: "\n") + "\n")
        for identifier in identifiers {
            console.errors(
                "`\(identifier)` goes on in the background: \(folder.command("status", identifier)) shows how far it is, "
                    + "\(folder.command("attach", identifier)) follows it\n")
        }
        do throws(ServiceTrouble) {
            let link = try starter.connect()
            do throws(ServiceFailure) {
                _ = try link.ask(.ring(identifiers.first))
            } catch {
                throw ServiceTrouble("it does not answer: \(error)")
            }
        } catch {
            console.errors(
                "error: the background process cannot be reached: \(error)\n" + folder.handedOver(identifiers[0]))
            return ExitStatus.runnerFailed.code
        }
        return nil
    }
}

extension CommandLineTool {
    /// Reports a damaged journal, which the first process to open it puts aside. Called before the background process
    /// opens it, because that can report only to its log.
    static func tellOfDamage(_ folder: StateFolder, _ console: Console) {
        guard Journal.isThere(folder: folder.state) else { return }
        // Commands that need the journal report why it cannot be opened.
        if let quarantined = try? Journal.open(folder: folder.state).quarantined { console.errors(quarantined.warning) }
    }
}

extension Quarantine {
    /// The warning for a damaged journal.
    var warning: String { "warning: background runs cannot be gone on with: \(sentence)\n" }
}

extension LostRun {
    /// The warning for a run that takes the place of this one.
    var warning: String {
        let count = Set(requests.map(\.task)).count
        let hint = isKnown ? "" : "see at the server whether it came; "
        return "warning: the journal has lost an earlier run of this job: \(tasks), and this run does not send "
            + "\(count == 1 ? "it" : "them") again\n  hint: \(hint)`--new-run` sends again what is in the job\n"
    }

    /// Whether all that it had begun has succeeded.
    private var isKnown: Bool { requests.allSatisfy { succeeded.contains($0.task) } }

    /// ``a`, `b` and 3 more may have been sent; `c` was sent and succeeded``
    var tasks: String {
        let all = Set(requests.map(\.task))
        let (open, well) = (all.subtracting(succeeded), all.intersection(succeeded))
        return [
            open.isEmpty ? nil : "\(Self.names(open)) may have been sent",
            well.isEmpty ? nil : "\(Self.names(well)) \(well.count == 1 ? "was" : "were") sent and succeeded",
        ].compactMap(\.self).joined(separator: "; ")
    }

    private static func names(_ tasks: Set<String>) -> String {
        let ids = tasks.sorted().map { "`\(SafeText.line($0))`" }
        return ids.prefix(3).joined(separator: ", ") + (ids.count > 3 ? " and \(ids.count - 3) more" : "")
    }
}

extension ServiceStarter {
    /// Makes the starter for this command.
    static func here(_ folder: StateFolder, _ environment: [String: String]) -> ServiceStarter {
        ServiceStarter(
            ServicePlace(folder), version: CommandLineTool.version, stateDirectory: folder.isNamed ? folder.state : nil,
            environment: environment)
    }
}

extension StateFolder {
    /// Returns a command line for people, between backticks, which finds this folder: `transfer-run attach ID`.
    func command(_ words: String...) -> String {
        let words = ["transfer-run"] + words + (isNamed ? ["--state-dir", state] : [])
        return "`\(SafeText.line(words.map { HumanText.shellWord($0) }.joined(separator: " ")))`"
    }

    /// The hint of an error of a command whose job is in the journal by then: handed over elsewhere, it would run twice.
    func handedOver(_ identifier: String) -> String {
        if hasLost(identifier) {
            return "  hint: what was handed over is not in \(state) any more: run the job again, and it begins anew\n"
        }
        return
            "  hint: the job was handed over, and goes on with any later command; \(command("cancel", identifier)) ends it\n"
    }

    /// Whether the journal that had a run of the session was removed, or put aside.
    func hasLost(_ identifier: String) -> Bool {
        if case .unknown? = try? NamedSession.find(identifier, self) { true } else { false }
    }
}
