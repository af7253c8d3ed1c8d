import CommandLineTool
import TestSupport
import Testing
import TransferModel

private final class Told: EventConsumer {
    private(set) var events: [Event] = []
    func consume(_ events: ArraySlice<Event>) { self.events += events }
}

/// Two parts of a run, of which one is heard of late, told as one.
@Suite struct JoinedStoryTests {
    private struct Part {
        let side: JoinedStory.Side
        let tasks: [Int]
        var events: [Event] = []
        /// When each of them is heard of: never before the one before it.
        var heard: [Int64] = []
        var next = 0
    }

    private static func job(_ count: Int) -> Job {
        var job = Job(name: "joined", file: "joined.yaml", baseDirectory: "/")
        job.tasks = (0..<count).map { number in
            TaskSpecification(
                id: "t\(number)", type: .download, session: SessionIndex(raw: 0),
                location: .awaitingCapture(SecretText("")), destination: nil, line: 1,
                options: TaskOptions(TaskOptions.Values(policies: TransferPolicies())))
        }
        return job
    }

    private static func made(_ side: JoinedStory.Side, _ tasks: [Int], lag: Int, _ random: inout Seeded) -> Part {
        var part = Part(side: side, tasks: tasks)
        var (time, heard) = (Int64(random.below(50)), Int64(0))
        func tell(_ task: TaskIndex?, _ kind: Event.Kind) {
            part.events.append(
                Event(
                    time: WallTime(nanoseconds: time * 1_000_000), sequence: UInt64(part.events.count + 1),
                    session: nil, task: task, kind: kind))
            heard = max(heard, time + Int64(random.below(lag + 1)))
            part.heard.append(heard)
        }
        for _ in 0..<random.below(40) {
            time += Int64(random.below(200))
            let task = TaskIndex(raw: UInt32(random.below(tasks.count)))
            tell(task, .receivedData(.init(bytes: Int64(part.events.count), expected: nil)))
        }
        tell(nil, .runFinished(RunRecord(outcome: .succeeded, exitStatus: 0, duration: .milliseconds(time))))
        return part
    }

    /// Hears of both parts in the order in which news of them comes, and gives what was told.
    private static func told(_ parts: [Part], _ story: JoinedStory, _ told: Told, _ random: inout Seeded) {
        var parts = parts
        while let first = parts.indices.filter({ parts[$0].next < parts[$0].events.count }).min(by: {
            parts[$0].heard[parts[$0].next] < parts[$1].heard[parts[$1].next]
        }) {
            let (from, now) = (parts[first].next, parts[first].heard[parts[first].next])
            while parts[first].next < parts[first].events.count, parts[first].heard[parts[first].next] <= now {
                parts[first].next += 1
            }
            let batch = parts[first].events[from..<parts[first].next]
            story.take(batch, from: parts[first].side, now: WallTime(nanoseconds: now * 1_000_000))
        }
    }

    /// However late the background's news come, the story is whole, and its dates never go back.
    @Test func theStoryNeverGoesBack() throws {
        var random = Seeded("theStoryNeverGoesBack")
        for _ in 0..<2_000 {
            let tasks = [[0, 2, 4], [1, 3]]
            let here = Self.made(.here, tasks[0], lag: 2, &random)
            let there = Self.made(.background, tasks[1], lag: random.pick([50, 200, 2_000]), &random)
            let told = Told()
            let story = JoinedStory(
                Self.job(5), here: tasks[0].map { TaskIndex(raw: UInt32($0)) },
                background: tasks[1].map { TaskIndex(raw: UInt32($0)) }, [told])
            Self.told([here, there], story, told, &random)

            #expect(told.events.map(\.sequence) == (1...UInt64(told.events.count)).map { $0 })
            #expect(zip(told.events, told.events.dropFirst()).allSatisfy { $0.time <= $1.time })
            guard case .runFinished? = told.events.last?.kind else {
                Issue.record("the end of the run is not the last that was told")
                return
            }
            for part in [here, there] {
                let own = told.events.filter { event in event.task.map { part.tasks.contains(Int($0.raw)) } ?? false }
                #expect(own.map(Self.bytes) == part.events.dropLast().map(Self.bytes))
                // What is heard of in time has the date it had.
                if part.side == .here { continue }
                let isInTime = zip(part.events, part.heard).allSatisfy { $1 - $0.time.nanoseconds / 1_000_000 <= 50 }
                if isInTime { #expect(own.map(\.time) == part.events.dropLast().map(\.time)) }
            }
        }
    }

    private static func bytes(_ event: Event) -> Int64? {
        if case .receivedData(let progress) = event.kind { progress.bytes } else { nil }
    }
}
