import JobLoader
package import JobRunner
import RunControl
package import Stores
import SystemIO
package import TransferModel

/// Hands a run over to the background process: once `perform` has returned, no power cut loses the run.
package struct Handover {
    /// A run that was handed over.
    package struct Result: Sendable {
        /// The run's number in the journal.
        package let run: RunID
        /// The tasks that the background process carries, as they were accepted.
        package let part: JobPart
        /// What an earlier command had handed the run over with, whose end has not been delivered; `nil` for a run that
        /// begins now.
        package var earlier: RunRecipe?
        /// Whether it has ended, and only its end is left to be told.
        package var hasEnded = false
        /// Whether an earlier command had handed it over.
        package var cameBack: Bool { earlier != nil }

        /// Returns the tasks that are left for the command. An accepted task belongs to the background process, even if
        /// the job file has moved it to another session since.
        package func rest(of job: Job) -> JobPart {
            let accepted = Set(part.job.tasks.map(\.id))
            return job.part(job.tasks.map { !accepted.contains($0.id) })
        }

        /// Returns the job, followed by accepted tasks that are no longer in its file.
        package func whole(_ job: Job) -> Job {
            let known = Set(job.tasks.map(\.id))
            return part.job.tasks.allSatisfy { known.contains($0.id) } ? job : job.adding(part.job)
        }

        /// Returns the ids of tasks for which the job file now has another source or destination: what was handed over
        /// stays as it was.
        package func edited(in job: Job) -> [String] {
            let today = Dictionary(job.tasks.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
            return part.job.tasks.filter { task in today[task.id].map { !$0.isTransfer(of: task) } ?? false }.map(\.id)
        }

        /// Returns the sessions that the job file gives other values by now, each with the keys: what was handed over stays
        /// as it was. Keys that a session only gives its tasks are left out, since they go with each task.
        package func editedSessions(in job: Job) -> [(session: String, keys: [String])] {
            let today = Dictionary(job.sessions.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
            return part.job.sessions.filter { $0.kind == .background }.compactMap { session in
                guard let keys = today[session.name].map({ session.keys(changedBy: $0) }), !keys.isEmpty else {
                    return nil
                }
                return (session.name, keys)
            }
        }
    }

    /// Why a run was not handed over.
    package enum Problem: Error, Hashable, Sendable {
        /// An identifier belongs to another job, which is known by this name.
        case inUse(IdentifierHolder, by: String)
        /// `--new-run` was given, and the earlier run is still under way.
        case underWay(IdentifierHolder)
        /// All tasks of the earlier run have ended; its `onFinish` and its report are under way, and then the run can be
        /// handed over.
        case ending(IdentifierHolder)
        /// The earlier run goes on under the rules that it was handed over with, which are not those of this command.
        case otherPolicy(IdentifierHolder)
        case failed(String)
    }

    /// The state folder of the journal.
    package let folder: StateFolder
    /// Whether an ended earlier run of the same identifier is discarded instead of being returned (`--new-run`).
    package var isNew = false
    /// Called with a damaged journal that was put aside together with its runs.
    package var tell: (Quarantine) -> Void = { _ in }
    /// Called with a lost run in whose place the new one begins, and which had begun what must not be sent twice.
    package var tellBegun: (LostRun) -> Void = { _ in }
    /// Called with the reason for which an earlier run is lost and a new one takes its place.
    package var tellLost: (String) -> Void = { _ in }

    package init(_ folder: StateFolder) { self.folder = folder }

    /// Hands over `background`, a part of the job that `recipe` makes, or finds that an earlier run has it already.
    package func perform(_ run: AcceptedRun, _ recipe: RunRecipe, _ background: JobPart) throws(Problem) -> Result {
        // Even if this process dies, the mark tells the next command that there may be a run to carry.
        let mark: UnfinishedMark.Hold
        do throws(PrivacyProblem) {
            mark = try UnfinishedMark(folder: folder.state).hold()
        } catch {
            throw .failed(error.description)
        }
        let result: Swift.Result<Result, Problem>
        do throws(StoreError) {
            let journal = try Journal.open(folder: folder.state)
            if let quarantined = journal.quarantined { tell(quarantined) }
            result = try perform(run, recipe, background, journal)
        } catch {
            throw .failed(error.description)
        }
        _ = consume mark
        return try result.get()
    }

    private func perform(
        _ run: AcceptedRun, _ recipe: RunRecipe, _ background: JobPart, _ journal: Journal
    ) throws(StoreError) -> Swift.Result<Result, Problem> {
        var givenUp: [LostRun] = []
        // Another command may accept a run between the look and the accept; then the next round finds it.
        for _ in 0..<3 {
            if let earlier = try earlier(run, background.job, journal) {
                let found = earlier.holder
                guard earlier.isOurs else { return .failure(.inUse(found, by: earlier.job)) }
                if isNew, found.state == .finished {
                    try journal.deliver(found.run, now: Clocks.wall())
                    continue
                }
                let handed: HandedJob
                do throws(ServiceTrouble) {
                    handed = try earlier.handed.get()
                } catch {
                    if error.mayPass { return .failure(isNew ? .underWay(found) : .failed(error.description)) }
                    tellLost(error.description)
                    if let lost = try journal.givenUp(found.run) { givenUp.append(lost) }
                    try giveUp(found.run, journal)
                    continue
                }
                // No task of it is left: a command that does not follow it would come back to nothing.
                if isNew || recipe.isDetached, found.state != .finished,
                    try isEnding(found.run, handed, with: background, journal)
                {
                    return .failure(.ending(found))
                }
                if isNew { return .failure(.underWay(found)) }
                guard handed.recipe.isUnderSamePolicy(as: recipe) else { return .failure(.otherPolicy(found)) }
                do throws(ServiceTrouble) {
                    var result = try comeBack(found.run, handed, run.identifiers, recipe, background, journal)
                    result.hasEnded =
                        found.state == .finished && result.part.job.tasks.count == handed.part.job.tasks.count
                    return .success(result)
                } catch {
                    return .failure(.failed(error.description))
                }
            }
            var lost = try journal.lostRuns().filter { $0.identifiers.contains(where: run.identifiers.contains) }
            lost += givenUp.filter { !lost.contains($0) }
            if isNew { journal.forgetBegun(lost) } else { lost.forEach(tellBegun) }
            do throws(AcceptProblem) {
                let id = try journal.accept(
                    run, inputs: [recipe.input(0)], tasks: background.job.tasks.map(\.id),
                    inPlaceOf: isNew ? [] : lost)
                return .success(Result(run: id, part: background))
            } catch {
                if case .failed(let error) = error { throw error }
            }
        }
        return .failure(.failed("other commands take the identifiers of this job again and again"))
    }

    /// Whether all tasks of the run have ended, and the job has no task that would be added to it.
    private func isEnding(
        _ run: RunID, _ handed: HandedJob, with background: JobPart, _ journal: Journal
    ) throws(StoreError) -> Bool {
        let known = Set(handed.part.job.tasks.map(\.id))
        guard isNew || background.job.tasks.allSatisfy({ known.contains($0.id) }) else { return false }
        if let last = try journal.run(run)?.lastSequence, last > 0,
            case .runFinished? = try journal.events(of: run, after: last - 1).last?.kind
        {
            return true
        }
        let past = try? JournalledPast(of: run, handed, journal)
        return past?.history.tasks.allSatisfy { $0.ending != nil } ?? false
    }

    /// Ends a run whose inputs can never be read again: a process that carries it could not resume it either.
    private func giveUp(_ run: RunID, _ journal: Journal) throws(StoreError) {
        let now = Clocks.wall()
        try journal.recordEnd(
            of: run, RunEnd(at: now, outcome: .failed, exitStatus: Int(ExitStatus.runnerFailed.code)))
        try journal.deliver(run, now: now)
    }

    /// Returns the earlier run, with tasks that are new in the file added to it.
    private func comeBack(
        _ run: RunID, _ handed: HandedJob, _ identifiers: [String], _ recipe: RunRecipe, _ background: JobPart,
        _ journal: Journal
    ) throws(ServiceTrouble) -> Result {
        let known = Set(handed.part.job.tasks.map(\.id))
        let new = background.job.tasks.map(\.id).filter { !known.contains($0) }
        if new.isEmpty, !asksForCredential(run, handed, recipe, journal) {
            return Result(run: run, part: handed.part, earlier: handed.recipe)
        }
        if let refusal = handed.part.job.policy?.refusal(ofTasks: handed.part.job.tasks.count + new.count) {
            throw ServiceTrouble(refusal.message)
        }
        do throws(StoreError) {
            try journal.extend(run, inputs: [recipe.input(handed.count)], tasks: new, identifiers: identifiers)
        } catch {
            throw ServiceTrouble(error.description)
        }
        return Result(run: run, part: try HandedJob(of: run, journal).part, earlier: handed.recipe)
    }

    /// Whether a task waits for a credential and the job's inputs have changed, so that they may contain it now.
    private func asksForCredential(
        _ run: RunID, _ handed: HandedJob, _ recipe: RunRecipe, _ journal: Journal
    ) -> Bool {
        guard recipe.inputs.encoded() != handed.newest.inputs.encoded(),
            let past = try? JournalledPast(of: run, handed, journal)
        else { return false }
        return past.history.tasks.contains { $0.ending == nil && $0.waiting == .credential }
    }

    /// Tells the background part of a run that tasks which it needs have ended. A failing write is tried again for some
    /// seconds; the next run of the job reports the ends again.
    package static func release(
        _ ends: [OutsideEnd], of run: RunID, _ identifier: String, _ folder: StateFolder, _ starter: ServiceStarter
    ) throws(ServiceTrouble) {
        var tries = 0
        while true {
            do throws(StoreError) {
                let journal = try Journal.open(folder: folder.state, mends: false)
                for end in ends { try journal.keep(TaskEndNote.input(end, kind: InputKind.outside), of: run) }
                break
            } catch {
                tries += 1
                guard tries < 10 else {
                    throw ServiceTrouble("the background tasks cannot be told what they wait for: \(error)")
                }
                Polling.sleep(milliseconds: 500)
            }
        }
        // The follower has started the process, and starts it again when it is gone.
        guard let link = try? starter.find() else { return }
        _ = try? link.ask(.ring(identifier), patience: .seconds(5))
    }

    /// A run whose end was not delivered and which has an identifier that the new run needs.
    private struct Earlier {
        let holder: IdentifierHolder
        let handed: Swift.Result<HandedJob, ServiceTrouble>
        /// What its job is known by.
        let job: String
        /// Whether it is the same job: two files of one name in two folders are two jobs.
        let isOurs: Bool
    }

    /// Returns an earlier run of one of the identifiers, another job's first, or `nil` if all are free.
    private func earlier(
        _ run: AcceptedRun, _ job: Job, _ journal: Journal
    ) throws(StoreError) -> Earlier? {
        let ours = JobIdentity(of: job, readIn: run.folder)
        var first: Earlier?
        for identifier in run.identifiers {
            guard let holder = try journal.holder(of: identifier), holder.run != first?.holder.run else { continue }
            let earlier = try earlier(holder, ours, journal)
            if !earlier.isOurs { return earlier }
            first = first ?? earlier
        }
        return first
    }

    private func earlier(
        _ holder: IdentifierHolder, _ ours: JobIdentity, _ journal: Journal
    ) throws(StoreError) -> Earlier {
        let accepted = try journal.run(holder.run)?.accepted
        do throws(ServiceTrouble) {
            let handed = try HandedJob(of: holder.run, journal)
            let job = JobIdentity(of: handed.part.job, readIn: accepted?.folder ?? "/")
            return Earlier(holder: holder, handed: .success(handed), job: job.text, isOurs: job == ours)
        } catch {
            let isOurs = accepted?.mayBe(of: ours) ?? false
            return Earlier(holder: holder, handed: .failure(error), job: holder.job, isOurs: isOurs)
        }
    }
}

extension SessionConfiguration {
    /// Returns the keys of the session itself, as the job file writes them, that have another value in `other`.
    fileprivate func keys(changedBy other: SessionConfiguration) -> [String] {
        func differs(_ value: KeyPath<SessionConfiguration, some Equatable>) -> Bool {
            self[keyPath: value] != other[keyPath: value]
        }
        let changes: [(key: String, isChanged: Bool)] = [
            ("window", differs(\.window)),
            // `--detach` sets it where the file says nothing.
            ("discretionary", other.discretionary != nil && differs(\.discretionary)),
            (
                "maximumConnectionsPerHost",
                differs(\.maximumConnectionsPerHost) || differs(\.connectionRange)
            ),
            ("maximumConcurrentTasks", differs(\.maximumConcurrentTasks)),
            ("requestsPerSecond", differs(\.requestsPerSecond)), ("connectTimeout", differs(\.connectTimeout)),
            ("cache", differs(\.cache)), ("tls", differs(\.tls)), ("http", differs(\.http)),
            ("durability", differs(\.durability)), ("onFinish", differs(\.onFinish)),
        ]
        return changes.filter(\.isChanged).map(\.key)
    }
}

extension TaskSpecification {
    /// Whether source, destination and method are the same.
    fileprivate func isTransfer(of other: TaskSpecification) -> Bool {
        type == other.type && location == other.location && destination == other.destination
            && effectiveMethod == other.effectiveMethod && options.values.mirrors == other.options.values.mirrors
            && options.values.awaitedDestination == other.options.values.awaitedDestination
            && options.values.object == other.options.values.object
    }
}
