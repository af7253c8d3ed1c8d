import Scheduling
import TestSupport
import Testing
import TransferModel

/// `--no-wait`: what would wait for a network, power, a window or a date is for the next run.
struct PutOffTests {
    private func index(_ task: Int) -> TaskIndex { TaskIndex(raw: UInt32(task)) }
    private let closed = WindowRule { _ in WindowRule.State(isOpen: false, changesAt: nil) }

    private func deferrals(_ stage: borrowing Stage) -> [Int: Deferral] {
        stage.ends.compactMapValues { $0.outcome == .deferred ? $0.deferral : nil }
    }

    private func hurried(_ tasks: Int, sessions: Int = 1, _ change: (inout SchedulingPlan) -> Void) -> SchedulingPlan {
        plan(tasks, sessions: sessions) {
            $0.putsOffWhatWaits = true
            change(&$0)
        }
    }

    @Test func aDateToCome() {
        var stage = Stage(
            hurried(5) {
                $0.policies[0].earliestBegin = .afterStart(.seconds(10))
                $0.policies[1].earliestBegin = .at(ManualClock().wall + .seconds(20))
                $0.policies[2].earliestBegin = .afterStart(.zero)
                $0.tasks[3].needs = needs(0)
                $0.tasks[4].needs = needs(2, 3)
            })
        #expect(stage.running == [2])
        #expect(deferrals(stage) == [0: .earliestBegin, 1: .earliestBegin, 3: .earliestBegin, 4: .earliestBegin])
        #expect(stage.tellings.values.allSatisfy { $0 == [.dependency] })
        #expect(stage.ends.values.allSatisfy { $0.error == nil })
        #expect(!stage.scheduler.waitsForDate && stage.scheduler.nextDeadline(now: stage.clock.now) != nil)
        stage.end(2)
        stage.turn()
        #expect(stage.scheduler.isFinished && stage.ends[2]?.outcome == .succeeded)
    }

    @Test func aWindowThatIsClosed() {
        let stage = Stage(
            hurried(4, sessions: 2) {
                $0.sessions[0].window = closed
                $0.tasks[3].needs = needs(0)
            })
        #expect(stage.running == [1] && deferrals(stage) == [0: .window, 2: .window, 3: .window])
    }

    @Test func aWindowThatCloses() {
        let begin = ManualClock().wall
        var stage = Stage(
            hurried(4) {
                $0.maximumConcurrentTasks = 2
                $0.tasks[3].needs = needs(0)
                $0.sessions[0].window = WindowRule { date in
                    let isOpen = date < begin + .seconds(10)
                    return WindowRule.State(isOpen: isOpen, changesAt: isOpen ? begin + .seconds(10) : nil)
                }
            })
        #expect(stage.running == [0, 1])
        stage.turn(after: .seconds(10))
        #expect(stage.cancelled == [0, 1] && deferrals(stage) == [2: .window])
        // One had its last byte already; what needs it comes too late.
        stage.end(0)
        stage.endCancelled(1)
        stage.turn(after: .seconds(1))
        #expect(stage.ends[0]?.outcome == .succeeded && deferrals(stage) == [1: .window, 2: .window, 3: .window])
        #expect(stage.wait(2, .window) == .zero && stage.wait(2, .runLimit) == .seconds(10))
    }

    @Test func aBackOffThatEndsOutsideTheWindow() {
        let begin = ManualClock().wall
        var stage = Stage(
            hurried(1) {
                $0.sessions[0].window = WindowRule { date in
                    let isOpen = date < begin + .milliseconds(500)
                    return WindowRule.State(isOpen: isOpen, changesAt: isOpen ? begin + .milliseconds(500) : nil)
                }
            })
        stage.end(0, .failed(.timedOut))
        stage.turn(after: .milliseconds(500))
        #expect(stage.ends.isEmpty)
        stage.turn(after: .milliseconds(500))
        #expect(deferrals(stage) == [0: .window])
    }

