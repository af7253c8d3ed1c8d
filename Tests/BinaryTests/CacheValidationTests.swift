import TestSupport
import Testing
import TextFormats

/// Asking whether what the cache holds is still the same, and what comes of it.
@Suite struct CacheValidationTests {
    private typealias Desk = CacheTests.Desk

    @Test(arguments: [("ETag", "\"1\"", "If-None-Match"), ("Last-Modified", CacheTests.past, "If-Modified-Since")])
    func aStaleAnswerCostsOne304(_ name: String, _ value: String, _ condition: String) throws {
        let desk = try Desk { request in
            let headers = [("Cache-Control", "max-age=0"), (name, value)]
            return request.header(condition) == value
                ? .respond(304, headers: headers + [("X-New", "1")]) : .respond(200, headers: headers, body: "hello")
        }
        defer { desk.server.stop() }
        _ = try desk.run()
        for _ in 1...2 {
            let run = try desk.run()
            #expect(try run.status == 0 && run.task("a", "source") == "revalidated")
            #expect(try run.task("a", "response.status") == "200" && run.task("a", "body.text") == "hello")
            #expect(try run.task("a", "response.headers")?.contains("X-New") == true)
            #expect(try run.task("a", "cache.stored") == "true" && run.value("$.totals.cacheHits") == "1")
            #expect(try run.values("$.tasks[0].attempts[0].transactions[*].response.status") == ["304"])
            #expect(try run.values("$.tasks[0].attempts[0].transactions[*].resourceFetchType") == ["networkLoad"])
        }
        #expect(desk.server.requests().map { $0.header(condition) } == [nil, value, value])
    }

