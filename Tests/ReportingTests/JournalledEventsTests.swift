import Records
import Reporting
import TestSupport
import Testing
import TransferModel

/// Whoever folds events that lay in a journal says what those would have said who saw them happen.
@Suite struct JournalledEventsTests {
    @Test func reportsAreTheSameToTheByte() throws {
        var random = Seeded("reportsAreTheSameToTheByte")
        for _ in 0..<Rounds.scaled(15) {
            let story = Story(random: Seeded(seed: random.next()), tasks: 12)
            let kept = try story.events.map { try EventCodec.decode(EventCodec.encode($0)) }
            let style = PlainProgress.Style(amount: .verbose, color: true, isGitHub: false)
            var texts: [[UInt8]] = []
            for events in [story.events, kept] {
                let sinks = [MemorySink(), MemorySink(), MemorySink()]
                let report = JSONReport(job: story.job, runner: runner)
                report.consume(events[...])
                try report.write(to: sinks[0])
                EventLines(job: story.job, sink: sinks[1]).consume(events[...])
                PlainProgress(job: story.job, sink: sinks[2], style: style).consume(events[...])
                texts += sinks.map(\.bytes)
            }
            #expect(texts[0] == texts[3] && texts[1] == texts[4] && texts[2] == texts[5])
            #expect(texts[0].count > 1_000)
        }
    }
}
