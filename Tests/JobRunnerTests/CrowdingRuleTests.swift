import JobRunner
import TestSupport
import Testing
import TransferModel

@Suite struct CrowdingRuleTests {
    private let start = Instant(nanoseconds: 1_000_000_000)

    /// Looks every 200 µs as a busy loop does, where somebody takes the processor so often each millisecond.
    private func moves(perMillisecond rate: Double, for length: TimeSpan, _ rule: inout CrowdingRule, from: Instant)
        -> [Instant]
    {
        var (moves, now) = ([Instant](), from)
        while now - from < length {
            let count = Int(Double((now - start).nanoseconds) / 1e6 * rate)
            if rule.isCrowded(count, at: now) { moves.append(now) }
            now = now + .microseconds(50)
        }
        return moves
    }

    @Test func aLoopThatIsLeftAloneStaysWhereItIs() {
        var rule = CrowdingRule(0, at: start)
        #expect(moves(perMillisecond: 0, for: .seconds(1), &rule, from: start).isEmpty)
        // Once in 4 ms is what a tick of the system does.
        rule = CrowdingRule(0, at: start)
        #expect(moves(perMillisecond: 0.25, for: .seconds(5), &rule, from: start).isEmpty)
    }

    @Test func oneThatMustMakeWayAgainAndAgainMovesSoon() throws {
        var rule = CrowdingRule(0, at: start)
        let first = try #require(moves(perMillisecond: 10, for: .milliseconds(5), &rule, from: start).first)
        #expect(first - start < .milliseconds(1))
    }

    @Test func whatWasBeforeTheRunDoesNotCount() {
        var rule = CrowdingRule(1_000, at: start)
        let isCrowded = rule.isCrowded(1_001, at: start + .milliseconds(1))
        #expect(!isCrowded)
    }

    /// Where all processors are busy: some times at once, about as often as the pause can be doubled, then twice a second.
    @Test func whereItIsNowhereBetterItMovesEverMoreRarely() {
        var rule = CrowdingRule(0, at: start)
        let moves = moves(perMillisecond: 10, for: .seconds(10), &rule, from: start)
        #expect(moves.count > CrowdingRule.quickMoves && moves.count < CrowdingRule.quickMoves + 30)
        let stays = zip(moves, moves.dropFirst()).map { $1 - $0 }
        #expect(stays.first.map { $0 < .milliseconds(2) } == true)
        #expect(stays.suffix(5).allSatisfy { $0 >= CrowdingRule.longestStay && $0 < .milliseconds(520) })
    }

    @Test func afterAQuietSecondItMovesAtOnceAgain() throws {
        var rule = CrowdingRule(0, at: start)
        let crowded = moves(perMillisecond: 10, for: .seconds(3), &rule, from: start)
        let end = start + .seconds(3)
        let count = 30_000
        var now = end
        while now - end < .seconds(2) {
            let moves = rule.isCrowded(count, at: now)
            #expect(!moves)
            now = now + .microseconds(200)
        }
        var again: [Instant] = []
        for step in 0..<100 {
            now = now + .microseconds(200)
            if rule.isCrowded(count + step * 2, at: now) { again.append(now) }
        }
        #expect(!crowded.isEmpty)
        #expect(again.count >= 3, "the pauses are short again")
    }

    /// Whatever is counted, whenever it is asked: never sooner than it may, and never without a reason.
    @Test func itNeverMovesWithoutAReason() {
        var random = Seeded("itNeverMovesWithoutAReason")
        for round in 0..<Rounds.scaled(200) {
            var rule = CrowdingRule(0, at: start)
            var (now, count, countThen) = (start, 0, 0)
            var last: Instant?
            for _ in 0..<500 {
                now = now + .microseconds(Int64.random(in: 0...3_000, using: &random))
                count += Int.random(in: 0...4, using: &random)
                guard rule.isCrowded(count, at: now) else { continue }
                #expect(count - countThen >= CrowdingRule.many, "round \(round)")
                if let last { #expect(now - last >= CrowdingRule.shortestStay, "round \(round)") }
                (last, countThen) = (now, count)
            }
        }
    }
}
