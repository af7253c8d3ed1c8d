import Testing
import TransferModel

@testable import Scheduling

private let signal = Stop.cancelling(.stoppedBySignal)

@Suite struct RunEndingTests {
    private let first = TaskIndex(raw: 0)
    private let second = TaskIndex(raw: 1)

    /// What is in force, what comes, whether that ends running tasks too, and whether it takes effect.
    @Test(arguments: [
        (nil, Stop.failing, false, true), (nil, Stop.deferring(.finishBy), false, true), (nil, signal, false, true),
        (Stop.failing, Stop.deferring(.finishBy), false, false),
        (Stop.failing, Stop.deferring(.maximumBytes), true, true), (Stop.failing, signal, false, true),
        (Stop.deferring(.finishBy), Stop.failing, false, false), (Stop.deferring(.finishBy), signal, false, true),
        (signal, Stop.deferring(.maximumBytes), true, false), (signal, signal, false, false),
    ])
    func aStopTakesEffect(_ present: Stop?, _ new: Stop, evenRunning: Bool, takesEffect: Bool) {
        var ending = RunEnding()
        if let present { _ = ending.begin(present) }
        let began = ending.begin(new, evenRunning: evenRunning)
        #expect(began == takesEffect)
        #expect(ending.stop == (takesEffect ? new : present))
    }

    @Test func theFirstEndOfARunningTaskCounts() {
        var ending = RunEnding()
        let requests = [
            ending.end(first, .finish(.cancelled, nil, nil)), ending.end(first, .finish(.deferred, nil, .window)),
            ending.end(first, .interrupt),
        ]
        #expect(requests == [.new, .tooLate, .tooLate])
        #expect(ending.isEnding(first) && !ending.isEnding(second) && !ending.isInterrupted(first))
        guard case .finish(.cancelled, nil, nil)? = ending.attemptEnded(first) else {
            Issue.record("the second ending replaced the first")
            return
        }
        #expect(!ending.isEnding(first) && ending.attemptEnded(first) == nil)
    }

    @Test func anEndReplacesAnInterruption() {
        var ending = RunEnding()
        let asked = ending.end(first, .interrupt)
        #expect(asked == .new && ending.isInterrupted(first))
        let replaced = ending.end(first, .finish(.cancelled, nil, nil))
        #expect(replaced == .replacesInterruption && !ending.isInterrupted(first) && ending.isEnding(first))
    }

    @Test func aHandoverAwaitsItsTasksThenLeavesAllToTheSuccessor() {
        var ending = RunEnding()
        let early = ending.clearHandover { _ in false }
        #expect(!early && !ending.isHandingOver && !ending.isLeftToSuccessor(first))
        ending.beginHandover(awaiting: [first])
        ending.beginHandover(awaiting: [second])
        #expect(ending.isHandingOver && ending.isLeftToSuccessor(first) && !ending.isLeftToSuccessor(second))
        let whileRunning = ending.clearHandover { $0 == first }
        #expect(!whileRunning && !ending.isHandoverClear)
        let cleared = ending.clearHandover { $0 == second }
        #expect(cleared && ending.isHandoverClear && ending.isLeftToSuccessor(second))
        let again = ending.clearHandover { _ in false }
        #expect(!again, "it is cleared once")
    }
}

@Suite struct ByteBudgetTests {
    @Test func isSpentWhenSoMuchMoved() {
        var budget = ByteBudget(100)
        let results = [budget.spend(60), budget.spend(40), budget.spend(1)]
        #expect(results == [false, true, true] && budget.isSpent)
    }

    @Test func countsWhatEarlierProcessesMoved() {
        var budget = ByteBudget(100)
        budget.restore(100)
        #expect(budget.isSpent)
    }

    @Test func withoutALimitNothingIsSpent() {
        var budget = ByteBudget(nil)
        budget.restore(.max)
        let isSpent = budget.spend(1)
        #expect(!isSpent && !budget.isSpent)
    }

    @Test func tellsOnceThatAnswersAreTooLong() {
        var budget = ByteBudget(100)
        let told = (1...ByteBudget.mostAnswersTooLong + 1).filter { _ in budget.answerWasTooLong() }
        #expect(told == [ByteBudget.mostAnswersTooLong])
    }

    @Test func aSentBodyAwaitsItsAnswerUntilTheRequestEnds() {
        var budget = ByteBudget(100)
        let task = TaskIndex(raw: 3)
        budget.sentBody(task)
        #expect(budget.awaitsAnswerToBody(task))
        budget.requestEnded(task)
        #expect(!budget.awaitsAnswerToBody(task))
    }
}

@Suite struct OutputTurnsTests {
    private let turns = OutputTurns(
        plan(5) {
            $0.maximumConcurrentTasks = 2
            $0.outputTasks = needs(0, 2, 3, 4)
        })

    @Test func theWindowMovesOnAsTasksEnd() {
        var turns = turns
        #expect(Array(turns.heldBack) == needs(3, 4))
        let freed = [turns.taskEnded(needs(1)[0]), turns.taskEnded(needs(2)[0]), turns.taskEnded(needs(0)[0])]
        #expect(freed.map { Array($0) } == [[], [], needs(3, 4)])
    }

    @Test func aBodyAwaitsItsTurnUntilItsAttemptEnds() {
        var turns = turns
        let results = [turns.awaitsTurn(needs(2)[0]), turns.awaitsTurn(needs(2)[0])]
        #expect(results == [true, false] && turns.isAwaiting(needs(2)[0]) && turns.awaitingCount == 1)
        turns.attemptEnded(needs(2)[0])
        #expect(!turns.isAwaiting(needs(2)[0]) && turns.awaitingCount == 0)
    }

    @Test func withoutOutputNothingIsHeldBack() {
        var turns = OutputTurns(plan(2))
        let freed = turns.taskEnded(needs(0)[0])
        #expect(turns.heldBack.isEmpty && freed.isEmpty)
    }
}

@Suite struct ExpansionsTests {
    private let template = TaskIndex(raw: 1)

    @Test func theFirstEndOfAHeldTemplateIsThatOfItsTasks() {
        var expansions = Expansions()
        expansions.hold(template)
        #expect(expansions.isHeld(template) && !expansions.isHeld(TaskIndex(raw: 2)))
        expansions.endHeld(.finish(.cancelled, nil, nil))
        expansions.endHeld(.finish(.deferred, nil, .window))
        let other = expansions.release(TaskIndex(raw: 2))
        #expect(other == nil && expansions.isHeld(template))
        guard case .finish(.cancelled, _, _)? = expansions.release(template) else {
            Issue.record("not the first ending")
            return
        }
        #expect(!expansions.isHeld(template))
    }

    @Test func remembersWhenTasksWereAdded() {
        var expansions = Expansions()
        #expect(expansions.creation(of: template) == nil)
        expansions.created(template, at: Instant(nanoseconds: 7))
        #expect(expansions.creation(of: template) == Instant(nanoseconds: 7))
    }

    @Test func remembersWhatBecameOfTasks() {
        var expansions = Expansions()
        expansions.ended(template, .good)
        expansions.ended(TaskIndex(raw: 2), .bad(.window, Blame(.task(TaskIndex(raw: 2)))))
        expansions.ended(TaskIndex(raw: 3), .passedOver(Blame(.task(TaskIndex(raw: 3)))))
        guard case .good = expansions.end(of: template),
            case .bad(.window, _) = expansions.end(of: TaskIndex(raw: 2)),
            case .passedOver = expansions.end(of: TaskIndex(raw: 3))
        else {
            Issue.record("an end is another one")
            return
        }
    }
}
