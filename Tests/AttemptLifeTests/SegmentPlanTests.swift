import AttemptLife
import TestSupport
import Testing
import TransferModel

/// The division of one body among several streams, held against a model that counts every byte.
struct SegmentPlanTests {
    private static let MiB: Int64 = 1 << 20

    @Test func streamsThatBeginTogetherGetTheSame() {
        var plan = SegmentPlan(0..<(40 * Self.MiB), most: 4)
        #expect(plan.openings == 3)
        let begun = plan.begin(3)
        #expect(begun.map { $0.range.upperBound - $0.range.lowerBound } == [10, 10, 10].map { $0 * Self.MiB })
        #expect(begun.map(\.range.lowerBound).sorted() == [10, 20, 30].map { $0 * Self.MiB })
        #expect(plan.openings == 0)
    }

    @Test func aStreamThatIsDoneTakesHalfOfWhatTheSlowestHas() {
        var plan = SegmentPlan(0..<(40 * Self.MiB), most: 2)
        let second = plan.begin(1)[0]
        #expect(second.range == 20 * Self.MiB..<40 * Self.MiB)
        let taken = plan.received(Int(20 * Self.MiB), by: second.id)
        #expect(taken.isDone && !taken.mustStop)
        #expect(plan.end(second.id, .done) == .goesOn)
        #expect(plan.begin(1)[0].range == 10 * Self.MiB..<20 * Self.MiB)
    }

    @Test func theFirstStreamEndsWhereTheSecondBegan() {
        var plan = SegmentPlan(0..<(8 * Self.MiB), most: 2)
        let second = plan.begin(1)[0]
        let taken = plan.received(Int(5 * Self.MiB), by: SegmentPlan.first)
        #expect(taken == SegmentPlan.Taken(offset: 0, count: Int(4 * Self.MiB), isDone: true, mustStop: true))
        #expect(plan.end(SegmentPlan.first, .done) == .goesOn)
        #expect(plan.frontier == 4 * Self.MiB)
        _ = plan.received(Int(4 * Self.MiB), by: second.id)
        #expect(plan.frontier == 8 * Self.MiB && plan.received == 8 * Self.MiB)
        #expect(plan.end(second.id, .done) == .complete)
    }

    @Test func nothingShortIsDivided() {
        #expect(!SegmentPlan.isWorthwhile(2 * Self.MiB - 1))
        var plan = SegmentPlan(0..<(2 * Self.MiB - 1), most: 8)
        #expect(plan.openings == 0 && plan.begin(7).isEmpty)
        var longer = SegmentPlan(0..<(3 * Self.MiB), most: 8)
        #expect(longer.begin(7).count == 2)
    }

    /// A server without ranges: the ordinary answer goes on to the end as if nothing had been asked.
    @Test func whatAServerRefusesGoesBackToTheFirstStream() {
        var plan = SegmentPlan(0..<(9 * Self.MiB), most: 3)
        let begun = plan.begin(2)
        #expect(plan.end(begun[0].id, .refused) == .goesOn)
        #expect(plan.end(begun[1].id, .refused) == .goesOn)
        #expect(plan.openings == 0)
        let taken = plan.received(Int(9 * Self.MiB), by: SegmentPlan.first)
        #expect(taken == SegmentPlan.Taken(offset: 0, count: Int(9 * Self.MiB), isDone: true, mustStop: false))
        #expect(plan.end(SegmentPlan.first, .done) == .complete)
    }

    @Test func withoutAStreamThatCanGoOnTheRestIsLost() {
        var plan = SegmentPlan(0..<(8 * Self.MiB), most: 2)
        let second = plan.begin(1)[0]
        _ = plan.received(Int(Self.MiB), by: second.id)
        #expect(plan.end(SegmentPlan.first, .failed) == .goesOn)
        #expect(plan.openings == 0, "one that failed is not replaced")
        #expect(plan.end(second.id, .failed) == .lost)
        #expect(plan.frontier == 0 && plan.received == Self.MiB)
    }

