import Glibc
import TestSupport
import Testing
import TransferModel

/// Who else writes in a group's folder, and what else lies there.
@Suite struct GroupNeighbourTests {
    private let server: ScriptedServer
    private let stage: Stage

    init() throws {
        server = try ScriptedServer()
        for name in ["a", "b"] { server.on("/\(name)", .respond(200, body: name)) }
        server.on("/site", .respond(200, body: "site"))
        server.on("/slow", [.wait(.milliseconds(300))] + .respond(200, body: "slow"))
        stage = try Stage()
    }

    private func job(_ extraneous: String, _ tasks: String..., to place: String = "site") -> String {
        """
        groups: { g: { to: \(place), extraneous: \(extraneous) } }
        tasks:
          - { id: a, group: g, url: "\(server.url("/slow"))", to: x }

        """ + tasks.map { "  - \($0)\n" }.joined()
    }

    /// What a killed run had staged goes with the next one, also where that has nothing to stage.
    @Test(arguments: [true, false]) func aFailingGroupSweepsToo(_ isLink: Bool) throws {
        defer { server.stop() }
        let left = "pub/.transfer-run-gone0000other-1"
        try stage.folder.write("\(left)/tree/a", "half")
        try stage.folder.write(isLink ? "pub/tree/old" : "pub/site/old", "old")
        if isLink { try stage.folder.link("site", to: "pub/tree") }
        let run = try stage.run(
            """
            groups: { g: { to: \(isLink ? "site" : "pub/site") } }
            tasks: [{ id: a, group: g, url: "\(server.url("/missing"))", to: a }]
            """)
        #expect(run.status == 1)
        #expect(!stage.folder.exists(left))
        #expect(stage.folder.exists(isLink ? "site/old" : "pub/site/old"))
    }

    /// What is told as there is there when the run ends: nobody else writes where a group puts its set in place.
    @Test(arguments: ["remove", "keep"], ["rule", "captured", "link", "member's place", "skip", "file"])
    func nobodyElseWritesThere(_ extraneous: String, _ way: String) throws {
        defer { server.stop() }
        try stage.folder.write("site/old", "old")
        try stage.folder.link("al", to: "site")
        let url = server.url("/b")
        let capture = "{ id: c, url: '\(server.url("/site"))', capture: { d: { regex: site } } }"
        let tasks: [String]
        switch way {
        case "rule": tasks = ["{ id: b, url: '\(url)', onResponse: [{ do: download, to: al/b }] }"]
        case "captured": tasks = [capture, "{ id: b, url: '\(url)', to: './${tasks.c.d}/b' }"]
        case "link": tasks = ["{ id: b, url: '\(url)', to: al/b }"]
        case "member's place": tasks = ["{ id: b, url: '\(url)', to: al/x }"]
        case "skip": tasks = ["{ id: b, url: '\(url)', to: al/old, existing: skip }"]
        default: tasks = ["{ id: b, url: 'file://\(stage.folder.path("job.yaml"))', to: al/b }"]
        }
        let text = tasks.count == 2 ? job(extraneous, tasks[0], tasks[1]) : job(extraneous, tasks[0])
        let run = try stage.run(text)
        #expect(run.status == 1)
        #expect(try run.task("b", "error.name") == "destinationExists")
        #expect(try run.task("b", "error.message")?.contains("the group `g`") == true)
        #expect(try run.task("a", "outcome") == "succeeded")
        #expect(try stage.text("site/x") == "slow")
        #expect(stage.folder.list("site") == (extraneous == "keep" ? ["old", "x"] : ["x"]))
    }

    /// Each is put in place as a whole: one in the other would go with it, whatever path leads there.
    @Test(arguments: ["link/sub", "link", "."]) func noGroupLiesInAnother(_ to: String) throws {
        defer { server.stop() }
        try stage.folder.write("site/old", "old")
        try stage.folder.link("link", to: "site")
        let run = try stage.run(
            """
            groups: { g: { to: site }, h: { to: \(to) } }
            tasks:
              - { id: a, group: g, url: "\(server.url("/a"))", to: x }
              - { id: b, group: h, url: "\(server.url("/b"))", to: y }
            """)
        #expect(run.status == 2 && run.errorText.contains("`g` and `h` publish into one folder"), "\(run.errorText)")
        #expect(server.requests().isEmpty && stage.folder.list("site") == ["old"])
    }

