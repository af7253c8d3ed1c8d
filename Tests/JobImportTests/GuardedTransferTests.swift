import JobImport
import Testing

/// A transfer that a script may not send is not in the job.
struct GuardedTransferTests {
    /// The script's other transfer, `whole`, is carried over; `x` is not, and is named.
    private static func expectLeftOut(_ script: String, _ count: Int = 1) {
        let result = JobImportTests.translated("curl -fO https://a.test/whole\n\(script)\n")
        #expect(result.taskCount == count, "\(script)\n\(result.text)")
        #expect(!result.text.contains("https://b.test"), "\(result.text)")
        #expect(result.warnings.contains { $0.contains("was left out") }, "\(result.warnings)")
    }

    @Test(arguments: [
        "[ \"$GO\" = yes ] && curl -X DELETE https://b.test/x", "grep -q ok st && curl -d a https://b.test/x",
        "[[ $GO == yes ]] && curl https://b.test/x", "! [ -e lock ] && curl https://b.test/x",
        "false && curl https://b.test/x", "which jq && curl https://b.test/x", "true || curl https://b.test/x",
        "[ -f x ] || curl https://b.test/x", "[ -f x ] && echo there && curl https://b.test/x",
        "[ -f x ] && { curl https://b.test/x; }", "[ -f x ] && (curl https://b.test/x)",
        "[ -f x ] || { curl https://b.test/x; }", "[ -f x ] && echo t | curl -d @- https://b.test/x",
        "{ [ -f x ]; } && curl https://b.test/x", "curl https://a.test/1 | grep -q x && curl https://b.test/x",
        "[ -f x ] && V=$(curl https://b.test/x | jq -r .v)",
    ])
    func behindACommandThatDecides(_ script: String) {
        Self.expectLeftOut(script, script.contains("a.test/1") ? 2 : 1)
    }

    @Test(arguments: [
        "read -p 'ok?' a; [ \"$a\" = y ] || exit\ncurl https://b.test/x",
        "exit 0\ncurl https://b.test/x", "if [ -f l ]; then echo usage; exit 1; fi\ncurl https://b.test/x",
        "OK=$(check)\n[ -z \"$OK\" ] && exit 1\ncurl https://b.test/x",
        "[ -z \"$A\" ] && make && exit 1\ncurl https://b.test/x",
        "if [ -z \"$A\" ]; then exit 1; else V=1; fi\ncurl https://b.test/x",
        "[ -n \"$HOOK\" ] && curl https://b.test/x", "E=\n[ -z \"$E\" ] && exit 1\ncurl https://b.test/x",
        "tar xf a.tgz || exit 1\ncurl https://b.test/x", "[ -f x ] || { echo no; exit 1; }\ncurl https://b.test/x",
        "die() { echo \"$1\"; exit 1; }\n[ -f x ] || die no\ncurl https://b.test/x", "return 0\ncurl https://b.test/x",
        "for h in a b; do [ \"$h\" = a ] || continue; curl https://b.test/$h; done",
        "for h in a b; do curl https://b.test/$h; [ -e stop ] && break; done", "exec true\ncurl https://b.test/x",
        "case $1 in go) ;; *) exit 1;; esac\ncurl https://b.test/x", "set -e\n[ -f x ]\ncurl https://b.test/x",
        "set -e\nfor h in a b; do curl -X DELETE https://b.test/$h; done",
        "set -e\necho 'ab  f' | sha256sum -c -\ncurl https://b.test/x",
        "set -e\ngpg --verify f.sig f\ncurl https://b.test/x",
        "set -e\nshasum -a 256 -c sums\ncurl https://b.test/x", "set -e\nunzip -t f.zip\ncurl https://b.test/x",
        "set -e\njq -e .ok f\ncurl https://b.test/x", "set -e\ngit diff --quiet\ncurl https://b.test/x",
        "set -e\nopenssl dgst -verify k f\ncurl https://b.test/x",
        "set -e\nif [ -f y ]; then cmp a b; fi\ncurl https://b.test/x",
        "set -e\nmake\ncurl -d a https://b.test/x", "set -e\nsh -c true\ncurl -T f https://b.test/x",
        "set -e\n(npm test)\ncurl -X DELETE https://b.test/x", "set -e\ntar xf f\ncurl -d a https://b.test/x",
        "set -e\ncd \"$D\"\ncurl -d a https://b.test/x",
        "set -e\nif [ -f y ]; then make; fi\ncurl -d a https://b.test/x",
        "(exit 1) && curl https://b.test/x", "until [ -f x ]; do sleep 1; done\ncurl https://b.test/x",
        "while ! curl -f https://b.test/y; do\n  sleep 1; date\ndone\ncurl https://b.test/x",
    ])
    func behindAnEnd(_ script: String) { Self.expectLeftOut(script) }

