import JobImport
import Testing

/// What a script does beside its transfers is named, with what says it in a job.
struct NamedLossTests {
    @Test(arguments: [
        ("trap 'rm -f t' EXIT", "`trap` is not translated: `onFinish`"),
        ("echo 1.2 > VERSION.txt", "the file `VERSION.txt` that `echo` writes is not written"),
        ("printf x >> \"$OUT\"", "that `printf` writes is not written"),
        ("> empty", "the file `empty` that `>` writes"),
        ("umask u=rwx", "`umask` is not translated: `mode`"),
        ("sha256sum f", "the job does not verify the file, as `checksum`"),
        ("chmod +x f", "the job does not set the mode, as `mode`"),
        (
            "for x in $(ls); do curl -O https://a.test/$x; done",
            "`for` is not translated, as only the shell knows its values"
        ),
        (
            "for x in a b; do curl -O https://a.test/$x; [ -f y ] && exit; done",
            "`for` is not translated, as `exit` may end it early"
        ),
        ("for x in a b; do curl -O https://a.test/z; done", "as no transfer in it uses its value"),
        (
            "while date; do curl -O https://a.test/x; done",
            "`while` is not translated, as only the shell knows how often"
        ),
        ("if date; then curl -O https://a.test/x; fi", "`if` is not translated, as only the shell knows whether"),
        (
            "curl https://a.test/x | tar xz",
            "the pipe into `tar` is not translated (a job with this one transfer may stand there"
        ),
        ("curl https://a.test/x | sh", "`transfer-run JOB | sh …`): this curl was left out"),
        ("curl https://a.test/x | jq . > f", "this curl was left out"),
        ("curl https://a.test/x | jq .", "the pipe into `jq` is not translated: the job prints the whole answer"),
    ])
    func whatIsNotTranslated_isNamed(_ line: String, _ message: String) {
        let result = JobImportTests.translated("curl -O https://a.test/whole\n\(line)\n")
        #expect(result.warnings.contains { $0.contains(message) }, "\(result.warnings)")
    }

    @Test func pipeOfTheOnlyTransfer_mayBeThatOfTheJob() {
        let result = JobImportTests.translated("curl https://a.test/x | tar xz\n")
        #expect(
            result.taskCount == 1
                && result.warnings == ["x:1: the pipe into `tar` is not translated: write `transfer-run JOB | tar …`"])
        let loop = JobImportTests.translated("for x in a b; do curl https://a.test/$x | tar xz; done\n")
        #expect(loop.taskCount == 0, "\(loop)")
    }

    @Test func umask_isTheModeOfTheFilesAfterIt() {
        let result = JobImportTests.translated(
            "curl -o a https://a.test/1\numask 077\ncurl -o b https://a.test/2\n(umask 22; wget https://a.test/3)\ncurl -o d https://a.test/4\ncurl -T f -o e https://a.test/5\n"
        )
        let modes = result.text.split(separator: "\n").filter { $0.contains("mode: ") }.map {
            $0.filter { $0.isNumber }
        }
        #expect(modes == ["0600", "0644", "0600"] && result.warnings.isEmpty, "\(result)")
    }

    @Test(arguments: [
        ("0 5 * * 1 curl -O https://a.test/x", "a crontab", 1),
        ("# jobs\n@daily /usr/bin/wget https://a.test/x", "a crontab", 2),
        ("FROM debian\nRUN apt-get update && \\\n    curl -O https://a.test/x", "a Dockerfile", 3),
        ("all: x\n\t@curl -O https://a.test/x", "a Makefile", 2),
        ("$ curl -O https://a.test/x\nwget https://a.test/y", "what a terminal shows, with its prompt", 1),
    ])
    func fileThatHoldsCommandsOtherwise_isNamedOnce(_ text: String, _ what: String, _ line: Int) {
        let result = JobImportTests.translated(text + "\n")
        #expect(result.warnings == ["x:\(line): looks like \(what): give the commands alone"] && result.taskCount == 0)
    }

    @Test func leftOutTransfers_areCounted() {
        let script =
            "curl -O https://a.test/1\ncurl --frobnicate -H @x --nix https://a.test/2\nif date; then\ncurl https://a.test/3\nwget https://a.test/4\nfi\n"
        let result = JobImport.translate([ImportInput(name: "x", text: script)], origin: "x")
        #expect(result.taskCount == 1 && result.lostCount == 3, "\(result.warnings)")
    }
}
