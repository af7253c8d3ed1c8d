import Reporting
import TestSupport
import Testing
import TransferModel

private func event(_ milliseconds: Int64, _ task: UInt32?, _ kind: Event.Kind) -> Event {
    Event(
        time: WallTime(nanoseconds: 1_795_244_400_000_000_000 + milliseconds * 1_000_000), sequence: 1,
        session: SessionIndex(raw: 0), task: task.map { TaskIndex(raw: $0) }, kind: kind)
}

private func lines(_ sink: MemorySink) throws -> [TestJSON] {
    try sink.text.split(separator: "\n").map { try TestJSON.parse($0.utf8) }
}

@Suite struct EventLinesTests {
    let story = Story(random: Seeded(seed: 3), tasks: 5)

    @Test func eachBatchIsOneWriteOfWholeLines() throws {
        var random = Seeded("eachBatchIsOneWriteOfWholeLines")
        let sink = MemorySink()
        let consumer = EventLines(job: story.job, sink: sink)
        var start = 0
        while start < story.events.count {
            let end = min(story.events.count, start + 1 + random.below(9))
            let before = sink.writes.count
            consumer.consume(story.events[start..<end])
            #expect(sink.writes.count <= before + 1)
            start = end
        }
        #expect(sink.writes.allSatisfy { $0.last == UInt8(ascii: "\n") })
        let all = try lines(sink)
        #expect(all.map { $0["seq"]?.int } == (1...all.count).map { $0 })
        #expect(all.allSatisfy { $0.keys.starts(with: ["time", "seq", "event", "session", "task"]) })
        #expect(all.last?["event"]?.text == "runFinished")
        #expect(all.last?["task"] == .null)
    }

    /// Nothing but progress is ever left out, and the order is the events'.
    @Test func everyEventButProgressIsThere() throws {
        let sink = MemorySink()
        EventLines(job: story.job, sink: sink).consume(story.events[...])
        let isProgress: (String?) -> Bool = { $0 == "receivedData" || $0 == "sentBodyData" }
        let names = try lines(sink).map { $0["event"]?.text }.filter { !isProgress($0) }
        #expect(names == story.events.map { $0.kind.name }.filter { !isProgress($0) })
    }

    @Test func progressComesFiveTimesASecondATask() throws {
        let sink = MemorySink()
        var events: [Event] = []
        for millisecond in Int64(0)..<1000 {
            for task in UInt32(0)..<2 {
                events.append(event(millisecond, task, .receivedData(.init(bytes: millisecond, expected: nil))))
                events.append(event(millisecond, task, .sentBodyData(.init(bytes: millisecond, expected: 9))))
            }
        }
        EventLines(job: story.job, sink: sink).consume(events[...])
        let all = try lines(sink)
        #expect(all.count == 20)
        let first = all.filter { $0["task"]?.text == "t0" && $0["event"]?.text == "receivedData" }
        #expect(first.map { $0["bytes"]?.int } == [0, 200, 400, 600, 800])
        #expect(first[0]["expected"] == .null)
    }

    @Test func aClockSetBackDoesNotSilenceATask() throws {
        let sink = MemorySink()
        let events = [5000, 0, 100, 200].map { event($0, 0, .receivedData(.init(bytes: $0, expected: nil))) }
        EventLines(job: story.job, sink: sink).consume(events[...])
        #expect(try lines(sink).map { $0["bytes"]?.int } == [5000, 0, 200])
    }

    @Test func aFullDiskIsToldAndABrokenPipeIsNot() {
        for (problem, isKept) in [(OutputProblem("full", errno: 28), true), (OutputProblem("gone", errno: 32), false)] {
            let sink = MemorySink()
            sink.failure = (1, problem)
            let consumer = EventLines(job: story.job, sink: sink)
            for event in story.events.prefix(5) { consumer.consume([event]) }
            #expect(sink.writes.count == 1)
            #expect(consumer.problem == (isKept ? problem : nil))
        }
    }
}
