import Testing
import TransferModel

@testable import Scheduling

/// A table before a clock that moves only when the test says so.
private struct TableStage {
    var table: SlotTable
    var timers = TimerQueues()
    var now = Instant(nanoseconds: 1_000_000_000)

    init(_ plan: SchedulingPlan) { table = SlotTable(plan) }

    mutating func lane(_ origin: UInt32?, session: UInt16 = 0) -> Int {
        table.lane(of: SessionIndex(raw: session), to: origin.map { OriginID(raw: $0) }, at: now, &timers)
    }

    mutating func take(_ lane: Int, _ task: UInt32, isAlone: Bool = false) {
        table.takeSlot(of: lane, isAlone: isAlone, by: TaskIndex(raw: task), at: now, &timers)
    }

    mutating func enqueue(_ tasks: UInt32..., in lane: Int, priority: Double = 0.5) {
        for task in tasks { table.enqueue(TaskIndex(raw: task), priority: priority, in: lane, keepsPlace: false) }
    }

    /// Starts all that may start, in order.
    mutating func start() -> [UInt32] {
        var started: [UInt32] = []
        while let (task, lane) = table.next {
            table.removeHead(lane)
            table.taskBegan(in: lane, at: now)
            take(lane, task.raw)
            started.append(task.raw)
        }
        return started
    }

    mutating func request(_ task: UInt32, in lane: Int, isAlone: Bool = false) {
        table.request(SlotRequest(task: TaskIndex(raw: task), isAlone: isAlone, since: now), in: lane)
        now = now + .seconds(1)
    }

    /// Gives free slots to those that wait for one.
    mutating func giveOut() -> [UInt32] {
        var given: [UInt32] = []
        table.refreshChangedLanes(at: now, &timers)
        while let (request, lane) = table.nextRequest() {
            take(lane, request.task.raw, isAlone: request.isAlone)
            given.append(request.task.raw)
        }
        return given
    }
}

@Suite struct SlotTableTests {
    private let host = OriginID(raw: 0)

    @Test func aLaneIsOpenedOnce() {
        var stage = TableStage(plan(1, sessions: 2))
        let lanes = [stage.lane(0), stage.lane(1), stage.lane(0), stage.lane(0, session: 1), stage.lane(nil)]
        #expect(lanes == [0, 1, 0, 2, 3])
        #expect(stage.table[host].lanes == [0, 2])
    }

    @Test func tasksStartByPriorityUntilTheHostIsFull() {
        var stage = TableStage(plan(4, perHost: 2))
        let lane = stage.lane(0)
        stage.enqueue(0, 1, 2, in: lane)
        stage.enqueue(3, in: lane, priority: 0.9)
        let started = stage.start()
        #expect(started == [3, 0] && stage.table.lanes[lane].closure == .hostLimit)
        stage.table.giveBack(lane, isAlone: false, wasAnswered: true, at: stage.now)
        let given = stage.giveOut()
        let next = stage.start()
        #expect(given.isEmpty && next == [1])
    }

    @Test func theRunsLimitHoldsBackTasksOfAllLanes() {
        var stage = TableStage(plan(4, run: 2))
        let lanes = [stage.lane(0), stage.lane(1)]
        stage.enqueue(0, 1, in: lanes[0])
        stage.enqueue(2, 3, in: lanes[1])
        let started = stage.start()
        #expect(started == [0, 2], "the lane with less under way goes next")
        #expect(stage.table.runningCount == 2 && stage.table.room(of: lanes[0]) == 0)
        #expect(stage.table.limit(of: lanes[0]) == .runLimit)
        stage.table.taskEnded(of: SessionIndex(raw: 0), at: stage.now)
        let next = stage.start()
        #expect(next == [1])
    }

    @Test func aRunningAttemptGoesBeforeANewTask() {
        var stage = TableStage(plan(3, perHost: 1))
        let lane = stage.lane(0)
        stage.enqueue(0, 1, in: lane)
        _ = stage.start()
        stage.request(2, in: lane)
        stage.table.giveBack(lane, isAlone: false, wasAnswered: true, at: stage.now)
        let given = stage.giveOut()
        let started = stage.start()
        #expect(given == [2] && started.isEmpty)
    }

