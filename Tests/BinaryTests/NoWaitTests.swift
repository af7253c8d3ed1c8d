import SystemIO
import TestSupport
import Testing
import TransferModel

/// `--no-wait`: what a date or a window holds back is for the next run.
@Suite struct NoWaitTests {
    private static func server() throws -> ScriptedServer { try ScriptedServer { _ in .respond(200, body: "body") } }

    /// The next run fetches what this one left, and nothing twice.
    @Test func aDateToComeIsForTheNextRun() throws {
        let server = try Self.server()
        defer { server.stop() }
        let stage = try Stage()
        let job = { (begin: String) in
            """
            tasks:
              - { id: now, url: "\(server.url("/now"))", to: now }
              - { id: later, url: "\(server.url("/later"))", to: later, earliestBegin: "\(begin)" }
              - { id: after, url: "\(server.url("/after"))", to: after, needs: [later] }
            """
        }
        let first = try stage.run(job("2h"), "--no-wait")
        #expect(first.status == 75)
        #expect(try first.value("$.outcome") == "deferred" && first.value("$.totals.deferred") == "2")
        #expect(try first.values("$.tasks[*].outcome") == ["succeeded", "deferred", "deferred"])
        #expect(try first.task("later", "error") == nil && first.values("$.tasks[1].waits[*]") == [])
        for id in ["later", "after"] {
            let explanation = try first.task(id, "explanation") ?? ""
            #expect(explanation.contains("`earliestBegin`") && explanation.contains("told not to wait"))
        }
        let until = try first.task("later", "explanation") ?? ""
        #expect(
            until.contains(" does not come until ") && until.contains(" UTC (in 2 h), counted from each start, and"),
            "\(until)")
        #expect(stage.files == ["now"] && server.requests().map(\.path) == ["/now"])

        // The same command would put it off for ever.
        #expect(first.errorText.contains("; the command above goes on with them.\n"), "\(first.errorText)")

        let second = try stage.run(job("2020-01-01T00:00:00Z"), "--no-wait")
        #expect(second.status == 0)
        #expect(stage.files == ["after", "later", "now"])
    }

    /// Nobody knows at which hour this runs: a window that is open on no day but a far one is closed.
    @Test func aClosedWindowIsForTheNextRun() throws {
        let server = try Self.server()
        defer { server.stop() }
        let stage = try Stage()
        let job = { (window: String) in
            """
            sessions:
              default: { \(window) }
              other: { configuration: ephemeral }
            groups: { site: { to: site, publish: atomic } }
            tasks:
              - { id: at-night, session: default, url: "\(server.url("/a"))", to: a }
              - { id: by-day, session: other, url: "\(server.url("/b"))", to: b }
              - { id: member, session: default, group: site, url: "\(server.url("/c"))", to: c }
              - { id: mate, session: other, group: site, url: "\(server.url("/d"))", to: d }
            """
        }
        let closed = try stage.run(job(Self.closedWindow()), environment: ["TRANSFER_RUN_NO_WAIT": "true"])
        #expect(closed.status == 75)
        #expect(try closed.values("$.tasks[*].outcome") == ["deferred", "succeeded", "deferred", "deferred"])
        #expect(try closed.task("mate", "explanation")?.contains("`window`") == true)
        #expect(try closed.value("$.groups[0].published") == "false")
        #expect(stage.files == ["b"])

        let open = try stage.run(job("configuration: default"), "--no-wait")
        #expect(open.status == 0 && stage.files == ["a", "b", "site/", "site/c", "site/d"])
    }

    /// Twelve hours from now, for one hour: closed now, in whatever zone this runs.
    private static func closedWindow() -> String {
        let hour = Int(Clocks.now().wall.nanoseconds / 3_600_000_000_000 % 24)
        let text = { (hour: Int) in (hour % 24 < 10 ? "0" : "") + "\(hour % 24):00" }
        return "window: { from: \"\(text(hour + 12))\", to: \"\(text(hour + 13))\", timezone: UTC }"
    }

    /// What would fail anyway fails: that is no waiting.
    @Test func aFailureIsNoDeferral() throws {
        let server = try ScriptedServer { _ in .respond(404, body: "gone") }
        defer { server.stop() }
        let run = try Stage().run(
            """
            tasks:
              - { id: gone, url: "\(server.url("/x"))", to: x }
              - { id: later, url: "\(server.url("/y"))", to: y, earliestBegin: 2h }
            """, "--no-wait")
        #expect(run.status == 1)
        #expect(try run.values("$.tasks[*].outcome") == ["failed", "deferred"])
    }
}
