import Glibc
import Scheduling
import TestSupport
import Testing
import TransferModel

/// A process without a free descriptor or thread: a wait, and no failure of the task.
@Suite struct ProcessLimitTests {
    private static func short(_ errno: Int32 = EMFILE, sent: Bool = false, isIdempotent: Bool = true) -> Verdict {
        Verdict(
            .failed(TransferError(.cannotCreateFile, "too many open files", errno: errno)), sentSomething: sent,
            isIdempotent: isIdempotent)
    }

    private static func stage(_ tasks: Int = 1, _ change: (inout SchedulingPlan) -> Void = { _ in }) -> Stage {
        Stage(
            plan(tasks) {
                for index in $0.policies.indices { $0.policies[index].retry.attempts = 1 }
                change(&$0)
            })
    }

    /// Moves the clock to the next attempt.
    private static func restart(_ stage: inout Stage) -> [Int] {
        guard let due = stage.scheduler.nextDeadline(now: stage.clock.now) else { return [] }
        return stage.turn(after: due - stage.clock.instant)
    }

    @Test(arguments: [EMFILE, ENFILE, EAGAIN, ENOMEM])
    func anAttemptWithoutDescriptorOrThread_isNoTry(_ errno: Int32) {
        var stage = Self.stage()
        for _ in 0..<20 {
            #expect(stage.running == [0])
            stage.end(0, Self.short(errno))
            stage.turn()
            #expect(stage.told[0] == .processLimit && stage.ends[0] == nil)
            #expect(stage.scheduler.standing(of: TaskIndex(raw: 0)) == .waiting(.processLimit))
            #expect(Self.restart(&stage) == [0])
        }
        stage.end(0)
        stage.turn()
        #expect(stage.ends[0]?.outcome == .succeeded && stage.wait(0, .processLimit) > .seconds(60))
        #expect(stage.wait(0, .backoff) == .zero)
    }

    @Test func thePauseGrowsToHalfAMinute() {
        var stage = Self.stage()
        for _ in 0..<8 {
            stage.end(0, Self.short())
            stage.turn()
            _ = Self.restart(&stage)
        }
        for (pause, most) in zip(stage.backoffs, [1, 2, 4, 8, 16, 30, 30, 30] as [Int64]) {
            #expect(pause >= TimeSpan(nanoseconds: most * 500_000_000) && pause <= .seconds(most))
        }
    }

    @Test func theHostIsNotToBlame() {
        var stage = Self.stage(3) { $0.maximumConcurrentTasks = 1 }
        stage.end(0, Self.short())
        #expect(stage.turn() == [1])
        #expect(stage.tellings[2]?.contains(.hostParked) != true)
    }

    @Test func whatMustNotBeSentTwiceFails() {
        var stage = Self.stage()
        stage.end(0, Self.short(sent: true, isIdempotent: false))
        stage.turn()
        #expect(stage.ends[0]?.outcome == .failed)
        // Nothing of it was sent.
        var other = Self.stage()
        other.end(0, Self.short(isIdempotent: false))
        other.turn()
        #expect(other.told[0] == .processLimit)
    }

    /// Of a connection EAGAIN means something else.
    @Test func anErrorOfTheNetworkIsNone() {
        var stage = Self.stage()
        stage.end(0, Verdict(.failed(TransferError(.networkConnectionLost, "cut", curl: 56, errno: EAGAIN))))
        stage.turn()
        #expect(stage.ends[0]?.outcome == .failed)
    }

    @Test func theAdviceNamesTheLimit() {
        let error = TransferError(.cannotCreateFile, "too many open files", errno: EMFILE)
        #expect(error.whatHelps(.download).contains("ulimit") && error.isOfProcessLimit)
        #expect(!TransferError(.cannotCreateFile, "no", errno: EACCES).isOfProcessLimit)
    }

    @Test func aSocketThatCannotBeOpenedIs() {
        var stage = Self.stage()
        stage.end(0, Verdict(.failed(TransferError(.cannotConnectToHost, "none left", curl: 7, errno: EMFILE))))
        stage.turn()
        #expect(stage.told[0] == .processLimit)
    }

