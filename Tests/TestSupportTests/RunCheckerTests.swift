import TestSupport
import Testing
import TextFormats
import TransferModel

/// A run told event by event, and what the checker says of it.
private struct Story {
    var facts: TraceFacts
    var steps: [TraceStep] = []
    /// Milliseconds after the beginning.
    var clock: Int64 = 0

    init(_ tasks: [TraceFacts.Task], sessions: [TraceFacts.Session] = [TraceFacts.Session(name: "default")]) {
        facts = TraceFacts(tasks: tasks, sessions: sessions)
        for task in tasks.indices { add(.created, task) }
    }

    mutating func add(_ kind: TraceStep.Kind, _ task: Int?, after milliseconds: Int64 = 0) {
        clock += milliseconds
        steps.append(
            TraceStep(
                time: WallTime(nanoseconds: 1_795_244_400_000_000_000) + .milliseconds(clock),
                sequence: UInt64(steps.count + 1), task: task, session: task.map { facts.tasks[$0].session },
                kind: kind))
    }

    mutating func start(_ task: Int, _ number: Int = 1, after milliseconds: Int64 = 0) {
        add(.attemptStarted(number: number), task, after: milliseconds)
    }

    mutating func end(
        _ task: Int, _ number: Int = 1, _ outcome: TaskOutcome = .succeeded, after milliseconds: Int64,
        backoff: Int64? = nil
    ) {
        let error: ErrorName? = outcome == .succeeded ? nil : .timedOut
        add(
            .attemptFinished(
                TraceStep.AttemptEnd(
                    number: number, outcome: outcome, duration: .milliseconds(milliseconds), error: error,
                    backoff: backoff.map { .milliseconds($0) })), task, after: milliseconds)
    }

    /// The end of a task, `waits` in milliseconds.
    mutating func finish(
        _ task: Int, _ outcome: TaskOutcome = .succeeded, waits: [(WaitReason, Int64)] = [], tolerated: Bool = false,
        error: ErrorName? = .timedOut
    ) {
        add(
            .taskFinished(
                TraceStep.TaskEnd(
                    outcome: outcome, tolerated: tolerated, duration: .milliseconds(clock),
                    waits: waits.map { TaskRecord.Wait(reason: $0.0, duration: .milliseconds($0.1)) },
                    error: outcome == .succeeded ? nil : error)), task)
    }

    mutating func close(_ outcome: RunOutcome = .succeeded, _ status: Int = 0) {
        add(.runFinished(outcome: outcome, exitStatus: status), nil)
    }

    var violations: [TraceViolation] { RunChecker.violations(in: steps, facts) }
    /// Each rule that was broken, once.
    var broken: Set<TraceRule> { Set(violations.map(\.rule)) }
}

/// Each rule with a run that keeps it and one that breaks it and nothing else.
@Suite struct RunCheckerTests {
    /// `a` fails once and succeeds; `b` needs it.
    private static func ordinary(backoff: Int64 = 50, pause: Int64 = 50) -> Story {
        var policy = RetryPolicy()
        policy.attempts = 2
        policy.initialBackoff = .milliseconds(50)
        policy.jitter = .none
        var story = Story([.init(id: "a", retry: policy), .init(id: "b", needs: [0], retry: policy)])
        story.add(.waiting(.dependency), 1)
        story.start(0)
        story.end(0, 1, .failed, after: 10, backoff: backoff)
        story.add(.waiting(.backoff), 0)
        story.start(0, 2, after: pause)
        story.add(.response(status: 200), 0)
        story.end(0, 2, after: 20)
        story.finish(0, waits: [(.backoff, pause)])
        story.start(1)
        story.end(1, after: 5)
        story.finish(1, waits: [(.dependency, pause + 30)])
        story.close()
        return story
    }

    private static func single(_ task: TraceFacts.Task = .init(id: "a")) -> Story { Story([task]) }

    @Test func anOrdinaryRunKeepsEveryRule() {
        #expect(Self.ordinary().violations == [])
    }

    @Test func numbersAndDatesGoForward() {
        var story = Self.ordinary()
        story.steps[4].sequence = 9
        #expect(story.broken == [.counting])
        story = Self.ordinary()
        story.steps[1].time = WallTime(nanoseconds: 0)
        #expect(story.broken.contains(.time))
    }

