import CommandLineTool
import JobRunner
import Stores
import TestSupport
import Testing
import TransferModel

/// What `status` says of tasks that do not come on.
@Suite struct StatusTextTests {
    private let now = WallTime(nanoseconds: 1_800_000_000_000_000_000)
    private let refused = TransferError(.cannotConnectToHost, "127.0.0.1 port 18499 refused the connection")

    private func lines(_ tasks: [RunStatus.Task], namesAll: Bool = false, at now: WallTime?) throws -> [String] {
        var status = RunStatus(job: "nightly", startedAt: WallTime(nanoseconds: 0))
        for task in tasks { status.counts[task.state, default: 0] += 1 }
        status.tasks = tasks
        let view = StatusView(
            runs: [StatusView.Run(process: 7, status: status)],
            conditions: Conditions(networks: [], power: PowerState(source: .mains)))
        let folder = try StateFolder(directory: "/state", workingDirectory: nil) { _ in nil }
        let text = view.text(showsNetworks: false, namesAll: namesAll, folder: folder, now: now)
        return text.split(separator: "\n").dropFirst(2).map { $0.trimmingPrefix("    ").description }
    }

    @Test func taskThatIsTriedAgain_saysWhyAndWhen() throws {
        let next = now + .seconds(23)
        var tasks = [
            RunStatus.Task(
                id: "a", state: .waiting, waitingFor: .backoff, bytesReceived: 2048, attempts: 29, error: refused,
                nextAttemptAt: next),
            RunStatus.Task(
                id: "b", state: .waiting, waitingFor: .retryAfter, attempts: 1,
                error: TransferError(.unexpectedResponse, "the server answered 503"), nextAttemptAt: next),
            RunStatus.Task(
                id: "c", state: .waiting, waitingFor: .hostParked, error: refused,
                nextAttemptAt: next + .seconds(86_400)),
            RunStatus.Task(id: "d", state: .waiting, waitingFor: .window, attempts: 2, error: refused),
            RunStatus.Task(id: "e", state: .waiting, waitingFor: .backoff),
        ]
        #expect(
            try lines(tasks, at: now) == [
                "a: 127.0.0.1 port 18499 refused the connection; 29 attempts; tried again at 08:00:23 UTC (in 23.0s) "
                    + "(2.0 KiB)",
                "b: the server answered 503; 1 attempt; the server asked for quiet until 08:00:23 UTC (in 23.0s)",
                "c: 127.0.0.1 port 18499 refused the connection; its host is tried again at 2027-01-16 08:00:23 UTC "
                    + "(in 24h00m)",
                "d waits for the hours of its `window`; 2 attempts, the last one: 127.0.0.1 port 18499 refused the connection",
                "e waits for the pause before the next attempt",
            ])
        // What is shown below the earlier page changes with what happens alone.
        tasks = Array(tasks.prefix(1))
        #expect(try lines(tasks, at: nil)[0].contains("tried again at 2027-01-15 08:00:23 UTC (2.0 KiB)"))
    }

    @Test func taskUnderWay_isThereBeforeItsFirstByte() throws {
        let tasks = [
            RunStatus.Task(id: "a", state: .running, attempts: 1),
            RunStatus.Task(id: "b", state: .running, attempts: 3, error: refused),
            RunStatus.Task(id: "c", state: .running, bytesSent: 5, expected: 5, attempts: 1),
            RunStatus.Task(
                id: "d", state: .running, bytesReceived: 10, expected: 20, attempts: 2, startedOver: "the file changed"),
        ]
        #expect(
            try lines(tasks, at: now) == [
                "a: under way, no byte yet",
                "b: under way, no byte yet, attempt 3; the last one: 127.0.0.1 port 18499 refused the connection",
                "c: 5 B of 5 B sent, no answer yet",
                "d: 10 B of 20 B, attempt 2; started over: the file changed",
            ])
    }

    @Test func allAreNamed_whereThatIsAskedFor() throws {
        func tasks(_ count: Int) -> [RunStatus.Task] {
            (1...count).map { RunStatus.Task(id: "t\($0)", state: .waiting, waitingFor: .window) }
        }
        #expect(try lines(tasks(11), at: now).count == 11, "the last line could say no less")
        #expect(try lines(tasks(12), at: now).last == "and 2 more wait")
        let all = try lines(tasks(12) + [RunStatus.Task(id: "x", state: .waiting)], namesAll: true, at: now)
        #expect(all.count == 13 && all.last == "x begins as soon as it can")
        let some = [RunStatus.Task(id: "x", state: .waiting)]
        #expect(
            try lines(some + tasks(1), at: now) == [
                "t1 waits for the hours of its `window`", "x begins as soon as it can",
            ])
        #expect(try lines(some, at: now) == [], "it begins with the next turn")
        let running = (1...12).map { RunStatus.Task(id: "t\($0)", state: .running) }
        #expect(try lines(running, at: now).last == "and 2 more run")
    }
}

/// Without a place for state nobody can know what is there.
@Suite struct NoPlaceTests {
    @Test(arguments: [
        ["status"], ["status", "--json"], ["status", "x"], ["cancel", "x"], ["resume", "1"], ["reset", "s"],
    ])
    func commandThatNeedsState_endsWithFour(_ words: [String]) {
        var (output, errors) = ("", "")
        let console = Console(output: { output += $0 }, errors: { errors += $0 })
        let status = CommandLineTool.main(arguments: words, environment: [:], console: console)
        #expect(status == 4 && output.isEmpty)
        #expect(errors == "error: there is no place for state: set HOME, XDG_STATE_HOME or --state-dir\n")
    }
}
