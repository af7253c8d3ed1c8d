import Diagnostics
import JobImport
import JobLoader
import TestSupport
import Testing
import TransferModel

/// What other programs are told, as a job file: goldens of the text, and each passes the check of a job.
struct JobImportTests {
    /// Inputs by the name of their golden.
    static let inputs: [(name: String, text: String)] = ImportSamples.all

    @Test(arguments: inputs.map(\.name))
    func becomesAJobThatPassesTheCheck(_ name: String) throws {
        let text = try #require(Self.inputs.first { $0.name == name }?.text)
        let result = JobImport.translate([ImportInput(name: name, text: text)], origin: name)
        let warnings = result.warnings.map { "\($0.place): \($0.message)\n" }.joined()
        try Snapshot.check(result.text + "---\n" + warnings, "Golden/\(name).txt")
        #expect(Self.problems(result.text) == [])
    }

    /// Errors that `check` finds in a job.
    static func problems(_ text: String) -> [String] {
        let source = SourceText(name: "/job/jobs.yaml", bytes: Array(text.utf8))
        let resources = Resources(
            environment: { _ in nil },
            readFile: { path, _ in
                .success(Array((path.hasSuffix("/names.txt") ? "a\n" : "https://list.test/a\n").utf8))
            },
            listFiles: { _, _ in .success([Array("a.jpg".utf8)]) },
            workingDirectory: "/here")
        let result = JobLoader.load(source, options: LoadOptions(), resources: resources, missingValues: .tolerated)
        return result.diagnostics.sorted().filter { $0.severity == .error }.map {
            "\($0.span?.line ?? 0): \($0.message)"
        }
    }

    /// No secret of a command line stands in the text, whichever option brought it.
    @Test(arguments: [
        "curl -u me:hunter2 https://a.test/", "curl https://me:hunter2@a.test/ -o x",
        "curl -H 'Authorization: Bearer hunter2' https://a.test/", "curl -H 'PRIVATE-TOKEN: hunter2' https://a.test/",
        "curl -b 'sid=hunter2' https://a.test/", "curl --oauth2-bearer hunter2 https://a.test/",
        "curl -U p:hunter2 -x http://p.test https://a.test/", "curl -x http://p:hunter2@p.test https://a.test/",
        "curl -E c.pem:hunter2 https://a.test/", "wget --user=me --password=hunter2 https://a.test/x",
        "wget --header='Authorization: Basic hunter2' https://a.test/x", "wget https://me:hunter2@a.test/x",
        "T=hunter2\ncurl -H \"Authorization: Bearer $T\" https://a.test/", "user = \"me:hunter2\"\nurl = \"a.test\"",
        "https://a.test/x\n  http-user=me\n  http-passwd=hunter2\n  header=X-Api-Key: hunter2",
        "ftp://me:hunter2@a.test/x\thttps://b.test/x", "curl --aws-sigv4 aws:amz:eu:s3 -u key:hunter2 https://a.test/",
        "curl -d 'user=me&password=hunter2' https://a.test/", "curl 'https://a.test/x?a=1&api_key=hunter2' -O",
        "wget --post-data 'pw=hunter2' https://a.test/x", "curl -F client_secret=hunter2 https://a.test/",
        "curl -u hunter2: https://a.test/", "curl 'https://a.test/x?sv=1&sig=hunter2' -O",
        "curl -O 'https://a.test/x?X-Amz-Date=1&X-Amz-Signature=hunter2'",
        "curl -H 'X-JFrog-Art-Api: hunter2' https://a.test/", "curl -F api_token=hunter2 https://a.test/",
        "curl -H 'Ocp-Apim-Subscription-Key: hunter2' https://a.test/", "curl -H 'X-My-Token: hunter2' https://a.test/",
        "curl -d '{\"user\": \"me\", \"password\" : \"hunter2\"}' https://a.test/",
        "curl --json '[{\"a\": {\"clientSecret\":\"hunter2\"}}]' https://a.test/",
        "curl -d 'user[password]=hunter2' https://a.test/", "curl https://hunter2hunter2hunter2@a.test/ -o x",
        "curl https://api.test/bot123456789:AAhunter2hunter2hunter2/getMe",
        "D='{\"password\": \"hunter2\"}'\ncurl -d \"$D\" https://a.test/",
        "Q='a=1&token=hunter2'\ncurl -d \"$Q\" https://a.test/",
        "API_TOKEN=hunter2\ncurl -d \"x=1&y=$API_TOKEN\" https://a.test/",
        "curl -d @- https://a.test/ <<EOF\n{ \"token\": \"hunter2\" }\nEOF",
        "echo '{\"secret\":\"hunter2\"}' | curl -d @- https://a.test/",
        "curl -d 'payload={\"token\":\"hunter2\"}' https://a.test/",
        "curl --data-urlencode 'payload={\"token\":\"hunter2\"}' https://a.test/",
        "curl -F 'json={\"password\":\"hunter2\"};type=application/json' https://a.test/",
        "curl -e 'http://r.test/?token=hunter2' https://a.test/",
        "wget --referer='http://r.test/?token=hunter2' https://a.test/",
        "curl -H 'X-From: http://r.test/?token=hunter2' https://a.test/",
        "curl -d 'url=http://r.test/?token=hunter2' https://a.test/",
        "curl --json '{\"url\":\"http://r.test/?token=hunter2\"}' https://a.test/",
        "API_TOKEN=hun\nAPI_TOKEN+=ter2\ncurl -d \"x=$API_TOKEN\" https://a.test/",
        "curl --data-urlencode 'password=hunter2&w +1' https://a.test/",
        "curl -H \"X-Api-Key: ${KEY:-hunter2}\" https://a.test/",
        "curl -G -d token=hunter2 https://a.test/", "U='https://a.test/x?access_token=hunter2'\ncurl -O \"$U\"",
    ])
    func aSecretIsNeverWritten(_ text: String) {
        let result = JobImport.translate([ImportInput(name: "x", text: text)], origin: "x")
        #expect(!result.text.contains("hunter2") && !result.warnings.contains { $0.message.contains("hunter2") })
        #expect(result.text.contains("secret."), "\(result.text)")
        #expect(Self.problems(result.text) == [], "\(result.text)")
    }