    @Test(arguments: [
        "mkdir -p d && curl https://b.test/x", "echo start && curl https://b.test/x", "V=1 && curl https://b.test/x",
        "mkdir -p d || exit 1\ncurl https://b.test/x", "( exit 1 )\ncurl https://b.test/x",
        "[ -z \"$X\" ] && X=1\ncurl https://b.test/x", "f() { exit 1; }\ncurl https://b.test/x",
        "[ -d d ] || mkdir d\ncurl https://b.test/x", "set -e\n[ -f x ] || true\ncurl https://b.test/x",
        "export V=1 && : && curl https://b.test/x", "set -e\nset +e\ncurl https://b.test/x",
        "set -e\nmkdir -p d; rm -f x; chmod 600 y\ncurl -d a https://b.test/x",
        "set -e\nmake || true\ncurl -d a https://b.test/x",
        "set -e\nif make -q; then :; fi\ncurl -d a https://b.test/x",
        "f() { make; }\nset -e\ncurl -d a https://b.test/x",
        "set -e\nsha256sum f\ncurl https://b.test/x", "(set -e; cmp a b; make)\ncurl -d a https://b.test/x",
    ])
    func whatNearlyAlwaysSucceeds_isNoGuard(_ script: String) {
        let result = JobImportTests.translated("#!/bin/sh\n\(script)\n")
        #expect(result.taskCount == 1, "\(script)\n\(result)")
    }

    @Test(arguments: [
        ("curl -o a https://a.test/a && curl -o b https://a.test/b", ["b: [a]"]),
        (
            "curl -o a https://a.test/a &&\n  curl -o b https://a.test/b && curl -o c https://a.test/c",
            ["b: [a]", "c: [b]"]
        ),
        (
            "curl -o a https://a.test/a || exit 1\ncurl -o b https://a.test/b\ncurl -o c https://a.test/c",
            ["b: [a]", "c: [a]"]
        ),
        ("curl -o a https://a.test/a || { echo no; exit 1; }\ncurl -o b https://a.test/b", ["b: [a]"]),
        (
            "set -euo pipefail\ncurl -o a https://a.test/a\ncurl -o b https://a.test/b\ncurl -o c https://a.test/c",
            ["b: [a]", "c: [b]"]
        ),
        ("#!/bin/sh -e\ncurl -o a https://a.test/a\ncurl -o b https://a.test/b", ["b: [a]"]),
        ("set -e\ncurl -o a https://a.test/a || true\ncurl -o b https://a.test/b", ["b: []"]),
        ("curl -o a https://a.test/a\ncurl -o b https://a.test/b", ["b: []"]),
        ("curl -fo a https://a.test/a || curl -o b https://a.test/b", ["b: failed [a]"]),
        ("(curl -o a https://a.test/a) && curl -o b https://a.test/b", ["b: [a]"]),
        ("if ! curl -o a https://a.test/a; then exit 1; fi\ncurl -o b https://a.test/b", ["b: [a]"]),
        ("curl -o a https://a.test/a && curl -o b https://a.test/b || exit 1\ncurl -o c https://a.test/c", ["c: [b]"]),
        ("set -e\nfor h in 1 2; do curl -o a$h https://a.test/$h; done\ncurl -o c https://a.test/c", ["c: [h-*]"]),
    ])
    func successOfATransfer_isANeed(_ script: String, _ needs: [String]) {
        let result = JobImportTests.translated(script.hasPrefix("#!") ? script : "#!/bin/sh\n\(script)\n")
        let blocks = result.text.split(separator: "  - id: ")
        for need in needs {
            let (id, rest) = (need.prefix(1), need.dropFirst(3))
            let block = blocks.first { $0.contains("https://a.test/\(id)\"\n") } ?? ""
            let listed = rest.hasPrefix("failed ") ? rest.dropFirst(7) : rest
            #expect(block.contains("needs: ") == (listed != "[]"), "\(result.text)")
            let quoted = listed.contains("*") ? "[\"\(listed.dropFirst().dropLast())\"]" : String(listed)
            #expect(listed == "[]" || block.contains("needs: \(quoted)"), "\(result.text)")
            #expect(block.contains("when: failed") == rest.hasPrefix("failed"), "\(result.text)")
        }
        #expect(result.warnings.isEmpty, "\(result.warnings)")
    }

