import Scheduling
import TestSupport
import Testing
import TransferModel

/// Tasks that write to standard output, one after the other.
@Suite struct OutputTests {
    private func output(_ tasks: Int, run: Int = 64, suspended: [Int] = []) -> SchedulingPlan {
        plan(tasks, perHost: 64, run: run) { plan in
            plan.outputTasks = (0..<tasks).map { index($0) }
            for task in suspended { plan.policies[task].isSuspended = true }
        }
    }

    private func index(_ task: Int) -> TaskIndex { TaskIndex(raw: UInt32(task)) }

    @Test func noTaskRunsFurtherAheadThanSoManyMayRun() {
        var stage = Stage(output(5, run: 2))
        #expect(stage.running == [0, 1])
        // The second is whole and waits for the first: no other takes its place meanwhile.
        stage.receive(.transferred(index(1)))
        stage.receive(.awaitsOutput(index(1)))
        #expect(stage.turn() == [])
        stage.end(0, Verdict(.failed(TransferError(.badURL, "no"))))
        #expect(stage.turn() == [2])
        stage.end(1)
        stage.end(2)
        #expect(stage.turn() == [3, 4])
    }

    @Test func aTaskThatIsSkippedHoldsUpNobody() {
        var plan = output(4, run: 1)
        plan.tasks[1].needs = [index(0)]
        var stage = Stage(plan)
        stage.end(0, Verdict(.failed(TransferError(.badURL, "no"))))
        #expect(stage.turn() == [2])
        #expect(stage.ends[1]?.outcome == .skipped)
    }

    @Test func aBodyThatWaitsForASuspendedTaskIsWrittenOnceThatIsDeferred() {
        var stage = Stage(output(3, suspended: [0]))
        #expect(stage.running == [1, 2])
        stage.receive(.awaitsOutput(index(1)))
        #expect(stage.turn() == [] && stage.ends.isEmpty)
        stage.receive(.awaitsOutput(index(2)))
        stage.turn()
        #expect(stage.order == [0] && stage.ends[0]?.outcome == .deferred && stage.cancelled.isEmpty)
        for task in 1...2 { stage.end(task) }
        stage.turn()
        #expect(stage.scheduler.isFinished && stage.ends[2]?.outcome == .succeeded)
    }

    @Test func standardOutputMayBeSlowerThanTheTimeoutForResource() {
        var plan = output(2)
        for task in 0...1 { plan.policies[task].timeoutForResource = .seconds(60) }
        var stage = Stage(plan)
        stage.receive(.awaitsOutput(index(0)))
        stage.turn(after: .seconds(3600))
        #expect(stage.cancelled == [1])
    }

    @Test func whatIsBeingWrittenIsNotBrokenOffBySuspending() {
        var stage = Stage(output(2))
        stage.receive(.awaitsOutput(index(0)))
        #expect(stage.command(.suspend([index(0), index(1)])) == [0, 1])
        stage.turn()
        #expect(stage.cancelled == [1])
        stage.end(0)
        stage.turn()
        #expect(stage.ends[0]?.outcome == .succeeded)
    }

    @Test func theWindowMovesWithTheFirstThatHasNotEnded() {
        var random = Seeded("theWindowMovesWithTheFirstThatHasNotEnded")
        for _ in 0..<200 {
            let count = Int.random(in: 1...30, using: &random)
            let width = Int.random(in: 1...8, using: &random)
            let order = (0..<count).map { index($0 * 3) }.shuffled(using: &random)
            var window = OutputWindow(order, width: width)
            var free = Set(order).subtracting(window.heldBack)
            var ended: Set<TaskIndex> = []
            while ended.count < count {
                let first = order.firstIndex { !ended.contains($0) } ?? count
                #expect(free == Set(order.prefix(first + width)))
                // Also one that is held back may end: it was skipped.
                guard let next = order.filter({ !ended.contains($0) }).randomElement(using: &random) else { break }
                ended.insert(next)
                let more = window.ended(next)
                #expect(free.isDisjoint(with: more))
                free.formUnion(more)
                #expect(window.ended(next).isEmpty && window.ended(index(1)).isEmpty)
            }
        }
    }
}