    /// Which of two files is sent is not left to chance.
    @Test(arguments: [true, false]) func whoSendsWhatAnotherWritesNeedsIt(_ isNeeded: Bool) throws {
        defer { server.stop() }
        server.on("/up", .respond(200))
        try stage.folder.write("site/f", "old")
        try stage.folder.link("link", to: "site")
        let run = try stage.run(
            """
            tasks:
              - { id: a, url: "\(server.url("/a"))", to: link/f, existing: replace }
              - id: b
                type: upload
                url: "\(server.url("/up"))"
                body: { file: site/f }
            \(isNeeded ? "    needs: [a]" : "")
            """)
        if isNeeded {
            #expect(run.status == 0 && server.requests("/up").first?.bodyText == "a", "\(run.errorText)")
        } else {
            #expect(run.status == 2 && run.errorText.contains("which `a` writes as"), "\(run.errorText)")
            #expect(try server.requests().isEmpty && stage.text("site/f") == "old")
        }
    }

    /// A set without anything else in its folder cannot take away what the run lives on.
    @Test(arguments: ["job", "secret", "state", "report", "body", "linked"])
    func nothingOfTheRunIsExtraneous(_ what: String) throws {
        defer { server.stop() }
        try stage.folder.makeFolder("site")
        try stage.folder.write("site/mine", "precious")
        var (text, file, options) = (job("remove"), "job.yaml", ["--report", "none"])
        switch what {
        case "job":
            file = "site/job.yaml"
            text = text.replacing("to: site", with: "to: .")
        case "secret": text = "secrets: { s: { file: site/mine } }\n" + text
        case "state": options += ["--state-dir", "site/state"]
        case "report": options = ["--report", "site/report"]
        case "body":
            text = job("remove", "{ id: u, url: '\(server.url("/b"))', method: PUT, body: { file: site/mine } }")
        default:
            try stage.folder.link("al", to: "site/mine")
            text = "secrets: { s: { file: al } }\n" + text
        }
        try stage.folder.write(file, text)
        let result = try stage.binary.start([file] + options).wait()
        #expect(result.exitStatus == 4 && result.errorText.contains("`extraneous: remove`"), "\(result.errorText)")
        #expect(try stage.text("site/mine") == "precious")
        #expect(server.requests().isEmpty)
    }

