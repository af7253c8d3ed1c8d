import JobImport
import Testing

/// What a shell makes of words, of `>` and of names of files, the job makes of them.
struct ShellWordTests {
    private static func urls(_ script: String) -> [String] {
        JobImportTests.translated(script).text.split(separator: "\n").filter { $0.hasPrefix("    url: ") }.map {
            $0.dropFirst(9).filter { $0 != "\"" }.replacing("https://a.test/", with: "")
        }
    }

    @Test(arguments: [
        ("wget https://a.test/w/{x,y}.txt", ["w/x.txt", "w/y.txt"]),
        ("wget https://a.test/p{1..3}.bin", ["p1.bin", "p2.bin", "p3.bin"]),
        ("wget https://a.test/p{08..10}", ["p08", "p09", "p10"]), ("wget https://a.test/{c..a}", ["c", "b", "a"]),
        ("wget https://a.test/{1..5..2}", ["1", "3", "5"]), ("wget https://a.test/{a,b{1,2}}", ["a", "b1", "b2"]),
        ("wget https://a.test/{a,b}{1,2}", ["a1", "a2", "b1", "b2"]),
        ("wget https://a.test/{a,$V}", ["a", "${raw:env.V}"]),
        ("wget 'https://a.test/{a,b}'", ["{a,b}"]), ("wget https://a.test/{a}", ["{a}"]),
        ("wget https://a.test/\\{a,b\\}", ["{a,b}"]), ("curl https://a.test/{a,b}", ["a", "b"]),
        ("aria2c -Z https://a.test/{a,b}", ["a", "b"]), ("for x in {a,b}; do wget https://a.test/$x; done", ["${x}"]),
        ("V={a,b}\nwget https://a.test/$V", ["${raw:V}"]),
    ])
    func braces_areExpandedAsInBash(_ script: String, _ urls: [String]) {
        #expect(Self.urls("#!/usr/bin/env bash\n\(script)\n") == urls)
    }

    @Test func bracesInSh_areLiteral() {
        #expect(Self.urls("#!/bin/sh\nwget https://a.test/{x,y}\n") == ["{x,y}"])
        let loop = JobImportTests.translated("#!/bin/sh -e\nfor i in {1..3}; do wget https://a.test/$i; done\n")
        #expect(loop.taskCount == 0 && loop.warnings[0].contains("only the shell knows its values"), "\(loop)")
    }

    @Test func bracesOfTooMuch_leaveTheTransferOut() {
        let result = JobImportTests.translated("wget https://a.test/{1..900}{1..900}\n")
        #expect(result.taskCount == 0 && result.warnings.count == 1, "\(result.warnings)")
    }

    /// What nobody keeps has no file, and what `-o -` prints goes where the shell writes it.
    @Test(arguments: [
        "wget -qO- URL > /dev/null", "wget -q -O - URL >/dev/null", "wget -q --output-document=- URL &>/dev/null",
        "curl -o - URL > /dev/null", "wget -O /dev/null URL", "curl URL > /dev/null",
    ])
    func answerThatIsThrownAway_hasNoFile(_ line: String) {
        let result = JobImportTests.translated("\(line.replacing("URL", with: "https://a.test/1"))\n")
        #expect(!result.text.contains("    to: ") && result.taskCount == 1, "\(result.text)")
    }

    @Test(arguments: ["curl URL -o - > f", "wget -O- URL > f", "curl -o /dev/stdout URL > f"])
    func printedAnswer_goesToTheFileOfTheShell(_ line: String) {
        let result = JobImportTests.translated("\(line.replacing("URL", with: "https://a.test/1"))\n")
        #expect(result.text.contains("    to: f\n"), "\(result.text)")
    }

    @Test func device_leavesTheTransferOut() {
        let result = JobImportTests.translated("curl -o /dev/stderr https://a.test/1\n")
        #expect(result.taskCount == 0 && result.warnings[0].hasSuffix("was left out"), "\(result)")
    }

    @Test func fileOfWget_hasTheQueryInItsName_andIsReadSo() {
        let result = JobImportTests.translated(
            "wget 'https://a.test/get?id=1&p=a%20/b'\ncurl -T 'get?id=1&p=a %2Fb' https://a.test/up\n"
                + "wget 'https://a.test/get?token=hunter2'\ncurl -T 'get?token=hunter2' https://a.test/\n")
        #expect(result.text.contains("    to: \"get?id=1&p=a %2Fb\"\n") && result.text.contains("    needs: [get]\n"))
        #expect(result.text.contains("    to: get\n") && result.taskCount == 3, "\(result.text)")
        #expect(!result.text.contains("hunter2") && result.warnings.count == 2, "\(result.warnings)")
    }

    /// A user without a password is a key: its password is empty.
    @Test(arguments: [
        "curl -o r http://hunter2@a.test/x", "wget -O r http://hunter2@a.test/x",
        "wget --user=hunter2 -O r http://a.test/x",
        "aria2c -o r http://hunter2@a.test/x",
    ])
    func userWithoutAPassword_isASecret(_ line: String) {
        let result = JobImportTests.translated("\(line)\n")
        #expect(result.text.contains("user: \"${secret.A_TEST_KEY}\", password: \"\" }"), "\(result.text)")
        #expect(!result.text.contains("hunter2") && !result.text.contains("PASSWORD"), "\(result.text)")
    }

    @Test(arguments: [
        "-d '{\"clone_addr\":\"https://oauth2:hunter2@g.test/x.git\"}'", "-d url=https://u:hunter2@h.test",
        "-F url=https://u:hunter2@h.test/x", "--data-urlencode url=https://u:hunter2@h.test",
        "-H 'X-Callback: https://u:hunter2@h.test/'", "-e https://u:hunter2@h.test/",
        "--url-query next=1 -d a=https://u:hunter2@h",
        "--json '{\"u\":\"https:\\/\\/u:hunter2@h.test\"}'", "-d 'see https://u:hunter2@h.test for more'",
        "-d https://hunter2hunter2hunter2@h.test/", "-d https://hunter2hunter2hunter2:x-oauth-basic@h.test/",
        "'https://a.test/y?next=https://u:hunter2@h.test'",
        "'https://a.test/y?next=https%3A%2F%2Fu%3Ahunter2%40h.test%2F'",
        "https://a.test/https://u:hunter2@h.test/", "-d @- <<X\nhttps://u:hunter2@h.test\nX",
    ])
    func passwordOfAURLInARequest_isNotWritten(_ options: String) {
        let result = JobImportTests.translated(
            "curl \(options.hasPrefix("-d @-") ? "https://a.test/x \(options)" : "\(options) https://a.test/x")\n")
        #expect(!result.text.contains("hunter2") && result.taskCount >= 1, "\(result.text)")
        #expect(result.text.contains("secret.A_TEST_"), "\(result.text)")
    }

    /// A port and an address of a mail are no password.
    @Test(arguments: [
        "-d 'u=http://h.test:80&m=a@b.test'", "-d 'see http://h.test:80, a@b.test'",
        "'https://a.test/y?u=http://h.test:8/&m=a@b.test'",
    ])
    func whatIsNoLogin_stays(_ options: String) {
        let result = JobImportTests.translated("curl \(options) https://a.test/x\n")
        #expect(!result.text.contains("secret"), "\(result.text)")
    }
}
