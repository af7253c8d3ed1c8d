import BackgroundService
import JobRunner
import Stores
import Synchronization
import SystemIO
import TransferModel

/// A job with tasks of background sessions and of others: this process carries the others, and each part tells the other
/// what it waits for.
struct JoinedRun {
    let run: RunID
    let identifier: String
    let cameBack: Bool
    let seam: JobSeam
    /// The background part as it was accepted.
    let background: Job
    let carrier: RunningJob
    let folder: StateFolder
    let starter: ServiceStarter

    func perform(_ job: Job, _ memory: RunMemory, _ networks: NetworkSettings) -> Int32 {
        do {
            let outputs = try RunOutputs(job, carrier.options, carrier.environment)
            if cameBack { outputs.cameBack(to: Set(background.tasks.map(\.session))) }
            return try perform(job, memory, networks, outputs)
        } catch {
            carrier.console.errors("error: \(error)\n")
            return ExitStatus.runnerFailed.code
        }
    }

    private func perform(
        _ job: Job, _ memory: RunMemory, _ networks: NetworkSettings, _ outputs: RunOutputs
    ) throws -> Int32 {
        let numbers = Dictionary(
            job.tasks.enumerated().map { ($1.id, TaskIndex(raw: UInt32($0))) }, uniquingKeysWith: { first, _ in first })
        let story = JoinedStory(
            job, here: seam.foreground.numbers.map { $0 }, background: background.tasks.map { numbers[$0.id] },
            outputs.consumers)
        let teller = try ReleaseTeller(
            run, identifier, Set(seam.background.outside.values.joined()), folder: folder, starter: starter)
        let watch = try BackgroundWatch(self, story, tellsProgress: outputs.tellEverything)
        let status = try carrier.transfer(
            seam.foreground.job, [JoinedStory.Side.here.consumer(story)], tellsEverything: outputs.tellEverything,
            memory,
            networks,
            other: RunningJob.OtherPart(
                outside: OutsideNeeds(seam.foreground.outside), heard: { teller.tell($0) }, opened: { watch.begin($0) })
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
        if isSignal { carrier.console.errors(FollowedRun.goesOn(identifier)) }
        return status.code
    }

    private func finish(_ end: Follower.End, _ status: ExitStatus, _ outputs: RunOutputs) throws -> Int32 {
        switch end {
        case .interrupted(let number):
            carrier.console.errors(FollowedRun.goesOn(identifier))
            return ExitStatus.signal(number).code
        case .finished(let end, let trouble):
            if let trouble { carrier.console.errors("error: \(trouble)\n") }
            let code = ExitStatus.joined(end.exitStatus, Int(status.code))
            outputs.correct((code == end.exitStatus ? end.outcome : status.outcome, code))
            outputs.heard(end.hooks.map { $0.result(in: background) })
            try outputs.write()
            try Follower(run, identifier, folder: folder, starter: starter).deliver()
            return Int32(code)
        }
    }
}

extension JoinedStory.Side {
    func consumer(_ story: JoinedStory) -> any EventConsumer { PartConsumer(side: self, story: story) }

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

/// Notes the ends for which background tasks wait, apart from the loop: each is to be durable.
private final class ReleaseTeller: Sendable {
    private let ends: Mailbox<OutsideEnd>
    private let thread = WorkThread()
    private let trouble = Mutex<ServiceTrouble?>(nil)
    private let wanted: Set<String>

    init(
        _ run: RunID, _ identifier: String, _ wanted: Set<String>, folder: StateFolder, starter: ServiceStarter
    ) throws(SystemError) {
        self.wanted = wanted
        let wake = thread.wake
        ends = Mailbox { wake.signal() }
        if wanted.isEmpty { return }
        try thread.start(named: "releases") { [self] in
            while true {
                let isEnding = thread.isEnding
                let batch = ends.takeAll()
                if !batch.isEmpty { release(batch, run, identifier, folder, starter) }
                if isEnding, batch.isEmpty { return }
                if batch.isEmpty { thread.wake.wait() }
            }
        }
    }

    func tell(_ end: OutsideEnd) { if wanted.contains(end.id) { ends.post(end) } }

    /// Why something could not be told: whoever waits for it would wait for ever.
    func finish() -> ServiceTrouble? {
        thread.finish()
        return trouble.withLock { $0 }
    }

