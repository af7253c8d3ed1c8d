import Testing

@testable import CommandLineTool

@Suite struct LoadingAheadTests {
    @Test(arguments: [
        (["job.yaml"], true), (["run", "job.yaml"], true), (["-v", "job.yaml"], true), (["-"], true), (["--", "job.yaml"], true),
        (["--no-report", "run", "job.yaml"], true), ([], false), (["--version"], false), (["check", "job.yaml"], false),
        (["--no-color", "status"], false), (["help", "run"], false), (["explain", "report.json"], false),
    ])
    func aRunIsToldByItsFirstWord(_ words: [String], _ isRun: Bool) {
        #expect(LoadingAhead.looksLikeARun(words) == isRun)
    }

    @Test func whatIsNoTextMayBeAFile() {
        #expect(LoadingAhead.looksLikeARun([nil]))
    }
}
