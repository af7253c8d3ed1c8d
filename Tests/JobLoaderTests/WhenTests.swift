import JobLoader
import Testing
import TransferModel

/// `when`, and what `needs: ["*"]` means.
struct WhenTests {
    private func needs(_ tasks: String) throws -> [[UInt32]] {
        let result = load("tasks:\n\(tasks)")
        #expect(result.messages == "")
        return try #require(result.job).tasks.map { $0.needs.map(\.raw) }
    }

    @Test func theStar_isAllOtherTasksButThoseWithAWhen() throws {
        let needs = try needs(
            """
              - { id: a, url: https://example.org/a }
              - { id: tell, when: failed, needs: ["*"], url: https://example.org/t }
              - { id: b, url: https://example.org/b }
              - { id: clean, when: finished, needs: ["*"], url: https://example.org/c }
              - { id: last, needs: ["*"], url: https://example.org/l }
            """)
        #expect(needs == [[], [0, 2, 4], [], [0, 2, 4], [0, 2]])
    }

    @Test func anotherPattern_takesTasksWithAWhenToo() throws {
        let needs = try needs(
            """
              - { id: a-1, url: https://example.org/a }
              - { id: a-2, when: finished, needs: [a-1], url: https://example.org/b }
              - { id: c, when: finished, needs: ["a-*"], url: https://example.org/c }
            """)
        #expect(needs == [[], [0], [0, 1]])
    }

    @Test func namingTheEndOfATask_needsIt() throws {
        let needs = try needs(
            """
              - { id: a, url: https://example.org/a }
              - { id: b, url: https://example.org/b }
              - { id: c, when: failed, needs: [a], url: "https://example.org/c?${tasks.b.outcome}" }
            """)
        #expect(needs == [[], [], [0, 1]])
    }

    /// A capture of that name, a variable or a name of `forEach` means what it meant before.
    @Test func otherMeaningsGoFirst() throws {
        let job = try #require(
            load(
                """
                variables: { run: x }
                tasks:
                  - { id: a, url: https://example.org/a, capture: { outcome: { header: X } } }
                  - { id: b, url: "https://example.org/b?${tasks.a.outcome}" }
                  - { id: "c-${run.id}", forEach: { run: [{ id: 1, failed: no }] }, url: "https://example.org/${run.failed}" }
                """
            ).job)
        #expect(job.tasks[1].needs.map(\.raw) == [0])
        #expect(job.tasks[2].location.url?.text == "https://example.org/no")
    }

    @Test func valuesOfTheEnd_standInTheTask() throws {
        let job = try #require(
            load(
                """
                tasks:
                  - { id: a, url: https://example.org/a }
                  - id: c
                    when: finished
                    needs: ["*"]
                    url: https://example.org/c
                    body: { json: { failed: "${run.failed}", why: "${tasks.a.error}" } }
                """
            ).job)
        var captured = CapturedValues()
        captured.ends = RunEnds(of: job.tasks)
        captured.ends.count("a", .failed, tolerated: false, isPassedOver: false, message: "it said\r\n\"no\"")
        let filled = try job.tasks[1].filled(from: captured)
        guard case .json(.object(let members))? = filled.options.values.body else {
            Issue.record("no JSON body")
            return
        }
        #expect(members.map(\.value) == [.number("1"), .string("it said  \"no\"")])
    }

    /// A run that only `cancel` kept from succeeding is told as cancelled: not one in which something failed by itself.
    @Test func aRunThatACommandCancelled_isToldSo() throws {
        var ends = RunEnds.ofWholeRun
        let error = TransferError.cancelledByCommand
        #expect(ends.told(.failed) == .failed && ends.told(.succeeded) == .succeeded)
        ends.count(
            "a", .cancelled, tolerated: false, isPassedOver: false, message: error.message, error: error.name)
        ends.count("s", .skipped, tolerated: false, isPassedOver: false, message: "skipped", error: .dependencyFailed)
        ends.count("t", .failed, tolerated: true, isPassedOver: false, message: "tolerated", error: .timedOut)
        #expect(ends.told(.failed) == .cancelled && ends.told(.deferred) == .deferred)
        var captured = CapturedValues()
        captured.ends = ends
        #expect(try captured.value(RunEnds.run, "outcome").text == "cancelled")
        ends.count("b", .failed, tolerated: false, isPassedOver: false, message: "no way", error: .timedOut)
        #expect(ends.told(.failed) == .failed)
    }

    /// The first failure counts before what was cancelled earlier, and what is tolerated or skipped is none.
    @Test func theRunsError_isItsFirstCause() throws {
        var ends = RunEnds.ofWholeRun
        func error() throws -> CapturedValue {
            var captured = CapturedValues()
            captured.ends = ends
            return try captured.value(RunEnds.run, "error")
        }
        ends.count("t", .failed, tolerated: true, isPassedOver: false, message: "tolerated", error: .timedOut)
        ends.count("s", .skipped, tolerated: false, isPassedOver: false, message: "skipped", error: .dependencyFailed)
        #expect(try error().value == .null && error().text == "")
        ends.count("c", .cancelled, tolerated: false, isPassedOver: false, message: "cancelled", error: .runCancelled)
        #expect(try error().text == "c cancelled (runCancelled): cancelled")
        ends.count("a", .failed, tolerated: false, isPassedOver: false, message: "no\r\nway", error: .timedOut)
        ends.count("b", .failed, tolerated: false, isPassedOver: false, message: "later", error: .timedOut)
        #expect(try error().text == "a failed (timedOut): no  way")
    }

    /// A command at the run's end may name what became of the run, and nothing else of mid-run.
    @Test func commandsAtTheEnd_mayNameTheRunsError() throws {
        let tasks = "tasks: [{ id: a, url: https://example.org/a, capture: { x: { json: $.x } } }]\n"
        let result = load("onFinish: [./tell, \"${run.outcome}: ${run.error}\", \"${run.failed}\"]\n" + tasks)
        #expect(result.messages == "")
        #expect(result.job?.onFinish?.map(\.redacted) == ["./tell", "${run.outcome}: ${run.error}", "${run.failed}"])
        for word in ["${tasks.a.x}", "${run.error} ${tasks.a.x}", "${page}", "${run.nothing}"] {
            #expect(load("onFinish: [./tell, \"\(word)\"]\n" + tasks).job == nil, "\(word)")
        }
        let text = "tasks: [{ id: a, url: https://example.org/a, onFinish: [./tell, \"${run.error}\"] }]"
        #expect(load(text).messages.contains("cannot stand in `onFinish`"))
    }
}
