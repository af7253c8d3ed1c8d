import TestSupport
import Testing
import TextFormats
import TransferModel

/// A session's cache as somebody who runs jobs sees it.
@Suite struct CacheTests {
    static let past = "Wed, 01 Jan 2020 12:00:00 GMT"

    /// A server and the job that asks it.
    struct Desk {
        let server: ScriptedServer
        let stage: Stage

        init(_ handler: ScriptedServer.Handler? = nil) throws {
            server = try ScriptedServer(handler: handler)
            stage = try Stage()
        }

        /// The same answer to every request.
        init(answering headers: [Script.Header], status: Int = 200, body: String = "hello") throws {
            try self.init { request in
                if request.header("If-None-Match") == headers.first(where: { $0.name == "ETag" })?.value,
                    request.header("If-None-Match") != nil
                {
                    return .respond(304, headers: headers)
                }
                if request.method == "HEAD" { return .headOnly(status, headers: headers, length: body.utf8.count) }
                return .respond(status, headers: headers, body: body)
            }
        }

        /// One data task.
        func job(_ more: String = "", session: String = "", path: String = "/a") -> String {
            """
            sessions: { default: { retry: { attempts: 2, backoff: { initial: 10ms } }\(session.isEmpty ? "" : ", \(session)") } }
            tasks: [{ id: a, url: '\(server.url(path))'\(more.isEmpty ? "" : ", \(more)") }]
            """
        }

        func run(_ more: String = "", session: String = "", path: String = "/a") throws -> Stage.Run {
            try stage.run(job(more, session: session, path: path))
        }

        var count: Int { server.requests().count }
        /// By what each request asked whether something is still the same.
        var conditions: [String?] { server.requests().map { $0.header("If-None-Match") } }
    }

    @Test func aFreshAnswerServesTheNextRunWithoutAConnection() throws {
        let desk = try Desk(answering: [("Cache-Control", "max-age=3600"), ("X-Own", "yes")])
        defer { desk.server.stop() }
        let first = try desk.run()
        #expect(first.status == 0 && first.story(of: "a").contains("cacheStored"))
        #expect(try first.task("a", "source") == "network" && first.task("a", "cache.stored") == "true")
        #expect(try first.task("a", "cache.reason") == nil && first.value("$.totals.cacheHits") == "0")
        let second = try desk.run()
        #expect(second.status == 0 && !second.story(of: "a").contains("cacheStored"))
        #expect(desk.count == 1)
        #expect(try second.task("a", "source") == "cache" && second.task("a", "cache") == nil)
        #expect(try second.task("a", "body.text") == "hello" && second.task("a", "response.status") == "200")
        #expect(try second.task("a", "length") == "verified" && second.task("a", "response.expectedLength") == "5")
        #expect(try second.value("$.totals.cacheHits") == "1" && second.value("$.totals.bytesSaved") == "5")
        #expect(try second.value("$.totals.bytesReceived") == "0")
        #expect(try second.value("$.sessions[0].connectionsOpened") == "0")
        #expect(try second.value("$.sessions[0].hosts[0].peakConnections") == "0")
        let headers = try #require(try second.task("a", "response.headers"))
        #expect(headers.contains("X-Own") && headers.contains("Age"))
    }

    /// What is fresh by its own word may be outdated all the same: who misses something in it asks the server.
    @Test func aCachedAnswerThatWillNotDoIsAskedAgain() throws {
        let desk = try Desk { request in
            .respond(200, headers: [("Cache-Control", "max-age=3600")], body: request.number == 1 ? "old" : "new")
        }
        defer { desk.server.stop() }
        #expect(try desk.run().status == 0)
        let run = try desk.run("expect: { body: { contains: new } }")
        #expect(run.status == 0 && desk.count == 2)
        #expect(try run.values("$.tasks[0].attempts[*].outcome") == ["failed", "succeeded"])
        #expect(try run.task("a", "body.text") == "new")
        // Where nobody else may be asked, that is the end.
        let closed = try desk.run("cachePolicy: returnCacheDataDontLoad, expect: { body: { contains: newer } }")
        #expect(closed.status == 1 && desk.count == 2)
        #expect(try closed.values("$.tasks[0].attempts[*].outcome") == ["failed"])
        #expect(try closed.task("a", "error.name") == "unexpectedResponse")
    }

