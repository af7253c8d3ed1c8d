import BackgroundService
import JobRunner
import Stores
import TestSupport
import Testing
import TransferModel

/// Runs that wait for long, and when they are begun anew.
@Suite struct RestingRunsTests {
    private let run: JournalRun
    private let clock = ManualClock()

    init() throws {
        let tree = try TemporaryTree("resting")
        let journal = try Journal.open(folder: tree.path)
        let accepted = AcceptedRun(
            identifiers: ["a", "b"], job: "j", file: "j.yaml", folder: "/", createdAt: WallTime(nanoseconds: 1))
        run = try #require(try journal.run(try journal.accept(accepted, inputs: [], tasks: ["t"])))
    }

    private func look(
        _ runs: RestingRuns, notes: Int = 1, after span: TimeSpan = .zero, wall: TimeSpan? = nil
    ) -> TimeSpan? {
        runs.nextLook(run.id, notes: notes, now: clock.instant + span, wall: clock.wall + (wall ?? span))
            .map { $0 == .distantFuture ? .seconds(1 << 30) : $0 - clock.instant }
    }

    @Test func onlyALongPlainWaitIsARest() {
        #expect(RestingRuns.mayRest(.plain(nil)) && RestingRuns.mayRest(.plain(.seconds(300))))
        #expect(!RestingRuns.mayRest(.plain(.seconds(299))) && !RestingRuns.mayRest(.watching))
    }

    @Test func aRestEndsWhenSomethingFallsDue() {
        var runs = RestingRuns()
        runs.add(run, for: .seconds(600), notes: 1, now: clock.instant, wall: clock.wall)
        #expect(runs.count == 1 && runs.run(with: "b") == run && runs.run(with: "c") == nil)
        #expect(look(runs) == .seconds(60), "a clock may be set")
        #expect(look(runs, after: .seconds(599)) == .seconds(600))
        #expect(look(runs, after: .seconds(600)) == nil)
        // The machine slept, and one clock stood still.
        #expect(look(runs, after: .seconds(1), wall: .seconds(3600)) == nil)
        runs.remove(run.id)
        #expect(look(runs) == nil && !runs.has(run.id))
    }

    @Test func aRestEndsWhenAnotherProcessWroteSomething() {
        var runs = RestingRuns()
        runs.add(run, for: nil, notes: 1, now: clock.instant, wall: clock.wall)
        #expect(look(runs, after: .seconds(1 << 20)) == .seconds(1 << 30))
        #expect(look(runs, notes: 2) == nil)
        runs.keep(only: [])
        #expect(runs.count == 0)
    }
}
