import SystemIO
import TestSupport
import Testing
import TextFormats
import TransferModel

/// Limits over sessions and hosts, rates, deadlines and windows, measured where they must hold: at the server.
@Suite struct LimitTests {
    private func outcomes(_ run: Stage.Run) throws -> [String?] { try run.values("$.tasks[*].outcome") }

    @Test func connectionsOfAHostAreCountedOverAllSessions() throws {
        let server = try ScriptedServer { _ in [.gate("three")] + .respond(200, body: "x") }
        defer { server.stop() }
        let stage = try Stage()
        let program = try stage.start(
            """
            limits: { hosts: { "127.0.0.1": { maximumConnections: 3 }, "*": { maximumConnections: 50 } } }
            sessions:
              one: { configuration: ephemeral }
              two: { configuration: ephemeral }
              three: { configuration: ephemeral }
            tasks:
              - { id: "a-${n}", session: one, forEach: { n: 1..20 }, url: "\(server.origin)/a/${n}" }
              - { id: "b-${n}", session: two, forEach: { n: 1..20 }, url: "\(server.origin)/b/${n}" }
              - { id: "c-${n}", session: three, forEach: { n: 1..20 }, url: "\(server.origin)/c/${n}" }
            """)
        #expect(server.waitForRequests(3))
        server.open(gate: "three")
        let run = try stage.finish(program)
        #expect(run.status == 0)
        // Idle ones of the other sessions count too. A request still counts for a moment after its last byte was sent, in
        // which the next may come on another connection.
        #expect(server.peakConnections <= 3 && server.peakRequests >= 3)
        #expect(server.requests().count == 60)
    }

    /// What lies idle ends where a request goes past it: a POST has a connection of its own, and so have tasks that may
    /// use other networks than the rest.
    @Test(arguments: [
        ["limits: { hosts: { \"127.0.0.1\": { maximumConnections: 2 } } }", "POST"],
        [
            "sessions: { default: { maximumConnectionsPerHost: 2, configuration: ephemeral }, "
                + "other: { configuration: ephemeral } }", "POST",
        ],
        ["sessions: { default: { maximumConnectionsPerHost: 2 } }", "allowsExpensiveNetworkAccess: false"],
    ])
    func idleConnectionsMakeRoom(_ limit: [String]) throws {
        let server = try ScriptedServer { _ in .respond(200, body: "x") }
        defer { server.stop() }
        let own = limit[1] == "POST" ? "method: POST, body: { data: hello }" : limit[1]
        let tasks = (1...12).map { number in
            let needs = number > 2 ? ", needs: [t\(number - 2)]" : ""
            let isOther = number > 4 && number % 4 < 2
            return "  - { id: t\(number)\(needs), url: \"\(server.url("/\(number)"))\"\(isOther ? ", \(own)" : "") }"
        }
        let run = try Stage().run("\(limit[0])\ntasks:\n\(tasks.joined(separator: "\n"))")
        #expect(run.status == 0)
        #expect(server.peakConnections == 2)
    }

    /// Evenly spaced but for the burst, redirects counted: any n requests take at least (n - burst) intervals.
    @Test(arguments: [1, 4]) func requestsPerSecondHoldAtTheServer(_ burst: Int) throws {
        let server = try ScriptedServer { request in
            request.path.hasPrefix("/hop") ? .redirect(302, to: "/end") : .respond(200, body: "x")
        }
        defer { server.stop() }
        let run = try Stage().run(
            """
            sessions: { default: { requestsPerSecond: { rate: 50, burst: \(burst) } } }
            tasks:
              - { id: "t-${n}", forEach: { n: 1..12 }, url: "\(server.origin)/${n}" }
              - { id: hop, url: "\(server.origin)/hop" }
            """)
        #expect(run.status == 0)
        #expect(server.requests().count == 14)
        let times = try run.requestTimes()
        #expect(times.count == 14)
        for first in times.indices {
            for last in times.indices where last - first >= burst {
                let least = Double(last - first + 1 - burst) * 20
                // A report's times are whole milliseconds.
                #expect((times[last] - times[first]).seconds * 1000 > least - 2)
            }
        }
        #expect(try run.values("$.tasks[*].waits[?@.reason=='requestRate'].duration").count >= 12 - burst)
    }

