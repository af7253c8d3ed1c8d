import Digests
import Glibc
import TestSupport
import Testing
import TextFormats
import TransferModel

/// `verify`: files on the disk against what is written of them.
@Suite struct VerifyTests {
    /// A run of five files.
    private func done() throws -> (Binary, ScriptedServer) {
        let server = try ScriptedServer()
        let binary = try Binary()
        var tasks = ""
        for name in ["a", "b", "c", "d", "e"] {
            server.on("/\(name)", .respond(200, headers: [("ETag", "\"1\"")], body: "body of \(name)"))
            tasks +=
                "  - { id: \(name), url: '\(server.url("/\(name)"))', to: out/\(name), checksum: '\(Self.sums[name]!)' }\n"
        }
        try binary.folder.write("job.yaml", "tasks:\n\(tasks)")
        let run = try binary.run("job.yaml")
        #expect(run.exitStatus == 0, "\(run.errorText)")
        return (binary, server)
    }

    private static let sums = [
        "a": "sha256:6d34c9fe33a11b309fc59bffdb3de82b537b2078b4fcbde12c25abbe7e9d3b28",
        "b": "sha256:ddfb88b5a3df9ff5b25465afaccf9dfb1660f2545cb94c9f83c0e41cb31daf20",
        "c": "sha256:c8b3bcde8cef9cdf6d4425108e6188339d08161f852c998977a73f25d43eda30",
        "d": "sha256:54a693b4a2360c852ec52d69766baac7bdf75d3d13d53c1df2b6bc4585f6d987",
        "e": "sha256:7c7dc012620a53103319fc79c627bcdaea6d079c3ded5c9dd0b035764e717ded",
    ]

