import Scheduling
import TestSupport
import Testing
import TransferModel

/// Shares of a bandwidth, before transfers that read what they may as fast as they can, in pieces.
struct BandwidthTests {
    /// `speeds`: what each transfer could move in a second. Gives back what each moved.
    private func run(
        _ plan: SchedulingPlan, speeds: [Int64], piece: Int64 = 16_384, for span: TimeSpan, step: TimeSpan
    ) -> [Int64] {
        var stage = Stage(plan)
        var credit = speeds.map { _ in Int64(0) }
        var moved = speeds.map { _ in Int64(0) }
        let end = stage.clock.instant + span
        while stage.clock.instant < end {
            stage.turn(after: step)
            for (task, bytes) in stage.credits { credit[task] += bytes }
            stage.credits = [:]
            for task in speeds.indices {
                var able = Int64(Double(speeds[task]) * step.seconds)
                // A transfer reads a whole piece as long as it has any credit.
                while credit[task] > 0, able > 0 {
                    let bytes = min(piece, able)
                    credit[task] -= bytes
                    able -= bytes
                    moved[task] += bytes
                    stage.receive(.moved(TaskIndex(raw: UInt32(task)), bytes: bytes))
                }
            }
        }
        return moved
    }

    private let fast: Int64 = 1_000_000_000

    private func isNear(_ value: Int64, _ expected: Int64, within part: Double) -> Bool {
        abs(Double(value - expected)) <= part * Double(expected)
    }

    @Test(arguments: [50_000, 1_000_000, 10_000_000, 123_456_789] as [Int64], [1, 4, 6])
    func theRunsRateIsExact(_ rate: Int64, _ tasks: Int) {
        let moved = run(
            plan(tasks) { $0.bandwidth = .steady(rate) }, speeds: Array(repeating: fast, count: tasks),
            piece: max(1_024, min(65_536, rate / 100)), for: .seconds(10), step: .milliseconds(7))
        #expect(isNear(moved.reduce(0, +), rate * 10, within: 0.05))
        for one in moved { #expect(isNear(one, rate * 10 / Int64(tasks), within: 0.1)) }
    }

    @Test func whatSlowOnesLeaveIsTheOthers() {
        let moved = run(
            plan(4) { $0.bandwidth = .steady(1_000_000) }, speeds: [50_000, 50_000, fast, fast], piece: 1_024,
            for: .seconds(10), step: .milliseconds(5))
        #expect(isNear(moved.reduce(0, +), 10_000_000, within: 0.05))
        #expect(isNear(moved[0], 500_000, within: 0.1) && isNear(moved[2], 4_500_000, within: 0.1))
    }

    @Test func runSessionAndTaskHoldTogether() {
        let moved = run(
            plan(6, sessions: 2) {
                $0.bandwidth = .steady(3_000_000)
                $0.sessions[1].bandwidth = .steady(600_000)
                $0.policies[0].bandwidth = .steady(400_000)
            }, speeds: Array(repeating: fast, count: 6), piece: 2_048, for: .seconds(10), step: .milliseconds(5))
        #expect(isNear(moved[0], 4_000_000, within: 0.05))
        #expect(isNear(moved[1] + moved[3] + moved[5], 6_000_000, within: 0.05))
        #expect(isNear(moved[2], 10_000_000, within: 0.05) && isNear(moved[4], 10_000_000, within: 0.05))
    }

    /// Turns that come late, as they do on a busy machine.
    @Test func lateTurnsAreMadeUpFor() {
        let moved = run(
            plan(3) { $0.bandwidth = .steady(1_000_000) }, speeds: [fast, fast, fast], piece: 10_000, for: .seconds(10),
            step: .milliseconds(90))
        #expect(isNear(moved.reduce(0, +), 10_000_000, within: 0.05))
    }

    @Test func whatIsUnderNoBandwidthNeedsNoCredit() {
        var stage = Stage(plan(2) { $0.policies[0].bandwidth = .steady(1_000) })
        stage.turn(after: .milliseconds(20))
        #expect(stage.credits[0] != nil && stage.credits[1] == nil)
    }

    // MARK: By time of day

    /// `rates` in turn, each for so many seconds; `nil` is no limit.
    private func byTurns(_ seconds: Int64, _ rates: [Int64?]) -> RateRule {
        let start = ManualClock().now.wall.nanoseconds
        return RateRule { date in
            let turn = (date.nanoseconds - start) / (seconds * 1_000_000_000)
            return RateRule.State(
                rate: rates[Int(turn) % rates.count],
                changesAt: WallTime(nanoseconds: start + (turn + 1) * seconds * 1_000_000_000))
        }
    }

    @Test func aRunningTransferTakesTheRateOfTheHour() {
        let moved = run(
            plan(2) { $0.bandwidth = byTurns(10, [1_000_000, 200_000]) }, speeds: [fast, fast], piece: 2_048,
            for: .seconds(20), step: .milliseconds(5))
        #expect(isNear(moved.reduce(0, +), 12_000_000, within: 0.05))
    }

    /// What was given while nothing was limited is taken back when the limit begins.
    @Test func theLimitHoldsAfterHoursWithoutOne() {
        let hours = byTurns(10, [nil, 100_000])
        let moved = run(
            plan(1) { $0.bandwidth = hours }, speeds: [5_000_000], piece: 1_024, for: .seconds(20),
            step: .milliseconds(5))
        #expect(isNear(moved[0], 51_000_000, within: 0.02))
        let late = run(
            plan(1) { $0.bandwidth = hours }, speeds: [5_000_000], piece: 1_024, for: .seconds(12),
            step: .milliseconds(5))
        #expect(isNear(late[0], 50_200_000, within: 0.02))
    }

    @Test func aTasksOwnHoursLeaveTheOthersAlone() {
        let moved = run(
            plan(2) { $0.policies[0].bandwidth = byTurns(5, [50_000, nil]) }, speeds: [1_000_000, 1_000_000],
            piece: 1_024, for: .seconds(10), step: .milliseconds(5))
        #expect(isNear(moved[0], 5_250_000, within: 0.03))
        // Under no limit it needs no credit, and this stage moves only what it has credit for.
        #expect(moved[1] == 0)
    }

    /// The clock was set back into hours with another rate, long before the rate was to change.
    @Test func aClockThatIsSetBackChangesTheRate() {
        let start = ManualClock().now.wall
        let rule = RateRule { date in
            date < start
                ? RateRule.State(rate: 1_000, changesAt: start) : RateRule.State(rate: 1_000_000, changesAt: nil)
        }
        var stage = Stage(plan(1) { $0.bandwidth = rule })
        stage.turn(after: .milliseconds(20))
        stage.turn(after: .milliseconds(20))
        #expect(stage.credits[0, default: 0] > 10_000)
        stage.clock.setWall(start + .seconds(-3_600))
        stage.turn(after: .milliseconds(20))
        #expect(stage.credits[0, default: 0] <= 200)
    }
}
