import Scheduling
import TestSupport
import Testing
import TransferModel

/// How a number of connections is found, step by step.
@Suite struct ConnectionControllerTests {
    /// A controller whose connections are all in use, and the time.
    private struct Bench {
        var controller: ConnectionController
        var now = ManualClock().instant
        var steps: [ConnectionController.Step] = []
        private var inUse = 0

        init(_ range: ConnectionRange = .standard) {
            controller = ConnectionController(range, at: now)
            fill()
        }

        private mutating func fill() {
            while inUse < controller.limit {
                controller.took(at: now)
                inUse += 1
            }
            while inUse > controller.limit {
                controller.gave(at: now)
                inUse -= 1
            }
        }

        /// Lets time pass in which the host gives so many answers a second, each after `latency`, for each number.
        mutating func run(_ seconds: Int, latency: TimeSpan = .milliseconds(100), rate: (Int) -> Double) {
            var owed = 0.0
            for _ in 0..<(seconds * 10) {
                now = now + .milliseconds(100)
                owed += rate(controller.limit) / 10
                while owed >= 1 {
                    owed -= 1
                    controller.answered(after: latency)
                }
                if let step = controller.judge(at: now) { steps.append(step) }
                fill()
            }
        }

        mutating func refuse(_ reason: ConnectionStep.Reason, begunAt: Instant? = nil) {
            if let step = controller.refused(reason, begunAt: begunAt ?? now, at: now) { steps.append(step) }
            fill()
        }
    }

    @Test func itBeginsWithFour_withinItsBounds() {
        #expect(Bench().controller.limit == 4)
        #expect(Bench(ConnectionRange(minimum: 1, maximum: 3)).controller.limit == 3)
        #expect(Bench(ConnectionRange(minimum: 8, maximum: 9)).controller.limit == 8)
    }

    @Test func whereMoreBringsMore_itRisesToItsMaximum() {
        var bench = Bench()
        bench.run(60) { Double($0) * 10 }
        #expect(bench.controller.limit == 16)
        #expect(bench.steps.map(\.to) == [6, 9, 13, 16] && bench.steps.allSatisfy { $0.reason == .moreThroughput })
        bench.run(600) { Double($0) * 10 }
        #expect(bench.controller.limit == 16 && bench.steps.count == 4)
    }

    @Test func whereMoreBringsNothing_itGoesBackAndWaitsLonger() {
        var bench = Bench()
        bench.run(900) { min(Double($0), 5) * 10 }
        #expect((4...6).contains(bench.controller.limit))
        let vain = bench.steps.count { $0.reason == .noGain }
        // After 20, 40, 80, 160 and 300 seconds, and not each round.
        #expect(vain >= 3 && vain <= 9, "\(bench.steps)")
    }

    @Test func a429_lowersItByAQuarter_once() {
        var bench = Bench()
        bench.run(60) { Double($0) * 10 }
        let begun = bench.now
        bench.steps = []
        bench.run(1) { Double($0) * 10 }
        for _ in 0..<16 { bench.refuse(.tooManyRequests, begunAt: begun) }
        #expect(bench.steps == [ConnectionController.Step(from: 16, to: 12, reason: .tooManyRequests)])
    }

    @Test func whatIsRefusedAgain_isOutOfReachForLonger() {
        var bench = Bench()
        // A host that says 429 whenever nine are under way.
        var refusedAt: [Double] = []
        let start = bench.now
        for _ in 0..<1_800 {
            bench.run(1) { Double(min($0, 8)) * 10 }
            guard bench.controller.limit > 8 else { continue }
            refusedAt.append((bench.now - start).seconds)
            bench.refuse(.tooManyRequests)
        }
        #expect(refusedAt.count <= 8, "\(refusedAt)")
        let gaps = zip(refusedAt, refusedAt.dropFirst()).map { $1 - $0 }
        #expect(gaps.last.map { $0 > 400 } == true, "\(gaps)")
        #expect((6...8).contains(bench.controller.limit))
    }

    @Test func aSingle503_isNoReason() {
        var bench = Bench()
        bench.run(60) { Double($0) * 10 }
        bench.refuse(.unavailable)
        #expect(bench.controller.limit == 16)
        for _ in 0..<3 { bench.refuse(.unavailable) }
        #expect(bench.controller.limit < 16 && bench.steps.last?.reason == .unavailable)
    }

    @Test func aHostThatGrowsSlow_isAskedLess() {
        var bench = Bench()
        bench.run(60) { Double($0) * 10 }
        bench.run(30, latency: .milliseconds(900)) { _ in 40 }
        #expect(bench.controller.limit < 16 && bench.steps.contains { $0.reason == .slower })
    }

    @Test func whereFewTasksWait_nothingIsJudged() {
        var controller = ConnectionController(.standard, at: ManualClock().instant)
        var now = ManualClock().instant
        for _ in 0..<600 {
            now = now + .milliseconds(100)
            controller.took(at: now)
            controller.answered(after: .milliseconds(50))
            #expect(controller.judge(at: now) == nil)
            controller.gave(at: now)
        }
        #expect(controller.limit == 4)
    }

    /// Whatever comes in whatever order, it stays within its bounds and tells each step.
    @Test func itStaysWithinItsBounds() {
        var random = Seeded("itStaysWithinItsBounds")
        for _ in 0..<Rounds.scaled(200) {
            let least = 1 + random.below(6)
            let range = ConnectionRange(minimum: least, maximum: least + random.below(12))
            var controller = ConnectionController(range, at: ManualClock().instant)
            var (now, limit) = (ManualClock().instant, controller.limit)
            for _ in 0..<400 {
                now = now + .milliseconds(Int64(random.below(3_000)))
                var step: ConnectionController.Step?
                switch random.below(6) {
                case 0: controller.took(at: now)
                case 1: controller.moved(Int64(random.below(1 << 20)))
                case 2: controller.answered(after: random.oneIn(2) ? nil : .milliseconds(Int64(random.below(900))))
                case 3:
                    step = controller.refused(
                        random.pick([.tooManyRequests, .unavailable, .noAnswer]), begunAt: now, at: now)
                default: step = controller.judge(at: now)
                }
                if let step {
                    #expect(step.from == limit && step.to != limit)
                    limit = step.to
                }
                #expect(controller.limit == limit && limit >= range.minimum && limit <= range.maximum)
            }
        }
    }
}
