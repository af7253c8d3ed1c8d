import Glibc
import Reporting
import TestSupport
import Testing
import TransferModel

@Suite struct KeptReportsTests {
    /// With `TRANSFER_RUN_KEEP_REPORTS=FOLDER` made-up reports and lines are left there, for tools/validate-reports.py:
    /// what another program's validator says of them counts more than what ours does.
    @Test(.enabled(if: getenv("TRANSFER_RUN_KEEP_REPORTS") != nil))
    func storiesAreKept() throws {
        let folder = getenv("TRANSFER_RUN_KEEP_REPORTS").map { String(cString: $0) } ?? ""
        var random = Seeded("storiesAreKept")
        for number in 0..<Rounds.scaled(20) {
            let story = Story(random: Seeded(seed: random.next()), tasks: random.below(60))
            let report = JSONReport(job: story.job, runner: runner)
            // One in five breaks off half way.
            let events = number % 5 == 4 ? story.events.prefix(story.events.count / 2) : story.events[...]
            report.consume(events)
            try report.write(to: "\(folder)/\(number).json")
            try EventLines(job: story.job, sink: DescriptorSink(creating: "\(folder)/\(number).ndjson")).consume(events)
        }
    }
}
