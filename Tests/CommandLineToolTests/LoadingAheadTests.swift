import Testing

@testable import CommandLineTool

@Suite struct LoadingAheadTests {
    @Test(arguments: [
        "job.yaml", "run job.yaml", "-v job.yaml", "-", "-- job.yaml", "--no-report run job.yaml",
        "--report r.json run",
    ])
    func aRunIsToldByItsFirstWord(_ words: String) {
        #expect(LoadingAhead.looksLikeARun(words.split(separator: " ").map(String.init)))
    }

    @Test(arguments: ["", "--version", "check job.yaml", "--no-color status", "help run", "explain report.json"])
    func allElseIsNone(_ words: String) {
        #expect(!LoadingAhead.looksLikeARun(words.split(separator: " ").map(String.init)))
    }

    @Test func whatIsNoTextMayBeAFile() {
        #expect(LoadingAhead.looksLikeARun([nil]))
    }
}