    /// What changes nothing at a server runs all the same, and that is said once.
    @Test func commandThatMayEndTheScript_isNamedBeforeADownload() {
        let result = JobImportTests.translated(
            "set -e\napt-get install -y x\ncurl -O https://a.test/a\ncurl -O https://a.test/b\ncurl -d x https://b.test/\n"
        )
        #expect(result.taskCount == 2 && result.warnings.count == 3, "\(result)")
        #expect(result.warnings[1].hasPrefix("x:3: under `set -e` a failure of `apt-get` in line 2 keeps this"))
        #expect(result.warnings[2].hasPrefix("x:5: `set -e`, and `apt-get` in line 2, may keep it from running"))
    }

    @Test func alternativeOfACurlThatTakesErrorPages_isWarnedOf() {
        let result = JobImportTests.translated("curl -o a https://a.test/a || curl -d x https://a.test/b\n")
        #expect(result.taskCount == 2 && result.warnings.count == 1, "\(result)")
        #expect(result.warnings[0].contains("without `-f` curl succeeds with an error page"))
    }

    /// `when: failed` is of all that a task needs: with more than one transfer it would say another thing.
    @Test(arguments: [
        "set -e\ncurl -o a https://a.test/a\ncurl -o b https://a.test/b || curl https://b.test/x",
        "curl -o a https://a.test/a && curl -o b https://a.test/b || curl https://b.test/x",
        "curl -o a https://a.test/a || curl -o b https://a.test/b || curl https://b.test/x",
    ])
    func failureOfSeveral_isLeftOut(_ script: String) { Self.expectLeftOut(script, 3) }

    // MARK: Variables

    @Test(arguments: [
        "V=a\n[ -f x ] && V=b", "V=a\nsource ./env", ". ./env", "V=a\n[ -f x ] || { V=b; }", "V=a\nread V",
        "V=a\n((V++))",
        "V=a\nprintf -v V x", "V=a\nlet V=V+1", "V=a\nf() { V=b; }\nf", "V=a\nif [ -f x ]; then\n  V=b\nfi",
        "V=a\nwhile true; do V=b; done", "V=$RANDOM", "V=a\necho x | read V", "cd d; V=$PWD", "V=a\neval \"$X\"",
    ])
    func variableThatMayBeAnother_isUnknown(_ script: String) {
        Self.expectLeftOut(script + "\ncurl https://b.test/$V")
    }