    /// A member's own file may be sent: the group puts it there.
    @Test func whatAMemberWritesMayBeSent() throws {
        defer { server.stop() }
        server.on("/up", .respond(200))
        let text = job(
            "remove",
            "{ id: u, needs: [group.g, a], url: '\(server.url("/up"))', method: PUT, body: { file: site/x } }")
        for _ in 0..<2 { #expect(try stage.run(text).status == 0) }
    }

    /// A download of another run goes on in the new tree.
    @Test(arguments: ["remove", "keep"]) func theExchangeHarmsNoDownloadUnderWay(_ extraneous: String) throws {
        defer { server.stop() }
        let body = Script.patternBytes(3 << 20)
        let head = Script.head(200, [("ETag", "\"v\""), ("Content-Length", "\(body.count)")])
        server.on("/long") { _ in
            Script([
                .bytes(head), .bytes(Array(body[..<(2 << 20)])), .wait(.milliseconds(1_500)),
                .bytes(Array(body[(2 << 20)...(2 << 20)])), .gate("exchanged"),
                .bytes(Array(body[((2 << 20) + 1)...])),
            ])
        }
        try stage.folder.write("site/old", "old")
        try stage.folder.write(
            "other.yaml", "tasks: [{ id: long, url: '\(server.url("/long"))', to: site/long }]")
        let other = try stage.binary.start(["other.yaml"])
        // It has a name by now.
        waitUntil { stage.folder.list("site").contains(where: { $0.hasPrefix(".transfer-run-") }) }
        #expect(try stage.run(job(extraneous)).status == 0)
        server.open(gate: "exchanged")
        let result = other.wait()
        #expect(result.exitStatus == 0, "\(result.errorText)")
        #expect(try stage.folder.bytes("site/long") == body)
        #expect(stage.folder.list("site") == (extraneous == "keep" ? ["long", "old", "x"] : ["long", "x"]))
    }

    /// Who waits for another run to be done there need not be waited for.
    @Test(arguments: ["signal", "timeout"]) func whoWaitsForAnotherRunCanBeStopped(_ way: String) throws {
        defer { server.stop() }
        try stage.folder.write("site/old", "old")
        let other = open(stage.folder.path("site"), O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        defer { close(other) }
        try #require(flock(other, LOCK_EX | LOCK_NB) == 0)
        let limit = way == "timeout" ? "limits: { timeout: 2s }\n" : ""
        let text = job("keep", "{ id: n, needs: [group.g], url: '\(server.url("/b"))', to: needing }")
        let running = try stage.start(limit + text)
        let begun = time(nil)
        if way == "signal" {
            waitUntil { stage.hasAnswers(0) }
            usleep(500_000)
            #expect(running.send(signal: SIGINT))
        }
        let run = try stage.finish(running)
        // It would have waited for a minute.
        #expect(time(nil) - begun < 45)
        #expect(run.status == (way == "signal" ? 130 : 1), "\(run.errorText)")
        #expect(try run.values("$.tasks[*].outcome") == ["cancelled", "cancelled"])
        #expect(try run.task("a", "error.name") == (way == "signal" ? "cancelled" : "timedOut"))
        #expect(try run.values("$.groups[*].published") == ["false"])
        #expect(stage.folder.list("site") == ["old"])
        #expect(stage.folder.list().allSatisfy { !$0.hasPrefix(".transfer-run-") })
        flock(other, LOCK_UN)
        #expect(try stage.run(text).status == 0)
        #expect(stage.folder.list("site") == ["old", "x"])
    }

    /// Between the making of the folder that a group is staged in and its lock another run sweeps it away: then another
    /// is made.
    @Test(.enabled(if: Strace.isUsable)) func aStagingThatIsSweptBeforeItIsLockedIsMadeAgain() throws {
        defer { server.stop() }
        try stage.folder.write("site/old", "old")
        // Each thread's first ones; the delivery thread's own are those of the staging.
        let slow = Strace([.init("flock", .delay(milliseconds: 1_500), when: "1..2")])
        let alone = "sessions: { default: { configuration: ephemeral } }\n"
        let running = try stage.start(alone + job("keep"), under: slow.command(calls: ["flock"]))
        waitUntil { stage.folder.list().contains(where: { $0.hasPrefix(".transfer-run-") }) }
        let first = stage.folder.list().filter { $0.hasPrefix(".transfer-run-") && $0.hasSuffix("-1/") }
        try stage.folder.write("other.yaml", alone + "tasks: [{ id: b, url: '\(server.url("/b"))', to: plain }]")
        #expect(try stage.binary.start(["other.yaml", "--report", "none"]).wait().exitStatus == 0)
        // Else it was not provoked.
        #expect(first.count == 1 && !stage.folder.list().contains(first[0]))
        let run = try stage.finish(running)
        #expect(run.status == 0, "\(run.errorText)")
        #expect(try stage.text("site/x") == "slow" && stage.text("site/old") == "old")
        #expect(stage.folder.list().allSatisfy { !$0.hasPrefix(".transfer-run-") })
    }

    /// The set stands there and may not outlast a power cut: its members have failed, and the report says both.
    @Test(.enabled(if: Strace.isUsable), arguments: [false, true])
    func aSetWhoseFlushFailsIsToldAsPublished(_ isLink: Bool) throws {
        defer { server.stop() }
        try stage.folder.write("pub/first/old", "old")
        if isLink {
            try stage.folder.link("pub/site", to: "first")
        } else {
            rename(stage.folder.path("pub/first"), stage.folder.path("pub/site"))
        }
        // Where the set stands, and not the report, which is flushed as well.
        let broken = Strace([.init("fsync", .error("EIO"))], paths: [stage.folder.path("pub")])
        let text =
            "sessions: { default: { durability: flush } }\n"
            + job("remove", "{ id: n, needs: [group.g], url: '\(server.url("/b"))', to: needing }", to: "pub/site")
        let run = try stage.run(text, under: broken.command(calls: ["fsync"]))
        #expect(run.status == 1)
        #expect(try run.values("$.groups[*].published") == ["true"])
        #expect(try run.values("$.groups[*].error.name") == ["cannotWriteToFile"])
        #expect(try run.task("a", "error.message")?.contains("is published, but flushing") == true)
        #expect(try run.values("$.tasks[*].outcome") == ["failed", "skipped"])
        #expect(try run.values("$.tasks[*].changed") == ["true", "false"])
        #expect(stage.folder.list("pub/site") == ["x"])
        #expect(try stage.run(text).status == 0)
    }
}