    @Test func whatACachedAnswerCostSaysSo() throws {
        let desk = try Desk(answering: [("Cache-Control", "max-age=3600")])
        defer { desk.server.stop() }
        _ = try desk.run()
        let run = try desk.run()
        let transaction = "$.tasks[0].attempts[0].transactions"
        #expect(try run.values("\(transaction)[*].resourceFetchType") == ["localCache"])
        #expect(try run.values("\(transaction)[0].response.status") == ["200"])
        for name in ["domainLookupStartDate", "connectStartDate", "connectEndDate", "requestStartDate"] {
            #expect(try run.values("\(transaction)[0].\(name)") == [nil])
        }
        #expect(try run.values("\(transaction)[0].fetchStartDate").first??.isEmpty == false)
    }

    /// Two tasks of one run that ask for the same.
    @Test(arguments: ["default", "ephemeral"]) func oneRequestServesTwoTasks(_ kind: String) throws {
        let desk = try Desk(answering: [("Cache-Control", "max-age=60")])
        defer { desk.server.stop() }
        let run = try desk.stage.run(
            """
            sessions: { s: { configuration: \(kind) } }
            tasks:
              - { id: a, url: '\(desk.server.url("/a"))' }
              - { id: b, url: '\(desk.server.url("/a"))', needs: [a] }
            """)
        #expect(run.status == 0 && desk.count == 1)
        #expect(try run.task("b", "source") == "cache" && run.task("b", "body.text") == "hello")
    }

    // MARK: Policies

    struct Case: Sendable, CustomTestStringConvertible {
        let policy: String
        let state: State
        /// How many requests the second run sends, under what condition, and what it says.
        let requests: Int
        var condition: String?
        let source: String?
        enum State: String { case fresh, stale, absent }
        var testDescription: String { "\(policy), \(state)" }
    }

    static let cases = [
        Case(policy: "useProtocolCachePolicy", state: .fresh, requests: 0, source: "cache"),
        Case(policy: "useProtocolCachePolicy", state: .stale, requests: 1, condition: "\"1\"", source: "revalidated"),
        Case(policy: "useProtocolCachePolicy", state: .absent, requests: 1, source: "network"),
        Case(policy: "reloadIgnoringCacheData", state: .fresh, requests: 1, source: "network"),
        Case(policy: "reloadIgnoringCacheData", state: .stale, requests: 1, source: "network"),
        Case(policy: "returnCacheDataElseLoad", state: .fresh, requests: 0, source: "cache"),
        Case(policy: "returnCacheDataElseLoad", state: .stale, requests: 0, source: "cache"),
        Case(policy: "returnCacheDataElseLoad", state: .absent, requests: 1, source: "network"),
        Case(policy: "returnCacheDataDontLoad", state: .fresh, requests: 0, source: "cache"),
        Case(policy: "returnCacheDataDontLoad", state: .stale, requests: 0, source: "cache"),
        Case(policy: "returnCacheDataDontLoad", state: .absent, requests: 0, source: nil),
    ]

