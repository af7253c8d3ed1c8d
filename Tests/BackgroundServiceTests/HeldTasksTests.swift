import BackgroundService
import JobRunner
import Testing
import TransferModel

/// What a command that does not wait makes of a run under way.
struct HeldTasksTests {
    private func job(_ ids: [String], _ change: (inout Job) -> Void = { _ in }) throws -> Job {
        var job = Job(name: "nightly", file: "job.yaml", baseDirectory: "/")
        job.sessions = [SessionConfiguration(name: "s")]
        for id in ids {
            job.tasks.append(
                TaskSpecification(
                    id: id, type: .download, session: SessionIndex(raw: 0),
                    location: .url(try ResourceURL.parse("https://example.org/\(id)")), destination: id, line: 1,
                    options: TaskOptions(TaskOptions.Values(policies: TransferPolicies()))))
        }
        change(&job)
        return job
    }

    private func status(
        _ tasks: [(String, WaitReason?)], running: [String] = [], trouble: String? = nil
    ) -> [SessionStatus] {
        var run = RunStatus(job: "nightly", startedAt: WallTime(nanoseconds: 0))
        run.tasks = running.map { RunStatus.Task(id: $0, state: .running) }
        run.tasks += tasks.map { RunStatus.Task(id: $0.0, state: .waiting, waitingFor: $0.1) }
        run.counts = [.running: running.count, .waiting: tasks.count]
        return [SessionStatus("a", run, trouble: trouble)]
    }

    @Test(arguments: [WaitReason.network, .power, .window, .earliestBegin, .suspended, .credential])
    func judge_whenAllWaitForMoreThanTime_isEverything(_ reason: WaitReason) throws {
        let held = HeldTasks(try job(["a", "b"])).judge(status([("b", reason), ("a", reason)]))
        #expect(held.isEverything && held.tasks.map(\.id) == ["a", "b"])
    }

    @Test(arguments: [WaitReason.backoff, .retryAfter, .hostParked, .hostLimit, .runLimit, .bandwidth])
    func judge_whenOneIsTriedAgainOrComesNext_isNotEverything(_ reason: WaitReason) throws {
        let held = HeldTasks(try job(["a", "b"])).judge(status([("a", .network), ("b", reason)]))
        #expect(!held.isEverything && held.tasks.map(\.id) == ["a"])
    }

    @Test func judge_whenOneRunsOrBeginsWithTheNextTurn_isNotEverything() throws {
        let tasks = HeldTasks(try job(["a", "b"]))
        #expect(!tasks.judge(status([("a", .network)], running: ["b"])).isEverything)
        #expect(!tasks.judge(status([("a", .network), ("b", nil)])).isEverything)
        #expect(!tasks.judge(status([])).isEverything, "all have ended")
        #expect(!tasks.judge([]).isEverything, "no process carries it")
    }

    /// What this command added may not have been taken in yet, and it may be able to run.
    @Test func judge_whileTheProcessDoesNotKnowATaskOfTheJob_isNotEverything() throws {
        var tasks = HeldTasks(try job(["a", "b", "added"]))
        let waits: [(String, WaitReason?)] = [("a", .window), ("b", .earliestBegin)]
        #expect(!tasks.judge(status(waits)).isEverything)
        #expect(!tasks.judge(status(waits + [("added", nil)])).isEverything)
        #expect(tasks.judge(status(waits + [("added", .network)])).isEverything)
        let end = TaskRecord(
            outcome: .succeeded, tolerated: false, changed: nil, source: nil, waits: [], error: nil, body: nil,
            lengthUnverified: false, captures: [], duration: .zero, explanation: nil)
        tasks.passed([
            Event(
                time: WallTime(nanoseconds: 0), sequence: 1, session: nil, task: TaskIndex(raw: 2),
                kind: .taskFinished(end))
        ])
        #expect(tasks.judge(status(waits)).isEverything, "it has ended")
    }

    @Test func judge_ofWhatNeedsAHeldTask_isThatItIsHeld() throws {
        let job = try job(["c", "b", "a"]) {
            $0.tasks[1].needs = [TaskIndex(raw: 2)]
            $0.tasks[0].needs = [TaskIndex(raw: 1)]
        }
        let waits: [(String, WaitReason?)] = [("b", .dependency), ("c", .dependency)]
        let held = HeldTasks(job).judge(status([("a", .window)] + waits))
        #expect(held.isEverything && held.tasks.map(\.id) == ["c", "b", "a"])
        // Another process carries what `b` needs.
        #expect(HeldTasks(job).judge(status(waits)).tasks.isEmpty)
    }

    @Test func judge_ofGroupsWithAHeldMember_isThatItsMembersAndWhatNeedsItAreHeld() throws {
        let job = try job(["a", "b", "after"]) {
            $0.groups = [GroupSpecification(name: "site", to: "site")]
            $0.tasks[0].group = GroupIndex(raw: 0)
            $0.tasks[1].group = GroupIndex(raw: 0)
            var values = $0.tasks[2].options.values
            values.neededGroups = ["site"]
            $0.tasks[2].options = TaskOptions(values)
        }
        let held = HeldTasks(job).judge(status([("a", .dependency), ("b", .power), ("after", .dependency)]))
        #expect(held.isEverything)
    }

    @Test func judge_afterATemplateBecameTasks_followsThem() throws {
        let job = try job(["template", "after"]) { $0.tasks[1].needs = [TaskIndex(raw: 0)] }
        var tasks = HeldTasks(job)
        let made = try self.job(["made"]).tasks
        tasks.passed([
            Event(
                time: WallTime(nanoseconds: 0), sequence: 1, session: nil, task: TaskIndex(raw: 0),
                kind: .expanded(Expansion(tasks: made, count: 1)))
        ])
        #expect(tasks.judge(status([("after", .dependency), ("made", .network)])).isEverything)
    }

    @Test func judge_whileNothingCanBeWrittenDown_isEverythingOnceNothingRuns() throws {
        let tasks = HeldTasks(try job(["a", "b"]))
        #expect(!tasks.judge(status([("a", nil)], running: ["b"], trouble: "full")).isEverything)
        let held = tasks.judge(status([("a", nil), ("b", nil)], trouble: "full"))
        #expect(held.isEverything && held.trouble == "full" && held.tasks.count == 2)
        #expect(tasks.judge(status([], trouble: "full")).isEverything, "the run cannot even begin")
    }
}
