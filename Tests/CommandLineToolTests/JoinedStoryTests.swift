import CommandLineTool
import TestSupport
import Testing
import TransferModel

private final class Told: EventConsumer {
    private(set) var events: [Event] = []
    func consume(_ events: ArraySlice<Event>) { self.events += events }
    var end: RunRecord? { if case .runFinished(let record)? = events.last?.kind { record } else { nil } }
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

    /// Of tasks that are told apart by their numbers, in the first of these sessions.
    private static func job(_ numbers: [Int], _ sessions: SessionConfiguration...) -> Job {
        var job = Job(name: "joined", file: "joined.yaml", baseDirectory: "/")
        job.sessions = sessions
        job.tasks = numbers.map { number in
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
            story.add(batch, from: parts[first].side, now: WallTime(nanoseconds: now * 1_000_000))
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
                Self.job([0, 1, 2, 3, 4]), here: Self.job(tasks[0]), background: Self.job(tasks[1]), [told])
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

    // MARK: Single stories

    private static func session(_ name: String, _ kind: SessionConfiguration.Kind) -> SessionConfiguration {
        var session = SessionConfiguration(name: name)
        session.kind = kind
        return session
    }

    private static func event(
        _ kind: Event.Kind, at milliseconds: Int64, task: UInt32? = nil, session: UInt16? = nil
    ) -> ArraySlice<Event> {
        [
            Event(
                time: WallTime(nanoseconds: milliseconds * 1_000_000), sequence: 1,
                session: session.map { SessionIndex(raw: $0) }, task: task.map { TaskIndex(raw: $0) }, kind: kind)
        ]
    }

    private static func end(_ status: Int, at time: Int64, _ groups: RunRecord.Group...) -> ArraySlice<Event> {
        event(
            .runFinished(
                RunRecord(
                    outcome: status == 0 ? .succeeded : .failed, exitStatus: status, duration: .milliseconds(time),
                    groups: groups)), at: time)
    }

    private static func told(_ job: Job, here: Job, background: Job) -> (JoinedStory, Told) {
        let told = Told()
        return (JoinedStory(job, here: here, background: background, [told]), told)
    }

    private static func now(_ milliseconds: Int64) -> WallTime { WallTime(nanoseconds: milliseconds * 1_000_000) }

    /// What one part tells waits for nobody when the other is over, or when nobody hears of it any more.
    @Test(arguments: [0, 1, 2]) func nobodyIsWaitedForWhoTellsNothingMore(_ who: Int) {
        let (story, told) = Self.told(Self.job([0, 1]), here: Self.job([0]), background: Self.job([1]))
        switch who {
        case 0: story.add(Self.end(0, at: 5), from: .background, now: Self.now(10))
        case 1: story.add(Self.end(0, at: 5), from: .here, now: Self.now(10))
        default: story.hearsNoMore(of: .background)
        }
        #expect(told.events.isEmpty)
        story.add(Self.event(.taskCreated, at: 20, task: 0), from: who == 1 ? .background : .here, now: Self.now(21))
        #expect(told.events.count == 1)
    }

    /// Also while both go on: what both have come past has its place.
    @Test func whatBothHaveComePastIsTold() {
        let (story, told) = Self.told(Self.job([0, 1]), here: Self.job([0]), background: Self.job([1]))
        story.add(Self.event(.taskCreated, at: 20, task: 0), from: .here, now: Self.now(21))
        #expect(told.events.isEmpty)
        story.add(Self.event(.taskCreated, at: 30, task: 0), from: .background, now: Self.now(31))
        #expect(told.events.map(\.task) == [TaskIndex(raw: 0)])
    }

    @Test func theEndIsToldOnce() {
        let (story, told) = Self.told(Self.job([0, 1]), here: Self.job([0]), background: Self.job([1]))
        story.add(Self.end(1, at: 10), from: .here, now: Self.now(11))
        story.add(Self.end(0, at: 20), from: .background, now: Self.now(21))
        story.endAlone(now: Self.now(30))
        #expect(told.events.count == 1)
    }

    /// What the command comes to, though all that it carried went well.
    @Test func itEndsAloneAsTheCommandDoes() throws {
        let (story, told) = Self.told(Self.job([0, 1]), here: Self.job([0]), background: Self.job([1]))
        story.add(Self.end(0, at: 10), from: .here, now: Self.now(11))
        story.endAlone((.cancelled, 130), now: Self.now(500))
        story.add(Self.event(.taskCreated, at: 20, task: 0), from: .background, now: Self.now(600))
        #expect(told.events.count == 1)
        let record = try #require(told.end)
        #expect(record.outcome == .cancelled && record.exitStatus == 130 && record.duration == .milliseconds(490))
    }

    /// The job's file was changed since the background part was accepted: tasks, sessions and groups have other places.
    @Test func whatWasAcceptedIsKnownByItsNames() throws {
        let (day, night) = (Self.session("day", .default), Self.session("night", .background))
        let dusk = Self.session("dusk", .background)
        let job = Self.job([5, 4, 3, 2], day, dusk, night)
        let accepted = Self.job(
            [2, 9, 4], night, Self.session("gone", .background), day, Self.session("dusk", .default))
        let (story, told) = Self.told(job, here: Self.job([5, 3], day, dusk, night), background: accepted)
        for session in UInt16(0)..<4 {
            story.add(Self.event(.sessionStarted, at: 1, session: session), from: .background, now: Self.now(1))
        }
        for session in UInt16(0)..<3 {
            story.add(Self.event(.sessionStarted, at: 2, session: session), from: .here, now: Self.now(2))
        }
        for task in UInt32(0)..<3 {
            story.add(
                Self.event(.taskCreated, at: 3, task: task, session: 0), from: .background, now: Self.now(3))
        }
        func group(_ name: String, _ isPublished: Bool) -> RunRecord.Group {
            RunRecord.Group(name: name, published: isPublished, error: nil)
        }
        story.add(Self.end(0, at: 4, group("b", false), group("c", true)), from: .here, now: Self.now(4))
        story.add(Self.end(0, at: 5, group("a", true), group("b", true)), from: .background, now: Self.now(5))
        let sessions = told.events.compactMap { event -> UInt16? in
            if case .sessionStarted = event.kind { event.session?.raw } else { nil }
        }
        // What is a background session's today only is told of by whoever knows it as such: this process.
        #expect(sessions == [2, 0, 1])
        #expect(told.events.compactMap(\.task?.raw) == [3, 1])
        #expect(told.events.filter { $0.task != nil }.allSatisfy { $0.session?.raw == 0 })
        let record = try #require(told.end)
        #expect(record.groups.map(\.name) == ["b", "c", "a"] && record.groups.allSatisfy(\.published))
    }

    private static func bytes(_ event: Event) -> Int64? {
        if case .receivedData(let progress) = event.kind { progress.bytes } else { nil }
    }
}
