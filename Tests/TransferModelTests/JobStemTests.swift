import Testing
import TransferModel

@Suite struct JobStemTests {
    @Test(arguments: [
        ("jobs.yaml", "jobs"), ("ci/nightly.yml", "nightly"), ("/srv/a.b/nightly.transfer.yaml", "nightly"),
        ("nightly.transfer.yml", "nightly"), ("release-1.2.yaml", "release-1.2"), ("jobs", "jobs"),
        ("nightly.transfer", "nightly"), ("transfer.yaml", "transfer"), (".transfer.yaml", ".transfer"),
        (".jobs", ".jobs"), ("a.transfer.transfer.yaml", "a.transfer"), ("e\u{301}.transfer.yaml", "e\u{301}"),
        ("-", "stdin"), ("./-", "-"),
    ]) func stem_isTheFileNameWithoutItsEnding(path: String, stem: String) {
        #expect(Job.stem(of: path) == stem)
    }
}
