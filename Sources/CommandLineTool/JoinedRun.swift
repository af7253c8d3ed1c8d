import BackgroundService
import JobRunner
import Reporting
import Stores
import TransferModel

/// The part of a job that the background process runs.
struct HandedPart: Sendable {
    let run: RunID
    let identifier: String
    /// The part as the background process accepted it.
    let part: JobPart
    let folder: StateFolder
    let starter: ServiceStarter

    var job: Job { part.job }
}

/// Runs a job with tasks of background sessions and of others: this process runs the others, and each part tells the
/// other the ends that it waits for.
struct JoinedRun {
    let background: HandedPart
    let cameBack: Bool
    /// The part that this process runs.
    let foreground: JobPart
    let carrier: RunningJob

    /// Runs the job and returns the exit status; `job` has the tasks of both parts.
    func perform(_ job: Job, _ memory: RunMemory, _ networks: NetworkSettings) -> Int32 {
        do {
            let outputs = try RunOutputs(job, carrier.options, carrier.environment)
            if cameBack { outputs.cameBack(to: sessions(in: job)) }
            return try perform(job, memory, networks, outputs)
        } catch {
            carrier.console.errors("error: \(error)\n" + background.folder.handedOver(background.identifier))
            return ExitStatus.runnerFailed.code
        }
    }

    /// Whether the first failure in either part ends both.
    var failsFast: Bool { foreground.job.failFast || carrier.options.failFast }

    /// Sessions of the background part, by their numbers in the job.
    private func sessions(in job: Job) -> Set<SessionIndex> {
        let used = Set(background.job.tasks.map { background.job.sessions[Int($0.session.raw)].name })
        let numbers = job.sessions.indices.filter { used.contains(job.sessions[$0].name) }
        return Set(numbers.map { SessionIndex(raw: UInt16($0)) })
    }

    private func perform(
        _ job: Job, _ memory: RunMemory, _ networks: NetworkSettings, _ outputs: RunOutputs
    ) throws -> Int32 {
        let story = JoinedStory(job, here: foreground.job, background: background.job, outputs.consumers)
        let forwarder = try ReleaseForwarder(background, failsFast: failsFast)
        let watch = try BackgroundWatch(self, story, tellsProgress: outputs.wantsProgress)
        let done: RunningJob.Transferred
        do {
            done = try carrier.transfer(
                foreground.job, [JoinedStory.Side.here.consumer(story)], tellsEverything: outputs.tellEverything,
                memory, networks,
                other: RunningJob.OtherPart(
                    outside: OutsideNeeds(foreground.outside), heard: { forwarder.tell($0) },
                    opened: { watch.start($0) },
                    signalled: { number in
                        forwarder.keepFailures()
                        watch.end(number)
                    }))
        } catch {
            _ = forwarder.finish()
            watch.interrupt()
            throw ServiceTrouble("the run could not be carried out: \(RunningJob.words(error))")
        }
        carrier.settle(done)
        return try foregroundEnded(done.status, untold: forwarder.finish(), watch, story, outputs)
    }

    /// Finishes the command, or follows the background part, after the part of this process has ended.
    private func foregroundEnded(
        _ status: ExitStatus, untold: ServiceTrouble?, _ watch: BackgroundWatch, _ story: JoinedStory,
        _ outputs: RunOutputs
    ) throws -> Int32 {
        let isSignal = if case .signal = status { true } else { false }
        if isSignal || carrier.options.detach {
            watch.interrupt()
            return try leave(status, sayingSo: isSignal, story, outputs)
        }
        let end: Follower.End
        do throws(ServiceTrouble) {
            end = try self.end(watch, untold)
        } catch {
            // How the other part continues is unknown; the known events are reported all the same.
            _ = try leave(.runnerFailed, sayingSo: false, story, outputs)
            throw error
        }
        switch end {
        case .finished(let end, let trouble): return try bothEnded(end, trouble, status, story, outputs)
        case .interrupted(let number): return try leave(.signal(number), sayingSo: true, story, outputs)
        case .heldBack(let held):
            carrier.console.errors(held.words(background.job.redactor))
            let isIncomplete = ExitStatus.joined(Int(status.code), 75) == 75
            return try leave(isIncomplete ? .incomplete : status, sayingSo: true, story, outputs)
        }
    }

    /// Waits for the end of the background part. Ends that could not be passed to it matter only while it still runs.
    private func end(_ watch: BackgroundWatch, _ untold: ServiceTrouble?) throws(ServiceTrouble) -> Follower.End {
        if untold != nil { watch.interrupt() }
        let end = try watch.wait()
        if case .interrupted = end, let untold { throw untold }
        return end
    }

    /// Ends this command while the background part continues.
    private func leave(
        _ status: ExitStatus, sayingSo isTold: Bool, _ story: JoinedStory, _ outputs: RunOutputs
    ) throws -> Int32 {
        let end = (outcome: status.outcome, exitStatus: Int(status.code))
        story.endAlone(end)
        outputs.correct(end)
        try outputs.write()
        if isTold { carrier.console.errors(FollowedRun.goesOn(background.job, background.folder)) }
        return status.code
    }

    private func bothEnded(
        _ end: RunEnd, _ trouble: String?, _ status: ExitStatus, _ story: JoinedStory, _ outputs: RunOutputs
    ) throws -> Int32 {
        if let trouble { carrier.console.errors("error: \(trouble)\n") }
        for warning in end.hooks.compactMap(\.warning) { carrier.console.errors(warning) }
        let code = ExitStatus.joined(end.exitStatus, Int(status.code))
        let joined = (outcome: code == end.exitStatus ? end.outcome : status.outcome, exitStatus: code)
        // A run that was given up has an end, but no event for it.
        story.endAlone(joined)
        outputs.correct(joined)
        outputs.heard(end.hooks.map { $0.result(in: background.job) })
        try outputs.write()
        let last = try outputs.runOnFinish(of: foreground.job, joined.outcome, Int32(code), carrier.console)
        try Follower(background).deliver()
        return last
    }
}

extension Follower {
    convenience init(_ handed: HandedPart) throws(ServiceTrouble) {
        try self.init(handed.run, handed.identifier, of: handed.job, folder: handed.folder, starter: handed.starter)
    }
}

extension JoinedStory.Side {
    fileprivate func consumer(_ story: JoinedStory) -> any EventConsumer { PartConsumer(side: self, story: story) }

    private final class PartConsumer: EventConsumer {
        private let side: JoinedStory.Side
        private let story: JoinedStory
        init(side: JoinedStory.Side, story: JoinedStory) {
            self.side = side
            self.story = story
        }
        func consume(_ events: ArraySlice<Event>) { story.add(events, from: side) }
    }
}
