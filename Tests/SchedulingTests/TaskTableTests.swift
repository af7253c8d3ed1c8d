import Testing
import TransferModel

@testable import Scheduling

@Suite struct TaskTableTests {
    private func instant(_ seconds: Int64) -> Instant { Instant(nanoseconds: seconds * 1_000_000_000) }

    private func waits(_ state: TaskState) -> [WaitReason: TimeSpan] {
        Dictionary(uniqueKeysWithValues: state.waits.map { ($0.reason, $0.duration) })
    }

    /// A phase, and what the time in it is accounted as.
    @Test(arguments: [
        (TaskState.Phase.blocked, WaitReason?.some(.dependency)), (.held, .earliestBegin),
        (.suspended(.byCommand), .suspended), (.suspended(.byFile), .suspended),
        (.suspended(.forCredential), .credential), (.backingOff, .backoff),
        (.awaitingConditions(.power), .power), (.staged, .dependency), (.expanding, .dependency), (.queued, nil),
        (.running, nil),
    ])
    func theNextPhaseEndsTheWait(_ phase: TaskState.Phase, _ reason: WaitReason?) {
        var tasks = TaskTable(count: 1, at: instant(0))
        tasks.enter(phase, 0, at: instant(10))
        #expect(tasks[0].waits.isEmpty && tasks[0].waitReason == reason)
        tasks.enter(.running, 0, at: instant(13))
        #expect(tasks[0].since == instant(13))
        #expect(waits(tasks[0]) == (reason.map { [$0: .seconds(3)] } ?? [:]))
    }

    @Test func countsFollowThePhases() {
        var tasks = TaskTable(count: 3, at: instant(0))
        tasks.enter(.blocked, 0, at: instant(0))
        tasks.enter(.suspended(.byFile), 1, at: instant(0))
        tasks.enter(.suspended(.byCommand), 2, at: instant(0))
        #expect(tasks.idleCount == 2 && tasks.suspendedByFileCount == 1, "a command is waited for")
        tasks.enter(.running, 0, at: instant(1))
        #expect(tasks.idleCount == 1 && tasks.areAnyRunning)
        tasks.enter(.staged, 0, at: instant(2))
        #expect(tasks.idleCount == 2 && !tasks.areAnyRunning)
        for index in 0..<3 { tasks.enter(.finished(.deferred), index, at: instant(3)) }
        #expect(tasks.finishedCount == 3 && tasks.idleCount == 0 && tasks.suspendedByFileCount == 0)
        #expect(tasks[1].isFinished && tasks[1].outcome == .deferred)
    }

    @Test func anAddedTaskIsCountedToo() {
        var tasks = TaskTable(count: 1, at: instant(0))
        tasks.append(at: instant(5))
        #expect(tasks.count == 2 && tasks[1].since == instant(5) && tasks[1].phase == .queued)
    }
}

@Suite struct ResourceClockTests {
    private func instant(_ seconds: Int64) -> Instant { Instant(nanoseconds: seconds * 1_000_000_000) }

    @Test func doesNotRunBeforeItBegan() {
        var clock = ResourceClock()
        let start = clock.start(at: instant(1))
        let stop = clock.stop(at: instant(2))
        #expect(start == nil && !stop && !clock.hasBegun && !clock.isRunning)
    }

    @Test func keepsWhatIsLeftWhileItStands() {
        var clock = ResourceClock()
        clock.begin(left: .seconds(60))
        #expect(clock.hasBegun && !clock.isRunning)
        let first = clock.start(at: instant(100))
        #expect(first == instant(160) && clock.isRunning && clock.ends(at: instant(160)))
        let again = clock.start(at: instant(110))
        #expect(again == nil, "it runs")
        let stopped = clock.stop(at: instant(120))
        #expect(stopped && !clock.ends(at: instant(160)), "the first timer is void")
        let second = clock.start(at: instant(1_000))
        #expect(second == instant(1_040) && !clock.ends(at: instant(160)))
    }
}

@Suite struct TaskStateTests {
    @Test func theWaitInAnAttemptIsTakenOnce() {
        var state = TaskState(since: Instant(nanoseconds: 0))
        state.waitInAttempt = .seconds(3)
        let waits = [state.takeWaitInAttempt(), state.takeWaitInAttempt()]
        #expect(waits == [.seconds(3), .zero])
    }

    @Test func waitsOfOneReasonAddUp() {
        var state = TaskState(since: Instant(nanoseconds: 0))
        state.addWait(.window, .seconds(3))
        state.addWait(.power, .zero)
        state.addWait(.window, .seconds(4))
        #expect(state.waits.map(\.reason) == [.window] && state.waits.map(\.duration) == [.seconds(7)])
    }

    @Test func onlyAHeldSlotIsHeld() {
        var state = TaskState(since: Instant(nanoseconds: 0))
        let slots: [TaskState.Slot] = [.none, .awaited, .held(isAlone: false), .held(isAlone: true)]
        let held = slots.map { slot in
            state.slot = slot
            return state.holdsSlot
        }
        #expect(held == [false, false, true, true])
    }
}
