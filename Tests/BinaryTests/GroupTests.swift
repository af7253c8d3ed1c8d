import SystemIO
import TestSupport
import Testing
import TransferModel

/// Groups as a folder sees them: the old set or the new one, never half of each.
@Suite struct GroupTests {
    private func job(_ server: ScriptedServer, _ group: String = "to: site", more: String = "") -> String {
        """
        defaults: { retry: { attempts: 1 } }
        groups: { site: { \(group) } }
        tasks:
          - { id: a, group: site, url: "\(server.url("/a"))", to: a.txt }
          - { id: b, group: site, url: "\(server.url("/b"))", to: deep/b.txt }
          - { id: after, needs: [group.site], url: "\(server.url("/after"))" }
        \(more)
        """
    }

    private func server(_ version: String) throws -> ScriptedServer {
        let server = try ScriptedServer()
        for name in ["a", "b", "after"] { server.on("/\(name)", .respond(200, body: "\(name) \(version)")) }
        return server
    }

    @Test(arguments: ["none", "flush"]) func membersAppearTogether(_ durability: String) throws {
        let server = try server("1")
        defer { server.stop() }
        server.on("/b", [.wait(.milliseconds(300))] + .respond(200, body: "b 1"))
        let stage = try Stage()
        let program = try stage.start(
            job(server, more: "sessions: { default: { durability: \(durability) } }"))
        #expect(server.waitForRequests(2))
        #expect(!stage.folder.exists("site"))
        let run = try stage.finish(program)
        #expect(run.status == 0)
        #expect(try stage.text("site/a.txt") == "a 1" && stage.text("site/deep/b.txt") == "b 1")
        #expect(server.requests().last?.target == "/after")
        #expect(try run.value("$.groups[0].published") == "true")
        #expect(try run.task("a", "waits[?@.reason=='dependency'].duration").flatMap { Double($0) } ?? 0 > 0.1)
        #expect(run.story(of: "a").suffix(3) == ["fileFinished", "attemptFinished", "taskFinished"])
        #expect(stage.files.allSatisfy { !$0.contains(".transfer-run-") })
    }