    @Test(arguments: [
        ("V=a\n(V=b)", "a"), ("V=a\nf() { V=b; }", "a"), ("V=a\nV+=b", "ab"), ("V=a\ndeclare V=b", "b"),
        ("V=a\n(export V=b; true)", "a"), ("local V=c", "c"), ("typeset V=d", "d"), ("V=a\nunset V", ""),
        ("V=a\nmkdir d && V=b", "b"), ("V=a\nreadonly V=c", "c"), (". ./env\nV=e", "e"),
    ])
    func variable_hasTheValueOfItsPlace(_ script: String, _ value: String) {
        let result = JobImportTests.translated("\(script)\ncurl -d \"v=$V.\" https://a.test/x\n")
        let isSaid =
            result.text.contains("v=\(value).") || result.text.contains("V: \(value)\n")
            || result.text.contains("V: \"\(value)\"\n")
        #expect(result.taskCount == 1 && isSaid, "\(result)")
    }

    @Test func variableOfALoop_thatChangesInItsTurns_isUnknown() {
        Self.expectLeftOut("i=0\nfor f in a b; do curl https://b.test/$f/$i; i=1$i; done")
    }

    // MARK: Files

    @Test(arguments: [
        "pushd d", "[ -d d ] && cd d", "cd d; cd -", "if [ -d d ]; then cd d; fi", "popd", "f() { cd d; }; f",
    ])
    func folderThatOnlyTheScriptKnows_leavesRelativeFilesOut(_ script: String) {
        Self.expectLeftOut("\(script)\ncurl -T f https://b.test/x\ncurl -o f https://b.test/y")
        let result = JobImportTests.translated(
            "\(script)\ncurl -T /d/f https://b.test/x\n(cd /e && curl -T f https://b.test/y)\n")
        #expect(result.taskCount >= 1, "\(result)")
    }

    @Test(arguments: [
        "echo \"$1\" > b.json", "printf '%d' 1 > b.json", "cat > b.json <<EOF\n$(date)\nEOF", "rm b.json",
        "tar cf b.json d",
        "jq . a | tee b.json",
        "date >> b.json", "curl https://a.test/1 | jq . > b.json", "sed -i s/a/b/ ./b.json", "dd if=a of=b.json",
        "{ date; } > b.json", "curl --frobnicate -o b.json https://a.test/1", "if true; then cp a b.json; fi",
    ])
    func fileThatTheScriptWrites_isNotSent(_ script: String) {
        Self.expectLeftOut("\(script)\ncurl -d @b.json https://b.test/x", 1)
    }

    @Test(arguments: ["sha256sum f", "ls -l f", "cat f", "[ -f f ]"])
    func fileThatTheScriptReads_isSent(_ script: String) {
        let result = JobImportTests.translated("\(script)\ncurl -T f https://a.test/x\n")
        #expect(result.taskCount == 1, "\(result)")
    }

    @Test func cookiesThatTheScriptWrites_areNotSent() {
        Self.expectLeftOut("echo a > jar\ncurl -b jar https://b.test/x")
        let result = JobImportTests.translated("curl -c jar https://a.test/1\ncurl -b jar https://a.test/2\n")
        #expect(result.taskCount == 2, "\(result)")
    }

    @Test(arguments: [
        "curl -D f -o x https://a.test/1", "curl -c f -o x https://a.test/1", "curl -OJ https://a.test/1",
        "curl -o x https://a.test/1 2> f", "curl -O \"$U\"", "wget --content-disposition https://a.test/1",
        "curl --frobnicate -o a https://a.test/1 -D f", "curl --trace f -o x https://a.test/1",
    ])
    func fileBesideAnAnswer_isNotSent(_ script: String) {
        Self.expectLeftOut("\(script)\ncurl -T f https://b.test/x", script.contains("frob") ? 1 : 2)
    }

    @Test func answerThatIsAppended_isLeftOut() { Self.expectLeftOut("curl https://b.test/x >> log.txt") }
}
