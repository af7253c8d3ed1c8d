import Scheduling
import TestSupport
import Testing
import TransferModel

/// A run that another is to go on with is left in good order.
struct MakingWayTests {
    private func makeWay(_ stage: inout Stage, awaiting tasks: Int...) {
        stage.command(.makeWay(awaiting: Set(tasks.map { TaskIndex(raw: UInt32($0)) })))
    }

    @Test func whatCanBeMadeAgainIsInterruptedAtOnce() {
        var stage = Stage(plan(3, run: 2))
        #expect(stage.running == [0, 1])
        makeWay(&stage)
        #expect(stage.turn() == [] && stage.cancelled == [0, 1] && !stage.scheduler.hasMadeWay)
        stage.endCancelled(0)
        stage.endCancelled(1)
        #expect(stage.turn() == [] && stage.scheduler.hasMadeWay && !stage.scheduler.isFinished)
        #expect(stage.attemptEnds.map(\.error) == [.madeWay, .madeWay] && stage.ends.isEmpty)
    }

    /// Until what cannot be made again has ended, the others go on; nothing more of that kind begins.
    @Test func whatCannotIsAwaited() {
        var stage = Stage(plan(5, run: 2))
        makeWay(&stage, awaiting: 0, 2)
        #expect(stage.turn() == [] && stage.cancelled.isEmpty)
        stage.end(1)
        #expect(stage.turn() == [3], "2 is left to the next, and 3 comes in its place")
        stage.end(3)
        #expect(stage.turn() == [4])
        stage.end(0)
        #expect(stage.turn() == [] && stage.cancelled == [4])
        #expect(stage.ends[0]?.outcome == .succeeded && !stage.scheduler.hasMadeWay)
        stage.endCancelled(4)
        stage.turn()
        #expect(stage.scheduler.hasMadeWay && stage.ends.keys.sorted() == [0, 1, 3])
    }

    @Test func whatComesToItsEndMeanwhileHasEnded() {
        var stage = Stage(plan(2))
        makeWay(&stage)
        stage.turn()
        stage.end(0)
        stage.end(1)
        stage.turn()
        #expect(stage.scheduler.isFinished && stage.ends.values.allSatisfy { $0.outcome == .succeeded })
    }

    @Test func aGroupIsPutInPlaceFirst() {
        var stage = Stage(
            plan(2) {
                $0.groupCount = 1
                $0.tasks[0].group = GroupIndex(raw: 0)
            })
        stage.end(0)
        stage.turn()
        #expect(stage.published == [0])
        makeWay(&stage)
        stage.turn()
        stage.endCancelled(1)
        stage.turn()
        #expect(stage.scheduler.hasMadeWay == false)
        stage.receive(.published(GroupIndex(raw: 0), nil))
        stage.turn()
        #expect(stage.scheduler.hasMadeWay && stage.ends[0]?.outcome == .succeeded)
    }
}