    @Test func networksAndPower() {
        #expect(deferrals(Stage(hurried(1) { $0.mind(Conditions.none) })) == [0: .network])
        #expect(deferrals(Stage(hurried(1) { $0.mind(.metered, waits: false, discretionary: true) })) == [0: .network])
        #expect(deferrals(Stage(hurried(1) { $0.mind(.wired.on(.low), discretionary: true) })) == [0: .power])
        // It would not wait: it fails.
        #expect(Stage(hurried(1) { $0.mind(Conditions.none, waits: false) }).ends[0]?.outcome == .failed)
    }

    @Test func conditionsThatGoAway() {
        var stage = Stage(hurried(3) { $0.mind(.wired, discretionary: true) })
        stage.end(0, .noRoute())
        stage.turn()
        #expect(deferrals(stage) == [0: .network])
        stage.change(.metered)
        stage.turn()
        #expect(stage.cancelled == [1, 2])
        stage.endCancelled(1)
        stage.end(2)
        stage.turn()
        #expect(deferrals(stage) == [0: .network, 1: .network] && stage.ends[2]?.outcome == .succeeded)
    }

    @Test func whatLosesItsNetwork() {
        var stage = Stage(hurried(2) { $0.mind(.wired) })
        stage.end(0, .withoutNetwork)
        #expect(stage.turn() == [0], "the next network is there")
        stage.change(.none)
        stage.end(0, .withoutNetwork)
        stage.end(1, .failed(.timedOut))
        stage.turn()
        #expect(deferrals(stage) == [0: .network, 1: .network] && stage.scheduler.isFinished)
    }

    @Test func aGroupIsPutOffWhole() {
        var stage = Stage(
            hurried(5) {
                $0.groupCount = 1
                for task in 0..<3 { $0.tasks[task].group = GroupIndex(raw: 0) }
                $0.policies[1].earliestBegin = .afterStart(.seconds(5))
                $0.policies[1].allowFailure = .any
                $0.tasks[3].neededGroups = [GroupIndex(raw: 0)]
                $0.tasks[4].needs = needs(3)
            })
        // It is known before anybody starts.
        #expect(stage.running == [] && stage.discarded == [0])
        #expect((0..<5).allSatisfy { stage.ends[$0]?.deferral == .earliestBegin })
        stage.turn()
        #expect(stage.scheduler.isFinished == true)
    }

    @Test func membersThatRunArePutOffToo() {
        var stage = Stage(
            hurried(3) {
                $0.mind(.wired)
                $0.groupCount = 1
                for task in 0..<3 { $0.tasks[task].group = GroupIndex(raw: 0) }
            })
        stage.end(0)
        stage.turn()
        stage.end(1, .noRoute())
        stage.turn()
        #expect(stage.cancelled == [2])
        stage.endCancelled(2)
        stage.turn()
        #expect((0..<3).allSatisfy { stage.ends[$0]?.deferral == .network })
        #expect(stage.published == [] && stage.discarded == [0])
    }

    @Test func otherWaitsAreWaited() {
        var stage = Stage(hurried(2) { $0.maximumConcurrentTasks = 1 })
        stage.end(0, .failed(.timedOut))
        #expect(stage.turn() == [1])
        stage.end(1)
        #expect(stage.turn(after: .seconds(1)) == [0] && stage.wait(1, .runLimit) == .zero)
    }

    @Test func whatIsSuspendedInTheFileKeepsItsOwnReason() {
        let stage = Stage(
            hurried(2) {
                $0.policies[0].isSuspended = true
                $0.policies[0].earliestBegin = .afterStart(.seconds(5))
                $0.policies[1].earliestBegin = .afterStart(.seconds(5))
            })
        #expect(deferrals(stage) == [0: .suspended, 1: .earliestBegin])
    }

    /// Each needs the one before: a call within a call would not survive it.
    @Test func aLongChainIsPutOff() {
        let count = 100_000
        let stage = Stage(
            hurried(count) {
                $0.policies[0].earliestBegin = .afterStart(.seconds(5))
                for task in 1..<count { $0.tasks[task].needs = [index(task - 1)] }
            })
        #expect(stage.scheduler.isFinished && stage.ends[count - 1]?.deferral == .earliestBegin)
    }
}