    /// What is missing when the last stream is done needs one more.
    @Test func aHoleIsFilledByWhoeverIsDone() {
        var plan = SegmentPlan(0..<(12 * Self.MiB), most: 3)
        let begun = plan.begin(2)
        let last = begun[0]
        let middle = begun[1]
        #expect(plan.end(middle.id, .failed) == .goesOn)
        #expect(plan.end(last.id, .recalled) == .goesOn)
        let taken = plan.received(Int(12 * Self.MiB), by: SegmentPlan.first)
        #expect(taken.count == Int(12 * Self.MiB), "the first answer goes over all that was given back")

        plan = SegmentPlan(0..<(12 * Self.MiB), most: 3)
        let again = plan.begin(2)
        #expect(plan.received(Int(4 * Self.MiB), by: SegmentPlan.first).mustStop)
        #expect(plan.end(SegmentPlan.first, .done) == .goesOn)
        #expect(plan.end(again[1].id, .failed) == .goesOn)
        #expect(plan.received(Int(4 * Self.MiB), by: again[0].id).isDone)
        #expect(plan.end(again[0].id, .done) == .needsStream)
        #expect(plan.openings == 1)
        let hole = plan.begin(1)[0]
        #expect(hole.range == 4 * Self.MiB..<8 * Self.MiB)
        _ = plan.received(Int(4 * Self.MiB), by: hole.id)
        #expect(plan.end(hole.id, .done) == .complete)
    }

    @Test func aContinuedBodyBeginsWhereItIs() {
        var plan = SegmentPlan((3 * Self.MiB)..<(9 * Self.MiB), most: 2)
        #expect(plan.frontier == 3 * Self.MiB && plan.received == 0)
        #expect(plan.begin(1)[0].range == 6 * Self.MiB..<9 * Self.MiB)
        #expect(plan.received(100, by: SegmentPlan.first).offset == 3 * Self.MiB)
        #expect(plan.received == 100)
    }

    @Test func theOneWithMostBeforeItGoesAndNeverTheFirst() {
        var plan = SegmentPlan(0..<(40 * Self.MiB), most: 4)
        let begun = plan.begin(3)
        _ = plan.received(Int(5 * Self.MiB), by: begun[0].id)
        _ = plan.received(Int(Self.MiB), by: begun[1].id)
        #expect(plan.mostDispensable == begun[2].id)
        #expect(SegmentPlan(0..<100, most: 2).mostDispensable == SegmentPlan.first)
    }

    @Test func whatIsThereIsLeftOut() {
        let there = [(3 * Self.MiB)..<(4 * Self.MiB), (6 * Self.MiB)..<(9 * Self.MiB)]
        var plan = SegmentPlan(Self.MiB..<(10 * Self.MiB), most: 3, there: there)
        #expect(plan.received == 4 * Self.MiB && plan.frontier == Self.MiB)
        #expect(plan.begin(2).map(\.range) == [(4 * Self.MiB)..<(6 * Self.MiB), (9 * Self.MiB)..<(10 * Self.MiB)])
        let taken = plan.received(Int(3 * Self.MiB), by: SegmentPlan.first)
        #expect(taken.count == Int(2 * Self.MiB) && taken.mustStop && taken.isDone)
        #expect(plan.frontier == 4 * Self.MiB)
    }

    // MARK: Anything in any order

    @Test func everyByteComesOnceWhateverHappens() {
        var random = Seeded("everyByteComesOnceWhateverHappens")
        for _ in 0..<Rounds.scaled(400) { Download(&random).run(&random) }
    }

    /// A body and the streams that bring it, each at a place of its own.
    private struct Download {
        private struct Wire {
            var next: Int64
            let limit: Int64
        }
        private let range: Range<Int64>
        private var plan: SegmentPlan
        private var wires: [SegmentPlan.StreamID: Wire] = [:]
        /// What came, in pieces of any order.
        private var came: [Range<Int64>] = []
        private let most: Int
        private var failures = 0