    private func release(
        _ ends: [OutsideEnd], _ run: RunID, _ identifier: String, _ folder: StateFolder, _ starter: ServiceStarter
    ) {
        do throws(ServiceTrouble) {
            try Handover.release(ends, of: run, identifier, folder, starter)
        } catch {
            trouble.withLock { $0 = error }
        }
    }
}

/// Follows the background part on a thread of its own, and tells this process's part what it waits for.
private final class BackgroundWatch: Sendable {
    private enum Outcome: Sendable {
        case end(Follower.End)
        case failed(ServiceTrouble)
    }
    private let run: RunID
    private let identifier: String
    private let background: Job
    private let failsFast: Bool
    private let wanted: Set<String>
    private let folder: StateFolder
    private let starter: ServiceStarter
    private let tasksHere: Int
    private let story: JoinedStory
    private let tellsProgress: Bool
    private let thread = WorkThread()
    private let isInterrupted = Atomic<Bool>(false)
    private let interruption = Mutex<(@Sendable () -> Void)?>(nil)
    private let outcome = Mutex<Outcome?>(nil)

    init(_ joined: JoinedRun, _ story: JoinedStory, tellsProgress: Bool) throws(SystemError) {
        run = joined.run
        identifier = joined.identifier
        background = joined.background
        failsFast = joined.seam.foreground.job.failFast || joined.carrier.options.failFast
        wanted = Set(joined.seam.foreground.outside.values.joined())
        folder = joined.folder
        starter = joined.starter
        tasksHere = joined.seam.foreground.numbers.count
        self.story = story
        self.tellsProgress = tellsProgress
    }

    func begin(_ inbox: Mailbox<RunInput>) {
        do throws(SystemError) {
            try thread.start(named: "background") { [self] in work(inbox) }
        } catch {
            fail(ServiceTrouble(error.description), inbox)
        }
    }

    func interrupt() {
        isInterrupted.store(true, ordering: .releasing)
        interruption.withLock { $0 }?()
        thread.finish()
    }

    func wait() throws -> Follower.End {
        thread.finish()
        switch outcome.withLock({ $0 }) {
        case .end(let end): return end
        case .failed(let trouble): throw trouble
        case nil: throw ServiceTrouble("nobody followed the background tasks")
        }
    }

    private func fail(_ trouble: ServiceTrouble, _ inbox: Mailbox<RunInput>) {
        outcome.withLock { $0 = .failed(trouble) }
        // Nobody would ever tell what tasks here wait for.
        if wanted.isEmpty { return }
        let all = (0..<tasksHere).map { TaskIndex(raw: UInt32($0)) }
        inbox.post(.command(.cancel(all, keepPartial: true)))
    }

    private func work(_ inbox: Mailbox<RunInput>) {
        do throws(ServiceTrouble) {
            let follower = try Follower(run, identifier, folder: folder, starter: starter)
            if tellsProgress { follower.wantsProgress(of: background) }
            interruption.withLock { $0 = follower.interrupt }
            let end = try follower.follow(
                signal: { [self] in
                    story.tellWhatIsDue()
                    return isInterrupted.load(ordering: .acquiring) ? 2 : nil
                },
                take: { [self] events in
                    for event in events { release(event, follower, inbox) }
                    story.take(events, from: .background)
                })
            outcome.withLock { $0 = .end(end) }
        } catch {
            fail(error, inbox)
        }
    }

    private func release(_ event: Event, _ follower: Follower, _ inbox: Mailbox<RunInput>) {
        guard case .taskFinished(let record) = event.kind, let number = event.task,
            Int(number.raw) < background.tasks.count
        else { return }
        let succeeded = record.outcome == .succeeded || record.tolerated
        if failsFast, !succeeded {
            let all = (0..<tasksHere).map { TaskIndex(raw: UInt32($0)) }
            inbox.post(.command(.cancel(all, keepPartial: true)))
        }
        let id = background.tasks[Int(number.raw)].id
        guard wanted.contains(id) else { return }
        inbox.post(
            .outside(
                OutsideEnd(
                    id: id, succeeded: succeeded, deferral: record.deferral,
                    captures: record.captures.isEmpty ? [] : follower.captures(of: id))))
    }
}
