import Glibc
import SystemIO
import TestSupport
import Testing

/// A `to` of the job that is a symlink means the file that the link leads to.
@Suite struct LinkedDestinationTests {
    @Test func theFileIsReplacedAndTheLinkStays() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        for name in ["a", "b", "c"] { server.on("/\(name)") { ServedResource("new \(name)").answer($0) } }
        let stage = try Stage()
        try stage.folder.makeFolder("real")
        try stage.folder.write("real/a", "old")
        try stage.folder.link("a", to: "real/../real/a")
        try stage.folder.link("b", to: stage.folder.path("real/new"))
        // One link after the other, the second in another folder.
        try stage.folder.link("c", to: "real/next")
        try stage.folder.link("real/next", to: "end")
        let job = """
            tasks:
              - { id: a, url: "\(server.url("/a"))", to: a, mode: "0600" }
              - { id: b, url: "\(server.url("/b"))", to: b, segments: 2 }
              - { id: c, url: "\(server.url("/c"))", to: c }
            """
        let run = try stage.run(job)
        #expect(run.status == 0)
        let places = ["a@", "b@", "c@", "real/", "real/a", "real/end", "real/new", "real/next@"]
        #expect(Set(stage.files) == Set(places))
        #expect(try stage.text("real/a") == "new a" && stage.text("real/new") == "new b")
        #expect(try stage.text("real/end") == "new c")
        #expect(try run.task("a", "file.path") == "real/a")
        // What was kept of the file is found by the next run.
        let again = try stage.run(job)
        for id in ["a", "b", "c"] { #expect(try again.task(id, "source") == "unchanged", "\(id)") }
        #expect(server.requests().suffix(3).allSatisfy { $0.header("If-None-Match") == "\"v1\"" })
        #expect(Set(stage.files) == Set(places))
    }

    @Test func whatCanBeNoFileIsRefusedBeforeAnythingIsSent() throws {
        let server = try ScriptedServer { _ in .respond(200, body: "new") }
        defer { server.stop() }
        let stage = try Stage()
        #expect(mkfifo(stage.folder.path("pipe"), 0o600) == 0)
        try stage.folder.makeFolder("folder")
        try stage.folder.link("to-null", to: "/dev/null")
        try stage.folder.link("to-pipe", to: "pipe")
        try stage.folder.link("to-folder", to: "folder")
        try stage.folder.link("round", to: "round")
        try stage.folder.link("lost", to: "nowhere/file")
        var reasons = [
            ("/dev/null", "a device, pipe or socket"), ("pipe", "a device, pipe or socket"),
            ("to-null", "a device, pipe or socket"), ("to-pipe", "a device, pipe or socket"),
            ("to-folder", "leads to a folder"), ("round", "too many links"),
            ("lost", "nowhere, which cannot be opened"),
        ]
        // Not every machine has it as the link that it should be, and what is a file there would be replaced.
        if try FileFacts.ofName("/dev/stdout").isLink {
            reasons.append(("/dev/stdout", "a device, pipe or socket"))
        }
        let tasks = reasons.enumerated().map { number, place in
            "  - { id: t\(number), url: \"\(server.url("/\(number)"))\", to: \(place.0), existing: replace }\n"
        }
        let before = stage.files
        let run = try stage.run("tasks:\n" + tasks.joined())
        #expect(run.status == 1)
        for (number, place) in reasons.enumerated() {
            let message = try run.task("t\(number)", "error.message")
            #expect(message?.contains(place.1) == true, "\(message ?? "")")
        }
        #expect(server.requests().isEmpty)
        #expect(stage.files == before)
    }

    @Test func aNameOfTheServerIsNotFollowed() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/evil", .respond(200, body: "new"))
        let stage = try Stage()
        try stage.folder.makeFolder("out")
        try stage.folder.write("outside", "secret")
        try stage.folder.link("out/evil", to: "../outside")
        let refused = try stage.run("tasks: [{ id: a, url: \"\(server.url("/evil"))\", to: out/ }]")
        #expect(try refused.task("a", "error.name") == "nameTaken" && stage.files.contains("out/evil@"))
        let run = try stage.run("tasks: [{ id: a, url: \"\(server.url("/evil"))\", to: out/, existing: replace }]")
        #expect(run.status == 0)
        #expect(try stage.text("outside") == "secret" && stage.text("out/evil") == "new")
        #expect(!stage.files.contains("out/evil@"))
    }

    /// As in `/tmp`: whoever may write there could have put the link there.
    @Test(.enabled(if: geteuid() == 0)) func aLinkOfAnotherUserIsNotFollowedWhereOthersMayWrite() throws {
        let stage = try Stage()
        try stage.folder.makeFolder("open")
        try stage.folder.write("file", "old")
        try stage.folder.link("open/own", to: "../file")
        try stage.folder.link("open/foreign", to: "../file")
        try stage.folder.link("by", to: "open/foreign")
        #expect(lchown(stage.folder.path("open/foreign"), 65_534, 65_534) == 0)
        let tasks = ["open/foreign", "by", "open/own"].enumerated().map { number, to in
            "  - { id: t\(number), url: \"data:,new\", to: \(to) }\n"
        }
        #expect(chmod(stage.folder.path("open"), 0o1777) == 0)
        let run = try stage.run("tasks:\n" + tasks.joined())
        #expect(try run.values("$.tasks[*].outcome") == ["failed", "failed", "succeeded"])
        for id in ["t0", "t1"] {
            #expect(try run.task(id, "error.message")?.contains("a link of another user") == true)
        }
        #expect(chmod(stage.folder.path("open"), 0o755) == 0)
        #expect(try stage.run("tasks:\n" + tasks[0]).status == 0)
    }

    @Test func twoTasksOfOneFileAreFoundByCheckAndFailInARun() throws {
        let stage = try Stage()
        try stage.folder.makeFolder("real")
        try stage.folder.link("link", to: "real/a")
        let job = """
            tasks:
              - { id: one, url: "data:,1", to: real/a }
              - { id: two, url: "data:,2", to: link, needs: [one] }

            """
        let run = try stage.run(job)
        #expect(try run.task("two", "error.name") == "destinationExists")
        #expect(try stage.text("real/a") == "1")
        let binary = try Binary()
        try binary.folder.makeFolder("real")
        try binary.folder.link("link", to: "real/a")
        try binary.folder.write("job.yaml", "version: 1\n" + job)
        let check = try binary.start(["check", "job.yaml"]).wait()
        #expect(check.exitStatus == 2 && check.errorText.contains("[place-taken]"))
        #expect(check.errorText.contains("already the file of the task `one`"), "\(check.errorText)")
    }
}