    /// `retry.for` bounds it, in a background session only where it is written; `timeoutForResource` always does.
    @Test(arguments: [false, true]) func itIsTriedForAsLongAsFailuresAre(_ isPatient: Bool) {
        var stage = Self.stage {
            $0.sessions[0].isPatient = isPatient
            $0.policies[0].retry = RetryPolicy()
            $0.policies[0].timeoutForResource = .seconds(7200)
        }
        while stage.ends[0] == nil {
            stage.end(0, Self.short())
            stage.turn()
            if stage.ends[0] == nil { _ = Self.restart(&stage) }
        }
        let lasted = stage.ends[0]?.duration ?? .zero
        #expect(stage.ends[0]?.outcome == .failed)
        #expect(isPatient ? lasted == .seconds(7200) : lasted >= .seconds(590) && lasted <= .seconds(610))
    }

    /// A process that goes on with the run waits for the rest of the pause, and counts no try either.
    @Test func theNextProcessGoesOnWithTheWait() {
        var history = RunHistory(taskCount: 1, sessionCount: 1)
        let error = TransferError(.cannotCreateFile, "too many open files", errno: EMFILE)
        let clock = ManualClock()
        func tell(_ kind: Event.Kind, _ number: UInt64) {
            history.apply(
                Event(
                    time: clock.now.wall, sequence: number, session: SessionIndex(raw: 0), task: TaskIndex(raw: 0),
                    kind: kind))
        }
        tell(.taskCreated, 1)
        tell(.attemptStarted(AttemptStart(number: 1, url: "http://a.test/")), 2)
        tell(
            .attemptFinished(
                AttemptRecord(
                    number: 1, url: "http://a.test/", outcome: .failed, resumedFrom: 0, startedAt: clock.now.wall,
                    duration: .zero, error: error, backoff: .seconds(20), transactions: [])), 3)
        tell(.waiting(.processLimit, lacks: nil), 4)
        #expect(history.tasks[0].tries == 0 && history.tasks[0].waiting == .processLimit)
        let plan = plan(1) { $0.policies[0].retry.attempts = 1 }
        var stage = Stage(plan, goingOn: history, at: clock)
        #expect(stage.running.isEmpty)
        #expect(stage.scheduler.standing(of: TaskIndex(raw: 0)) == .waiting(.processLimit))
        #expect(stage.turn(after: .seconds(20)) == [0])
    }

    // MARK: Whether a run has anything to do

    @Test func aRunThatOnlyWaitsHasNoWork() {
        var stage = Self.stage(2) { $0.policies[1].earliestBegin = .afterStart(.seconds(3600)) }
        #expect(stage.scheduler.hasWork == true)
        stage.end(0)
        stage.turn()
        #expect(stage.scheduler.hasWork == false)
        #expect(stage.turn(after: .seconds(3600)) == [1] && stage.scheduler.hasWork)
        stage.end(1)
        stage.turn()
        #expect(stage.scheduler.hasWork == false && stage.scheduler.isFinished)
    }

    /// What could start counts, though starts are paused: the run asks for its turn.
    @Test func aRunThatMayNotStartHasWork() {
        var stage = Self.stage(2) { $0.maximumConcurrentTasks = 1 }
        stage.command(.pauseStarts(.awaitsTurn, true))
        stage.end(0)
        #expect(stage.turn() == [] && stage.scheduler.hasWork)
        stage.command(.pauseStarts(.unrecorded, true))
        stage.command(.pauseStarts(.awaitsTurn, false))
        #expect(stage.turn() == [], "its events cannot be recorded")
        stage.command(.pauseStarts(.unrecorded, false))
        #expect(stage.turn() == [1])
    }

    @Test func aSuspendedRunHasNoWork() {
        var stage = Self.stage()
        stage.command(.suspend([TaskIndex(raw: 0)]))
        stage.endCancelled(0)
        stage.turn()
        #expect(stage.scheduler.hasWork == false)
        stage.command(.pauseStarts(.awaitsTurn, true))
        stage.command(.resume([TaskIndex(raw: 0)]))
        #expect(stage.turn() == [] && stage.scheduler.hasWork)
    }
}
