import Exports
import Testing
import TransferModel

@Suite struct FailureCausesTests {
    private func task(
        _ id: String, _ outcome: TaskOutcome = .failed, _ name: String = "unexpectedResponse", _ message: String,
        help: String = "", group: String? = nil
    ) -> ReportedTask {
        var task = ReportedTask()
        (task.id, task.outcome, task.group) = (id, outcome, group)
        var error = ReportedError()
        (error.name, error.message) = (name, message)
        task.error = error
        task.explanation = help.isEmpty ? message : "\(message). \(help)"
        return task
    }

    private func causes(_ tasks: [ReportedTask]) -> [FailureCauses.Cause] {
        var causes = FailureCauses()
        for (number, task) in tasks.enumerated() { causes.add(task, number: number) }
        return causes.list()
    }

    @Test func theSameErrorAtTwoURLsIsOneCause() {
        let list = causes([
            task("a", .failed, "timedOut", "no byte moved"),
            task("b", .failed, "unexpectedResponse", "GET http://h/1: 404 Not Found", help: "Check the URL."),
            task("c", .failed, "unexpectedResponse", "GET http://h/2: 404 Not Found", help: "Check the URL."),
        ])
        #expect(list.map { $0.tasks.map(\.id) } == [["b", "c"], ["a"]])
        #expect(list.map(\.help) == ["Check the URL.", ""])
        #expect(list[0].message == "GET http://h/1: 404 Not Found" && list[0].tasks.map(\.number) == [1, 2])
    }

    @Test func whatWasSkippedCountsUnderTheTaskWithWhichItBegan() {
        let list = causes([
            task("b", .skipped, "dependencyFailed", "`a`, which it needs, failed"),
            task("a", .failed, "timedOut", "no byte moved"),
            task("c", .skipped, "dependencyFailed", "`b`, which it needs, was skipped because `a` failed"),
            task("z", .skipped, "dependencyFailed", "`y`, which it needs, failed"),
        ])
        #expect(list.count == 2 && list[0].skipped == 2 && list[0].affected == 3)
        #expect(list[1].outcome == .skipped && list[1].tasks.map(\.id) == ["z"])
    }

    @Test func membersOfAGroupCountUnderTheOneThatFailed() {
        let members = (0..<50).map { task("m\($0)", .cancelled, "runCancelled", "another member", group: "site") }
        let list = causes(members + [task("bad", .failed, "timedOut", "no byte moved", group: "site")])
        #expect(list.count == 1 && list[0].unpublished == 50 && list[0].tasks.map(\.id) == ["bad"])
        let alone = causes(members)
        #expect(alone.count == 1 && alone[0].count == 50)
    }

    @Test func whatFailFastEndedCountsUnderTheFailure() {
        let stopped = task("b", .cancelled, "cancelled", TransferError.cancelledByFailFast.message)
        let list = causes([stopped, stopped, task("a", .failed, "timedOut", "no byte moved")])
        #expect(list.count == 1 && list[0].cancelled == 2)
    }

    @Test func whatSucceededOrWasToleratedIsNoCause() {
        var tolerated = task("a", .failed, "timedOut", "no byte moved")
        tolerated.tolerated = true
        var fine = tolerated
        (fine.outcome, fine.error) = (.succeeded, nil)
        #expect(causes([tolerated, fine]).isEmpty)
    }
}