    /// A list of secrets is in no job.
    @Test(arguments: [
        "for t in hunter2 b; do curl -H \"Authorization: Bearer $t\" https://a.test/; done",
        "for k in hunter2 b; do curl -u \"me:$k\" -O \"https://a.test/x/$k\"; done",
        "for k in hunter2 b; do curl -O \"https://a.test/x?api_key=$k\"; done",
        "for u in https://me:hunter2@a.test/x https://b.test/; do curl -O $u; done",
        "while read -r p; do curl -d \"password=$p\" https://a.test/l; done <<X\nhunter2\nX",
    ])
    func aListOfSecretsIsLeftOut(_ loop: String) {
        let text = "curl -O https://a.test/y\n" + loop
        let result = JobImport.translate([ImportInput(name: "x", text: text)], origin: "x")
        #expect(!result.text.contains("hunter2") && result.taskCount == 1, "\(result.text)")
        #expect(!result.warnings.isEmpty && Self.problems(result.text) == [], "\(result.text)")
    }

    /// What a shell makes of a word decides what it is.
    @Test(arguments: [
        ("OPTS=\"\"\ncurl $OPTS -o a https://a.test/a", ["to: a"]),
        ("curl ${CURL_OPTS:-} https://a.test/a -o a", ["url: \"https://a.test/a\"", "to: a"]),
        ("curl -o $TARGET https://a.test/a", ["to: \"${env.TARGET}\""]),
        ("curl -T x.txt https://a.test", ["url: \"https://a.test/x.txt\""]),
        ("curl -T x.txt 'https://a.test/z/?q=1'", ["url: \"https://a.test/z/x.txt?q=1\""]),
        ("curl \"https://a.test/x?$ARGS\"", ["https://a.test/x?${raw:env.ARGS}"]),
        ("P=px.test:3128\ncurl -x $P https://a.test/ -o a", ["proxy: \"http://px.test:3128\""]),
        ("curl -x $PROXY https://a.test/ -o a", ["proxy: \"${env.PROXY}\"", "a whole URL"]),
        ("curl -F 'n=a=@b,c' -F k=1 https://a.test/", ["data: \"a=@b,c\""]),
        ("V='1&2'\ncurl --data-urlencode \"n=$V\" -d \"k=$V\" https://a.test/", ["is not encoded here"]),
        ("curl -F 'n= v ; more' https://a.test/", ["data: v }"]),
        (
            "curl -F 'n=\"v ; \\\"more\";type=a/b; c=d' https://a.test/",
            ["data: \"v ; \\\"more\", contentType: \"a/b; c=d\""]
        ),
        (
            "curl -H 'User-Agent: mine' -A other -b a=1 -H 'Cookie: b=2' https://a.test/",
            ["User-Agent: mine", "COOKIE"]
        ),
        ("curl -H 'Content-Type:' -d x https://a.test/", ["contentType: none"]),
        ("curl -H 'Accept:' -H 'Expect:' -H 'X-A;' https://a.test/", ["leaving out the header `Accept`", "X-A: \"\""]),
        ("curl -H 'Host: a.test' -H 'Connection: close' https://a.test/", ["`Connection` is of the connection"]),
        ("curl -I https://a.test/x", ["method: HEAD", "the headers that `--head` prints are in the report"]),
        ("curl --proto '=https' --proto-redir '=https' https://a.test/x", ["url: "]),
        ("curl --proto '=http' https://a.test/x", ["`--proto` has no equal"]),
        ("wget --header='A: 1' --header='a: 2' https://a.test/x", ["headers: { A: \"2\" }"]),
        ("curl -c jar https://a.test/in\ncurl -k -b jar https://a.test/b", ["its cookies of `jar` are in the session"]),
    ])
    func aWordIsWhatAShellMakesOfIt(_ text: String, _ parts: [String]) {
        let result = Self.translated(text)
        for part in parts { #expect(result.text.contains(part), "\(result.text)") }
    }

    /// A secret that a variable holds is taken out of the variable, too.
    @Test(arguments: [
        "C=bob:hunter2\ncurl -u $C https://a.test/ -o a", "C=bob:hunter2\nA=\"-u $C\"\ncurl $A https://a.test/ -o a",
        "A=\"-u bob:hunter2\"\nB=\"$A -s\"\ncurl $B https://a.test/ -o a",
        "P=http://u:hunter2@px.test:3128\ncurl -x $P https://a.test/ -o a",
        "P=u:hunter2@px.test:3128\ncurl -x $P https://a.test/ -o a",
        "U=https://bob:hunter2@a.test/dir\ncurl -O $U/a\ncurl -o b \"$U/b\"",
        "T=hunter2\nO=\"-s --oauth2-bearer $T\"\ncurl $O https://a.test/ -o a",
    ])
    func aVariableWithASecretIsNotWritten(_ text: String) {
        let result = Self.translated(text)
        #expect(!result.text.contains("hunter2") && result.text.contains("${secret."), "\(result.text)")
    }

    static func translated(_ text: String) -> (text: String, warnings: [String], taskCount: Int) {
        let result = JobImport.translate([ImportInput(name: "x", text: text)], origin: "x")
        #expect(problems(result.text) == [], "\(result.text)")
        return (result.text, result.warnings.map { "\($0.place): \($0.message)" }, result.taskCount)
    }

    @Test(arguments: [
        "V=$(curl -fsSL https://a.test/latest | awk '{print $2}')", "X=`curl https://a.test/x | wc -l`",
        "echo \"$(curl https://a.test/x)\"", "TOKEN=$(curl -X POST https://a.test/login | jq -r '.a)')",
        "source <(curl -s https://a.test/x)", "for x in $(curl https://a.test/x); do echo $x; done",
        "A=($(wget -qO- https://a.test/x))",
    ])
    func commandSubstitution_withATransfer_isNamed(_ line: String) {
        let result = Self.translated("#!/bin/sh\n\(line)\ncurl -O https://a.test/y\n")
        let said = result.warnings.filter { $0.hasPrefix("x:2: the ") && $0.contains("in a command substitution") }
        #expect(said.count == 1 && result.taskCount == 1, "\(result)")
        #expect(result.text.contains("in a command substitution was left out"))
        #expect(said.first?.contains("`capture`") == line.prefix { $0 != "=" }.allSatisfy { $0.isUppercase })
    }

    @Test func subshellOnOneLine_endsThere() {
        let result = Self.translated("( cd dl && curl -fO https://a.test/one )\ncurl -O https://a.test/two\n")
        #expect(result.taskCount == 2 && result.warnings.isEmpty, "\(result)")
        #expect(result.text.contains("to: dl/one\n") && result.text.contains("to: two\n"))
    }

    @Test func transfersInLoopsAndConditions_areNamedEach() {
        let script = """
            f() { wget https://a.test/1; }
            case $1 in curl|wget) curl https://a.test/2;; esac
            if [[ $a == (b|c) ]]; then
              eval "curl https://a.test/3"
              ssh host curl https://a.test/4
            fi
            bash -c "curl https://a.test/5"
            curl -O https://a.test/6
            """
        let result = Self.translated("#!/bin/bash\n" + script)
        let lines = result.warnings.filter { $0.contains("left out") && !$0.contains("the commands in it") }
            .map { String($0.prefix(3)) }
        #expect(lines == ["x:2", "x:3", "x:5", "x:6", "x:8"], "\(result)")
        #expect(result.taskCount == 1)
    }

    @Test func transferInAFunction_isSaidToBeInOne() {
        let script = "get() {\n  curl -O \"$1\"; return\n}\nfor f in $(x); do curl -O https://a.test/$f; done\nget x\n"
        let result = Self.translated("#!/bin/bash\n" + script + "curl -O https://a.test/y\n")
        #expect(result.warnings.contains("x:3: this curl is in a function: it was left out"), "\(result)")
        #expect(result.warnings.contains("x:5: this curl is in a loop or a condition: it was left out"))
    }

    @Test(arguments: ["source <(curl -s https://a.test/x)", "bash -c \"$(wget -qO- https://a.test/x)\""])
    func transferThatAShellRuns_isWarnedOfOnce(_ line: String) {
        let result = Self.translated("#!/bin/sh\n\(line)\ncurl -O https://a.test/y\n")
        #expect(result.warnings.count == 1, "\(result)")
    }

    @Test(arguments: [
        ("curl -O \"$U\"", "./"), ("wget \"$U\"", "./"), ("wget -P d ${U:-https://a.test/x.iso}", "d/"),
        ("U=https://a.test/x.iso\ncurl -O $U", "x.iso"), ("U=https://a.test/x.iso\nwget -P d $U", "d/x.iso"),
        ("U=https://a.test\ncurl -O $U/y/$V.iso", "${env.V}.iso"), ("wget https://a.test", "index.html"),
        ("wget -P d https://a.test/b/?x=1", "d/index.html?x=1"),
    ])
    func fileIsNamed_asTheProgramDoes_whereTheURLIsKnown(_ script: String, _ to: String) {
        let result = Self.translated("#!/bin/sh\n\(script)\n")
        let quoted = to.allSatisfy { $0.isLetter || "/.".contains($0) } && to.first != "." ? to : "\"\(to)\""
        #expect(result.text.contains("    to: \(quoted)\n"), "\(result.text)")
        #expect(result.text.contains("the variable must hold a whole URL") == to.hasSuffix("/"))
    }

    @Test func hostInAVariable_isGivenItsScheme() {
        let result = Self.translated("#!/bin/sh\nH=a.test:80\ncurl -O $H/x\n")
        #expect(result.text.contains("url: \"http://${raw:H}/x\"\n"), "\(result.text)")
    }

    /// The shell puts a variable into a URL as it is.
    @Test func variableInAURL_isNotEncoded_whereItsValueWouldChange() {
        let result = Self.translated(
            "#!/bin/sh\nH=a.test:80\nB=http://$H\nQ='a=1&b=2'\nV=1.2\ncurl -O \"http://$H/v$V?$Q\"\ncurl -O $B/y\n"
                + "curl -G --data-urlencode \"q=$Q\" -o z http://$H/z\n wget http://$E/w\n")
        #expect(result.text.contains("url: \"http://${raw:H}/v${V}?${raw:Q}\"\n"), "\(result.text)")
        #expect(result.text.contains("url: \"${B}/y\"\n") && result.text.contains("url: \"http://${raw:env.E}/w\"\n"))
        #expect(result.text.contains("url: \"http://${raw:H}/z?q=${Q}\"\n"))
    }

    @Test func variableOfAHereDocument_isOneOfTheJob() {
        let result = Self.translated("#!/bin/sh\nNAME=x\ncurl -d @- https://a.test/ <<EOF\nto $NAME\nEOF\n")
        #expect(result.text.contains("variables:\n  NAME: x\n"), "\(result.text)")
    }

    /// What one command saves, the next one has: in one session, one after the other.
    @Test(arguments: [
        "curl -c jar -d a=1 https://a.test/in\ncurl -b jar -o p https://a.test/p\ncurl -b jar -o q https://a.test/q\n",
        "wget --save-cookies jar -O- https://a.test/in\nwget --load-cookies jar -O p https://a.test/p\n",
    ])
    func cookieJar_isSharedInOrder(_ script: String) {
        let result = Self.translated("#!/bin/sh\n" + script)
        #expect(
            result.text.contains("  default:\n    cookies: { file: jar, save: true }\n    cache: none\ntasks:"),
            "\(result.text)")
        let needs = result.text.split(separator: "\n").filter { $0.contains("needs:") }
        #expect(needs.count == result.taskCount - 1)
    }

