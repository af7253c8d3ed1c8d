import JobImport
import Testing

/// A transfer is carried over whole, or left out whole and named.
struct WholeTransferTests {
    @Test(arguments: [
        "curl -F 'meta=<f' https://a.test/", "curl -F 'f=@a.txt,b.txt' https://a.test/",
        "curl -F 'f=@-' https://a.test/",
        "curl -F 'f=@a;headers=\"X: y\"' https://a.test/", "curl -F k=1 -F 'f=@a;encoder=base64' https://a.test/",
        "curl -H @headers.txt https://a.test/", "curl -H 'Host: b.test' https://a.test/",
        "curl -H 'Proxy-Authorization: x' https://a.test/", "curl --frobnicate https://a.test/",
        "curl -K more https://a.test/",
        "curl --netrc-file f https://a.test/", "curl --connect-to ::b.test:443 https://a.test/",
        "curl --resolve '*:443:10.0.0.1' https://a.test/", "curl -C 100 -O https://a.test/x", "curl https://a.test/ -o",
        "curl -u \"$CREDS\" https://a.test/", "curl -H \"$HEADER\" https://a.test/",
        "curl -b \"$COOKIES\" https://a.test/",
        "curl -T \"$FILE\" https://a.test/up/", "curl -b in.txt -c out.txt https://a.test/",
        "curl -d a=1 -d @f https://a.test/",
        "curl --data-urlencode n@f https://a.test/", "curl -X HEAD -d x https://a.test/",
        "curl --pinnedpubkey key.pem https://a.test/", "https_proxy=http://p.test curl -O https://a.test/x",
        "date | curl -d @- https://a.test/", "curl -T - https://a.test/x < $1", "wget -r https://a.test/",
        "wget -e use_proxy=on https://a.test/", "wget --header='Host: b.test' https://a.test/",
        "aria2c --header='Host: b.test' https://a.test/x", "curl --url-query a@q https://a.test/",
        "curl --url-query @q https://a.test/", "curl -G --data-urlencode 'password=a b' https://a.test/",
        "aria2c -P \"https://a.test/{a,$B}\"", "aria2c --dry-run https://a.test/x",
        "aria2c --checksum=$SUM https://a.test/x",
        "aria2c --checksum=sha-224=00 https://a.test/x", "curl --no-clobber -o x https://a.test/",
        "curl 'https://a.test/sp ace'",
        "wget -i urls.txt -B https://a.test",
        "curl -F f=@a -H 'Content-Type: multipart/form-data; boundary=x' https://a.test/",
    ])
    func whatHasNoEqual_isLeftOutWhole(_ line: String) {
        let result = JobImportTests.translated("curl -O https://a.test/whole\n\(line)\n")
        #expect(result.taskCount == 1, "\(result.text)")
        #expect(result.warnings.contains { $0.hasPrefix("x:2: ") && $0.contains("was left out") }, "\(result.warnings)")
        #expect(result.text.contains("# x:2: "))
    }

