import TestSupport
import Testing

/// Answers whose server named no lifetime: a run uses none of an earlier one without asking.
@Suite struct UnnamedLifetimeTests {
    private static let old: [Script.Header] = [("Last-Modified", CacheTests.past), ("ETag", "\"1\"")]

    private func respond(_ request: ReceivedRequest, _ headers: [Script.Header], _ body: String) -> Script {
        request.header("If-None-Match") == "\"1\""
            ? .respond(304, headers: headers) : .respond(200, headers: headers, body: body)
    }

    private func healthCheck(_ server: ScriptedServer, session: String = "") -> String {
        """
        sessions: { default: { retry: { attempts: 1 }\(session) } }
        tasks: [{ id: up, url: "\(server.url("/health"))", expect: { body: { contains: ok } } }]
        """
    }

    @Test func healthCheckOfADeadServer_failsInTheSecondRun() throws {
        let server = try ScriptedServer { self.respond($0, Self.old, "ok") }
        let stage = try Stage()
        let job = healthCheck(server)
        #expect(try stage.run(job).status == 0)
        let again = try stage.run(job)
        #expect(try again.status == 0 && again.task("up", "source") == "revalidated")
        #expect(server.requests().map { $0.header("If-None-Match") } == [nil, "\"1\""])
        server.stop()
        let dead = try stage.run(job)
        #expect(try dead.status == 1 && dead.task("up", "error.name") == "cannotConnectToHost")
    }

    @Test func pageThatTasksAreMadeOf_isAskedForInTheSecondRun() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/page") { request in
            let second = request.header("If-None-Match") != nil
            let headers: [Script.Header] = [("Last-Modified", CacheTests.past), ("ETag", second ? "\"2\"" : "\"1\"")]
            return .respond(200, headers: headers, body: second ? "<a href=f/a> <a href=f/b>" : "<a href=f/a>")
        }
        for name in ["a", "b"] { server.on("/f/\(name)", .respond(200, body: name)) }
        let stage = try Stage()
        let job = """
            tasks:
              - { id: page, url: "\(server.url("/page"))" }
              - { id: "get-${l.name}", forEach: { l: { links: { task: page } } }, url: "${l}", to: "out/${l.name}" }
            """
        #expect(try stage.run(job).values("$.tasks[*].id") == ["page", "get-a"])
        #expect(try stage.run(job).values("$.tasks[*].id") == ["page", "get-a", "get-b"])
        #expect(server.requests("/page").count == 2)
    }

    /// The other way round: a lifetime that the server named, or one that the job lets be guessed, saves the request.
    @Test(arguments: ["max-age=600", "guessLifetime"]) func answerWithALifetime_isUsedWithoutARequest(
        _ lifetime: String
    ) throws {
        let isNamed = lifetime != "guessLifetime"
        let headers: [Script.Header] = Self.old + (isNamed ? [("Cache-Control", lifetime)] : [])
        let server = try ScriptedServer { self.respond($0, headers, "ok") }
        let stage = try Stage()
        let job = healthCheck(server, session: isNamed ? "" : ", cache: { guessLifetime: true }")
        let first = try stage.run(job)
        #expect(first.status == 0 && first.errorText.contains("stale-answer") == !isNamed)
        #expect(server.requests().count == 1)
        server.stop()
        let again = try stage.run(job)
        #expect(try again.status == 0 && again.task("up", "source") == "cache")
    }
}
