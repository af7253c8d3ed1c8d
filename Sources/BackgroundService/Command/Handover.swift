import JobLoader
package import JobRunner
import RunControl
package import Stores
import SystemIO
package import TransferModel

/// Gives a run to the background process: once this says so, no power cut loses it.
package struct Handover {
    package struct Result: Sendable {
        package let run: RunID
        /// What the background process carries, as it was accepted.
        package let part: JobPart
        /// An earlier command had handed it over, and nobody has seen its end yet.
        package let cameBack: Bool

        /// What is left of the job for the command. A task that was accepted is the background process's, whatever session
        /// it is in by now.
        package func rest(of job: Job) -> JobPart {
            let accepted = Set(part.job.tasks.map(\.id))
            return job.part(job.tasks.map { !accepted.contains($0.id) })
        }

        /// The job, and after its tasks those that were accepted and are no longer in its file.
        package func whole(_ job: Job) -> Job {
            let known = Set(job.tasks.map(\.id))
            return part.job.tasks.allSatisfy { known.contains($0.id) } ? job : job.adding(part.job)
        }

        /// Tasks of which the job says by now that something else is to be fetched, or put elsewhere: what was handed over
        /// stays as it was.
        package func edited(in job: Job) -> [String] {
            let today = Dictionary(job.tasks.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
            return part.job.tasks.filter { task in today[task.id].map { !$0.isTransfer(of: task) } ?? false }.map(\.id)
        }
    }

    package enum Problem: Error, Hashable, Sendable {
        /// An identifier is another job's, known by that.
        case inUse(IdentifierHolder, by: String)
        /// `--new-run`, and the earlier one is under way.
        case underWay(IdentifierHolder)
        case failed(String)
    }

    package let folder: StateFolder
    /// What an earlier run of the same identifier came to is not asked for.
    package var isNew = false
    /// Is told of a journal that was put aside, with the runs in it.
    package var tell: (Quarantine) -> Void = { _ in }
    /// Is told why an earlier run is lost, of which another takes the place.
    package var tellLost: (String) -> Void = { _ in }

    package init(_ folder: StateFolder) { self.folder = folder }

    /// `background` is what is handed over of the job that `recipe` makes.
    package func perform(_ run: AcceptedRun, _ recipe: RunRecipe, _ background: JobPart) throws(Problem) -> Result {
        // Whatever happens to this process: the next command sees that there may be something to go on with.
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
        // Between a look and an accept another command may be faster: then what it did is looked at.
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
                    try giveUp(found.run, journal)
                    continue
                }
                if isNew { return .failure(.underWay(found)) }
                do throws(ServiceTrouble) {
                    return .success(try comeBack(found.run, handed, run.identifiers, recipe, background, journal))
                } catch {
                    return .failure(.failed(error.description))
                }
            }
            do throws(AcceptProblem) {
                let id = try journal.accept(run, inputs: [recipe.input(0)], tasks: background.job.tasks.map(\.id))
                return .success(Result(run: id, part: background, cameBack: false))
            } catch {
                if case .failed(let error) = error { throw error }
            }
        }
        return .failure(.failed("other commands take the identifiers of this job again and again"))
    }

    /// Nobody can ever read what it was given: its end is known here, for whoever carries it cannot go on with it.
    private func giveUp(_ run: RunID, _ journal: Journal) throws(StoreError) {
        let now = Clocks.wall()
        try journal.finish(
            run, RunEnd(at: now, outcome: .failed, exitStatus: Int(ExitStatus.runnerFailed.code)))
        try journal.deliver(run, now: now)
    }

    /// Tasks that are new in the file are added to those that were accepted.
    private func comeBack(
        _ run: RunID, _ handed: HandedJob, _ identifiers: [String], _ recipe: RunRecipe, _ background: JobPart,
        _ journal: Journal
    ) throws(ServiceTrouble) -> Result {
        let known = Set(handed.part.job.tasks.map(\.id))
        let new = background.job.tasks.map(\.id).filter { !known.contains($0) }
        if new.isEmpty, !asksForCredential(run, handed, recipe, journal) {
            return Result(run: run, part: handed.part, cameBack: true)
        }
        do throws(StoreError) {
            try journal.extend(run, inputs: [recipe.input(handed.count)], tasks: new, identifiers: identifiers)
        } catch {
            throw ServiceTrouble(error.description)
        }
        return Result(run: run, part: try HandedJob(of: run, journal).part, cameBack: true)
    }

    /// A task waits to be told who it is, and the job may say so by now.
    private func asksForCredential(
        _ run: RunID, _ handed: HandedJob, _ recipe: RunRecipe, _ journal: Journal
    ) -> Bool {
        guard recipe.inputs.encoded() != handed.newest.inputs.encoded(),
            let past = try? JournalledPast(of: run, handed, journal)
        else { return false }
        return past.history.tasks.contains { $0.ending == nil && $0.waiting == .credential }
    }

    /// Tells the background part of a run that tasks which it needs have ended. What cannot be noted is tried again for some
    /// seconds; the next run of the job tells it again.
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
        // Whoever follows has started the process, and starts it again when it is gone.
        guard let link = try? starter.find() else { return }
        _ = try? link.ask(.ring(identifier), patience: .seconds(5))
    }

    /// A run whose end nobody has seen, and which has an identifier that another is to have.
    private struct Earlier {
        let holder: IdentifierHolder
        let handed: Swift.Result<HandedJob, ServiceTrouble>
        /// What its job is known by.
        let job: String
        /// Our job's: two files of one name in two folders are two jobs.
        let isOurs: Bool
    }

    /// One of another job's, if there is one.
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

extension TaskSpecification {
    /// What goes from where to where is the same.
    fileprivate func isTransfer(of other: TaskSpecification) -> Bool {
        type == other.type && location == other.location && destination == other.destination
            && effectiveMethod == other.effectiveMethod && options.values.mirrors == other.options.values.mirrors
            && options.values.awaitedDestination == other.options.values.awaitedDestination
    }
}
