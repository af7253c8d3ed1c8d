import BackgroundService
import JobRunner
import Reporting
import Stores
import TransferModel

/// The part of a job that the background process carries.
struct HandedPart: Sendable {
    let run: RunID
    let identifier: String
    /// As it was accepted.
    let part: JobPart
    let folder: StateFolder
    let starter: ServiceStarter

    var job: Job { part.job }
}

/// A job with tasks of background sessions and of others: this process carries the others, and each part tells the other
/// what it waits for.
struct JoinedRun {
    let background: HandedPart
    let cameBack: Bool
    /// What this process carries.
    let foreground: JobPart
    let carrier: RunningJob

    /// `job` has the tasks of both.
    func perform(_ job: Job, _ memory: RunMemory, _ networks: NetworkSettings) -> Int32 {
        do {
            let outputs = try RunOutputs(job, carrier.options, carrier.environment)
            if cameBack { outputs.cameBack(to: sessions(in: job)) }
            return try perform(job, memory, networks, outputs)
        } catch {
            carrier.console.errors("error: \(error)\n")
            return ExitStatus.runnerFailed.code
        }
    }

    /// Those of the background part, by the job's numbers.
    private func sessions(in job: Job) -> Set<SessionIndex> {
        let used = Set(background.job.tasks.map { background.job.sessions[Int($0.session.raw)].name })
        let numbers = job.sessions.indices.filter { used.contains(job.sessions[$0].name) }
        return Set(numbers.map { SessionIndex(raw: UInt16($0)) })
    }

    private func perform(
        _ job: Job, _ memory: RunMemory, _ networks: NetworkSettings, _ outputs: RunOutputs
    ) throws -> Int32 {
        let story = JoinedStory(job, here: foreground.job, background: background.job, outputs.consumers)
        let teller = try ReleaseTeller(background)
        let watch = try BackgroundWatch(self, story, tellsProgress: outputs.tellEverything)
        let status = try carrier.transfer(
            foreground.job, [JoinedStory.Side.here.consumer(story)], tellsEverything: outputs.tellEverything, memory,
            networks,
            other: RunningJob.OtherPart(
                outside: OutsideNeeds(foreground.outside), heard: { teller.tell($0) }, opened: { watch.begin($0) })
        )
        let untold = teller.finish()
        let isSignal = if case .signal = status { true } else { false }
        guard isSignal || carrier.options.detach || untold != nil else {
            return try finish(watch.wait(), status, outputs)
        }
        // What this process carried has ended, and has its report; the rest goes on without it.
        watch.interrupt()
        story.endAlone()
        try outputs.write()
        if let untold { throw untold }
        if isSignal { carrier.console.errors(FollowedRun.goesOn(background.identifier)) }
        return status.code
    }

    private func finish(_ end: Follower.End, _ status: ExitStatus, _ outputs: RunOutputs) throws -> Int32 {
        switch end {
        case .interrupted(let number):
            carrier.console.errors(FollowedRun.goesOn(background.identifier))
            return ExitStatus.signal(number).code
        case .finished(let end, let trouble):
            if let trouble { carrier.console.errors("error: \(trouble)\n") }
            let code = ExitStatus.joined(end.exitStatus, Int(status.code))
            outputs.correct((code == end.exitStatus ? end.outcome : status.outcome, code))
            outputs.heard(end.hooks.map { $0.result(in: background.job) })
            try outputs.write()
            try Follower(background).deliver()
            return Int32(code)
        }
    }
}

extension Follower {
    convenience init(_ handed: HandedPart) throws(ServiceTrouble) {
        try self.init(handed.run, handed.identifier, folder: handed.folder, starter: handed.starter)
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
        func consume(_ events: ArraySlice<Event>) { story.take(events, from: side) }
    }
}
