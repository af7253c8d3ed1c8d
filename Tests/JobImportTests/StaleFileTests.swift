import JobImport
import Testing

/// A file that the script makes before it sends it is not sent as it was before the script ran.
struct StaleFileTests {
    @Test(arguments: [
        ("cp build/app.bin release/", "-T release/app.bin"), ("gzip -f db.sql", "-T db.sql.gz"),
        ("xz db.sql", "-T db.sql.xz"), ("bzip2 db.sql", "-T db.sql.bz2"), ("gpg -c db.sql", "-T db.sql.gpg"),
        ("tar xzf a.tgz", "-T app/readme"), ("./build.sh", "--data-binary @out.bin"), ("make", "-F f=@app"),
        ("build() { make; }\nbuild", "-T app"), ("if [ -f x ]; then make; fi", "-T app"), ("(make)", "-T app"),
        ("make", "-b jar"), ("openssl req -x509", "--cacert ca.pem"), ("echo x > \"$OUT\"", "-T app"),
        ("sed -i s/a/b/ *.json", "-d @a.json"), ("curl -O \"$1\"", "-T app"), ("env X=1 make", "-T app"),
        ("curl https://a.test/1 | tar xz", "-T app"), ("wget -i \"$1\"", "-T app"),
    ])
    func fileThatACommandMayHaveWritten_isNotSent(_ command: String, _ option: String) {
        let result = JobImportTests.translated("\(command)\ncurl \(option) https://b.test/x\n")
        #expect(!result.text.contains("https://b.test"), "\(result.text)")
        #expect(
            result.warnings.contains { $0.contains(" may have written `") && $0.hasSuffix(": this curl was left out") },
            "\(result)")
    }

    @Test(arguments: ["mv build/* release/", "zip -r a.zip d"])
    func patternThatACommandMayHaveMade_isNotSent(_ command: String) {
        let result = JobImportTests.translated(
            "\(command)\nfor f in release/*; do curl -T \"$f\" https://b.test/; done\n")
        #expect(result.taskCount == 0, "\(result.text)")
        let program = command.prefix { $0 != " " }
        #expect(result.warnings.contains { $0.contains("`\(program)` in line 1 may have written `") }, "\(result)")
    }

    @Test(arguments: [
        "log() { echo \"$1\"; }\nlog start", "echo a; mkdir -p d; sleep 1; date; set -u", ". ./env",
        "TAG=$(git describe)",
        "git rev-parse HEAD", "sed s/a/b/ g", "echo x > other", "rm -rf tmp", "ls *.txt", "apt-get install -y curl",
        "curl https://a.test/1 | jq .", "sha256sum -c sums", "make; curl -o f https://a.test/f",
        "f() { make; }", "tee log < in", "echo hi | awk '{ print $1 }'",
    ])
    func fileThatNothingMayHaveWritten_isSent(_ command: String) {
        let result = JobImportTests.translated("\(command)\ncurl -T f https://b.test/x\n")
        #expect(result.text.contains("body: { file: f }"), "\(result)")
    }

    @Test func listOfNames_isSentUnderThem() {
        let result = JobImportTests.translated(
            "for f in a.txt 'b c.txt'; do curl -T \"d/$f\" https://a.test/up/; done\n")
        #expect(result.text.contains("url: \"https://a.test/up/${f}\"") && result.warnings.isEmpty, "\(result)")
        let folders = JobImportTests.translated("for f in a d/b; do curl -T \"$f\" https://a.test/up/; done\n")
        #expect(folders.taskCount == 0, "\(folders)")
    }

    @Test(arguments: ["-d \"$(cat f.json)\"", "--data-raw \"$(< f.json)\"", "--json \"$(cat f.json)\""])
    func dataOfCat_isTheFileWithoutItsLastLineBreaks(_ option: String) {
        let result = JobImportTests.translated("#!/bin/bash\ncurl \(option) https://a.test/\n")
        #expect(
            result.text.contains("command: [sh, \"-c\", \"printf %s \\\"$(cat -- \\\"$0\\\")\\\"\", f.json]"),
            "\(result)")
        let type = option.hasPrefix("--json") ? "application/json" : "application/x-www-form-urlencoded"
        #expect(result.text.contains("contentType: \(type)\n") && result.warnings.isEmpty, "\(result)")
        let written = JobImportTests.translated("#!/bin/bash\ndate > f.json\ncurl \(option) https://a.test/\n")
        #expect(written.taskCount == 0, "\(written)")
        let after = JobImportTests.translated(
            "#!/bin/bash\ncurl -o f.json https://a.test/1\ncurl \(option) https://a.test/\n")
        #expect(after.text.contains("needs: [\"1\"]\n"), "\(after)")
    }

    /// A text that the script writes before it sends it is the body itself.
    @Test(arguments: [
        (
            "cat > b.json <<X\n{ \"a\": \"$V\",\n \"b\": 1 }\nX", "--data-binary @b.json",
            "{ \\\"a\\\": \\\"${env.V}\\\",\\n \\\"b\\\": 1 }\\n"
        ),
        ("set -e\ncurl -O https://a.test/1\necho '{}' > b.json", "-d @b.json", "{}"),
        ("echo '{}' > ./b.json", "-d @b.json", "{}"), ("printf x > b.json", "-T b.json", "data: x"),
        ("cat <<'X' > b.json\n{ $A }\nX\ncurl -O https://a.test/1", "-d @b.json", "{ $A }"),
    ])
    func textThatTheScriptWrites_isTheBody(_ script: String, _ option: String, _ body: String) {
        let result = JobImportTests.translated("\(script)\ncurl \(option) https://b.test/\n")
        #expect(result.text.contains("https://b.test/") && result.text.contains(body), "\(result)")
    }

    @Test(arguments: [
        "[ -f x ] && echo a > b.json", "echo a > b.json\nmake", "echo a > b.json\necho b >> b.json",
        "if [ -f x ]; then echo a > b.json; fi", "echo a > b.json\ncurl -o b.json https://a.test/1\ndate > b.json",
        "cd d; echo a > b.json", "date | cat > b.json", "echo a | tee b.json", "echo \"$(date)\" > b.json",
        "echo a > b.json\nrm b.json", "f() { echo a > b.json; }", "echo a > b.json &", "printf '%d' 1 > b.json",
    ])
    func textThatMayBeAnother_isNotSent(_ script: String) {
        let result = JobImportTests.translated("\(script)\ncurl -d @b.json https://b.test/\n")
        #expect(!result.text.contains("https://b.test/"), "\(result)")
    }

    @Test func nameOfAFileOfALoop_isItsName() {
        let result = JobImportTests.translated(
            "for f in d/*.jpg; do n=$(basename \"$f\"); curl -T \"$f\" \"https://a.test/up/$n?x=1\"; done\n")
        #expect(
            result.text.contains("url: \"https://a.test/up/${f.name}?x=1\"") && result.warnings.isEmpty, "\(result)")
    }

    @Test func encodedSlashInAName_staysEncoded() {
        let result = JobImportTests.translated("wget 'https://a.test/d/c%2Fd.txt'\n")
        #expect(result.text.contains("to: \"c%2Fd.txt\""), "\(result.text)")
    }
}
