import Scheduling
import TestSupport
import Testing
import TransferModel

/// Tasks that run only when it costs nobody.
struct DiscretionaryTests {
    private func index(_ task: Int) -> TaskIndex { TaskIndex(raw: UInt32(task)) }

    /// What costs passes: that is waited for whatever `waitsForConnectivity` says.
    @Test(arguments: [false, true]) func itWaitsForANetworkThatCostsNothing(waits: Bool) {
        var stage = Stage(plan(1) { $0.mind(.metered, waits: waits, discretionary: true) })
        #expect(stage.running == [] && stage.told[0] == .network)
        stage.change(.metered.on(.low))
        #expect(stage.turn(after: .seconds(1)) == [] && stage.tellings[0] == [.network])
        stage.change(.wired.on(.low))
        #expect(stage.turn(after: .seconds(2)) == [] && stage.tellings[0] == [.network, .power])
        stage.change(.wired)
        #expect(stage.turn() == [0])
        stage.end(0)
        stage.turn()
        #expect(stage.wait(0, .network) == .seconds(1) && stage.wait(0, .power) == .seconds(2))
    }

    @Test func noNetworkAtAllIsAnotherMatter() {
        var waiting = Stage(plan(1) { $0.mind(Conditions.none, waits: true, discretionary: true) })
        #expect(waiting.told[0] == .network)
        waiting.change(.wired)
        #expect(waiting.turn() == [0])
        var failing = Stage(plan(1) { $0.mind(.metered, waits: false, discretionary: true) })
        failing.change(.none)
        failing.turn()
        #expect(failing.ends[0]?.error?.name == .notConnectedToInternet)
    }

    @Test func filesWaitForPowerOnly() {
        let stage = Stage(
            plan(2) {
                $0.mind(.metered.on(.low), discretionary: true)
                $0.tasks[0].origin = nil
            })
        #expect(stage.told == [0: .power, 1: .network])
        let near = Stage(
            plan(1) {
                $0.mind(Conditions.none, discretionary: true)
                $0.localOrigins = [host]
            })
        #expect(near.running == [0])
    }

    /// Something else than the network holds it back.
    @Test func powerIsNoNetworksFault() {
        var stage = Stage(
            plan(1) {
                $0.mind(.wired.on(.low), discretionary: true)
                $0.policies[0].timeoutForResource = .seconds(10)
            })
        stage.turn(after: .seconds(86_400))
        stage.change(.metered)
        stage.turn(after: .seconds(9))
        stage.change(.wired.on(.low))
        stage.turn(after: .seconds(86_400))
        stage.change(.wired)
        #expect(stage.turn() == [0])
        stage.turn(after: .seconds(1))
        #expect(stage.cancelled == [0], "the second that was left of ten")
    }

    @Test func whatRunsIsInterrupted() {
        var stage = Stage(
            plan(3, origins: 3) {
                $0.mind(.wired, discretionary: true)
                $0.policies[1].isDiscretionary = false
                $0.policies[0].retry.attempts = 1
            })
        #expect(stage.running == [0, 1, 2])
        stage.receive(.transferred(index(2)))
        stage.change(.metered)
        stage.change(.wired.on(.low))
        stage.turn()
        #expect(stage.cancelled == [0], "one has only local work left, the other minds nothing")
        stage.endCancelled(0)
        #expect(stage.turn(after: .seconds(5)) == [] && stage.tellings[0] == [.power])
        stage.change(.wired)
        #expect(stage.turn(after: .seconds(1)) == [0])
        stage.end(0)
        stage.turn()
        #expect(stage.ends[0]?.outcome == .succeeded && stage.ends[0]?.attempts == 2)
    }

    @Test func conditionsThatReturnInTimeChangeNothing() {
        var stage = Stage(plan(1) { $0.mind(.wired, discretionary: true) })
        stage.change(.metered)
        stage.turn()
        stage.change(.wired)
        stage.endCancelled(0)
        #expect(stage.turn() == [0] && stage.tellings.isEmpty)
    }

    /// Its executor ends it; it is no interruption of ours that would hide a failure.
    @Test func aNetworkThatGoesAwayIsLeftToTheExecutor() {
        var stage = Stage(plan(1) { $0.mind(.wired, waits: false, discretionary: true) })
        stage.change(.none)
        stage.turn()
        #expect(stage.cancelled == [])
        stage.end(0, .withoutNetwork)
        stage.turn()
        #expect(stage.backoffs == [.seconds(1)])
    }
}