    @Test(arguments: cases) func thePolicyDecides(_ one: Case) throws {
        let lifetime = one.state == .fresh ? "3600" : "0"
        let desk = try Desk(answering: [("Cache-Control", "max-age=\(lifetime)"), ("ETag", "\"1\"")])
        defer { desk.server.stop() }
        if one.state != .absent { #expect(try desk.run().status == 0) }
        let before = desk.count
        // The task's word, and that of its session.
        for session in ["", "cachePolicy: \(one.policy)"] {
            let count = desk.count
            let run = try desk.run(session.isEmpty ? "cachePolicy: \(one.policy)" : "", session: session)
            guard one.state != .absent || desk.count == before + one.requests else {
                #expect(Bool(false), "\(desk.count - before) requests")
                return
            }
            #expect(try run.task("a", "source") == one.source)
            if one.source == nil {
                #expect(run.status == 1)
                #expect(try run.task("a", "error.name") == "resourceUnavailable")
                #expect(try run.task("a", "error.code") == "-1008")
                #expect(try run.values("$.tasks[0].attempts[*].number") == ["1"])
            } else {
                #expect(run.status == 0)
                #expect(try run.task("a", "body.text") == "hello" && run.task("a", "response.status") == "200")
            }
            guard one.state != .absent else { return }
            #expect(desk.count == count + one.requests)
            if one.requests > 0 { #expect(desk.conditions.last == one.condition) }
        }
    }

    /// Nothing listens there any more.
    @Test func dontLoadNeverConnects() throws {
        let desk = try Desk(answering: [("Cache-Control", "max-age=0")])
        #expect(try desk.run().status == 0)
        desk.server.stop()
        let run = try desk.run("cachePolicy: returnCacheDataDontLoad")
        #expect(try run.status == 0 && run.task("a", "body.text") == "hello")
        #expect(try desk.run("cachePolicy: returnCacheDataElseLoad").status == 0)
        #expect(try desk.run().status == 1)
    }

    /// Not even to look up what a download shall be.
    @Test func dontLoadLooksNothingUp() throws {
        let desk = try Desk(answering: [("Cache-Control", "max-age=60")])
        defer { desk.server.stop() }
        _ = try desk.run()
        let run = try desk.run(
            "to: file, checksum: { from: '\(desk.server.url("/sums"))' }, cachePolicy: returnCacheDataDontLoad")
        #expect(try run.status == 1 && run.task("a", "error.name") == "resourceUnavailable")
        #expect(desk.count == 1)
    }

    /// Of no scheme but http and https is anything kept; who never connects does not connect there either.
    @Test func otherSchemesHaveNoCache() throws {
        let stage = try Stage()
        let run = try stage.run(
            "tasks: [{ id: a, url: 'ftp://127.0.0.1:9/a', to: a, cachePolicy: returnCacheDataDontLoad }]")
        #expect(try run.status == 1 && run.task("a", "error.name") == "resourceUnavailable")
        #expect(try run.value("$.sessions[0].connectionsOpened") == "0")
    }

    // MARK: What tells answers apart

    @Test func varyTellsAnswersApart() throws {
        let desk = try Desk { request in
            .respond(
                200, headers: [("Cache-Control", "max-age=3600"), ("Vary", "Accept-Language")],
                body: request.header("Accept-Language") ?? "none")
        }
        defer { desk.server.stop() }
        for (language, requests) in [("en", 1), ("de", 2), ("en", 2), ("de", 2), ("EN", 2), ("fr", 3)] {
            let run = try desk.run("headers: { Accept-Language: \(language) }")
            #expect(try run.task("a", "body.text") == language.lowercased() && desk.count == requests)
        }
        #expect(try desk.run().task("a", "body.text") == "none")
        #expect(desk.count == 4)
    }

    /// Whoever asks with other credentials gets an answer of their own; none of them stands on the disk.
    @Test func anAnswerIsForTheSameCredentialsOnly() throws {
        let desk = try Desk { request in
            .respond(
                200, headers: [("Cache-Control", "max-age=3600")],
                body: request.header("Authorization") == nil ? "no" : "yes")
        }
        defer { desk.server.stop() }
        for (name, requests) in [("opensesame", 1), ("letmein", 2), ("opensesame", 2), ("letmein", 2)] {
            let run = try desk.run("headers: { Authorization: 'Bearer \(name)' }")
            #expect(run.status == 0 && desk.count == requests)
        }
        #expect(try desk.run().task("a", "body.text") == "no")
        #expect(desk.count == 3)
        for (_, bytes) in try desk.stage.binary.home.contents() {
            let text = String(decoding: bytes, as: UTF8.self)
            #expect(!text.contains("opensesame") && !text.contains("letmein"))
        }
    }

    /// Servers that tell by a cookie, or by a header of their own, who asks rarely say so with `Vary`.
    @Test(arguments: ["Cookie: '${name}'", "X-Key: '${secret.KEY}'"])
    func anAnswerIsForWhoeverAskedForIt(_ header: String) throws {
        let desk = try Desk { request in
            let shown = request.header("Cookie") ?? request.header("X-Key")
            return .respond(
                200, headers: [("Cache-Control", "max-age=3600")], body: shown.map { "\($0.utf8.count)" } ?? "nobody")
        }
        defer { desk.server.stop() }
        let job = """
            variables: { name: none }
            secrets: { KEY: { env: KEY } }
            tasks:
              - { id: a, url: '\(desk.server.url("/a"))', headers: { \(header) } }
              - { id: b, url: '\(desk.server.url("/a"))', needs: [a] }
            """
        for (name, requests) in [("alice-words", 2), ("roberts-words", 3), ("alice-words", 3), ("roberts-words", 3)] {
            let run = try desk.stage.run(job, "--set", "name=\(name)", environment: ["KEY": name])
            #expect(try run.task("a", "body.text") == "\(name.utf8.count)" && desk.count == requests)
            #expect(try run.task("b", "body.text") == "nobody")
        }
        for (_, bytes) in try desk.stage.binary.home.contents() {
            let text = String(decoding: bytes, as: UTF8.self)
            #expect(!text.contains("alice-words") && !text.contains("roberts-words"))
        }
    }

    @Test func aURLThatHoldsASecretIsNotWrittenDown() throws {
        let desk = try Desk(answering: [("Cache-Control", "max-age=3600")])
        defer { desk.server.stop() }
        let job = """
            secrets: { KEY: { env: KEY } }
            tasks:
              - { id: a, url: '\(desk.server.url("/a"))?key=${secret.KEY}' }
              - { id: b, url: '\(desk.server.url("/a"))?key=${secret.KEY}', needs: [a] }
            """
        let environment = ["KEY": "correcthorsebattery"]
        let run = try desk.stage.run(job, environment: environment)
        #expect(try run.status == 0 && desk.count == 1 && run.task("b", "source") == "cache")
        #expect(try desk.stage.run(job, environment: environment).status == 0)
        #expect(desk.count == 2)
        for (_, bytes) in try desk.stage.binary.home.contents() {
            #expect(!String(decoding: bytes, as: UTF8.self).contains("correcthorse"))
        }
    }

    @Test func sessionsAndJobsHaveCachesOfTheirOwn() throws {
        let desk = try Desk(answering: [("Cache-Control", "max-age=3600")])
        defer { desk.server.stop() }
        let job = "sessions: { one: {}, two: {} }\ntasks: [{ id: a, session: NAME, url: '\(desk.server.url("/a"))' }]"
        for (name, requests) in [("one", 1), ("two", 2), ("one", 2), ("two", 2)] {
            #expect(try desk.stage.run(job.replacing("NAME", with: name)).status == 0)
            #expect(desk.count == requests)
        }
        #expect(try desk.stage.run("name: other\n" + job.replacing("NAME", with: "one")).status == 0)
        #expect(desk.count == 3)
    }

    // MARK: Why not

    @Test(
        arguments: [
            (200, "Cache-Control: no-store", "", "the server says `no-store`"),
            (200, "Vary: *", "", "the server says `Vary: *`: it answers no other request"),
            (202, "X: y", "", "a 202 is kept only if the server says for how long"),
            (200, "X: y", "headers: { Cache-Control: no-store }", "the request says `no-store`"),
            (200, "X: y", "method: DELETE", "the answer to this DELETE answers no later GET"),
            (404, "Cache-Control: max-age=60", "", "it is not what the task expects"),
        ]) func theReportSaysWhyAnAnswerWasNotKept(_ status: Int, _ header: String, _ more: String, _ why: String)
        throws
    {
        let parts = header.split(separator: ": ").map { String($0) }
        let desk = try Desk(answering: [(parts[0], parts[1])], status: status)
        defer { desk.server.stop() }
        let run = try desk.run(more)
        #expect(try run.task("a", "cache.stored") == "false" && run.task("a", "cache.reason") == why)
        #expect(!run.story(of: "a").contains("cacheStored"))
        _ = try desk.run(more)
        #expect(desk.count == 2)
    }

    @Test func aBodyWhoseEndNothingProvesIsNotKept() throws {
        let desk = try Desk { _ in
            .untilClose(200, headers: [("Cache-Control", "max-age=60")], body: Array("hello".utf8))
        }
        defer { desk.server.stop() }
        let run = try desk.run()
        #expect(
            try run.status == 0 && run.task("a", "cache.reason") == "nothing the server sent proves where the body ends"
        )
        _ = try desk.run()
        #expect(desk.count == 2)
    }

    @Test(
        arguments: [
            ("cache: none", "the session has no cache"),
            ("cache: { storage: notAllowed }", "`storage` does not allow it"),
            ("cache: { rules: [{ scheme: http, storage: notAllowed }] }", "`storage` does not allow it"),
            ("cache: { rules: [{ mimeType: 'text/*', storage: notAllowed }] }", "`storage` does not allow it"),
            (
                "cache: { memoryCapacity: 20KiB, diskCapacity: 20KiB }",
                "it is larger than the 1024 bytes that one entry may have"
            ),
            ("cache: { maximumEntry: 1026 }", "it is larger than the 1026 bytes that one entry may have"),
        ]) func theSessionDecidesWhatIsKept(_ session: String, _ why: String) throws
    {
        let desk = try Desk(answering: [("Cache-Control", "max-age=60"), ("Content-Type", "text/plain")])
        defer { desk.server.stop() }
        let run = try desk.run(session: session)
        #expect(try run.task("a", "cache.reason") == why)
        _ = try desk.run(session: session)
        #expect(desk.count == 2)
    }

    @Test func memoryOnlyIsGoneWithTheRun() throws {
        let desk = try Desk(answering: [("Cache-Control", "max-age=60")], body: "not for the disk")
        defer { desk.server.stop() }
        let job = """
            sessions: { default: { cache: { storage: memoryOnly } } }
            tasks:
              - { id: a, url: '\(desk.server.url("/a"))' }
              - { id: b, url: '\(desk.server.url("/a"))', needs: [a] }
            """
        for requests in 1...2 {
            let run = try desk.stage.run(job)
            #expect(try desk.count == requests && run.task("b", "source") == "cache")
            #expect(try run.task("a", "cache.stored") == "true")
        }
        for (_, bytes) in try desk.stage.binary.home.contents() {
            #expect(!String(decoding: bytes, as: UTF8.self).contains("not for the disk"))
        }
    }

    /// A rate counts what servers are asked: six answers at one in a hundred seconds would take ten minutes.
    @Test func whatTheCacheAnswersSpendsNoRate() throws {
        let server = try ScriptedServer { _ in .respond(200, headers: [("Cache-Control", "max-age=600")], body: "kept")
        }
        defer { server.stop() }
        let stage = try Stage()
        let tasks = "tasks: [{ id: 'a-${n}', forEach: { n: 1..6 }, url: '\(server.origin)/${n}' }]"
        #expect(try stage.run("sessions: { default: {} }\n\(tasks)").status == 0)
        let run = try stage.run("sessions: { default: { requestsPerSecond: 0.01 } }\n\(tasks)")
        #expect(run.status == 0)
        #expect(try run.values("$.tasks[*].source") == Array(repeating: "cache", count: 6))
        #expect(run.result.duration < .seconds(60))
        #expect(server.requests().count == 6)
    }
}