    @Test(arguments: [
        ("aria2c -x4 -s 8 -o a.iso -d dl https://a.test/x https://b.test/x", "segments: 4|to: dl/a.iso|urls: ["),
        ("aria2c --header 'Cookie: a=b' https://a.test/x https://b.test/x", "COOKIE: { hosts: [a.test, b.test] }"),
        ("aria2c -Zc https://a.test/x https://a.test/z", "to: x|to: z"),
        (
            "aria2c -d dl -i list.txt\ncurl -O https://a.test/x",
            "forEach: { url: { lines: list.txt } }|to: dl/|each line of the list is taken for a URL"
        ),
        ("aria2c -j 3 --max-overall-download-limit=1M https://a.test/", "maximumConcurrentTasks: 3|to: index.html"),
        (
            "aria2c --retry-wait=x --header 'X-A: b' $U",
            "`retry-wait` of aria2 is not translated|X-A: b|url: \"${env.U}\""
        ),
        ("aria2c --http-user=me --http-passwd=pw https://a.test:81/x", "[{ method: basic, preemptive: true, user: me"),
        ("aria2c http://me:pw@a.test:81/x http://b.test/x", "[{ host: \"a.test:81\", method: basic, preemptive: true"),
        ("aria2c --http-auth-challenge --http-user=me --http-passwd=pw http://a.test/x", "credentials: [{ user: me"),
        ("aria2c --conditional-get https://a.test/x", "`--conditional-get` asks by the file's time"),
        ("aria2c --load-cookies=c --save-cookies c --stop=1 -m 3 https://a.test/x", "save: true|`stop` of aria2"),
        (
            "aria2c -i list.txt https://a.test/x",
            "with a URL or the name of one file, has no equal: this aria2c was left out"
        ),
        ("url=x\naria2c -i l.txt\ncurl -O https://a.test/$url", "forEach: { url_of_list: { lines: l.txt } }"),
    ])
    func ariaCommand_isTranslatedOrTold(_ line: String, _ parts: String) {
        let result = Self.translated(line + "\n")
        for part in parts.split(separator: "|") { #expect(result.text.contains(part), "\(result.text)") }
    }

    @Test func optionsInAVariable_areThoseOfTheCommand() {
        let result = Self.translated(
            "#!/bin/sh\nO='-fL --retry 3 -u me:hunter2'\ncurl $O -o x https://a.test/x\ncurl $CURL_OPTS -o y https://a.test/y\n"
        )
        #expect(result.text.contains("retry: { attempts: 4 }") && !result.text.contains("hunter2"), "\(result.text)")
        #expect(result.taskCount == 2 && result.warnings.count == 1)
        #expect(result.warnings[0].contains("`$CURL_OPTS` is known to the shell alone"))
    }

    @Test func proxyThatTheScriptExports_isOneOfTheSession() {
        let result = Self.translated("#!/bin/sh\nexport https_proxy=http://p.test:3128\ncurl -O https://a.test/x\n")
        #expect(
            result.text.contains("proxy: { https: \"http://p.test:3128\" }\n") && result.warnings.isEmpty, "\(result)")
    }