    /// What a 304 says of freshness counts from then on.
    @Test func a304MakesItFresh() throws {
        let desk = try Desk { request in
            request.header("If-None-Match") == nil
                ? .respond(200, headers: [("ETag", "\"1\""), ("Cache-Control", "max-age=0")], body: "hello")
                : .respond(304, headers: [("ETag", "\"1\""), ("Cache-Control", "max-age=3600")])
        }
        defer { desk.server.stop() }
        #expect(
            try ["network", "revalidated", "cache", "cache"].allSatisfy { try desk.run().task("a", "source") == $0 })
        #expect(desk.count == 2)
    }

    /// It says that none is to be kept any more.
    @Test func a304MayEndIt() throws {
        let desk = try Desk { request in
            request.header("If-None-Match") == nil
                ? .respond(200, headers: [("ETag", "\"1\"")], body: "hello")
                : .respond(304, headers: [("ETag", "\"1\""), ("Cache-Control", "no-store")])
        }
        defer { desk.server.stop() }
        _ = try desk.run()
        let run = try desk.run()
        #expect(try run.task("a", "source") == "revalidated" && run.task("a", "body.text") == "hello")
        #expect(try run.task("a", "cache.reason") == "the server says `no-store`")
        _ = try desk.run()
        #expect(desk.conditions == [nil, "\"1\"", nil])
    }

    @Test func anotherAnswerTakesItsPlace() throws {
        let desk = try Desk()
        defer { desk.server.stop() }
        desk.server.on(
            "/a", .respond(200, headers: [("ETag", "\"1\"")], body: "one"),
            .respond(200, headers: [("ETag", "\"2\"")], body: "two"), .respond(304, headers: [("ETag", "\"2\"")]))
        #expect(try ["one", "two", "two"].allSatisfy { try desk.run().task("a", "body.text") == $0 })
        #expect(desk.conditions == [nil, "\"1\"", "\"2\""])
    }

    /// A 304 that speaks of something else is no answer: the whole is asked for, once.
    @Test func a304ForSomethingElseIsAskedAbout() throws {
        let desk = try Desk()
        defer { desk.server.stop() }
        desk.server.on(
            "/a", .respond(200, headers: [("ETag", "\"1\"")], body: "one"), .respond(304, headers: [("ETag", "\"9\"")]),
            .respond(200, headers: [("ETag", "\"9\"")], body: "nine"))
        _ = try desk.run()
        let run = try desk.run()
        #expect(try run.status == 0 && run.task("a", "body.text") == "nine" && run.task("a", "source") == "network")
        #expect(try run.values("$.tasks[0].attempts[*].number") == ["1"])
        #expect(desk.conditions == [nil, "\"1\"", nil])
    }

    // MARK: HEAD

    @Test func aHeadMayAsk() throws {
        let desk = try Desk(answering: [("ETag", "\"1\""), ("Cache-Control", "max-age=0")])
        defer { desk.server.stop() }
        for (place, source) in ["network", "revalidated"].enumerated() {
            let run = try desk.run(session: "cache: { revalidation: head }")
            #expect(try run.task("a", "source") == source && run.task("a", "body.text") == "hello")
            let method = try run.values("$.tasks[0].attempts[0].transactions[*].request.method")
            #expect(method == [place == 0 ? "GET" : "HEAD"])
        }
        #expect(desk.server.requests().map(\.method) == ["GET", "HEAD"])
    }

    @Test(arguments: [405, 200]) func aHeadThatProvesNothingIsFollowedByAGet(_ status: Int) throws {
        let desk = try Desk { request in
            request.method == "HEAD"
                ? .headOnly(status, headers: [("ETag", "\"2\"")], length: 5)
                : .respond(200, headers: [("ETag", "\"1\""), ("Cache-Control", "max-age=0")], body: "hello")
        }
        defer { desk.server.stop() }
        _ = try desk.run()
        let run = try desk.run(session: "cache: { revalidation: head }")
        #expect(try run.status == 0 && run.task("a", "source") == "network" && run.task("a", "body.text") == "hello")
        #expect(desk.server.requests().map(\.method) == ["GET", "HEAD", "GET"])
        #expect(desk.conditions == [nil, nil, nil])
    }

    /// A task of its own that asks with HEAD is answered by what a GET brought, and freshens it.
    @Test func headTasksShareTheGetsAnswer() throws {
        let desk = try Desk(answering: [("ETag", "\"1\""), ("Cache-Control", "max-age=3600")])
        defer { desk.server.stop() }
        _ = try desk.run()
        let run = try desk.run("method: HEAD")
        #expect(try desk.count == 1 && run.status == 0 && run.task("a", "source") == "cache")
        #expect(try run.task("a", "response.headers")?.contains("ETag") == true)
        #expect(try run.task("a", "body.text") == "" || run.task("a", "body") == nil)
    }

    @Test func aHeadThatShowsAChangeMakesTheNextGetAsk() throws {
        let desk = try Desk { request in
            let tag = request.method == "HEAD" ? "\"2\"" : "\"1\""
            let headers = [("ETag", tag), ("Cache-Control", "max-age=3600")]
            return request.method == "HEAD"
                ? .headOnly(200, headers: headers, length: 9) : .respond(200, headers: headers, body: "hello")
        }
        defer { desk.server.stop() }
        _ = try desk.run()
        _ = try desk.run("method: HEAD, cachePolicy: reloadIgnoringCacheData")
        _ = try desk.run()
        #expect(desk.conditions == [nil, nil, "\"1\""])
    }

    // MARK: Servers that fail

    @Test(arguments: ["503", "500", "reset", "gone"]) func aStaleAnswerMayStandInForAFailure(_ failure: String) throws {
        let desk = try Desk()
        defer { desk.server.stop() }
        let good = Script.respond(
            200, headers: [("ETag", "\"1\""), ("Cache-Control", "max-age=0, stale-if-error=3600")], body: "hello")
        desk.server.on("/a", good, failure == "reset" ? [.reset] : .respond(Int(failure) ?? 500))
        _ = try desk.run()
        if failure == "gone" { desk.server.stop() }
        let run = try desk.run()
        #expect(try run.status == 0 && run.task("a", "source") == "cache" && run.task("a", "body.text") == "hello")
        #expect(try run.task("a", "response.status") == "200")
        #expect(try run.values("$.tasks[0].attempts[*].number") == ["1"])
        #expect(
            try run.values("$.tasks[0].attempts[0].transactions[*].resourceFetchType") == ["networkLoad", "localCache"])
    }

    @Test(arguments: ["max-age=0", "max-age=0, must-revalidate, stale-if-error=3600"])
    func noStaleAnswerStandsInWhereNobodyAllowsIt(_ control: String) throws {
        let desk = try Desk()
        defer { desk.server.stop() }
        desk.server.on(
            "/a", .respond(200, headers: [("ETag", "\"1\""), ("Cache-Control", control)], body: "hello"), .respond(503))
        _ = try desk.run()
        let run = try desk.run()
        #expect(try run.status == 1 && run.task("a", "response.status") == "503")
        #expect(try run.values("$.tasks[0].attempts[*].number") == ["1", "2"])
        // A retry is a request for an answer, not for a confirmation.
        #expect(desk.conditions == [nil, "\"1\"", nil])
    }

    /// In a batch nobody waits: it is asked about first, and served if the server cannot say.
    @Test func staleWhileRevalidateIsAskedAboutFirst() throws {
        let desk = try Desk(answering: [("ETag", "\"1\""), ("Cache-Control", "max-age=0, stale-while-revalidate=3600")])
        defer { desk.server.stop() }
        _ = try desk.run()
        #expect(try desk.run().task("a", "source") == "revalidated")
        #expect(desk.conditions == [nil, "\"1\""])
    }

    /// A kept answer that the task does not want is like any other; what follows is not the cache's.
    @Test func aRetryAsksTheServer() throws {
        let desk = try Desk()
        defer { desk.server.stop() }
        desk.server.on(
            "/a", .respond(503, headers: [("Cache-Control", "max-age=3600")], body: "busy"),
            .respond(200, body: "hello"))
        let first = try desk.run("expect: { status: 503 }")
        #expect(try first.status == 0 && first.task("a", "cache.stored") == "true")
        let run = try desk.run()
        #expect(try run.status == 0 && run.task("a", "body.text") == "hello" && run.task("a", "source") == "network")
        #expect(try run.values("$.tasks[0].attempts[*].outcome") == ["failed", "succeeded"])
        #expect(desk.count == 2)
    }

    @Test func aKeptAnswerIsHeldAgainstWhatTheTaskExpects() throws {
        let desk = try Desk(answering: [("Cache-Control", "max-age=3600"), ("Content-Type", "text/plain")])
        defer { desk.server.stop() }
        _ = try desk.run()
        for (more, error) in [
            ("expect: { mimeType: 'image/*' }", "unexpectedResponse"), ("expect: { magic: gzip }", "magicMismatch"),
            ("expect: { size: 4 }", "unexpectedResponse"), ("maximumSize: 4", "dataLengthExceedsMaximum"),
        ] {
            let run = try desk.run("\(more), retry: { attempts: 1 }")
            #expect(try run.status == 1 && run.task("a", "error.name") == error, "\(more)")
        }
        #expect(desk.count == 1)
    }

    // MARK: Methods, redirects, parts

    @Test func anUnsafeMethodPutsAnEndToIt() throws {
        let desk = try Desk { request in
            request.method == "GET"
                ? .respond(200, headers: [("Cache-Control", "max-age=3600")], body: "hello")
                : .respond(200, headers: [("Content-Location", "/b")])
        }
        defer { desk.server.stop() }
        for path in ["/a", "/b", "/c"] { _ = try desk.run(path: path) }
        // One that is never to connect does not.
        let offline = try desk.run("method: PUT, body: { data: new }, cachePolicy: returnCacheDataDontLoad")
        #expect(try offline.task("a", "error.name") == "resourceUnavailable")
        let put = try desk.run("method: PUT, body: { data: new }")
        #expect(try put.task("a", "cache.stored") == "false")
        #expect(try put.task("a", "cache.reason") == "the answer to this PUT answers no later GET")
        for path in ["/a", "/b", "/c"] { _ = try desk.run(path: path) }
        #expect(
            desk.server.requests().map { "\($0.method) \($0.path)" }
                == ["GET /a", "GET /b", "GET /c", "PUT /a", "GET /a", "GET /b"])
    }

    @Test func aRedirectIsKeptLikeAnyAnswer() throws {
        let desk = try Desk()
        defer { desk.server.stop() }
        desk.server.on("/a", .redirect(301, to: "/b", headers: [("Cache-Control", "max-age=3600")]))
        desk.server.on("/b", .respond(200, headers: [("Cache-Control", "no-store")], body: "hello"))
        _ = try desk.run()
        let run = try desk.run()
        #expect(try run.status == 0 && run.task("a", "source") == "network" && run.task("a", "body.text") == "hello")
        #expect(try run.values("$.tasks[0].redirects[*].status") == ["301"])
        #expect(
            try run.values("$.tasks[0].attempts[0].transactions[*].resourceFetchType") == ["localCache", "networkLoad"])
        #expect(desk.server.requests().map(\.path) == ["/a", "/b", "/b"])
    }

    @Test func aPartIsMadeOfTheWhole() throws {
        let desk = try Desk(answering: [("Cache-Control", "max-age=3600"), ("ETag", "\"1\"")], body: "0123456789")
        defer { desk.server.stop() }
        _ = try desk.run()
        let run = try desk.run("headers: { Range: 'bytes=2-4' }, expect: { status: 206 }")
        #expect(try run.status == 0 && run.task("a", "body.text") == "234" && run.task("a", "source") == "cache")
        #expect(try run.task("a", "response.headers")?.contains("bytes 2-4/10") == true)
        #expect(desk.count == 1)
    }

    @Test func partsArePutTogether() throws {
        let desk = try Desk()
        defer { desk.server.stop() }
        let body = Array("0123456789".utf8)
        desk.server.on("/a") { request in
            let ends = (request.header("Range") ?? "").split(separator: "=").last?.split(separator: "-").map {
                Int($0) ?? 0
            }
            guard let ends, ends.count == 2 else { return .respond(500) }
            let range = "bytes \(ends[0])-\(ends[1])/10"
            return .respond(
                206, headers: [("Content-Range", range), ("ETag", "\"1\""), ("Cache-Control", "max-age=3600")],
                body: Array(body[ends[0]...ends[1]]))
        }
        let job = """
            tasks:
              - { id: a, url: '\(desk.server.url("/a"))', headers: { Range: 'bytes=0-3' }, expect: { status: 206 } }
              - { id: b, url: '\(desk.server.url("/a"))', headers: { Range: 'bytes=4-9' }, expect: { status: 206 }, needs: [a] }
              - { id: c, url: '\(desk.server.url("/a"))', headers: { Range: 'bytes=2-5' }, expect: { status: 206 }, needs: [b] }
              - { id: d, url: '\(desk.server.url("/a"))', needs: [c] }
            """
        let run = try desk.stage.run(job)
        #expect(run.status == 0 && desk.count == 2)
        #expect(try run.task("c", "body.text") == "2345" && run.task("d", "body.text") == "0123456789")
        #expect(try desk.run().task("a", "body.text") == "0123456789")
        #expect(desk.count == 2)
    }
}