    @Test func aSharedLimitGoesToTheLongestWait() {
        var stage = TableStage(plan(4, sessions: 2))
        let lanes = [stage.lane(0), stage.lane(0, session: 1)]
        stage.table.limit(host, to: OriginLimits(maximumConnections: 1))
        stage.take(lanes[0], 0)
        stage.request(1, in: lanes[1])
        stage.request(2, in: lanes[0])
        let early = stage.giveOut()
        stage.table.giveBack(lanes[0], isAlone: false, wasAnswered: true, at: stage.now)
        let given = stage.giveOut()
        #expect(early.isEmpty && given == [1])
        stage.table.withdrawRequest(of: TaskIndex(raw: 2), in: lanes[0])
        stage.table.giveBack(lanes[1], isAlone: false, wasAnswered: true, at: stage.now)
        let rest = stage.giveOut()
        #expect(rest.isEmpty)
    }

    @Test func streamsOfOneConnectionAreManySlots() {
        var stage = TableStage(plan(1, perHost: 1, streams: 3))
        let lane = stage.lane(0)
        stage.table.learn(host, .http2)
        for task in 0..<3 as Range<UInt32> { stage.take(lane, task) }
        #expect(stage.table[host].connections == 1 && stage.table[host].unanswered == 3)
        #expect(stage.table.lanes[lane].closure == .hostLimit && stage.table.lanes[lane].peak == 1)
    }

    @Test func aParkClosesTheLanesUntilAProbeSucceeds() {
        var stage = TableStage(plan(3) { $0.tellsLimitWaits = true })
        let lane = stage.lane(0)
        stage.table.park(host, for: .seconds(5), at: stage.now, &stage.timers)
        stage.enqueue(0, 1, in: lane)
        let whileParked = stage.start()
        #expect(whileParked.isEmpty && stage.table.limit(of: lane) == .hostParked)
        let turned = stage.table.takeTurnedLanes()
        let hasChanged = [stage.table.takeQuietChange(), stage.table.takeQuietChange()]
        #expect(turned == [lane] && hasChanged == [true, false])
        stage.now = stage.now + .seconds(5)
        guard let timer = stage.timers.popDue(at: stage.now) else {
            Issue.record("no timer ends the park")
            return
        }
        #expect(timer.kind == .unpark && !stage.table.isVoid(timer))
        stage.table.endPark(host)
        #expect(stage.table.isVoid(timer))
        _ = stage.giveOut()
        let probe = stage.start()
        #expect(probe == [0])
        stage.table.probeSucceeded(host, by: TaskIndex(raw: 0))
        _ = stage.giveOut()
        let rest = stage.start()
        #expect(rest == [1])
    }

    @Test func aRateOpensTheLaneByATimer() {
        var stage = TableStage(plan(2) { $0.sessions[0].requestsPerSecond = RequestRate(perSecond: 1, burst: 1) })
        let lane = stage.lane(0)
        stage.enqueue(0, 1, in: lane)
        let first = stage.start()
        #expect(first == [0] && stage.table.limit(of: lane) == .requestRate)
        stage.now = stage.now + .seconds(1)
        let timer = stage.timers.popDue(at: stage.now)
        #expect(timer?.kind == .laneGate)
        stage.table.laneGateOpened(lane)
        _ = stage.giveOut()
        let second = stage.start()
        #expect(second == [1])
    }

    @Test func aRefundedRequestCountsForNoRate() {
        var stage = TableStage(plan(2) { $0.sessions[0].requestsPerSecond = RequestRate(perSecond: 1, burst: 1) })
        let lane = stage.lane(0)
        stage.take(lane, 0)
        stage.table.refund(TaskIndex(raw: 0), in: lane)
        stage.table.giveBack(lane, isAlone: false, wasAnswered: false, at: stage.now)
        _ = stage.giveOut()
        #expect(stage.table.lanes[lane].closure == nil && stage.table[host].unanswered == 0)
    }

    @Test func aClosedWindowClosesTheSessionsLanes() {
        var stage = TableStage(plan(1))
        let lane = stage.lane(0)
        let changes = [
            stage.table.setWindow(0, isOpen: true, at: stage.now, &stage.timers),
            stage.table.setWindow(0, isOpen: false, at: stage.now, &stage.timers),
        ]
        #expect(changes == [false, true] && stage.table.lanes[lane].closure == .window)
        let opens = stage.table.setWindow(0, isOpen: true, at: stage.now, &stage.timers)
        #expect(opens && stage.table.lanes[lane].closure == nil)
    }
}