    @Test func tasksAreCreatedOnceAndFirst() {
        var story = Self.single()
        story.add(.created, 0)
        story.start(0)
        story.end(0, after: 1)
        story.finish(0)
        story.close()
        #expect(story.broken == [.creation])
        story = Self.ordinary()
        story.steps[1].kind = .other
        #expect(story.broken == [.creation])
    }

    /// Requests of an attempt follow one another, but for those of a download in segments.
    @Test(arguments: [(1, 10, true), (1, 9, false), (2, 0, true), (2, 5, true)])
    func requestsAtOnceAreSegments(_ segments: Int, _ second: Int64, _ isRight: Bool) {
        var task = TraceFacts.Task(id: "a")
        task.segments = segments
        var story = Self.single(task)
        story.start(0)
        story.end(0, after: 30)
        let begin = WallTime(nanoseconds: 1_795_244_400_000_000_000)
        guard case .attemptFinished(var end) = story.steps[2].kind else {
            Issue.record("no attempt ends")
            return
        }
        end.requests = [
            begin..<(begin + .milliseconds(10)), (begin + .milliseconds(second))..<(begin + .milliseconds(20)),
        ]
        story.steps[2].kind = .attemptFinished(end)
        story.finish(0)
        story.close()
        #expect(story.broken == (isRight ? [] : [.requests]))
    }

    @Test func tasksFinishOnceAndLast() {
        var story = Self.single()
        story.start(0)
        story.end(0, after: 1)
        story.finish(0)
        story.add(.response(status: nil), 0)
        story.close()
        #expect(story.broken == [.ending])
        #expect(story.violations.first?.description.hasPrefix("ending: `a` has an event after it finished") == true)

        story = Self.single()
        story.start(0)
        story.finish(0, .cancelled)
        story.close(.failed, 1)
        #expect(story.broken == [.ending])

        story = Self.single()
        story.close()
        #expect(story.broken == [.ending])
        story = Self.ordinary()
        story.steps.removeLast()
        #expect(story.broken == [.ending])
    }

    @Test func attemptsFollowOneAnother() {
        var story = Self.single()
        story.start(0, 2)
        story.end(0, 2, after: 1)
        story.finish(0)
        story.close()
        #expect(story.broken == [.numbering])
        story = Self.single()
        story.start(0)
        story.start(0, 2)
        story.end(0, 2, after: 1)
        story.finish(0)
        story.close()
        #expect(story.broken == [.numbering])
        story = Self.single()
        story.end(0, after: 0)
        story.finish(0, .failed)
        story.close(.failed, 1)
        #expect(story.broken == [.numbering])
    }

    @Test func nothingStartsBeforeWhatItNeeds() {
        var story = Story([.init(id: "a"), .init(id: "b", needs: [0])])
        story.start(1)
        story.end(1, after: 1)
        story.finish(1)
        story.start(0)
        story.end(0, after: 1)
        story.finish(0, waits: [(.runLimit, 1)])
        story.close()
        #expect(story.broken == [.needs])
    }

    @Test func aToleratedFailureLetsOthersStart() {
        var story = Story([.init(id: "a", mayFail: true), .init(id: "b", needs: [0])])
        story.start(0)
        story.end(0, 1, .failed, after: 1)
        story.finish(0, .failed, tolerated: true)
        story.start(1)
        story.end(1, after: 1)
        story.finish(1, waits: [(.dependency, 1)])
        story.close()
        #expect(story.violations == [])
        story.facts = TraceFacts(tasks: [.init(id: "a"), .init(id: "b", needs: [0])])
        #expect(story.broken == [.outcome])
    }

    @Test func noMoreAttemptsThanThePolicyAllows() {
        func attempts(_ outcomes: [TaskOutcome]) -> Story {
            var policy = RetryPolicy()
            policy.attempts = 2
            var story = Self.single(.init(id: "a", retry: policy))
            for (index, outcome) in outcomes.enumerated() {
                story.start(0, index + 1)
                story.end(0, index + 1, outcome, after: 1)
            }
            story.finish(0, outcomes.last ?? .failed)
            story.close(outcomes.last == .succeeded ? .succeeded : .failed, outcomes.last == .succeeded ? 0 : 1)
            return story
        }
        #expect(attempts([.failed, .failed]).broken == [])
        #expect(attempts([.failed, .failed, .failed]).broken == [.attempts])
        #expect(attempts([.succeeded, .succeeded]).broken == [.attempts])
        // One that was suspended comes back, and that is no failure.
        #expect(attempts([.failed, .cancelled, .cancelled, .succeeded]).broken == [])
    }

