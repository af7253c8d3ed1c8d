import Stores
import TestSupport
import Testing
import TransferModel

/// When what is to be kept is written.
@Suite struct WritePaceTests {
    private let start = Instant(nanoseconds: 5_000_000_000)

    @Test func whatComesAloneIsWrittenAtOnce() {
        var pace = WritePace()
        #expect(pace.due == nil && !pace.isDue(start))
        pace.noted(start)
        #expect(pace.due == start && pace.isDue(start))
        let end = start + .milliseconds(1)
        pace.wrote(start, end)
        #expect(pace.due == nil && !pace.isDue(start + .seconds(1)))
        // What comes together after that is written together.
        for late in 1..<19 {
            pace.noted(end + .milliseconds(Int64(late)))
            #expect(!pace.isDue(end + .milliseconds(Int64(late))))
        }
        #expect(pace.due == end + .milliseconds(19))
    }

    @Test func whoeverMustNotBeLostHurries() {
        var pace = WritePace()
        pace.hurry(start)
        #expect(pace.due == nil, "there is nothing")
        pace.noted(start)
        pace.hurry(start)
        #expect(pace.isDue(start))
    }

    @Test func manyAreWrittenWheneverTheyCome() {
        var pace = WritePace()
        pace.wrote(start, start + .seconds(1))
        for number in 1...WritePace.many {
            #expect(!pace.isDue(start + .seconds(1)), "\(number)")
            pace.noted(start + .seconds(1))
        }
        #expect(pace.isDue(start + .seconds(1)))
        pace.wrote(start, start + .seconds(1))
        pace.noted(start + .seconds(1))
        #expect(!pace.isDue(start + .seconds(1)), "it counts anew")
    }

    /// However long it takes: one part in twenty of the time, or all that there is no more than 200 ms apart.
    @Test func writingTakesItsShareAndNoMore() {
        var random = Seeded("writingTakesItsShareAndNoMore")
        for _ in 0..<Rounds.scaled(20) {
            var pace = WritePace()
            var now = start
            var (writing, longest) = (Int64(0), TimeSpan.zero)
            for _ in 0..<2_000 {
                now = now + .microseconds(Int64(random.below(900)))
                pace.noted(now)
                guard pace.isDue(now) else { continue }
                let cost = TimeSpan.microseconds(Int64(random.below(2_000)))
                pace.wrote(now, now + cost)
                now = now + cost
                writing += cost.nanoseconds
                longest = max(longest, cost)
            }
            let all = (now - start).nanoseconds
            #expect(writing <= all / 20 + longest.nanoseconds, "\(writing) of \(all)")
        }
        var slow = WritePace()
        slow.wrote(start, start + .seconds(60))
        slow.noted(start + .seconds(60))
        #expect(slow.due == start + .seconds(60) + WritePace.most)
    }
}
