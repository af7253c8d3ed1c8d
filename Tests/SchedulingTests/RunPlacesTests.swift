import Scheduling
import TestSupport
import Testing

/// Who of many runs does work at the same time.
@Suite struct RunPlacesTests {
    @Test func theFirstAcceptedBegin() {
        var places = RunPlaces(limit: 2)
        for run in [4, 1, 3, 2] as [Int64] { places.ask(run) }
        #expect(places.fill() == [1, 2] && places.fill() == [])
        #expect(places.runsBefore(1) == nil && places.runsBefore(3) == 2 && places.runsBefore(4) == 3)
    }

    @Test func oneThatLeavesLetsTheNextIn() {
        var places = RunPlaces(limit: 1)
        for run in 1...3 as ClosedRange<Int64> { places.ask(run) }
        #expect(places.fill() == [1])
        places.leave(1)
        #expect(places.fill() == [2])
        // It has something to do again, and was accepted before the one that waits.
        places.ask(1)
        places.leave(2)
        #expect(places.fill() == [1])
        places.leave(3)
        places.leave(1)
        #expect(places.fill() == [] && places.holders.isEmpty && places.line.isEmpty)
    }

    @Test func askingTwiceChangesNothing() {
        var places = RunPlaces(limit: 1)
        places.ask(1)
        #expect(places.fill() == [1])
        places.ask(1)
        for _ in 0..<2 { places.ask(2) }
        #expect(places.line == [2] && places.fill() == [])
        places.leave(1)
        #expect(places.fill() == [2])
    }

    /// However runs come, rest and end: never more than the limit, nobody waits while there is room, and all that wait are
    /// served.
    @Test func randomOrders() {
        for seed in 0..<Rounds.scaled(50) {
            var random = RandomBits(seed: UInt64(seed))
            var places = RunPlaces(limit: Int.random(in: 1...4, using: &random))
            var wanting: Set<Int64> = []
            for _ in 0..<200 {
                let run = Int64.random(in: 0..<12, using: &random)
                if Bool.random(using: &random) {
                    places.ask(run)
                    wanting.insert(run)
                } else {
                    places.leave(run)
                    wanting.remove(run)
                }
                let before = places.line
                let begun = places.fill()
                #expect(begun == Array(before.prefix(begun.count)) && before == before.sorted())
                #expect(places.holders.count <= places.limit)
                #expect(places.line.isEmpty || places.holders.count == places.limit)
                #expect(places.holders.union(places.line) == wanting && places.holders.isDisjoint(with: places.line))
            }
        }
    }
}