    @Test func aServersQuotaIsKept() throws {
        let server = try ScriptedServer { _ in
            .respond(200, headers: [("RateLimit", #""default";r=0;t=1"#)], body: "x")
        }
        defer { server.stop() }
        let run = try Stage().run(
            """
            sessions: { default: { maximumConnectionsPerHost: 1 } }
            tasks: [{ id: "t-${n}", forEach: { n: 1..3 }, url: "\(server.origin)/${n}" }]
            """)
        #expect(run.status == 0)
        let times = try run.requestTimes()
        #expect((times[1] - times[0]).seconds > 0.9 && (times[2] - times[1]).seconds > 0.9)
        #expect(try run.task("t-3", "waits[?@.reason=='requestRate'].duration").flatMap { Double($0) } ?? 0 > 1.8)
    }

    @Test func bandwidthIsShared() throws {
        let body = Script.patternBytes(200_000)
        let server = try ScriptedServer { _ in .respond(200, body: body) }
        defer { server.stop() }
        let stage = try Stage()
        let run = try stage.run(
            """
            limits: { bandwidth: 1MB/s }
            tasks: [{ id: "t-${n}", forEach: { n: 1..3 }, url: "\(server.origin)/${n}", to: "t${n}" }]
            """)
        #expect(run.status == 0)
        let took = try run.value("$.duration").flatMap { Double($0) } ?? 0
        #expect(took > 0.5 && took < 10)
        #expect(try run.values("$.tasks[*].waits[?@.reason=='bandwidth'].duration").count == 3)
        for file in stage.files { #expect(try stage.folder.bytes(file) == body) }
    }

    /// The system puts what comes of such a body where it is to be, and libcurl keeps what comes too soon.
    @Test(arguments: [1, 4]) func aLongBodyThatHasToWaitComesWhole(segments: Int) throws {
        let resource = ServedResource(Script.patternBytes(1_500_000))
        let server = try ScriptedServer { request in resource.answer(request) }
        defer { server.stop() }
        let stage = try Stage()
        let run = try stage.run(
            """
            limits: { bandwidth: 6MB/s }
            tasks:
              - { id: "t-${n}", forEach: { n: 1..3 }, url: "\(server.origin)/${n}", to: "t${n}", segments: \(segments) }
            """)
        #expect(run.status == 0, "\(run.errorText)")
        #expect(try run.values("$.tasks[*].attempts[*].number") == ["1", "1", "1"])
        #expect(try run.values("$.tasks[*].waits[?@.reason=='bandwidth'].duration").count == 3)
        for file in stage.files { #expect(try stage.folder.bytes(file) == Script.patternBytes(1_500_000)) }
        #expect(stage.files.count == 3)
    }

    @Test func uploadsAreUnderTheBandwidthToo() throws {
        let server = try ScriptedServer { _ in .respond(201, body: "") }
        defer { server.stop() }
        let stage = try Stage()
        let body = Script.patternBytes(300_000)
        try stage.folder.write("body", body)
        let run = try stage.run(
            """
            tasks: [{ id: put, method: PUT, url: "\(server.origin)/x", body: { file: body }, bandwidth: 500kB/s }]
            """)
        #expect(run.status == 0)
        #expect(server.requests().first?.body == body)
        #expect(try run.value("$.duration").flatMap { Double($0) } ?? 0 > 0.4)
    }

    // MARK: Deadlines

    @Test func finishByEndsTheRunWith75() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/slow", [.wait(.milliseconds(900))] + .respond(200, body: "slow"))
        let stage = try Stage()
        let job = """
            limits: { finishBy: 300ms, maximumConcurrentTasks: 1 }
            tasks:
              - { id: "t-${n}", forEach: { n: 1..3 }, url: "\(server.url("/slow"))", to: "t${n}" }
              - { id: after, needs: ["t-*"], url: "\(server.url("/slow"))" }
            """
        let run = try stage.run(job)
        #expect(run.status == 75)
        // What ran was let finish, what had not begun was not.
        #expect(try outcomes(run) == ["succeeded", "deferred", "deferred", "deferred"])
        #expect(try run.value("$.outcome") == "deferred" && stage.files == ["t1"])
        #expect(try run.task("t-2", "explanation")?.contains("finishBy") == true)
        #expect(try run.value("$.totals.deferred") == "3" && run.value("$.tasks[1].error") == nil)
    }

    @Test func theRunsTimeoutFailsIt() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/slow", [.wait(.seconds(4))] + .respond(200, body: "x"))
        let run = try Stage().run(
            """
            limits: { timeout: 300ms }
            tasks: [{ id: t, url: "\(server.url("/slow"))", to: t }]
            """)
        #expect(run.status == 1)
        #expect(try run.task("t", "outcome") == "cancelled" && run.task("t", "error.name") == "timedOut")
    }

    @Test func maximumBytesPutsOffTheRest() throws {
        let server = try ScriptedServer { _ in .respond(200, body: Script.patternBytes(100_000)) }
        defer { server.stop() }
        let stage = try Stage()
        let run = try stage.run(
            """
            limits: { maximumBytes: 150kB, maximumConcurrentTasks: 1 }
            tasks: [{ id: "t-${n}", forEach: { n: 1..4 }, url: "\(server.origin)/${n}", to: "t${n}" }]
            """)
        #expect(run.status == 75)
        let succeeded = try outcomes(run).count { $0 == "succeeded" }
        #expect(succeeded >= 1 && succeeded <= 2)
        #expect(try outcomes(run).suffix(2) == ["deferred", "deferred"])
        #expect(stage.files.count == succeeded)
    }

    /// What frames a body costs bytes as it does: the size line of one chunk has 64 MiB.
    @Test(arguments: ["maximumSize: 1MB", "maximumSize: 1MB, to: f", "to: f"])
    func chunkExtensionsWithoutEndAreLimited(_ task: String) throws {
        let part = [UInt8](repeating: 0x78, count: 1 << 20)
        let head = Script.head(200, [("Transfer-Encoding", "chunked")]) + Array("5;".utf8)
        let script = Script([.bytes(head)] + Array(repeating: .bytes(part), count: 64))
        let server = try ScriptedServer { _ in script }
        defer { server.stop() }
        let limits = task.contains("maximumSize") ? "" : "limits: { maximumBytes: 2MB }\n"
        let run = try Stage().run("\(limits)tasks: [{ id: t, url: '\(server.url("/"))', \(task) }]")
        if limits.isEmpty {
            #expect(run.status == 1)
            #expect(try run.task("t", "error.name") == "dataLengthExceedsMaximum")
            #expect(try run.task("t", "error.message")?.contains("chunk sizes, extensions and trailers") == true)
        } else {
            #expect(run.status == 75, "\(run.errorText)")
            #expect(try outcomes(run) == ["deferred"])
        }
        #expect(server.requests().count == 1)
        #expect((server.requests().first?.sent ?? .max) < 32 << 20)
    }

    @Test func noBytesAtAllPutOffEverything() throws {
        let server = try ScriptedServer { _ in .respond(200, body: "x") }
        defer { server.stop() }
        let run = try Stage().run(
            "limits: { maximumBytes: 0 }\ntasks: [{ id: t, url: '\(server.url("/"))', to: t }]")
        #expect(run.status == 75)
        #expect(try outcomes(run) == ["deferred"])
        #expect(server.requests().isEmpty)
    }

    @Test func whatIsSuspendedIsForTheNextRun() throws {
        let server = try ScriptedServer { _ in .respond(200, body: "x") }
        defer { server.stop() }
        let run = try Stage().run(
            """
            tasks:
              - { id: one, url: "\(server.origin)/1", suspended: true }
              - { id: two, url: "\(server.origin)/2", needs: [one] }
              - { id: three, url: "\(server.origin)/3" }
            """)
        #expect(run.status == 75)
        #expect(try outcomes(run) == ["deferred", "deferred", "succeeded"])
        #expect(server.requests().map(\.target) == ["/3"])
    }

    @Test func earliestBeginHoldsATaskBack() throws {
        let server = try ScriptedServer { _ in .respond(200, body: "x") }
        defer { server.stop() }
        let run = try Stage().run(
            """
            tasks:
              - { id: later, url: "\(server.origin)/later", earliestBegin: 400ms }
              - { id: now, url: "\(server.origin)/now" }
            """)
        #expect(run.status == 0)
        let times = server.requests().map(\.arrival)
        #expect(server.requests().map(\.target) == ["/now", "/later"] && (times[1] - times[0]).seconds > 0.3)
        #expect(try run.task("later", "waits[0].reason") == "earliestBegin")
    }

    @Test func outsideItsWindowATaskWaits() throws {
        let server = try ScriptedServer { _ in .respond(200, body: "x") }
        defer { server.stop() }
        // From three hours hence for an hour.
        let minute = Int(Clocks.now().wall.nanoseconds / 60_000_000_000 % 1_440)
        func time(_ minutes: Int) -> String {
            let (hour, rest) = (minutes / 60 % 24, minutes % 60)
            return "\(hour < 10 ? "0" : "")\(hour):\(rest < 10 ? "0" : "")\(rest)"
        }
        let run = try Stage().run(
            """
            limits: { finishBy: 300ms }
            sessions:
              night: { window: { from: "\(time(minute + 180))", to: "\(time(minute + 240))", timezone: UTC } }
              day: { window: { from: "\(time(minute + 1_380))", to: "\(time(minute + 60))", timezone: UTC } }
            tasks:
              - { id: shut, session: night, url: "\(server.origin)/shut" }
              - { id: open, session: day, url: "\(server.origin)/open" }
            """)
        #expect(run.status == 75)
        #expect(try outcomes(run) == ["deferred", "succeeded"])
        #expect(server.requests().map(\.target) == ["/open"])
        #expect(try run.task("shut", "waits[0].reason") == "window")
        #expect(run.errorText.contains("  shut: waits for "))
    }

    @Test func whoeverAsksIsToldOfEachWait() throws {
        let server = try ScriptedServer { _ in .respond(200, body: "x") }
        defer { server.stop() }
        let job = """
            sessions: { default: { requestsPerSecond: 100, maximumConnectionsPerHost: 1 } }
            tasks: [{ id: "t${n}", forEach: { n: 1..3 }, url: "\(server.origin)/a" }]
            """
        let quiet = try Stage().run(job)
        #expect(quiet.status == 0 && !quiet.errorText.contains("waits"))
        let told = try Stage().run(job, "-v")
        #expect(told.status == 0 && told.errorText.contains("waits"), "\(told.errorText)")
    }

    // MARK: Hosts that are not well

    @Test func aHostThatCutsEveryConnectionIsNotStormed() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.onAccept { _ in [.reset] }
        let run = try Stage().run(
            """
            defaults: { retry: { attempts: 3, backoff: { initial: 50ms, jitter: none } } }
            tasks: [{ id: "t-${n}", forEach: { n: 1..200 }, url: "\(server.origin)/${n}" }]
            """)
        #expect(run.status == 1)
        #expect(server.totalConnections < 60)
        // A reset may come before the connection counts as made.
        let names = try Set(run.values("$.tasks[*].error.name").compactMap { $0 })
        #expect(names.isSubset(of: ["networkConnectionLost", "cannotConnectToHost"]) && !names.isEmpty)
        #expect(try run.task("t-200", "explanation")?.contains("another task") == true)
    }

    /// Its paths may be what it hangs up at, and some of them come first.
    @Test(arguments: [1, 6], [1, 3]) func whatAHostHangsUpAtFailsNobodyElse(_ connections: Int, _ attempts: Int) throws
    {
        let server = try ScriptedServer { request in
            Int(request.target.dropFirst()).map { $0 <= 20 } == true ? [.reset] : .respond(200, body: "x")
        }
        defer { server.stop() }
        let run = try Stage().run(
            """
            defaults: { retry: { attempts: \(attempts), backoff: { initial: 50ms, jitter: none } } }
            sessions: { s: { maximumConnectionsPerHost: \(connections) } }
            tasks: [{ id: "t-${n}", session: s, forEach: { n: 1..200 }, url: "\(server.origin)/${n}" }]
            """)
        #expect(run.status == 1)
        #expect(try outcomes(run) == Array(repeating: "failed", count: 20) + Array(repeating: "succeeded", count: 180))
        #expect(server.requests().count <= 180 + 20 * attempts)
    }

    /// Sixteen requests meet a server that is starting: one finds out, then all go on. Each may fail as often as the server
    /// resets, for one alone may meet every reset, and what it tries counts for those that wait.
    @Test func aHostThatComesBackServesAll() throws {
        let server = try ScriptedServer { _ in .respond(200, body: "x") }
        defer { server.stop() }
        server.onAccept { $0 < 20 ? [.reset] : nil }
        let run = try Stage().run(
            """
            defaults: { retry: { attempts: 30, backoff: { initial: 20ms, maximum: 40ms } } }
            tasks: [{ id: "t-${n}", forEach: { n: 1..60 }, url: "\(server.origin)/${n}" }]
            """)
        #expect(run.status == 0)
        #expect(server.requests().count == 60)
    }
}

extension Stage.Run {
    /// When each request was sent, by the run's own clock: when it arrived is also the network's and the server's affair.
    fileprivate func requestTimes() throws -> [WallTime] {
        try values("$.tasks[*].attempts[*].transactions[*].fetchStartDate").map {
            try #require($0.flatMap { RFC3339.parse($0) })
        }.sorted()
    }
}