    @Test func backoffIsKeptAndWithinThePolicy() {
        #expect(Self.ordinary(backoff: 50, pause: 49).broken == [.backoff])
        #expect(Self.ordinary(backoff: 49, pause: 50).broken == [.policy])
        #expect(Self.ordinary(backoff: 700_000, pause: 700_000).broken == [.policy])
        #expect(Self.ordinary(backoff: 60, pause: 60).broken == [])
    }

    @Test func waitsHaveAReason() {
        var story = Self.single()
        story.add(.waiting(.backoff), 0)
        story.add(.waiting(.dependency), 0)
        story.start(0)
        story.end(0, after: 1)
        story.finish(0)
        story.close()
        #expect(story.violations.map(\.rule) == [.waiting, .waiting])
    }

    @Test func limitsOnRunningTasksHold() {
        func three(runLimit: Int, sessionLimit: Int?, answered: Bool) -> Story {
            var story = Story(
                (0..<3).map { .init(id: "t\($0)") }, sessions: [.init(name: "s", maximumConcurrentTasks: sessionLimit)])
            story.facts.maximumConcurrentTasks = runLimit
            story.start(0)
            story.start(1)
            if !answered { story.start(2) }
            for task in 0...1 { story.add(.response(status: 200), task) }
            if answered { story.start(2) }
            story.end(0, after: 5)
            for task in 1...2 {
                story.add(
                    .attemptFinished(.init(number: 1, outcome: .succeeded, duration: .milliseconds(5))), task)
            }
            for task in 0...2 { story.finish(task) }
            story.close()
            return story
        }
        #expect(three(runLimit: 3, sessionLimit: 3, answered: false).broken == [])
        #expect(three(runLimit: 2, sessionLimit: nil, answered: false).broken == [.concurrency])
        #expect(three(runLimit: 3, sessionLimit: 2, answered: false).broken == [.concurrency])
        // Two that were answered may have nothing left but local work.
        #expect(three(runLimit: 2, sessionLimit: 2, answered: true).broken == [])
    }

    @Test func waitsAndAttemptsAreTheWholeDuration() {
        var story = Self.single()
        story.start(0)
        story.end(0, after: 100)
        story.finish(0, waits: [(.runLimit, 6)])
        story.close()
        #expect(story.broken == [.accounting])
        story = Self.single()
        story.start(0, after: 4)
        story.end(0, after: 100)
        story.finish(0)
        story.close()
        #expect(story.broken == [])
        story = Self.single()
        story.start(0, after: 20)
        story.end(0, after: 1)
        story.finish(0, waits: [(.runLimit, 10), (.runLimit, 10)])
        story.close()
        #expect(story.broken == [.accounting])
    }

    @Test func nothingBeginsTooEarlyOrTooLate() {
        func run(_ facts: (inout TraceFacts) -> Void, earliest: Moment? = nil) -> Set<TraceRule> {
            var story = Self.single(.init(id: "a", earliestBegin: earliest))
            facts(&story.facts)
            story.start(0, after: 10)
            story.end(0, after: 1)
            story.finish(0, waits: [(.earliestBegin, 10)])
            story.close()
            return story.broken
        }
        #expect(run({ _ in }, earliest: .afterStart(.milliseconds(10))) == [])
        #expect(run({ _ in }, earliest: .afterStart(.milliseconds(11))) == [.earliestBegin])
        #expect(run { $0.timeout = .milliseconds(10) } == [])
        #expect(run { $0.timeout = .milliseconds(9) } == [.stopping])
        #expect(run { $0.finishBy = .afterStart(.milliseconds(9)) } == [.stopping])
    }

