import Stores
import TestSupport
import Testing
import TransferModel

/// What is known of a task by its events.
@Suite struct TaskHistoryTests {
    private let now = JournalCase.now

    private func history(_ events: [(Int64, Event.Kind)]) -> TaskHistory {
        events.reduce(into: TaskHistory(id: "t")) { history, step in
            history.apply(JournalCase.event(1, step.1, after: step.0))
        }
    }

    private func start(_ number: Int) -> Event.Kind { .attemptStarted(AttemptStart(number: number, url: "u")) }

    @Test func attemptsAndTheirEndsAreCounted() {
        let failed = JournalCase.attemptEnd(1, .failed, backoff: .seconds(30))
        var task = history([(0, .taskCreated), (1, start(1))])
        #expect(task.attempts == 1 && task.isUnderWay && task.tries == 0 && task.beganAt == now + .seconds(1))
        task = history([(1, start(1)), (5, failed)])
        #expect(task.attempts == 1 && !task.isUnderWay && task.tries == 1 && task.retryAt == now + .seconds(35))
        task = history([(1, start(1)), (5, failed), (40, start(2))])
        #expect(task.attempts == 2 && task.retryAt == nil && task.tries == 1 && task.beganAt == now + .seconds(1))
        task = history([(1, start(1)), (5, failed), (40, start(2)), (41, JournalCase.attemptEnd(2, .cancelled))])
        #expect(task.tries == 1 && task.interrupted == 1 && task.outcome == nil)
        // Attempt 2 died with its process; the next one's third is its own second.
        task = history([(1, start(1)), (5, failed), (40, start(2)), (99, start(3))])
        #expect(task.attempts == 3 && task.interrupted == 1 && task.tries == 1)
        task = history([(1, start(1)), (5, JournalCase.attemptEnd(1, .succeeded)), (5, JournalCase.finish(.succeeded))])
        #expect(task.outcome == .succeeded && !task.isUnderWay && task.retryAt == nil)
    }

    @Test func theClockStandsWhileTheTaskMayNotRun() {
        let base: [(Int64, Event.Kind)] = [(10, start(1))]
        #expect(history(base).resourceTime(at: now + .seconds(25)) == .seconds(15))
        #expect(history(base).resourceTime(at: now) == .zero)
        for reason in [WaitReason.suspended, .window] {
            let held = base + [(20, .waiting(reason)), (20, JournalCase.attemptEnd(1, .cancelled))]
            #expect(history(held).resourceTime(at: now + .seconds(500)) == .seconds(10))
            #expect(history(held).isSuspended == (reason == .suspended))
            let again = held + [(100, .taskResumed), (110, start(2))]
            #expect(history(again).resourceTime(at: now + .seconds(115)) == .seconds(15))
            #expect(!history(again).isSuspended)
            let ended = again + [(120, JournalCase.finish(.failed))]
            #expect(history(ended).resourceTime(at: now + .seconds(900)) == .seconds(20))
        }
        // Other waits do not stop it.
        #expect(history(base + [(20, .waiting(.backoff))]).resourceTime(at: now + .seconds(30)) == .seconds(20))
    }

    /// The rows of the journal are the fold over its events, however they were cut into batches.
    @Test func theJournalKeepsTheFold() throws {
        var random = Seeded("theJournalKeepsTheFold")
        for _ in 0..<Rounds.scaled(5) {
            let tree = try TemporaryTree()
            let journal = try Journal.open(folder: tree.path)
            var story = JournalStory(seed: random.next())
            let id = try journal.accept(JournalCase.run(), inputs: [], tasks: story.tasks)
            var expected = story.tasks.map { TaskHistory(id: $0) }
            for event in story.journalled(10) {
                if let task = event.task { expected[Int(task.raw)].apply(event) }
            }
            for _ in 0..<10 { try journal.append(story.batch(), to: id) }
            #expect(try journal.history(of: id) == expected)
        }
    }
}