    /// What is there already gets the mode that it shall have in the step in which all does, and the old set keeps its
    /// own.
    @Test(arguments: ["to: site", "to: link"]) func aMemberThatIsUnchangedGetsItsMode(_ place: String) throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        for name in ["a", "b"] {
            server.on("/\(name)") { request in
                let isKnown = request.header("If-None-Match") != nil
                let tag = [("ETag", "\"1\"")]
                return isKnown ? .respond(304, headers: tag) : .respond(200, headers: tag, body: name)
            }
        }
        let stage = try Stage()
        try stage.folder.makeFolder("first")
        try stage.folder.link("link", to: "first")
        func run(_ mode: String) throws -> Stage.Run {
            try stage.run(
                """
                groups: { site: { \(place) } }
                tasks:
                  - { id: a, group: site, url: "\(server.url("/a"))", to: a.txt, mode: "\(mode)" }
                  - { id: b, group: site, url: "\(server.url("/b"))", to: b.txt }
                """)
        }
        let folder = String(place.dropFirst("to: ".utf8.count))
        #expect(try run("0644").status == 0)
        let before = try FileFacts.of(stage.folder.path("\(folder)/a.txt"))
        #expect(before.permissions == 0o644)
        for round in 0..<2 {
            let again = try run("0600")
            #expect(try again.status == 0 && again.task("a", "source") == "unchanged", "round \(round)")
            let facts = try FileFacts.of(stage.folder.path("\(folder)/a.txt"))
            #expect(facts.permissions == 0o600 && facts.modifiedNanoseconds == before.modifiedNanoseconds)
            #expect(try stage.text("\(folder)/a.txt") == "a" && stage.text("\(folder)/b.txt") == "b")
        }
    }

    /// A link is skipped for what it leads to.
    @Test(arguments: ["out", "file/x", "nowhere", "folder"]) func aLinkToNoFileIsNotSkipped(_ target: String) throws {
        let server = try server("1")
        defer { server.stop() }
        let stage = try Stage()
        try stage.folder.makeFolder("site/folder")
        try stage.folder.write("site/file", "x")
        try stage.folder.link("site/out", to: target)
        let run = try stage.run(
            """
            groups: { site: { to: site } }
            tasks: [{ id: a, group: site, url: "\(server.url("/a"))", to: out, existing: skip }]
            """)
        #expect(run.status == 1)
        #expect(try run.task("a", "outcome") == "failed" && run.value("$.groups[0].published") == "false")
    }

    /// Of a group that has no members in this run there is nothing to wait for.
    @Test func whoNeedsAGroupWithoutMembersRuns() throws {
        let server = try server("1")
        defer { server.stop() }
        let stage = try Stage()
        let rest = try stage.run(job(server), "--except", "a", "--except", "b")
        #expect(try rest.status == 0 && rest.values("$.tasks[*].id") == ["after"])
        let empty = try stage.run(
            """
            groups: { site: { to: site } }
            tasks:
              - { id: "f${n}", forEach: { n: [] }, group: site, url: "\(server.url("/a"))", to: "${n}" }
              - { id: after, needs: [group.site], url: "\(server.url("/after"))" }
            """)
        #expect(empty.status == 0 && server.requests().map(\.target) == ["/after", "/after"])
        let whole = try stage.run(job(server), "--only", "after")
        #expect(try whole.status == 0 && whole.values("$.tasks[*].id") == ["a", "b", "after"])
    }

    @Test func aFailureLeavesTheOldSet() throws {
        let server = try server("1")
        defer { server.stop() }
        let stage = try Stage()
        #expect(try stage.run(job(server)).status == 0)
        server.on("/a", .respond(200, body: "a 2"))
        server.on("/b", .respond(500, body: "no"))
        let run = try stage.run(job(server))
        #expect(run.status == 1)
        #expect(try run.values("$.tasks[*].outcome") == ["cancelled", "failed", "skipped"])
        #expect(try run.task("after", "error.message") == "the group `site`, which it needs, was not published")
        #expect(try run.value("$.groups[0].published") == "false")
        #expect(try stage.text("site/a.txt") == "a 1" && stage.text("site/deep/b.txt") == "b 1")
        #expect(stage.files.allSatisfy { !$0.contains(".transfer-run-") })
    }

    @Test(arguments: [("keep", true), ("remove", false)]) func filesNoMemberNames(_ word: String, _ stays: Bool) throws
    {
        let server = try server("1")
        defer { server.stop() }
        let stage = try Stage()
        try stage.folder.write("site/old/notes", "mine")
        try stage.folder.write("site/a.txt", "a 0")
        #expect(try stage.run(job(server, "to: site, extraneous: \(word)")).status == 0)
        #expect(stage.folder.exists("site/old/notes") == stays)
        #expect(try stage.text("site/a.txt") == "a 1")
    }

    /// A member that is not in this run, or fails and may, leaves its old file: a member of the job names it.
    @Test func whatOtherMembersWroteStays() throws {
        let server = try server("1")
        defer { server.stop() }
        let stage = try Stage()
        let more = "  - { id: c, group: site, url: \"\(server.url("/after"))\", to: c.txt, allowFailure: true }"
        let job = job(server, "to: site, extraneous: remove", more: more)
        #expect(try stage.run(job).status == 0)
        try stage.folder.write("site/old", "mine")
        server.on("/a", .respond(200, body: "a 2"))
        #expect(try stage.run(job, "--only", "a").status == 0)
        #expect(try stage.text("site/a.txt") == "a 2" && !stage.folder.exists("site/old"))
        #expect(try stage.text("site/deep/b.txt") == "b 1" && stage.text("site/c.txt") == "after 1")
        server.on("/a", .respond(200, body: "a 3"))
        server.on("/after", .respond(500, body: "no"))
        let run = try stage.run(job, "--except", "after")
        #expect(try run.status == 0 && run.task("c", "tolerated") == "true")
        #expect(try stage.text("site/a.txt") == "a 3" && stage.text("site/c.txt") == "after 1")
    }

    /// An index that lost most of its names must not empty a mirror.
    @Test func tooManyRemovals_leaveTheOldSet_andTheNextRunNeedsNoDownload() throws {
        let server = try server("1")
        defer { server.stop() }
        let stage = try Stage()
        for number in 1...5 { try stage.folder.write("site/old\(number)", "mine") }
        let run = try stage.run(job(server, "to: site, extraneous: remove, maximumRemovals: 50%"))
        #expect(run.status == 1)
        #expect(
            run.errorText.contains(
                "5 of the 5 files in \(stage.folder.path)/site would be removed, "
                    + "`maximumRemovals` is 50%"), "\(run.errorText)")
        #expect(try stage.text("site/old1") == "mine" && !stage.folder.exists("site/a.txt"))
        #expect(try run.values("$.tasks[*].error.name").contains("groupNotPublished"))
        #expect(try stage.run(job(server, "to: site, extraneous: remove, maximumRemovals: 5")).status == 0)
        #expect(try !stage.folder.exists("site/old1") && stage.text("site/a.txt") == "a 1")
    }

    @Test func aLimitOfRemovals_withoutRemovals_isAnError() throws {
        let server = try server("1")
        defer { server.stop() }
        let stage = try Stage()
        let run = try stage.run(job(server, "to: site, maximumRemovals: 10%"))
        #expect(
            run.status == 2 && run.errorText.contains("`maximumRemovals` of `site` limits nothing"), "\(run.errorText)")
        for (value, words) in [("110%", "a share from `0%` to `100%`"), ("-1", "0"), ("some", "a share")] {
            let bad = try stage.run(job(server, "to: site, extraneous: remove, maximumRemovals: \(value)"))
            #expect(bad.status == 2 && bad.errorText.contains(words), "\(value): \(bad.errorText)")
        }
    }

    /// A member that is as it shall be costs no request and comes along.
    @Test func unchangedMembersComeAlong() throws {
        let server = try server("1")
        defer { server.stop() }
        let stage = try Stage()
        try stage.folder.write("site/a.txt", "a")
        let sum = "sha256:ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"
        let run = try stage.run(
            """
            groups: { site: { to: site, extraneous: remove } }
            tasks:
              - { id: a, group: site, url: "\(server.url("/a"))", to: a.txt, checksum: "\(sum)" }
              - { id: b, group: site, url: "\(server.url("/b"))", to: b.txt }
            """)
        #expect(run.status == 0)
        #expect(try run.values("$.tasks[*].source") == ["unchanged", "network"])
        #expect(try run.values("$.tasks[*].changed") == ["false", "true"])
        #expect(server.requests().map(\.target) == ["/b"])
        #expect(try stage.text("site/a.txt") == "a")
    }

    @Test func aLinkIsSwitched() throws {
        let server = try server("1")
        defer { server.stop() }
        let stage = try Stage()
        try stage.folder.write("releases/one/a.txt", "a 0")
        try stage.folder.link("site", to: "releases/one")
        #expect(try stage.run(job(server)).status == 0)
        #expect(try stage.text("site/a.txt") == "a 1" && stage.text("site/deep/b.txt") == "b 1")
    }

    @Test func aKilledRunLeavesTheOldSet() throws {
        let server = try server("1")
        defer { server.stop() }
        let stage = try Stage()
        #expect(try stage.run(job(server)).status == 0)
        server.on("/a", .respond(200, body: "a 2"))
        server.on("/b", [.wait(.seconds(4))] + .respond(200, body: "b 2"))
        let program = try stage.start(job(server))
        #expect(server.waitForRequests(2, "/b"))
        program.send(signal: 9)
        _ = program.wait()
        #expect(try stage.text("site/a.txt") == "a 1" && stage.text("site/deep/b.txt") == "b 1")
        server.on("/b", .respond(200, body: "b 2"))
        #expect(try stage.run(job(server)).status == 0)
        #expect(try stage.text("site/a.txt") == "a 2" && stage.text("site/deep/b.txt") == "b 2")
    }

    @Test func whoWritesIntoTheFolderMustBeAMember() throws {
        let server = try server("1")
        defer { server.stop() }
        let run = try Stage().run(
            job(server, more: "  - { id: c, url: \"\(server.url("/a"))\", to: site/c.txt }"))
        #expect(run.status == 2)
        #expect(run.errorText.contains("add `group: site`"))
    }

    /// What is wrong with the group's own folder is told of the group, and nothing of it has changed.
    @Test(arguments: [("file", "is no folder"), ("dangling", "following the link"), (".", "holds the working folder")])
    func aFolderThatCannotBeExchangedIsTheGroupsError(_ to: String, _ words: String) throws {
        let server = try server("1")
        defer { server.stop() }
        let stage = try Stage()
        try stage.folder.write("file", "mine")
        try stage.folder.link("dangling", to: "nowhere")
        let run = try stage.run(job(server, "to: \(to)"))
        #expect(run.status == 1)
        #expect(try run.value("$.groups[0].published") == "false")
        #expect(try run.value("$.groups[0].error.name") == "groupNotPublished")
        #expect(try run.value("$.groups[0].error.message")?.contains(words) == true)
        #expect(try run.task("a", "changed") == "false" && run.task("b", "changed") == "false")
    }

    @Test func whatIsNotPublishedHasNotChanged() throws {
        let server = try server("1")
        defer { server.stop() }
        server.on("/b", [.wait(.milliseconds(300))] + .respond(500, body: "no"))
        let run = try Stage().run(job(server))
        #expect(try run.values("$.tasks[*].changed") == ["false", "false", nil])
        #expect(try run.value("$.groups[0].error") == nil)
    }

    /// A group's tree is made anew: no symlink in it leads `..` elsewhere.
    @Test func dotsInAMembersPathAreUnderstood() throws {
        let server = try server("1")
        defer { server.stop() }
        let stage = try Stage()
        let run = try stage.run(
            """
            groups: { site: { to: site } }
            tasks:
              - { id: a, group: site, url: "\(server.url("/a"))", to: x/../y/.././a.txt }
              - { id: b, group: site, url: "\(server.url("/b"))", to: "\(stage.folder.path("site/deep/../b.txt"))" }
            """)
        #expect(run.status == 0)
        #expect(try run.values("$.tasks[*].file.path") == ["site/a.txt", "site/b.txt"])
        #expect(try stage.text("site/a.txt") == "a 1" && stage.text("site/b.txt") == "b 1")
    }

    // MARK: Room

    @Test func whatMustStayFreeStaysFree() throws {
        let server = try server("1")
        defer { server.stop() }
        let stage = try Stage()
        let run = try stage.run(
            """
            limits: { minimumFreeDisk: 1000000GiB }
            tasks:
              - { id: a, url: "\(server.url("/a"))", to: a }
              - { id: data, url: "\(server.url("/b"))" }
            """)
        #expect(run.status == 1)
        #expect(try run.values("$.tasks[*].outcome") == ["failed", "succeeded"])
        #expect(try run.task("a", "error.name") == "notEnoughDiskSpace")
        #expect(try run.task("a", "attempts[*].number") == "1" && stage.files.isEmpty)
    }

    /// A claim of ten terabytes fails before a byte of it is received.
    @Test func aHugeClaimFailsAtOnce() throws {
        let server = try ScriptedServer { _ in .headOnly(200, length: 10_000_000_000_000_000) + [.wait(.seconds(4))] }
        defer { server.stop() }
        let stage = try Stage()
        let run = try stage.run("tasks: [{ id: a, url: \"\(server.origin)/a\", to: a }]")
        #expect(run.status == 1)
        #expect(try run.task("a", "error.name") == "notEnoughDiskSpace")
    }
}