@Suite struct SlotLoansTests {
    private let host = OriginID(raw: 0)
    private let first = TaskIndex(raw: 0)
    private let second = TaskIndex(raw: 1)

    /// Two tasks on one lane of six slots, each of which could use four more.
    private func borrowers() -> (loans: SlotLoans, stage: TableStage) {
        var stage = TableStage(plan(2, perHost: 6))
        let lane = stage.lane(0)
        var loans = SlotLoans()
        for task in [second, first] {
            stage.take(lane, task.raw)
            let isKnown = loans.want(4, by: task)
            #expect(!isKnown)
            loans.add(task, in: lane, at: host, wanted: 4)
        }
        return (loans, stage)
    }

    private func lendAll(_ loans: inout SlotLoans, _ stage: inout TableStage, _ ending: RunEnding) -> [TaskIndex] {
        var lent: [TaskIndex] = []
        while let (task, lane) = loans.lend(at: host, in: stage.table, ending) {
            stage.table.takeSlot(of: lane, isAlone: false, by: nil, at: stage.now, &stage.timers)
            lent.append(task)
        }
        return lent
    }

    @Test func freeSlotsGoToTheTaskThatHasLeast() {
        var (loans, stage) = borrowers()
        let lent = lendAll(&loans, &stage, RunEnding())
        #expect(lent == [first, second, first, second])
        #expect(loans.origins == [host])
    }

    @Test func anAttemptThatEndsIsLentNothing() {
        var (loans, stage) = borrowers()
        var ending = RunEnding()
        _ = ending.end(first, .interrupt)
        let lent = lendAll(&loans, &stage, ending)
        #expect(lent == [second, second, second, second])
    }

    @Test func theTaskThatHoldsMostGivesBackFirst() {
        var (loans, stage) = borrowers()
        _ = lendAll(&loans, &stage, RunEnding())
        let isKnown = loans.want(0, by: second)
        _ = loans.giveBack(second, wasAnswered: true)
        let recalled = loans.recall(2, for: 0, at: host, in: stage.table, RunEnding())
        #expect(isKnown && recalled == [first, first], "it holds two, the other one")
        let again = loans.recall(2, for: 0, at: host, in: stage.table, RunEnding())
        #expect(again.isEmpty, "as many are on their way")
    }

    @Test func slotsOfAnEndingAttemptAreOnTheirWay() {
        var (loans, stage) = borrowers()
        _ = lendAll(&loans, &stage, RunEnding())
        var ending = RunEnding()
        _ = ending.end(first, .interrupt)
        let recalled = loans.recall(2, for: 0, at: host, in: stage.table, ending)
        #expect(recalled.isEmpty)
    }

    @Test func theOwnRequestMayEndBeforeALentOne() {
        var (loans, stage) = borrowers()
        _ = lendAll(&loans, &stage, RunEnding())
        let answered = loans.answered(first)
        let results = [
            loans.giveBack(first, wasAnswered: true), loans.giveBack(first, wasAnswered: false),
            loans.giveBack(first, wasAnswered: true),
        ]
        #expect(answered)
        #expect(results[0] == SlotLoans.Return(lane: 0, wasAnswered: true, ownAwaitsAnswer: false))
        #expect(results[1] == SlotLoans.Return(lane: 0, wasAnswered: false, ownAwaitsAnswer: false))
        #expect(results[2] == nil, "it holds none any more")
        let unanswered = loans.giveBack(second, wasAnswered: true)
        #expect(unanswered?.ownAwaitsAnswer == true, "two requests under one slot: the other is the own one")
    }

    @Test func anEndGivesBackAll() {
        var (loans, stage) = borrowers()
        _ = lendAll(&loans, &stage, RunEnding())
        let returns = loans.end(first)
        #expect(returns.count == 2 && returns.allSatisfy { !$0.wasAnswered })
        let rest = loans.end(first)
        #expect(rest.isEmpty)
        let isKnown = loans.want(0, by: second)
        #expect(isKnown && !loans.isEmpty, "it still holds two")
        _ = loans.end(second)
        #expect(loans.isEmpty)
    }
}