        init(_ random: inout Seeded) {
            let start = random.oneIn(3) ? Int64(random.below(5 << 20)) : 0
            range = start..<(start + 1 + Int64(random.below(60 << 20)))
            most = 1 + random.below(8)
            if random.oneIn(2) {
                // An earlier run left what it brought.
                var place = start
                while random.below(5) > 0 {
                    let first = place + 1 + Int64(random.below(20 << 20))
                    let end = first + 1 + Int64(random.below(10 << 20))
                    guard end <= range.upperBound else { break }
                    came.append(first..<end)
                    place = end
                }
            }
            plan = SegmentPlan(range, most: most, there: came)
            wires[SegmentPlan.first] = Wire(next: range.lowerBound, limit: range.upperBound)
        }

        func run(_ random: inout Seeded) {
            var download = self
            for _ in 0..<20_000 { if let outlook = download.step(&random) { return download.check(outlook) } }
            Issue.record("it does not end")
        }

        private mutating func step(_ random: inout Seeded) -> SegmentPlan.Outlook? {
            if wires.isEmpty || random.oneIn(3) { begin(1 + random.below(4)) }
            guard let id = wires.keys.sorted(by: { $0.raw < $1.raw }).randomElement(using: &random) else {
                Issue.record("nobody is under way, and nobody can begin")
                return .lost
            }
            let outlook: SegmentPlan.Outlook?
            switch random.below(40) {
            case 0:
                failures += 1
                outlook = end(id, .failed)
            case 1: outlook = id != SegmentPlan.first && wires[id]?.next == 0 ? end(id, .refused) : nil
            case 2: outlook = end(id, .recalled)
            default: outlook = bring(id, &random)
            }
            #expect(plan.received == came.reduce(0) { $0 + $1.upperBound - $1.lowerBound })
            switch outlook {
            case .complete, .lost: return outlook
            case .goesOn, nil: break
            case .needsStream: #expect(wires.isEmpty && plan.openings > 0)
            }
            return nil
        }

        private mutating func begin(_ count: Int) {
            let openings = plan.openings
            let begun = plan.begin(count)
            #expect(begun.count <= count && begun.isEmpty == (openings == 0))
            for (id, range) in begun {
                #expect(!range.isEmpty && range.upperBound <= self.range.upperBound)
                wires[id] = Wire(next: range.lowerBound, limit: range.upperBound)
            }
            #expect(wires.count <= most && plan.liveCount == wires.count)
        }

        private mutating func bring(_ id: SegmentPlan.StreamID, _ random: inout Seeded) -> SegmentPlan.Outlook? {
            guard let wire = wires[id] else { return nil }
            let count = min(Int64(random.below(3 << 20)), wire.limit - wire.next)
            let taken = plan.received(Int(count), by: id)
            if count > 0, taken.count > 0 { #expect(taken.offset == wire.next, "what came is put elsewhere") }
            if taken.count > 0 { came.append(wire.next..<(wire.next + Int64(taken.count))) }
            wires[id]?.next += count
            #expect(taken.count == Int(count) || taken.mustStop)
            if taken.mustStop || wire.next + count == wire.limit {
                #expect(taken.isDone)
                return end(id, .done)
            }
            return nil
        }

        private mutating func end(_ id: SegmentPlan.StreamID, _ end: SegmentPlan.End) -> SegmentPlan.Outlook {
            wires[id] = nil
            return plan.end(id, end)
        }

        /// In order, without a hole and without one byte twice, as far as it says.
        private func check(_ outlook: SegmentPlan.Outlook) {
            var place = range.lowerBound
            var frontier: Int64?
            for piece in came.sorted(by: { $0.lowerBound < $1.lowerBound }) where !piece.isEmpty {
                if piece.lowerBound > place, frontier == nil { frontier = place }
                #expect(piece.lowerBound >= place, "a byte came twice")
                place = piece.upperBound
            }
            if outlook == .complete { #expect(frontier == nil && place == range.upperBound, "a hole was left") }
            #expect(plan.frontier == frontier ?? place)
            if outlook == .lost { #expect(failures > 0 || plan.openings == 0) }
        }
    }
}
