import TestSupport
import Testing
import TextFormats
import TransferModel

/// Limits, order, retries and timeouts, as a server and a report see them.
@Suite struct SchedulingTests {
    @Test func connectionsToAHostStayWithinTheLimit() throws {
        let server = try ScriptedServer { _ in [.wait(.milliseconds(5))] + .respond(200, body: "x") }
        defer { server.stop() }
        let run = try Stage().run(
            """
            sessions: { default: { maximumConnectionsPerHost: 3 } }
            tasks:
              - { id: "t-${n}", forEach: { n: 1..40 }, url: "\(server.origin)/${n}" }
            """)
        #expect(run.status == 0)
        #expect(server.peakConnections == 3)
        #expect(try run.value("$.sessions[0].hosts[0].peakConnections") == "3")
        #expect(try run.value("$.sessions[0].hosts[0].host") == server.origin)
        #expect(try run.value("$.sessions[0].hosts[0].tasks") == "40")
        let opened = try run.value("$.sessions[0].connectionsOpened").flatMap { Int($0) } ?? 0
        #expect(opened == server.totalConnections)
        let waited = try run.values("$.tasks[*].waits[?@.reason=='hostLimit'].duration")
        #expect(waited.count >= 30)
    }

    @Test func sessionsHaveTheirOwnLimitsHeadersAndConnections() throws {
        let server = try ScriptedServer { _ in [.wait(.milliseconds(5))] + .respond(200, body: "x") }
        defer { server.stop() }
        let run = try Stage().run(
            """
            sessions:
              one: { configuration: ephemeral, maximumConnectionsPerHost: 1, headers: { X-From: one } }
              two: { extends: one, maximumConnectionsPerHost: 2, headers: { X-Also: two } }
            tasks:
              - { id: "a-${n}", session: one, forEach: { n: 1..10 }, url: "\(server.origin)/a/${n}" }
              - { id: "b-${n}", session: two, forEach: { n: 1..10 }, url: "\(server.origin)/b/${n}" }
            """)
        #expect(run.status == 0)
        #expect(try run.values("$.sessions[*].name") == ["one", "two"])
        #expect(server.peakConnections <= 3)
        let first = Set(server.requests().filter { $0.path.hasPrefix("/a/") }.map { $0.connection })
        let second = Set(server.requests().filter { $0.path.hasPrefix("/b/") }.map { $0.connection })
        #expect(first.count == 1)
        #expect(first.isDisjoint(with: second))
        for request in server.requests() {
            #expect(request.header("X-From") == "one")
            #expect(request.header("X-Also") == (request.path.hasPrefix("/b/") ? "two" : nil))
        }
    }

    @Test func runningTasksStayWithinTheRunsAndTheSessionsLimit() throws {
        let server = try ScriptedServer { _ in [.wait(.milliseconds(5))] + .respond(200, body: "x") }
        defer { server.stop() }
        let tasks = "tasks: [{ id: 't-${n}', forEach: { n: 1..20 }, url: '\(server.origin)/${n}' }]"
        #expect(try Stage().run("limits: { maximumConcurrentTasks: 2 }\n\(tasks)").status == 0)
        #expect(server.peakRequests == 2)
        #expect(try Stage().run("sessions: { default: { maximumConcurrentTasks: 1 } }\n\(tasks)").status == 0)
        #expect(server.peakRequests == 2)
    }

