import JobImport
import Testing

/// What comes after a command decides what becomes of it.
struct ScriptAheadTests {
    private static func expect(_ script: String, _ parts: [String], without absent: [String] = []) {
        let result = JobImportTests.translated(script + "\n")
        for part in parts { #expect(result.text.contains(part), "\(part)\n\(result.text)") }
        for part in absent { #expect(!result.text.contains(part), "\(part)\n\(result.text)") }
        #expect(JobImportTests.problems(result.text) == [], "\(result.text)")
    }

    // MARK: Names of loops

    @Test(arguments: ["page", "run", "raw", "vars"])
    func loopOverANameOfTheJobLanguage_keepsIt(_ name: String) {
        Self.expect(
            "for \(name) in 1 2; do curl -o p$\(name) \"https://a.test/?page=$\(name)\"; done",
            ["forEach: { \(name): [", "https://a.test/?page=${\(name)}", "to: \"p${\(name)}\""])
        Self.expect(
            "while read -r \(name); do curl -o p$\(name) https://a.test/; done < names.txt",
            ["forEach: { \(name): { lines: names.txt } }"])
    }

    @Test(arguments: ["env", "tasks", "secret"])
    func loopOverTheBeginningOfAReference_getsAnother(_ name: String) {
        let result = JobImportTests.translated(
            "while read -r \(name); do curl -o \"o$\(name)\" https://a.test/$\(name); done < names.txt\n")
        #expect(result.text.contains("forEach: { \(name)_: { lines: names.txt } }"), "\(result.text)")
        #expect(result.text.contains("https://a.test/${raw:\(name)_}"), "\(result.text)")
    }

    // MARK: Folders that may not be there

    @Test(arguments: [
        "(cd no || true; curl -O https://b.test/x)", "cd d 2>/dev/null || mkdir d\ncurl -O https://b.test/x",
        "cd d || { echo no; }\ncurl -O https://b.test/x", "cd d || curl -O https://b.test/x",
        "cd d || cd e\ncurl -O https://b.test/x",
    ])
    func afterAFolderThatMayNotBeThere_isLeftOut(_ script: String) {
        Self.expect("curl -O https://a.test/w\n\(script)", ["was left out"], without: ["https://b.test"])
    }

    @Test(arguments: [
        "cd d || exit 1\ncurl -O https://b.test/x", "cd d || { echo no; exit 1; }\ncurl -O https://b.test/x",
        "cd d && curl -O https://b.test/x", "die() { exit 1; }\ncd d || die\ncurl -O https://b.test/x",
    ])
    func afterAFolderThatMustBeThere_isInIt(_ script: String) { Self.expect(script, ["to: d/x"]) }

    // MARK: Failures that the script takes

    @Test(arguments: [
        "curl -O https://a.test/x || true", "curl -O https://a.test/x || echo failed", "curl -O https://a.test/x || :",
        "set -e\ncurl -O https://a.test/x || { echo no >&2; rm -f x; }", "wget https://a.test/x || true",
        "curl -fo x https://a.test/x || curl -fo x https://b.test/x || true",
    ])
    func failureThatTheScriptTakes_isAllowed(_ script: String) { Self.expect(script, ["allowFailure: true"]) }

    @Test(arguments: [
        "curl -O https://a.test/x || exit 1", "curl -O https://a.test/x || { echo no; exit 1; }",
        "curl -O https://a.test/x || false", "curl -O https://a.test/x", "curl -O https://a.test/x && echo done",
        "curl -O https://a.test/x || make",
    ])
    func otherFailure_isNot(_ script: String) { Self.expect(script, ["to: x"], without: ["allowFailure"]) }

    /// A failure that is allowed would be none for the second one.
    @Test func failureThatAnotherTransferMakesGood_isOne() {
        Self.expect(
            "curl -fo x https://a.test/x || curl -fo z https://b.test/x", ["when: failed"], without: ["allowFailure"])
    }

    @Test func secondPlaceOfAFile_isAnotherURLOrLeftOut() {
        Self.expect(
            "curl -sfL -o f https://a.test/x || wget -q -O f https://b.test/x",
            ["urls: [\"https://a.test/x\", \"https://b.test/x\"]", "to: f\n"])
        Self.expect(
            "curl -sf -o f https://a.test/x || wget -q -O f https://b.test/x",
            ["it writes `f` where line 1 fails", "this wget was left out"], without: ["https://b.test", "f.2"])
    }

    // MARK: Groups and pipes

    @Test(arguments: [
        "{ curl https://b.test/1; curl https://b.test/2; } > ab", "(echo a; curl https://b.test/1) > ab",
        "for x in 1 2; do curl https://b.test/$x; done > ab", "{ curl https://b.test/1; } >> ab",
        "{ curl https://b.test/1; curl https://b.test/2; } | tar x", "xargs -n1 curl < l > ab",
        "if curl -fO https://a.test/y; then curl https://b.test/1; fi > ab",
    ])
    func answersOfAGroupInOneFile_areLeftOut(_ script: String) {
        Self.expect(
            "curl -O https://a.test/w\n\(script)", ["was left out"], without: ["https://b.test", "url: \"${line}\""])
    }

    @Test func answerOfAGroupOfOne_isTheFile() {
        Self.expect("{ curl https://a.test/1; } > ab\ncurl -O https://a.test/w", ["to: ab"], without: ["left out"])
        Self.expect(
            "{ curl https://a.test/1; curl -o c https://a.test/2; } >/dev/null", ["to: c"], without: ["to: \"-\""])
        Self.expect("{ curl https://a.test/1; } | jq .\ncurl -O https://a.test/w", ["to: \"-\""])
    }

    @Test func documentOfCat_isTheBody() {
        Self.expect(
            "cat <<X | curl --data-binary @- https://a.test/\nplain $V\nX", ["data: \"plain ${env.V}\\n\""],
            without: ["left out", "not translated"])
        Self.expect("cat - <<'X' | curl -T - https://a.test/x\nplain $V\nX", ["data: \"plain $V\\n\""])
    }

    @Test func nameWithAnEncodedSlash_isCurlsName() {
        Self.expect("curl -O https://a.test/f%2fx.txt", ["to: \"f%2fx.txt\""])
    }

    // MARK: Cookies of wget

    @Test func cookiesOfTheSession_areSentWhereWgetSavesThem() {
        Self.expect(
            "wget --save-cookies c --keep-session-cookies https://a.test/1\nwget --load-cookies c https://a.test/2",
            ["https://a.test/2", "cookies: { file: c, save: true }"], without: ["no equal"])
        Self.expect(
            "wget --save-cookies c https://a.test/1\nwget --load-cookies c https://a.test/2",
            ["wget saves no cookie that ends with the session in `c`"], without: ["https://a.test/2"])
    }

    // MARK: What messages say

    @Test(arguments: [
        ("check() { [ -f x ] || exit 1; }\ncheck\ncurl https://a.test/x", "`check` in line 3 may keep it from running"),
        (
            "while true; do curl https://a.test/1; sleep 5; done\ncurl https://a.test/x",
            "the loop in line 2 may keep it"
        ),
        ("echo 'ab  f' | sha256sum -c", "`sha256sum` is not translated: the job does not verify the file"),
        ("D=$(date)\ncurl https://a.test/$D", "(set it before the run, by `export D=…`, and not in the script"),
        ("curl https://a.test/$1", "`$1` is known to the shell alone (an exported variable in its place"),
        ("T=$(mktemp)\ncurl -o \"$T\" https://a.test/", "`$(mktemp)` is known to the shell alone (write the path"),
        ("curl -H \"$H\" https://a.test/", "(write `-H \"Name: $VALUE\"`)"),
        ("curl -u \"$U\" https://a.test/", "(write `-u \"me:$PASSWORD\"`)"),
        ("curl -b \"$C\" https://a.test/", "(write `-b \"name=$VALUE\"`)"),
        ("c=$(curl -s -o /dev/null -w '%{http_code}' https://a.test/)", "`c` is the status (`expect: { status: 200 }`"),
    ])
    func messageSaysWhatToDo(_ script: String, _ part: String) {
        let result = JobImportTests.translated("curl -O https://a.test/w\n\(script)\n")
        #expect(result.warnings.contains { $0.contains(part) }, "\(result.warnings)")
    }

    @Test func lastLineWithoutAnEnd_isNoNoise() {
        let result = JobImportTests.translated(
            "while IFS= read -r l || [ -n \"$l\" ]; do curl -O https://a.test/$l; done < names.txt\n")
        #expect(result.text.contains("forEach: { l: { lines: names.txt } }") && result.warnings.isEmpty, "\(result)")
    }
}