    /// No file that a failed run lacks counts as right.
    @Test func downloadsThatBroughtNoFileAreNamed() throws {
        let (binary, server) = try done()
        defer { server.stop() }
        for name in ["a", "b"] { server.on("/\(name)", .respond(404, body: "")) }
        for name in ["a", "b"] { binary.folder.remove("out/\(name)") }
        #expect(try binary.run("job.yaml").exitStatus == 1)
        let result = try binary.run("verify", "job.report.json")
        #expect(result.exitStatus == 0 && result.outputText.hasPrefix("3 files: 3 right"), "\(result.outputText)")
        #expect(
            result.errorText
                == "warning: 2 downloads of that run did not succeed and brought no file: "
                + "`transfer-run rerun job.report.json` runs them again\n")
    }

    @Test func filesAreHeldAgainstTheReport() throws {
        let (binary, server) = try done()
        defer { server.stop() }
        let right = try binary.run("verify", "job.report.json")
        #expect(right.exitStatus == 0 && right.outputText == "5 files: 5 right · 45 B read\n", "\(right.outputText)")
        binary.folder.remove("out/a")
        try binary.folder.write("out/b", "body")
        try binary.folder.write("out/c", "body of c and more")
        try binary.folder.write("out/d", "body of x")
        let wrong = try binary.run("verify", "job.report.json")
        #expect(wrong.exitStatus == 1)
        #expect(
            wrong.outputText == """
                5 files: 1 right, 1 missing, 1 short, 1 long, 1 wrong · 18 B read
                  missing    out/a: expected 9 bytes, \(Self.sums["a"]!)  (task a)
                  short      out/b: 4 bytes, expected 9 bytes, \(Self.sums["b"]!)  (task b)
                  long       out/c: 18 bytes, expected 9 bytes, \(Self.sums["c"]!)  (task c)
                  wrong      out/d: sha256:4a7a540d7907a85ec46026ac4816033fb42a2e7e3c65a1d351463e8cf0cd2e7b, expected \(Self.sums["d"]!)  (task d)

                """, "\(wrong.outputText)")
    }

    @Test func aProgramReadsJSON() throws {
        let (binary, server) = try done()
        defer { server.stop() }
        binary.folder.remove("out/a")
        try binary.folder.write("out/d", "body of x")
        let result = try binary.run("verify", "--json", "job.report.json")
        #expect(result.exitStatus == 1)
        let json = try JSONParser.parse(result.output)
        #expect(try JSONPath("$.differences[*].state").select(from: json).map { $0.plainText } == ["missing", "wrong"])
        #expect(json["files"]?.plainText == "5" && json["right"]?.plainText == "3" && json["wrong"]?.plainText == "1")
    }

    @Test func brokenFilesAreFetchedAgain() throws {
        let (binary, server) = try done()
        defer { server.stop() }
        binary.folder.remove("out/a")
        try binary.folder.write("out/d", "body of x")
        let repaired = try binary.run("verify", "job.report.json", "--repair")
        #expect(repaired.exitStatus == 0, "\(repaired.errorText)")
        #expect(repaired.errorText.contains("rerun: 2 of 5 tasks of job.yaml, whose files are broken: a, d"))
        #expect(
            server.requests("/a").count == 2 && server.requests("/d").count == 2 && server.requests("/b").count == 1)
        #expect(try binary.run("verify", "job.report.json").exitStatus == 0)
    }

    /// Each page of a task with `next` is a file of its own; the report says the last one's under `file`, too.
    @Test func everyPageOfATaskIsVerified_andABrokenOneMakesTheTaskRunAgain() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        for number in 1...3 {
            let link = number < 3 ? [("Link", "</p\(number + 1)>; rel=\"next\"")] : []
            server.on("/p\(number)", .respond(200, headers: link, body: "page \(number)"))
        }
        let binary = try Binary()
        try binary.folder.write(
            "job.yaml",
            "tasks: [{ id: list, url: '\(server.url("/p1"))', next: { link: next }, to: 'out/pg-${page}' }]")
        let run = try binary.run("job.yaml")
        #expect(run.exitStatus == 0, "\(run.errorText)")
        let right = try binary.run("verify", "job.report.json")
        #expect(right.exitStatus == 0)
        #expect(right.outputText == "3 files: 3 right · 18 B read\n", "\(right.outputText)")
        binary.folder.remove("out/pg-1")
        try binary.folder.write("out/pg-2", "cut")
        let wrong = try binary.run("verify", "job.report.json")
        #expect(wrong.exitStatus == 1)
        #expect(
            wrong.outputText == """
                3 files: 1 right, 1 missing, 1 short · 6 B read
                  missing    out/pg-1: expected 6 bytes, \(Self.sum("page 1"))  (task list)
                  short      out/pg-2: 3 bytes, expected 6 bytes, \(Self.sum("page 2"))  (task list)

                """, "\(wrong.outputText)")
        let repaired = try binary.run("verify", "job.report.json", "--repair")
        #expect(repaired.exitStatus == 0, "\(repaired.errorText)")
        #expect(try binary.folder.text("out/pg-1") == "page 1" && binary.folder.text("out/pg-2") == "page 2")
        #expect(try binary.run("verify", "job.report.json").exitStatus == 0)
    }

    /// By the report of the run that fetched, and by that of a later one that found nothing changed.
    @Test(arguments: ["network", "unchanged"]) func damageOfAFileWithoutAChecksum_isFound(_ source: String) throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/a") { ServedResource("one two three", etag: "\"v1\"").answer($0) }
        let binary = try Binary()
        try binary.folder.write("job.yaml", "tasks: [{ id: a, url: '\(server.url("/a"))', to: a }]")
        for _ in 0..<(source == "unchanged" ? 2 : 1) { #expect(try binary.run("job.yaml").exitStatus == 0) }
        let report = try JSONParser.parse(binary.folder.bytes("job.report.json"))
        #expect(try JSONPath("$.tasks[0].source").select(from: report).map { $0.plainText } == [source])
        let right = try binary.run("verify", "job.report.json")
        #expect(right.exitStatus == 0 && right.outputText == "1 file: 1 right · 13 B read\n", "\(right.outputText)")
        try binary.folder.write("a", "one two thrEe")
        let wrong = try binary.run("verify", "job.report.json")
        #expect(wrong.exitStatus == 1)
        #expect(
            wrong.outputText == """
                1 file: 0 right, 1 wrong · 13 B read
                  wrong      a: \(Self.sum("one two thrEe")), expected \(Self.sum("one two three"))  (task a)

                """, "\(wrong.outputText)")
    }

    private static func sum(_ text: String) -> String {
        (try? Checksum.of(Array(text.utf8), .xxh3)).map { "\($0)" } ?? "none"
    }

    // MARK: Locks and lists

    /// Nothing but the lock is known: neither job, report nor state of the earlier run.
    @Test func filesOfALockAreFetchedAgain() throws {
        let (binary, server) = try done()
        defer { server.stop() }
        #expect(try binary.run("lock", "job.yaml").exitStatus == 0)
        let before = server.requests().count
        for name in ["job.yaml", "job.report.json"] { binary.folder.remove(name) }
        binary.folder.remove("out/a")
        try binary.folder.write("out/d", "body of x")
        let repaired = try binary.run("verify", "job.lock", "--repair")
        #expect(repaired.exitStatus == 0, "\(repaired.errorText)")
        #expect(repaired.outputText.hasPrefix("5 files: 3 right, 1 missing, 1 wrong"), "\(repaired.outputText)")
        #expect(repaired.errorText.contains("repair: 2 of 5 files of job.lock: a, d\n"), "\(repaired.errorText)")
        #expect(server.requests().dropFirst(before).map(\.target).sorted() == ["/a", "/d"])
        #expect(try binary.run("verify", "job.lock").exitStatus == 0)
        // The report beside a lock would be that of the job.
        #expect(binary.folder.list() == ["job.lock", "out/", "out/a", "out/b", "out/c", "out/d", "out/e"])
        let right = try binary.run("verify", "job.lock", "--repair")
        #expect(right.exitStatus == 0 && right.errorText.isEmpty, "\(right.errorText)")
    }

    /// What a server has now is not what was locked.
    @Test func otherBytesThanTheLockedOnesStayAway() throws {
        let (binary, server) = try done()
        defer { server.stop() }
        #expect(try binary.run("lock", "job.yaml").exitStatus == 0)
        server.on("/d", .respond(200, body: "body of D"))
        try binary.folder.write("out/d", "body of x")
        binary.folder.remove("out/a")
        let repaired = try binary.run("verify", "--json", "job.lock", "--repair")
        #expect(repaired.exitStatus == 1)
        #expect(try JSONParser.parse(repaired.output)["wrong"]?.plainText == "1")
        #expect(repaired.errorText.contains("lockMismatch"), "\(repaired.errorText)")
        #expect(repaired.errorText.contains("`transfer-run lock JOB --update ID`"), "\(repaired.errorText)")
        #expect(
            repaired.errorText.contains("Run it again: transfer-run verify job.lock --repair\n"),
            "\(repaired.errorText)")
        #expect(try binary.folder.text("out/d") == "body of x")
        #expect(try binary.folder.text("out/a") == "body of a")
    }

    /// A lock keeps no secret, so its URL cannot be asked for; the others are.
    @Test func aURLThatHeldASecretIsLeft() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/a?key=s3cret", .respond(200, body: "body of a"))
        server.on("/b", .respond(200, body: "body of b"))
        let binary = try Binary()
        try binary.folder.write(
            "job.yaml",
            """
            secrets: { KEY: { env: KEY } }
            tasks:
              - { id: a, url: "\(server.url("/a"))?key=${secret.KEY}", to: out/a }
              - { id: b, url: "\(server.url("/b"))", to: out/b }
            """)
        #expect(try binary.run("lock", "job.yaml", environment: ["KEY": "s3cret"]).exitStatus == 0)
        let repaired = try binary.run("verify", "job.lock", "--repair")
        #expect(repaired.exitStatus == 1)
        #expect(
            repaired.errorText.contains(
                "warning: `out/a` is not repaired: a secret stood in its URL, and a lock keeps none: "
                    + "`--locked` runs the job\n"), "\(repaired.errorText)")
        #expect(binary.folder.list("out") == ["b"])
    }

    @Test func filesOfAListAreFetchedFromWhereItIsSaid() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/12/a?v=1", .respond(200, body: "body of a"))
        server.on("/12/sub%20dir/b%23?v=1", .respond(200, body: "body of b"))
        let binary = try Binary()
        let (a, b) = (Self.sums["a"]!.dropFirst(7), Self.sums["b"]!.dropFirst(7))
        let list = "\(a)  ./a\nMD5 (a) = 00000000000000000000000000000000\n\(b)  sub dir/b#\n\(a)  c\n"
        try binary.folder.write("d/SUMS", list)
        try binary.folder.write("d/c", "body of a")
        let place = server.url("/12?v=1")
        let repaired = try binary.run("verify", "d/SUMS", "--repair", "--from", place)
        #expect(repaired.exitStatus == 0, "\(repaired.errorText)")
        #expect(repaired.errorText.contains("repair: 2 of 4 files of d/SUMS: a, sub dir/b#\n"), "\(repaired.errorText)")
        #expect(server.requests().map(\.target).sorted() == ["/12/a?v=1", "/12/sub%20dir/b%23?v=1"])
        #expect(binary.folder.list("d") == ["SUMS", "a", "c", "sub dir/", "sub dir/b#"])
        #expect(try binary.folder.text("d/sub dir/b#") == "body of b")
        let elsewhere = try binary.run(
            "verify", "-", "--directory", "e", "--repair", "--from", place, input: "\(a)  a\n")
        #expect(elsewhere.exitStatus == 0, "\(elsewhere.errorText)")
        #expect(try binary.folder.text("e/a") == "body of a")
    }

    /// A list from elsewhere does not say where on this machine something is written.
    @Test func namesThatLeadOutOfTheListsFolderAreLeft() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        for path in ["/x", "/a", "/etc/x"] { server.on(path, .respond(200, body: "body of a")) }
        let binary = try Binary()
        let a = Self.sums["a"]!.dropFirst(7)
        let root = binary.folder.path("root")
        try binary.folder.write("d/SUMS", "\(a)  ../x\n\(a)  \(root)\n\(a)  sub/../../x\n\(a)  a/\n\(a)  a\n")
        let repaired = try binary.run("verify", "d/SUMS", "--repair", "--from", server.url())
        #expect(repaired.exitStatus == 1)
        for name in ["../x", root, "sub/../../x"] {
            #expect(
                repaired.errorText.contains(
                    "warning: `\(name)` is not repaired: its name leads out of the list's folder"),
                "\(repaired.errorText)")
        }
        #expect(server.requests().map(\.target) == ["/a"])
        #expect(binary.folder.list() == ["d/", "d/SUMS", "d/a"])
    }

    /// A lock from elsewhere does not say it either, unless the job beside it does.
    @Test func placesOutsideTheLocksFolderAreLeft_unlessTheJobBesideItNamesThem() throws {
        let (binary, server) = try done()
        defer { server.stop() }
        let outside = binary.folder.path("elsewhere/a")
        func entry(_ id: String, _ path: String) -> String {
            let sum = Self.sums["a"]!.dropFirst(7)
            return
                "  \"\(id)\":\n    path: \"\(path)\"\n    url: \"\(server.url("/a"))\"\n    size: 9\n    sha256: \"\(sum)\"\n"
        }
        let lock =
            "format: transfer-run/lock\nversion: 1\njob: \"job\"\nfiles:\n" + entry("abs", outside)
            + entry("in", "out/in") + entry("up", "../up") + entry("way", "out/../../way")
        try binary.folder.write("d/job.lock", lock)
        let left = try binary.run("verify", "d/job.lock", "--repair")
        #expect(left.exitStatus == 1)
        for name in [outside, "../up", "out/../../way"] {
            #expect(
                left.errorText.contains("warning: `\(name)` is not repaired: it lies outside the lock's folder, "),
                "\(left.errorText)")
        }
        #expect(binary.folder.list("d") == ["job.lock", "out/", "out/in"])
        #expect(!binary.folder.exists("elsewhere/a") && !binary.folder.exists("up") && !binary.folder.exists("way"))
        // Of another task the place counts for nothing.
        func job(_ id: String) -> String { "tasks: [{ id: \(id), url: '\(server.url("/a"))', to: '\(outside)' }]" }
        try binary.folder.write("d/job.yaml", job("other"))
        #expect(try binary.run("verify", "d/job.lock", "--repair").exitStatus == 1)
        #expect(!binary.folder.exists("elsewhere/a"))
        try binary.folder.write("d/job.yaml", job("abs"))
        let named = try binary.run("verify", "d/job.lock", "--repair")
        #expect(named.exitStatus == 1 && !named.errorText.contains("`\(outside)` is not"), "\(named.errorText)")
        #expect(try binary.folder.text("elsewhere/a") == "body of a")
    }

    /// `sha256sum * > SUMS` has a line for the list, which was empty then.
    @Test func aListThatNamesItself_isLeft_andTheOthersAreRepaired() throws {
        let (binary, server) = try done()
        defer { server.stop() }
        let a = Self.sums["a"]!.dropFirst(7)
        try binary.folder.write("d/SUMS", "\(a)  SUMS\n\(a)  a\n")
        let repaired = try binary.run("verify", "d/SUMS", "--repair", "--from", server.url())
        #expect(repaired.exitStatus == 1, "\(repaired.errorText)")
        #expect(
            repaired.errorText.contains("warning: `SUMS` is not repaired: it is the file that is read here\n"),
            "\(repaired.errorText)")
        #expect(try binary.folder.text("d/a") == "body of a")
        #expect(try binary.folder.text("d/SUMS").hasPrefix(a))
    }

    @Test func whereFilesComeFromIsSaidFirst() throws {
        let (binary, server) = try done()
        defer { server.stop() }
        #expect(try binary.run("lock", "job.yaml").exitStatus == 0)
        try binary.folder.write("SUMS", "\(Self.sums["a"]!.dropFirst(7))  gone\n")
        func refusal(_ words: String..., hint: String) throws {
            let result = try binary.run(arguments: ["verify"] + words)
            #expect(result.exitStatus == 2 && result.outputText.isEmpty)
            #expect(result.errorText.contains(hint), "\(result.errorText)")
        }
        try refusal("SUMS", "--repair", hint: "`--from https://HOST/FOLDER/`")
        try refusal("SUMS", "--from", "https://example.org/", hint: "`--from` says where `--repair` fetches from")
        try refusal("SUMS", "--repair", "--from", "example.org", hint: "`--from example.org` is no URL")
        try refusal("SUMS", "--repair", "--from", "data:,x", hint: "is no place that files are fetched from")
        for file in ["job.lock", "job.report.json"] {
            try refusal(file, "--repair", "--from", "https://example.org/", hint: "`--from` is for a list of checksums")
        }
    }

    @Test func listsOfChecksums() throws {
        let binary = try Binary()
        try binary.folder.write("d/a", "body of a")
        try binary.folder.write("d/b b", "body of b")
        let (a, b) = (Self.sums["a"]!.dropFirst(7), Self.sums["b"]!.dropFirst(7))
        try binary.folder.write("d/SHA256SUMS", "# files\n\(a)  a\n\(a) *./a\nSHA256 (b b) = \(b)\n\(a)  gone\nwhat?\n")
        let result = try binary.run("verify", "d/SHA256SUMS")
        #expect(result.exitStatus == 1)
        #expect(result.outputText.hasPrefix("4 files: 3 right, 1 missing"), "\(result.outputText)")
        #expect(result.outputText.contains("  missing    gone: expected sha256:\(a)\n"))
        #expect(result.errorText == "warning: d/SHA256SUMS:6: 1 line is no line of a checksum file\n")
        try binary.folder.write("d/a.sha256", "\(a)\n")
        #expect(try binary.run("verify", "d/a.sha256").exitStatus == 0)
        let elsewhere = try binary.run("verify", "-", "--directory", "d", input: "\(a)  a\n")
        #expect(elsewhere.exitStatus == 0, "\(elsewhere.errorText)")
    }

    @Test(arguments: [
        ("", "has no line of a checksum file"), ("hello\n", "has no line of a checksum file"),
        ("{ \"format\": \"x\" }", "x:1:"), ("[1]", "has no line"),
    ])
    func whatIsNeitherIsRefused(_ text: String, _ words: String) throws {
        let binary = try Binary()
        try binary.folder.write("x", text)
        let result = try binary.run("verify", "x")
        #expect(result.exitStatus == 2 && result.errorText.contains(words), "\(result.errorText)")
    }

    @Test(arguments: [
        ("tasks:\n  - { id: a, url: \"https://a.test/a\", to: a }\n", "x is a job file", "`transfer-run lock x`"),
        ("<metalink xmlns=\"urn:ietf:params:xml:ns:metalink\"/>\n", "x is a Metalink file", "`transfer-run import x`"),
        ("", "it is empty", ""), ("name,sum\na,b\n", "has no line of a checksum file", "`transfer-run lock`"),
    ])
    func anotherFile_isSaidToBeWhatItIs(_ text: String, _ message: String, _ hint: String) throws {
        let binary = try Binary()
        try binary.folder.write("x", text)
        let result = try binary.run("verify", "x")
        #expect(result.exitStatus == 2 && result.errorText.contains(message), "\(result.errorText)")
        #expect(hint.isEmpty || result.errorText.contains(hint), "\(result.errorText)")
        try binary.folder.makeFolder("d")
        #expect(try binary.run("verify", "d").errorText.contains("  hint: name a report, a lock or a list"))
    }

    /// Kills a verification while it reads its last file, which is large.
    @Test func anInterruptedVerificationGoesOn() throws {
        let binary = try Binary()
        var list = ""
        for name in ["a", "b", "c"] {
            try binary.folder.write(name, "body of \(name)")
            list += "\(Self.sums[name]!.dropFirst(7))  \(name)\n"
        }
        try binary.folder.write("large", "")
        #expect(truncate(binary.folder.path("large"), 400 << 30) == 0)
        list += "\(Self.sums["a"]!.dropFirst(7))  large\n"
        // Long enough after the others that their ends are written down.
        for _ in 0..<3 { list += "\(Self.sums["a"]!.dropFirst(7))  a\n" }
        try binary.folder.write("SUMS", list)
        let program = try binary.start(["verify", "SUMS"])
        #expect(waitUntil { Self.recordLength(binary) ?? 0 >= 16 + 3 * 16 })
        #expect(program.send(signal: SIGKILL))
        _ = program.wait()
        #expect(truncate(binary.folder.path("large"), 5) == 0)
        let again = try binary.run("verify", "SUMS")
        #expect(again.exitStatus == 1)
        #expect(again.outputText.contains("1 wrong"), "\(again.outputText)")
        #expect(again.outputText.contains(" verified before it was interrupted\n"), "\(again.outputText)")
        #expect(Self.recordLength(binary) == nil, "the record is gone at the end")
        // What changed its content is read, whatever its time says.
        let whole = try binary.run("verify", "SUMS")
        #expect(!whole.outputText.contains("interrupted"), "\(whole.outputText)")
    }

    private static func recordLength(_ binary: Binary) -> Int? {
        binary.home.list("state/transfer-run/verify").first.flatMap {
            try? binary.home.bytes("state/transfer-run/verify/\($0)").count
        }
    }
}