    @Test func whatNeedsAFailedTaskIsSkipped() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/ok", .respond(200, body: "x"))
        let stage = try Stage()
        let run = try stage.run(
            """
            defaults: { retry: { attempts: 1 } }
            tasks:
              - { id: last, needs: [middle], url: "\(server.url("/ok"))", to: last }
              - { id: middle, needs: [broken], url: "\(server.url("/ok"))", to: middle }
              - { id: broken, url: "\(server.url("/gone"))", to: broken }
              - { id: tolerated, url: "\(server.url("/gone"))", to: tolerated, allowFailure: true }
              - { id: after, needs: [tolerated], url: "\(server.url("/ok"))", to: after }
            """)
        #expect(run.status == 1)
        #expect(try run.values("$.tasks[*].outcome") == ["skipped", "skipped", "failed", "failed", "succeeded"])
        #expect(try run.task("last", "error.name") == "dependencyFailed")
        #expect(try run.task("middle", "error.message") == "`broken`, which it needs, failed")
        #expect(
            try run.task("last", "explanation")
                == "Skipped: `middle`, which it needs, was skipped because `broken` failed. "
                + "Fix the task that it needs first; this one runs again with it.")
        #expect(run.errorText.contains("    2 tasks that need it were skipped\n"))
        #expect(stage.files == ["after"])
    }

    @Test func tasksThatNeedEachOtherRunInOrder() throws {
        let server = try ScriptedServer { _ in .respond(200, body: "x") }
        defer { server.stop() }
        let run = try Stage().run(
            """
            tasks:
              - { id: c, needs: [b], url: "\(server.url("/c"))" }
              - { id: b, needs: [a], url: "\(server.url("/b"))" }
              - { id: a, url: "\(server.url("/a"))" }
            """)
        #expect(run.status == 0)
        #expect(server.requests().map { $0.target } == ["/a", "/b", "/c"])
    }

    @Test func priorityDecidesWhoGoesFirst() throws {
        let server = try ScriptedServer { _ in .respond(200, body: "x") }
        defer { server.stop() }
        let run = try Stage().run(
            """
            limits: { maximumConcurrentTasks: 1 }
            tasks:
              - { id: low, url: "\(server.url("/low"))", priority: low }
              - { id: plain, url: "\(server.url("/plain"))" }
              - { id: high, url: "\(server.url("/high"))", priority: high }
            """)
        #expect(run.status == 0)
        #expect(server.requests().map { $0.target } == ["/high", "/plain", "/low"])
    }

    /// Of equal priority what takes longest is not begun last.
    @Test func expectedSizesDecideAmongEquals() throws {
        let server = try ScriptedServer { _ in .respond(200, body: "x") }
        defer { server.stop() }
        let run = try Stage().run(
            """
            sessions: { default: { maximumConnectionsPerHost: 1 } }
            tasks:
              - { id: first, url: "\(server.url("/first"))" }
              - { id: small, url: "\(server.url("/small"))", sizeHint: 1KiB }
              - { id: large, url: "\(server.url("/large"))", sizeHint: 1GiB }
              - { id: wanted, url: "\(server.url("/wanted"))", priority: 0.6 }
            """)
        #expect(run.status == 0)
        #expect(server.requests().map(\.target) == ["/wanted", "/large", "/small", "/first"])
    }

    @Test func failFastCancelsTheRest() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/slow", [.wait(.seconds(20))] + .respond(200, body: "x"))
        let run = try Stage().run(
            """
            failFast: true
            limits: { maximumConcurrentTasks: 2 }
            sessions: { default: { onInvalidate: cancel } }
            tasks:
              - { id: slow, url: "\(server.url("/slow"))" }
              - { id: broken, url: "\(server.url("/gone"))" }
              - { id: never, url: "\(server.url("/never"))" }
            """)
        #expect(run.status == 1)
        #expect(try run.values("$.tasks[*].outcome") == ["cancelled", "failed", "cancelled"])
        #expect(server.requests("/never").isEmpty)
        #expect(run.result.duration < .seconds(15))
    }

    @Test func aRunInWhichNearlyAllFails_isStopped() throws {
        let server = try ScriptedServer { $0.target == "/0" ? .respond(200, body: "x") : .respond(404) }
        defer { server.stop() }
        let tasks = (0..<30).map { "  - { id: t\($0), url: \"\(server.url("/\($0)"))\" }\n" }.joined()
        let run = try Stage().run(
            """
            limits: { maximumConcurrentTasks: 1, stopWhen: { failed: 80%, atLeast: 5 } }
            tasks:
            \(tasks)
            """)
        #expect(run.status == 1)
        let outcomes = try run.values("$.tasks[*].outcome")
        #expect(
            outcomes == ["succeeded"] + Array(repeating: "failed", count: 4) + Array(repeating: "cancelled", count: 25))
        let message = "`limits.stopWhen` stopped the run when 4 of 5 tasks had failed"
        #expect(try run.value("$.stopped") == message)
        #expect(try run.task("t29", "explanation")?.contains(message) == true)
        #expect(run.errorText.contains("\(message): 25 of 30 tasks are not done."))
        #expect(run.events.last?["stopped"]?.plainText == message)
        #expect(server.requests().count == 5)
    }

    @Test func failuresThatMayHealAreTriedAgain() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/busy", .respond(503), .respond(502), .respond(200, body: "at last"))
        server.on(
            "/cut", [.send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\ncut"), .reset], .respond(200, body: "the whole")
        )
        server.on("/gone", .respond(404))
        let stage = try Stage()
        let run = try stage.run(
            """
            defaults: { retry: { attempts: 3, backoff: { initial: 20ms, jitter: none } } }
            sessions: { default: { maximumConnectionsPerHost: 6 } }
            tasks:
              - { id: busy, url: "\(server.url("/busy"))", to: busy }
              - { id: cut, url: "\(server.url("/cut"))", to: cut }
              - { id: gone, url: "\(server.url("/gone"))", to: gone }
            """)
        #expect(run.status == 1)
        #expect(stage.files == ["busy", "cut"])
        #expect(try stage.text("busy") == "at last")
        #expect(try stage.text("cut") == "the whole")
        #expect(server.requests("/gone").count == 1)
        #expect(try run.value("$.totals.retries") == "3")
        #expect(try run.values("$.tasks[?@.id=='busy'].attempts[*].outcome") == ["failed", "failed", "succeeded"])
        #expect(try run.values("$.tasks[?@.id=='busy'].attempts[*].backoff").last == .some(nil))
    }

    @Test func retryAfterIsHonoured() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/a", .respond(429, headers: [("Retry-After", "1")]), .respond(200, body: "x"))
        let run = try Stage().run(
            "tasks: [{ id: a, url: '\(server.url("/a"))', retry: { backoff: { initial: 1ms } } }]")
        #expect(run.status == 0)
        let times = server.requests().map { $0.arrival }
        #expect(times[1] - times[0] >= .milliseconds(950))
    }

    @Test func silenceTimesOut() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/mute", [.stall])
        server.on("/halfway", [.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"), .stall])
        let stage = try Stage()
        let run = try stage.run(
            """
            defaults: { timeoutForRequest: 300ms, retry: { attempts: 1 } }
            tasks:
              - { id: mute, url: "\(server.url("/mute"))", to: mute }
              - { id: halfway, url: "\(server.url("/halfway"))", to: halfway }
              - { id: resource, url: "\(server.url("/mute"))", timeoutForRequest: 1h, timeoutForResource: 500ms }
            """)
        #expect(run.status == 1)
        for id in ["mute", "halfway", "resource"] { #expect(try run.task(id, "error.name") == "timedOut") }
        #expect(try run.task("mute", "error.code") == "-1001")
        #expect(stage.files == [])
        #expect(run.result.duration < .seconds(10))
        // What was measured is told although nothing completed.
        #expect(try run.values("$.tasks[*].attempts[0].transactions[*].request.method") == ["GET", "GET", "GET"])
        #expect(try run.values("$.tasks[1].attempts[0].transactions[0].response.status") == ["200"])
    }

    /// What comes byte by byte is not silence, whichever part of an answer it is.
    @Test(arguments: ["head", "chunk", "interim"]) func whatTricklesInIsNoSilence(_ part: String) throws {
        let trickle = "X-Long: \(String(repeating: "a", count: 6))\r\n"
        let steps: [Script.Step] = trickle.utf8.flatMap { [.bytes([$0]), .wait(.milliseconds(100))] }
        let script: [Script.Step] =
            switch part {
            case "head": [.send("HTTP/1.1 200 OK\r\n")] + steps + [.send("Content-Length: 2\r\n\r\nok")]
            case "interim":
                [.send("HTTP/1.1 103 Early\r\n")] + steps + [.send("\r\n")] + Script.respond(200, body: "ok").steps
            default:
                [.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;e=")]
                    + steps.dropLast(4) + [.send("\r\nok\r\n0\r\n\r\n")]
            }
        let server = try ScriptedServer { _ in Script(script) }
        defer { server.stop() }
        let run = try Stage().run(
            """
            defaults: { timeoutForRequest: 1s, retry: { attempts: 1 } }
            tasks: [{ id: a, type: data, url: "\(server.url("/a"))" }]
            """)
        #expect(try run.status == 0 && run.task("a", "body.text") == "ok", "\(run.errorText)")
    }

    /// Once it stops it is silence, from the last byte on.
    @Test func aHeadThatStopsTimesOut() throws {
        let server = try ScriptedServer { _ in
            [.send("HTTP/1.1 200 OK\r\nX-Lo"), .wait(.milliseconds(600)), .send("ng"), .stall]
        }
        defer { server.stop() }
        let run = try Stage().run(
            """
            defaults: { timeoutForRequest: 1s, retry: { attempts: 1 } }
            tasks: [{ id: a, type: data, url: "\(server.url("/a"))" }]
            """)
        #expect(try run.task("a", "error.name") == "timedOut" && run.result.duration > .milliseconds(1500))
        #expect(run.result.duration < .seconds(10))
    }

    @Test func noServerIsAnError() throws {
        let stopped = try ScriptedServer()
        stopped.stop()
        let run = try Stage().run(
            """
            defaults: { retry: { attempts: 2, backoff: { initial: 10ms } } }
            tasks:
              - { id: refused, url: "\(stopped.url("/a"))", to: a }
            """)
        #expect(run.status == 1)
        #expect(try run.task("refused", "error.name") == "cannotConnectToHost")
        #expect(try run.values("$.tasks[0].attempts[*].number") == ["1", "2"])
    }

    /// Each twentieth file is answered with a 503 once: nobody else waits for it.
    @Test func a503NowAndThen_holdsBackItsTaskAlone() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        for number in 1...60 {
            let busy: [Script] = number % 20 == 0 ? [.respond(503)] : []
            server.on("/\(number)", scripts: busy + [.respond(200, body: "x")])
        }
        let run = try Stage().run(
            """
            defaults: { retry: { backoff: { initial: 100ms } } }
            tasks: [{ id: "t-${n}", forEach: { n: 1..60 }, url: "\(server.origin)/${n}" }]
            """)
        #expect(run.status == 0, "\(run.errorText)")
        #expect(server.requests().count == 63)
        #expect(try !run.values("$.tasks[*].waits[*].reason").contains("hostParked"))
    }

    /// The summary names what `limits.timeout` cut, and how far it was.
    @Test func theEndOfTheRunsTime_namesWhatItCut() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        let half: [Script.Step] = [
            .send("HTTP/1.1 200 OK\r\nContent-Length: 200000\r\n\r\n"), .bytes(Script.patternBytes(100_000)), .stall,
        ]
        server.on("/a", Script(half))
        let run = try Stage().run(
            """
            limits: { timeout: 1s, maximumConcurrentTasks: 1 }
            tasks:
              - { id: a, url: "\(server.url("/a"))", to: a }
              - { id: b, url: "\(server.url("/b"))", to: b }
            """)
        #expect(run.status == 1)
        #expect(run.errorText.contains("\n  cut: a at "), "\(run.errorText)")
        #expect(run.errorText.contains(" of 195.3 KiB; 1 had not begun\n"), "\(run.errorText)")
    }

    @Test func exitUnchangedTellsThatNothingChanged() throws {
        let server = try ScriptedServer { _ in .respond(200, body: "same") }
        defer { server.stop() }
        let stage = try Stage()
        let job = "tasks: [{ id: a, url: '\(server.url("/a"))', to: a, existing: replace }]"
        #expect(try stage.run(job, "--exit-unchanged").status == 0)
        #expect(try stage.run(job, "--exit-unchanged").status == 9)
    }

    @Test func requestsAreWhatTheJobSays() throws {
        let server = try ScriptedServer { _ in .respond(200, body: "x") }
        defer { server.stop() }
        let run = try Stage().run(
            """
            tasks:
              - id: a
                method: DELETE
                url: "\(server.origin)/with space/ü?x=1"
                query: { q: "a&b", n: 3 }
                headers: { X-One: "1", X-Two: [a, b], User-Agent: mine }
            """)
        #expect(run.status == 0)
        let request = try #require(server.requests().first)
        #expect(request.method == "DELETE")
        #expect(request.target == "/with%20space/%C3%BC?x=1&q=a%26b&n=3")
        #expect(request.header("X-One") == "1")
        #expect(request.headers("X-Two") == ["a", "b"])
        #expect(request.headers("User-Agent") == ["mine"])
        #expect(request.header("Host") == "127.0.0.1:\(server.port)")
    }
}