    @Test(arguments: [
        ("@x.json", "application/octet-stream"), ("@x.csv", "application/octet-stream"), ("@a/x.PNG", "image/png"),
        ("@x.txt", "text/plain"), ("@x", "application/octet-stream"), ("@x.tar.gz", "application/octet-stream"),
        ("@x.json;type=application/json", "application/json"), ("@x.json;filename=y.html", "text/html"),
        ("@${V}/x.svg", "image/svg+xml"), ("t;filename=a.xml", "application/xml"),
    ])
    func partOfAForm_hasTheTypeThatCurlGivesIt(_ part: String, _ type: String) {
        let result = JobImportTests.translated("curl -F \"f=\(part)\" https://a.test/\n")
        #expect(
            result.text.contains("contentType: \(type)") || result.text.contains("contentType: \"\(type)\""),
            "\(result.text)")
    }

    @Test func partOfAForm_whoseFileAVariableNames_isWarnedOf() {
        let result = JobImportTests.translated("curl -F \"f=@$FILE\" -F k=v https://a.test/\n")
        #expect(result.warnings.contains { $0.contains("is that of its ending, not curl's") }, "\(result)")
        #expect(result.text.contains("{ name: k, data: v }"))
    }

    /// curl leaves line breaks out of what `-d` reads from a file.
    @Test(arguments: ["-d @f.txt", "--data-ascii @f.txt", "-d @- < f.txt"])
    func dataOfAFile_loosesItsLineBreaks(_ option: String) {
        let result = JobImportTests.translated("curl \(option) -o answer https://a.test/\n")
        #expect(
            result.text.contains(
                "body: { stream: { command: [sh, \"-c\", \"tr -d '\\\\r\\\\n\\\\0' < \\\"$0\\\"\", f.txt] } }"),
            "\(result.text)")
        #expect(result.text.contains("contentType: application/x-www-form-urlencoded\n") && result.warnings.isEmpty)
        #expect(result.text.contains("type: download\n    to: answer\n"))
    }

    @Test func dataOfAFile_waitsForTheTaskThatWritesIt() {
        let result = JobImportTests.translated("curl -o f https://a.test/1\n(cd . && curl -d @f https://a.test/2)\n")
        #expect(result.text.contains("needs: [f]") || result.text.contains("needs: [\"1\"]"), "\(result.text)")
    }

    @Test(arguments: [
        ("echo '{\"a\": 1}' | curl --data-binary @- https://a.test/", "{ data: \"{\\\"a\\\": 1}\\n\" }"),
        ("echo -n x | curl -T - https://a.test/x", "{ data: x }"),
        ("printf '%s' 'a b' | curl -d @- https://a.test/", "{ data: \"a b\" }"),
        ("cat f | curl --data-binary @- https://a.test/", "{ file: f }"),
        ("curl -T - https://a.test/x < f", "{ file: f }"),
        ("curl -d @- https://a.test/ <<< 'a'", "{ data: a }"),
    ])
    func standardInput_isWhatTheScriptGives(_ line: String, _ body: String) {
        let result = JobImportTests.translated(line + "\n")
        #expect(result.text.contains("body: \(body)\n"), "\(result.text)")
    }

    /// What `-T` and `-d @FILE` are answered goes where curl writes it.
    @Test(arguments: [
        ("curl -T f https://a.test/", "to: \"-\""), ("curl -T f -o answer https://a.test/", "to: answer"),
        ("curl --data-binary @f https://a.test/ > answer", "to: answer"),
    ])
    func answerToAnUpload_goesWhereTheProgramWritesIt(_ line: String, _ to: String) {
        let result = JobImport.translate([ImportInput(name: "x", text: line)], origin: "x")
        #expect(result.text.contains("    type: upload\n") && result.text.contains("    \(to)\n"), "\(result.text)")
        #expect(result.text.contains("contentType: none") == line.contains("-T") && result.warnings.isEmpty)
    }

    @Test(arguments: [
        ("F=dist/a.tgz\ncurl -T \"$F\" https://a.test/up/", "https://a.test/up/a.tgz"),
        ("curl -T \"dist/a-$V.tgz\" https://a.test/up/", "https://a.test/up/a-${env.V}.tgz"),
        ("for f in d/*.jpg; do curl -T \"$f\" https://a.test/up/; done", "https://a.test/up/${f.name}"),
        ("curl -T \"$F\" https://a.test/up/name", "https://a.test/up/name"),
    ])
    func uploadedFile_endsTheURLWithItsName(_ script: String, _ url: String) {
        let result = JobImportTests.translated(script + "\n")
        #expect(result.text.contains("url: \"\(url)\"\n") && result.warnings.isEmpty, "\(result.text)")
    }

    @Test func variableOfTheScript_withCookies_isNoFile() {
        let result = JobImportTests.translated(
            "C='a=1'\nJ=jar.txt\ncurl -b \"$C\" https://a.test/1\ncurl -b $J https://a.test/2\n")
        #expect(
            result.text.contains("Cookie: \"${secret.C}\"") && result.text.contains("file: \"${J}\""), "\(result.text)")
    }

    @Test func typedPost_afterARedirect_isWarnedOf() {
        let result = JobImportTests.translated(
            "curl -L -X POST https://a.test/1\ncurl -L -d x https://a.test/2\ncurl -L --post302 -d x https://a.test/3\n"
        )
        #expect(
            result.warnings.count == 2 && result.warnings.allSatisfy { $0.contains("no redirect of it is followed") })
        #expect(result.text.components(of: "follow: never").count == 3, "\(result.text)")
    }

    // MARK: Values of answers

    @Test(arguments: [
        ("jq -r .a.b[0].c", "json: \"$.a.b[0].c\""), ("jq -er '.[0][\"x-y\"] | .z'", "json: \"$[0]['x-y'].z\""),
        ("grep -o 'v[^ ]*'", "regex: \"(?m)v[^\\\\n ]*\""),
        ("grep -oE '(v|w)[0-9]+' | head -1", "regex: \"(?m)((v|w)[0-9]+)\""),
        ("grep -oP '\"tag\": \"\\K[^\"]+' | head -n1", "regex: \"(?m)\\\"tag\\\": \\\"\\\\K[^\\\\n\\\"]+\""),
        ("grep -o 'a(b)\\+'", "regex: \"(?m)a\\\\(b\\\\)+\""),
        ("sed -n 's/.*\"id\": *\\([0-9]*\\).*/\\1/p'", "regex: \"(?m)^.*\\\"id\\\": *([0-9]*).*$$\""),
        ("sed -nE 's#^id=(\\w+)$#\\1#p'", "regex: \"(?m)^id=(\\\\w+)$$\""),
    ])
    func valueOfAnAnswer_isCaptured(_ filter: String, _ source: String) {
        let result = JobImportTests.translated(
            "V=$(curl -s https://a.test/list | \(filter))\ncurl -o \"x-$V\" \"https://a.test/get?v=$V\"\n")
        #expect(result.text.contains("capture: { V: { \(source) } }"), "\(result.text)")
        #expect(result.text.contains("url: \"https://a.test/get?v=${raw:tasks.list.V}\"\n"), "\(result.text)")
        #expect(result.text.contains("to: \"x-${tasks.list.V}\"\n") && result.taskCount == 2)
    }

    @Test func wholeAnswer_isCapturedWithoutItsLastLineBreak() {
        let result = JobImportTests.translated(
            "VERSION=\"$(curl -L -s https://a.test/stable.txt)\"\ncurl -LO \"https://a.test/$VERSION/tool\"\n")
        #expect(
            result.text.contains("capture: { VERSION: { regex: \"(?s)\\\\A(.*?)\\\\n*\\\\z\" } }"), "\(result.text)")
        #expect(result.text.contains("https://a.test/${raw:tasks.stable.txt.VERSION}/tool") && result.warnings.isEmpty)
    }

    @Test func tokenOfAnAnswer_isASecretOfItsHosts() {
        let script = """
            TOKEN=$(curl -s -X POST -d 'user=me' -d "password=$PW" https://auth.test/login | jq -r .access_token)
            curl -H "Authorization: Bearer $TOKEN" -o a https://a.test/a
            curl --oauth2-bearer $TOKEN -o b https://b.test/b
            """
        let result = JobImportTests.translated(script)
        #expect(
            result.text.contains(
                "capture: { TOKEN: { json: \"$.access_token\", secret: true, hosts: [a.test, b.test] } }"),
            "\(result.text)")
        #expect(result.text.contains("headers: { Authorization: \"Bearer ${tasks.auth.test.TOKEN}\" }"))
        #expect(result.taskCount == 3 && result.warnings.isEmpty, "\(result.warnings)")
    }

    /// What uses a value that is not there is left out with it, and named.
    @Test(arguments: [
        "V=$(curl --frobnicate https://a.test/v | jq -r .a)\ncurl -O \"https://a.test/$V\"",
        "V=$(curl -w '%{http_code}' https://a.test/v)\ncurl -O \"https://a.test/$V\"",
        "V=$(curl -o f https://a.test/v)\ncurl -d \"v=$V\" https://a.test/",
    ])
    func whatUsesALostValue_isLeftOutToo(_ script: String) {
        let result = JobImportTests.translated("curl -O https://a.test/whole\n\(script)\n")
        #expect(result.taskCount == 1, "\(result.text)")
        #expect(
            result.warnings.contains { $0.contains("it uses `V` of a transfer that was left out") },
            "\(result.warnings)")
    }

    /// A job must know before it runs what it reads, and who logs in.
    @Test(arguments: ["curl -u \"me:$V\" https://a.test/x", "curl -T \"$V\" https://a.test/x"])
    func valueOfAnAnswer_whereNoneCanStand_leavesTheTransferOut(_ line: String) {
        let result = JobImportTests.translated("V=$(curl https://a.test/v | jq -r .v)\n\(line)\n")
        #expect(result.taskCount == 1, "\(result.text)")
        #expect(
            result.warnings.contains { $0.hasPrefix("x:2: a value of an answer cannot stand in") }, "\(result.warnings)"
        )
    }

    @Test func valueOfAnAnswer_beginsNoPath() {
        let result = JobImportTests.translated(
            "V=$(curl https://a.test/v | jq -r .v)\nwget \"https://a.test/$V.zip\"\n")
        #expect(result.text.contains("to: \"./${tasks.v.V}.zip\"\n") && result.warnings.isEmpty, "\(result.text)")
        #expect(result.text.contains("- id: V.zip\n"))
    }

    @Test func valueOfAnAnswer_inAWordOfATransfer_isCaptured() {
        let result = JobImportTests.translated("curl -O \"https://a.test/v/$(curl https://a.test/n | jq -r .n)/x\"\n")
        #expect(result.text.contains("capture: { value: { json: \"$.n\" } }"), "\(result.text)")
        #expect(result.text.contains("https://a.test/v/${raw:tasks.n.value}/x") && result.taskCount == 2)
    }

    // MARK: Scripts

    @Test(arguments: [
        ("U=https://a.test/d/x.tgz\ncurl -o \"dl/$(basename $U)\" $U", "to: dl/x.tgz"),
        ("curl -o $(basename https://a.test/d/x.tgz .tgz) https://a.test/d/x.tgz", "to: x"),
        ("curl -L \"$U\" -o \"$(basename \"$U\")\"", "to: \"./\""), ("wget -O $(basename $U) $U", "to: \"./\""),
        ("for u in https://a.test/1 https://a.test/2; do curl -o $(basename $u) $u; done", "forEach:"),
        ("cd dl\ncurl -O https://a.test/x", "to: dl/x"),
        ("mkdir -p a && cd a || exit 1\ncurl -T f https://a.test/x", "file: a/f"),
        ("cd a\ncd b\ncurl -d @f https://a.test/x", "a/b/f"),
    ])
    func namesAndFolders_areFollowed(_ script: String, _ part: String) {
        let result = JobImport.translate([ImportInput(name: "x", text: script)], origin: "x")
        #expect(result.text.contains(part) && result.taskCount == 1 && result.warnings.isEmpty, "\(result.text)")
    }

    @Test func condition_isATaskThatOthersDependOn() {
        let script = """
            if curl -fsS -o new https://a.test/new; then
              curl -T new https://a.test/put/
            else
              curl -d 'state=none' -o /dev/null https://a.test/tell
            fi
            if ! wget -q -O old https://a.test/old; then wget -O other https://b.test/old; fi
            if curl -f -o /dev/null https://a.test/maybe; then echo there; fi
            if ! curl -f -O https://a.test/must; then echo no; exit 1; fi
            """
        let result = JobImport.translate([ImportInput(name: "x", text: script)], origin: "x")
        let blocks = result.text.components(of: "  - id: ")
        func block(_ url: String) -> String { blocks.first { $0.contains("url: \"https://\(url)") } ?? "" }
        #expect(result.taskCount == 7 && result.warnings.isEmpty, "\(result)")
        #expect(block("a.test/put").contains("when: succeeded\n") && block("a.test/put").contains("needs: [new]"))
        #expect(block("a.test/tell").contains("when: failed\n") && block("a.test/tell").contains("needs: [new]"))
        #expect(block("b.test/old").contains("when: failed\n") && block("b.test/old").contains("needs: [old]"))
        #expect(block("a.test/maybe").contains("allowFailure: true") && !block("a.test/must").contains("allowFailure"))
    }

    @Test(arguments: [
        "if curl https://a.test/1 | grep -q ok; then curl -O https://a.test/2; fi",
        "if curl -f https://a.test/1; then curl -O https://a.test/2; elif curl -f https://a.test/3; then :; fi",
        "for x in 1 2; do if curl -f https://a.test/$x; then curl -O https://a.test/b/$x; fi; done",
        "if [ -f x ]; then curl -O https://a.test/2; fi",
    ])
    func conditionOfMore_isLeftOut(_ script: String) {
        let result = JobImportTests.translated("curl -O https://a.test/whole\n\(script)\n")
        #expect(result.taskCount == 1 && !result.warnings.isEmpty, "\(result.text)")
    }

    @Test(arguments: [
        "  501  curl -O https://a.test/x\n  502* git commit -m \"it's\"\n  503  V=1.2\n  504  wget https://a.test/$V\n  505  history\n",
        "    1  2026-11-29 14:02:33 cd /tmp\n    2  2026-11-29 14:02:40 curl -O https://a.test/x\n    3  2026-11-29 14:03:00 V=1.2\n"
            + "    4  2026-11-29 14:03:01 wget \\\n  https://a.test/$V\n",
        "  7  [29/11/26 14:02:33] curl -O https://a.test/x\n  8  Sun 29 Nov 2026 02:03:00 PM UTC V=1.2\n"
            + "  9  Sun Nov 29 14:03:01 2026 wget https://a.test/$V\n",
        ": 1700000000:0;curl -O https://a.test/x\n: 1700000001:0;V=1.2\n: 1700000002:3;wget https://a.test/$V\n",
    ])
    func historyOfAShell_isReadWithoutItsNumbersAndTimes(_ text: String) {
        let result = JobImportTests.translated(text)
        #expect(result.taskCount == 2 && result.warnings.isEmpty, "\(result)")
        #expect(result.text.contains("https://a.test/${V}") && result.text.contains("V: \"1.2\""), "\(result.text)")
    }
}

extension String {
    fileprivate func components(of mark: String) -> [String] { split(separator: mark).map { String($0) } }
}