    @Test func nameOfAFile_isDecodedByWgetAlone() {
        let result = Self.translated("curl -O https://a.test/a%20b\nwget https://a.test/c%20d\n")
        #expect(result.text.contains("to: a%20b\n") || result.text.contains("to: \"a%20b\"\n"), "\(result.text)")
        #expect(result.text.contains("c d"))
    }

    @Test func encodedVariable_isAFieldOfAForm() {
        let result = Self.translated(
            "curl --data-urlencode \"text=$M x\" -d id=$I -d token=hunter2 https://a.test/\n"
                + "curl --data-urlencode \"text=$M\" -d 'a=%20' https://a.test/\n")
        #expect(result.text.contains("body: { form: { text: \"${env.M} x\", id: \"${env.I}\", token: \"${secret."))
        #expect(
            result.warnings == [
                "x:1: `--data-urlencode` sends a blank as `+`, and the job as `%20`, which servers read alike",
                "x:2: the value of a variable in `--data-urlencode` is not encoded here: this transfer was left out",
            ])
        #expect(!result.text.contains("hunter2"), "\(result.text)")
    }

    @Test(arguments: ["--oauth2-bearer $T", "-n"])
    func credential_isSentUnasked_asCurlDoes(_ option: String) {
        let result = Self.translated("curl \(option) -o x https://a.test/x\n")
        #expect(result.text.contains("preemptive: true"), "\(result.text)")
    }

    @Test(arguments: ["{a.txt,b.txt}", "[1-2].png"])
    func uploadFile_withAGlob_isSeveralUploads(_ files: String) {
        let result = Self.translated("curl -T '\(files)' https://a.test/in/\n")
        #expect(result.taskCount == 2 && !result.text.contains(files), "\(result)")
    }

    @Test(arguments: ["-T -", "-d @-", "--data-binary @-"])
    func standardInput_isSentOnce(_ option: String) {
        let result = Self.translated("curl \(option) https://a.test/1\ncurl \(option) https://a.test/2\n")
        #expect(result.text.contains("body: { stream: { command: [\"-\"] } }"), "\(result)")
        #expect(result.taskCount == 1)
        #expect(result.warnings.contains { $0.hasPrefix("x:2: standard input can be sent once") })
        #expect(result.warnings.contains { $0.contains("without line breaks") } == (option == "-d @-"))
    }

    @Test func webhook_givesNoPartOfItsPathToAnId() {
        let path = "https://hooks.test/services/T00/B00/abcdefSECRET"
        let result = Self.translated("curl -d 'payload={}' \(path)\ncurl -O https://a.test/aB3dE5gH7jK9mN1pQ3\n")
        #expect(result.text.contains("id: hooks.test\n") && result.text.contains("id: a.test\n"), "\(result)")
    }

    @Test func optionsThatOnlyPrint_areNotedOnce() {
        let result = Self.translated("curl -sO https://a.test/1\ncurl -vO https://a.test/2\n")
        #expect(result.text.split(separator: "\n").count { $0.contains("change only what curl prints") } == 1)
    }

    /// Every option of the tables is translated, usual, or told; none is passed over in silence.
    @Test(arguments: ["curl", "wget"])
    func everyOptionIsSaidOrTold(_ program: String) {
        for option in JobImport.options(of: program) {
            let value = option.takesValue ? [ImportSamples.value(of: option.name)] : []
            let words = [program, "--\(option.name)"] + value + ["https://a.test/x"]
            let plain = JobImport.translate(
                command: [program, "https://a.test/x"], place: ImportPlace(file: "c", line: 1))
            let result = JobImport.translate(command: words, place: ImportPlace(file: "c", line: 1))
            switch option.fate {
            case .translated:
                let isSaid = result.text != plain.text || !result.warnings.isEmpty
                #expect(isSaid || ImportSamples.neutral.contains(option.name), "\(words) is lost")
            case .lost: #expect(result.warnings.contains { $0.message.contains("`--\(option.name)`") }, "\(words)")
            case .shown, .usual: #expect(result.warnings.isEmpty, "\(words)")
            }
            if result.taskCount > 0 { #expect(Self.problems(result.text) == [], "\(words)\n\(result.text)") }
        }
    }

    /// No bytes whatever end in a trap; what comes out is a job that can be read.
    @Test func anyTextIsAnswered() {
        var random = Seeded("anyTextIsAnswered")
        let parts = ImportSamples.fragments
        for _ in 0..<Rounds.scaled(3000) {
            let text = (0..<random.below(25)).map { _ in random.pick(parts) }.joined()
            let result = JobImport.translate([ImportInput(name: "x", text: text)], origin: "x")
            let syntax = Self.codes(result.text).filter {
                $0 == "yaml-syntax" || $0 == "unknown-key" || $0 == "wrong-type"
            }
            #expect(syntax.isEmpty, "\(text)\n----\n\(result.text)")
        }
    }

    /// Codes of all errors that `check` finds in a job.
    private static func codes(_ text: String) -> [String] {
        let resources = Resources(
            environment: { _ in nil }, readFile: { _, _ in .success([]) },
            listFiles: { _, _ in .success([Array("a.jpg".utf8)]) },
            workingDirectory: "/here")
        let source = SourceText(name: "/job/j.yaml", bytes: Array(text.utf8))
        let found = JobLoader.load(source, options: LoadOptions(), resources: resources, missingValues: .tolerated)
        return found.diagnostics.sorted().filter { $0.severity == .error }.map(\.code)
    }
}
