import JobImport
import Testing

/// A guard that only asks whether a variable or an argument is there leaves nothing out.
struct ScriptGuardTests {
    @Test(arguments: [
        "[ -z \"$TOKEN\" ] && exit 1", "if [ -z \"$TOKEN\" ]; then\n  echo no >&2\n  exit 1\nfi",
        "[ -n \"$TOKEN\" ] || exit 1", "[ -n \"${TOKEN:-}\" ] || { echo usage; exit 2; }",
        "[[ -z $TOKEN || -z $OTHER ]] && { echo no; exit 1; }",
        "if [ -z \"$TOKEN\" ] || [ -z \"$2\" ]; then exit 1; fi",
        "test -z \"$TOKEN\" && exit", "if [ \"$TOKEN\" = \"\" ]; then usage; exit 1; fi",
    ])
    func guardOfAVariable_isAnErrorOfTheJob(_ script: String) {
        let result = JobImportTests.translated("#!/bin/bash\n\(script)\ncurl -d \"t=$TOKEN\" https://a.test/x\n")
        #expect(result.taskCount == 1 && result.text.contains("t=${env.TOKEN:?it is empty}"), "\(result)")
        #expect(result.warnings.contains { $0.contains("the guard of `$TOKEN` is not translated") }, "\(result)")
    }

    @Test(arguments: [
        "[ -z \"$1\" ] && exit 1", "if [ $# -lt 1 ]; then echo usage; exit 1; fi", "[ $# -eq 2 ] || exit 1",
        "V=a\n[ -z \"$V\" ] && exit 1", "usage() { echo u >&2; exit 1; }\n[ $# -ge 1 ] || usage",
        "die() {\n  echo \"$1\"\n  exit 1\n}\n[ -n \"$1\" ] || die 'no argument'",
        "log() { echo \"$1\"; }\ndie() { log \"$@\"; exit 1; }\n[ -n \"$1\" ] || die 'no argument'",
    ])
    func guardOfAnArgument_leavesNothingOut(_ script: String) {
        let result = JobImportTests.translated("#!/bin/bash\n\(script)\ncurl -X DELETE https://a.test/x\n")
        #expect(result.taskCount == 1, "\(result)")
    }

    @Test func guardOfAnAnswer_needsItsTransfer() {
        let result = JobImportTests.translated(
            "T=$(curl https://a.test/in | jq -r .t)\nif [ -z \"$T\" ]; then exit 1; fi\ncurl -X DELETE https://a.test/x\n"
        )
        #expect(result.taskCount == 2 && result.warnings.isEmpty, "\(result)")
        #expect(result.text.contains("method: DELETE") && result.text.contains("needs: [in]\n"), "\(result.text)")
        #expect(!result.text.contains("when: finished"))
    }

    /// A function that only prints is no command that may fail or write something.
    @Test func functionThatOnlyPrints_leavesNothingOut() {
        let log = "log() {\n  printf '%s\\n' \"$1\" >&2\n}\n"
        let result = JobImportTests.translated(
            "set -e\n\(log)log a && curl -T f https://a.test/1\nif log b; then :; fi\ncurl -d a https://a.test/2\n")
        #expect(result.taskCount == 2 && !result.warnings.contains { $0.contains("log") }, "\(result)")
        let piped = JobImportTests.translated("\(log)log a | curl -d @- https://a.test/1\n")
        #expect(piped.taskCount == 0 && piped.warnings.count == 1, "\(piped)")
        let other = JobImportTests.translated("log() { date > f; }\nlog\ncurl -T f https://a.test/1\n")
        #expect(other.taskCount == 0, "\(other)")
    }

    @Test func otherGuards_areToldOfOnce() {
        let result = JobImportTests.translated(
            "curl -d a https://a.test/\n[ \"$GO\" = y ] || exit\ncurl https://a.test/1\ncurl https://a.test/2\n")
        #expect(result.text.split(separator: "take what may end it before out").count == 2, "\(result.text)")
        #expect(result.text.contains("# x:1 sends something, and transfers after it were left out"), "\(result.text)")
    }

    @Test(arguments: [
        (
            "set -e\nsha256sum -c s\ncurl https://a.test/x",
            "under `set -e` `sha256sum` in line 3 may keep it from running"
        ),
        ("A=(*)\nfor x in \"${A[@]}\"; do curl https://a.test/$x; done", "as arrays are not read"),
        (
            "for i in 1 2; do for j in $i-a b; do curl https://a.test/$j; done; done",
            "as values that another loop changes are not read"
        ),
        ("exec > log.txt\ncurl https://a.test/x", "`exec > log.txt` is not translated"),
    ])
    func whatIsLeftOut_isNamedByItsCause(_ script: String, _ message: String) {
        let result = JobImportTests.translated("#!/bin/bash\n\(script)\n")
        #expect(result.warnings.contains { $0.contains(message) }, "\(result.warnings)")
    }
}