    @Test func nothingStartsWhenTheRunIsEnding() {
        func story(_ outcome: TaskOutcome, _ error: ErrorName, _ run: RunOutcome, _ status: Int) -> Story {
            var story = Story([.init(id: "a"), .init(id: "b")])
            story.start(0)
            story.end(0, 1, outcome, after: 1)
            story.finish(0, outcome, error: error)
            story.start(1)
            story.end(1, after: 1)
            story.finish(1, waits: [(.runLimit, 1)])
            story.close(run, status)
            return story
        }
        var failed = story(.failed, .timedOut, .failed, 1)
        #expect(failed.broken == [])
        failed.facts.failFast = true
        #expect(failed.broken == [.stopping])
        #expect(story(.cancelled, .cancelled, .cancelled, 143).broken == [.stopping])
        #expect(story(.cancelled, .cancelled, .failed, 1).broken == [])
    }

    @Test func outcomesFitWhatHappened() {
        var story = Self.single()
        story.start(0)
        story.end(0, 1, .failed, after: 1)
        story.finish(0)
        story.close()
        #expect(story.broken == [.outcome])
        story = Story([.init(id: "a"), .init(id: "b", needs: [0])])
        story.start(0)
        story.end(0, after: 1)
        story.finish(0)
        story.finish(1, .skipped, waits: [(.dependency, 1)], error: .dependencyFailed)
        story.close(.failed, 1)
        #expect(story.broken == [.outcome])
    }

    @Test(arguments: [
        (TaskOutcome.succeeded, RunOutcome.succeeded, 0, true), (.succeeded, .failed, 1, false),
        (.failed, .failed, 1, true), (.failed, .succeeded, 0, false), (.deferred, .deferred, 75, true),
        (.deferred, .failed, 1, false), (.failed, .succeeded, 1, false), (.cancelled, .cancelled, 130, true),
        (.cancelled, .failed, 130, false), (.cancelled, .failed, 4, false),
    ])
    func exitStatusFollowsFromTheTasks(_ task: TaskOutcome, _ run: RunOutcome, _ status: Int, _ isRight: Bool) {
        var story = Self.single()
        story.start(0)
        story.end(0, 1, task, after: 1)
        story.finish(0, task)
        story.close(run, status)
        #expect(story.broken == (isRight ? [] : [.exit]))
    }

    @Test func linesSayWhatEventsSay() throws {
        let facts = TraceFacts(tasks: [.init(id: "a"), .init(id: "b")], sessions: [.init(name: "s")])
        let line = try JSONParser.parse(
            Array(
                #"""
                {"time":"2026-11-21T07:00:00.123Z","seq":7,"event":"taskFinished","session":"s","task":"b",
                "outcome":"failed","tolerated":true,"duration":1.5,"waits":[{"reason":"hostLimit","duration":0.25}],
                "error":{"domain":"NSURLErrorDomain","name":"timedOut","code":-1001}}
                """#.utf8))
        let step = try TraceStep(line, facts)
        #expect(step.task == 1 && step.session == 0 && step.sequence == 7)
        guard case .taskFinished(let end) = step.kind else {
            Issue.record("\(step.kind)")
            return
        }
        let wait = TaskRecord.Wait(reason: .hostLimit, duration: .milliseconds(250))
        #expect(
            end
                == TraceStep.TaskEnd(
                    outcome: .failed, tolerated: true, duration: .milliseconds(1_500), waits: [wait], error: .timedOut))
    }

    @Test(arguments: [
        #"{"seq":1,"event":"taskCreated"}"#, #"{"time":"2026-11-21T07:00:00Z","event":"taskCreated"}"#,
        #"{"time":"2026-11-21T07:00:00Z","seq":1,"event":"taskCreated","task":"unknown"}"#,
        #"{"time":"2026-11-21T07:00:00Z","seq":1,"event":"waiting","task":"a","reason":"boredom"}"#,
        #"{"time":"2026-11-21T07:00:00Z","seq":1,"event":"taskFinished","task":"a","outcome":"failed"}"#,
    ])
    func linesThatAreNoEventsAreProblems(_ text: String) throws {
        let line = try JSONParser.parse(Array(text.utf8))
        #expect(throws: TraceProblem.self) { try TraceStep(line, TraceFacts(tasks: [.init(id: "a")])) }
    }
}
