import TestSupport
import Testing
import TransferModel

/// `urls`, as two servers and a report see them.
@Suite struct MirrorTests {
    /// Two mirrors for one test.
    private final class Pair {
        let first: ScriptedServer
        let second: ScriptedServer
        init() throws {
            first = try ScriptedServer()
            second = try ScriptedServer()
        }
        deinit {
            first.stop()
            second.stop()
        }
        func urls(_ path: String = "/a") -> String { #"["\#(first.url(path))", "\#(second.url(path))"]"# }
    }

    private static let retry = "defaults: { retry: { attempts: 2, backoff: { initial: 40ms, jitter: none } } }\n"

    @Test func aMirrorThatIsDownIsPassedAtOnce() throws {
        let pair = try Pair()
        pair.first.stop()
        pair.second.on("/a", .respond(200, body: "whole"))
        let stage = try Stage()
        let run = try stage.run("tasks: [{ id: a, urls: \(pair.urls()), to: a }]")
        #expect(run.status == 0 && run.result.duration < .seconds(10))
        #expect(try stage.text("a") == "whole")
        #expect(
            try run.values("$.tasks[0].attempts[*].url") == [pair.first.url("/a"), pair.second.url("/a")])
        #expect(try run.values("$.tasks[0].attempts[*].number") == ["1", "2"])
        #expect(try run.values("$.tasks[0].attempts[*].backoff") == [nil, nil])
        #expect(try run.values("$.tasks[0].attempts[*].error.name") == ["cannotConnectToHost"])
        #expect(try run.values("$.tasks[0].waits[?@.reason=='backoff']").isEmpty)
        #expect(try run.task("a", "request.original.url") == pair.first.url("/a"))
        #expect(try run.task("a", "request.current.url") == pair.second.url("/a"))
        #expect(try run.values("$.sessions[0].hosts[*].tasks") == ["1", "1"])
    }

    @Test func aMirrorThatLiesIsFoundOutByTheChecksum() throws {
        let pair = try Pair()
        pair.first.on("/a", .respond(200, body: "something else"))
        pair.second.on("/a", .respond(200, body: "the whole"))
        let stage = try Stage()
        let checksum = "sha256:46ce565e4e4cc0be419d4cf03b58be4caaa2c00249f65f11f18ebf9f25d3dd0a"
        let run = try stage.run("tasks: [{ id: a, urls: \(pair.urls()), to: a, checksum: '\(checksum)' }]")
        #expect(run.status == 0)
        #expect(try stage.text("a") == "the whole" && stage.files == ["a"])
        #expect(try run.values("$.tasks[0].attempts[*].error.name") == ["checksumMismatch"])
        #expect(try run.task("a", "attempts[0].backoff") == nil)
    }

    /// A 404, a wrong type, a body that is cut, a server that says nothing: none ends the task, none leaves a file.
    @Test(arguments: ["/gone", "/type", "/cut", "/mute"])
    func eachFailureGoesOn(_ path: String) throws {
        let pair = try Pair()
        pair.first.on("/type", .respond(200, headers: [("Content-Type", "text/html")], body: "<html>"))
        pair.first.on(
            "/cut",
            [.send("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 9\r\n\r\nwho"), .reset])
        pair.first.on("/mute", [.stall])
        pair.second.on(path, .respond(200, headers: [("Content-Type", "text/plain")], body: "the whole"))
        let stage = try Stage()
        let run = try stage.run(
            """
            tasks:
              - { id: a, urls: \(pair.urls(path)), to: f/, timeoutForRequest: 300ms, expect: { mimeType: text/plain } }
            """)
        #expect(run.status == 0)
        #expect(stage.files == ["f/", "f\(path)"])
        #expect(try stage.text("f\(path)") == "the whole")
        #expect(pair.first.requests().count == 1 && pair.second.requests().count == 1)
        let error = try run.task("a", "attempts[0].error.name")
        let expected = ["/cut": "networkConnectionLost", "/mute": "timedOut"]
        #expect(error == expected[path, default: "unexpectedResponse"])
    }

    /// What one place sent proves nothing about another, even when both call it by one name. It is of use again when the
    /// first place has its turn in the next round.
    @Test func halfOfOnePlaceIsNeverPutToTheHalfOfAnother() throws {
        let pair = try Pair()
        let head = "Content-Length: 8\r\nETag: \"v\"\r\n\r\n"
        pair.first.on(
            "/a", [.send("HTTP/1.1 200 OK\r\n\(head)firs"), .wait(.milliseconds(50)), .reset],
            .respond(
                206, headers: [("ETag", "\"v\""), ("Content-Range", "bytes 4-7/8")], body: "t ok"))
        pair.second.on("/a", .respond(500))
        let stage = try Stage()
        let run = try stage.run(Self.retry + "tasks: [{ id: a, urls: \(pair.urls()), to: a }]")
        #expect(run.status == 0)
        #expect(try stage.text("a") == "first ok")
        #expect(pair.second.requests().count == 1)
        #expect(pair.second.requests().allSatisfy { $0.header("Range") == nil })
        #expect(pair.first.requests().map { $0.header("Range") } == [nil, "bytes=4-"])
        #expect(try run.values("$.tasks[0].attempts[*].resumedFrom") == ["0", "0", "4"])
    }

    /// Each goes on where it broke off itself.
    @Test func whatEachPlaceSentIsKeptForItself() throws {
        let pair = try Pair()
        let body = Script.patternBytes(250_000)
        for server in [pair.first, pair.second] {
            server.on("/a") { request in
                let start = request.header("Range").flatMap { Int($0.dropFirst(6).dropLast()) } ?? 0
                let range = ("Content-Range", "bytes \(start)-\(body.count - 1)/\(body.count)")
                let head = Script.head(
                    start > 0 ? 206 : 200,
                    [("ETag", "\"v\""), ("Content-Length", "\(body.count - start)")] + (start > 0 ? [range] : []))
                let end = min(start + 100_000, body.count)
                return [.bytes(head), .bytes(Array(body[start..<end])), end < body.count ? .close : .wait(.zero)]
            }
        }
        let stage = try Stage()
        let run = try stage.run(
            "tasks: [{ id: a, urls: \(pair.urls()), to: a, retry: { attempts: 6, backoff: { initial: 10ms } } }]")
        #expect(run.status == 0)
        #expect(try stage.folder.bytes("a") == body)
        #expect(stage.files == ["a"])
        let resumed = try run.values("$.tasks[0].attempts[*].resumedFrom")
        #expect(resumed == ["0", "0", "100000", "100000", "200000"])
    }

    /// What the one place sent in an earlier run is of no use when the other brings the file.
    @Test func whatIsThereOfAnotherPlaceGoesWithSuccess() throws {
        let pair = try Pair()
        let body = Script.patternBytes(3 << 20)
        let head = Script.head(200, [("ETag", "\"v\""), ("Content-Length", "\(body.count)")])
        pair.first.on("/a", .respond(404), .respond(200, body: body))
        pair.second.on("/a", [.bytes(head), .bytes(Array(body[..<(2 << 20)])), .close])
        let stage = try Stage()
        let job = "tasks: [{ id: a, urls: \(pair.urls()), to: f/a, retry: { attempts: 1 } }]"
        #expect(try stage.run(job).status == 1)
        #expect(stage.files.count == 2)
        #expect(try stage.run(job).status == 0)
        #expect(stage.files == ["f/", "f/a"])
        #expect(try stage.folder.bytes("f/a") == body)
    }

    /// Rounds over both, and the pause after each round but the last.
    @Test func whenAllFailRoundsFollowWithPausesBetween() throws {
        let pair = try Pair()
        pair.first.on("/a", .respond(500))
        pair.second.on("/a", .respond(404))
        let run = try Stage().run(Self.retry + "tasks: [{ id: a, urls: \(pair.urls()), to: a }]")
        #expect(run.status == 1)
        let (first, second) = (pair.first.url("/a"), pair.second.url("/a"))
        #expect(try run.values("$.tasks[0].attempts[*].url") == [first, second, first, second])
        #expect(try run.values("$.tasks[0].attempts[*].backoff") == [nil, "0.04", nil, nil])
        #expect(
            try run.task("a", "error.message")
                == "GET \(first): 500 Internal Server Error; all 2 `urls` failed")
        #expect(try run.value("$.totals.attempts") == "4")
    }

    @Test func whatHealsNowhereIsNotTriedTwice() throws {
        let pair = try Pair()
        let run = try Stage().run(Self.retry + "tasks: [{ id: a, urls: \(pair.urls()), to: a }]")
        #expect(run.status == 1)
        #expect(pair.first.requests().count == 1 && pair.second.requests().count == 1)
        #expect(try run.task("a", "error.message")?.hasSuffix("; all 2 `urls` failed") == true)
    }

    @Test func aLongRetryAfterGoesToTheNextAndSaysSo() throws {
        let pair = try Pair()
        pair.first.on("/a", .respond(503, headers: [("Retry-After", "7200")]))
        pair.second.on("/a", .respond(200, body: "x"))
        let stage = try Stage()
        let run = try stage.run("tasks: [{ id: a, urls: \(pair.urls()), to: a }]")
        #expect(run.status == 0 && run.result.duration < .seconds(10))
        #expect(
            try run.task("a", "attempts[0].error.message")
                == "GET \(pair.first.url("/a")): 503 Service Unavailable; it asks to wait 7200 s, longer than "
                + "`retry.retryAfter.maximum`: the next of `urls` is tried")
    }

    /// What failed for one task is asked last by the next.
    @Test func aMirrorThatFailedLatelyIsAskedLast() throws {
        let pair = try Pair()
        pair.second.on("/a", .respond(200, body: "a"))
        pair.second.on("/b", .respond(200, body: "b"))
        let stage = try Stage()
        let run = try stage.run(
            """
            tasks:
              - { id: a, urls: \(pair.urls("/a")), to: a }
              - { id: b, needs: [a], urls: \(pair.urls("/b")), to: b }
            """)
        #expect(run.status == 0)
        #expect(try run.values("$.tasks[1].attempts[*].url") == [pair.second.url("/b")])
        #expect(pair.first.requests("/b").isEmpty)
    }

    /// No other mirror helps when the file may not be replaced; and a POST that was answered is not sent again.
    @Test func whatIsNoMirrorsFaultFailsAtOnce() throws {
        let pair = try Pair()
        for server in [pair.first, pair.second] {
            server.on("/there", .respond(200, headers: [("Content-Disposition", "filename=there")], body: "new"))
            server.on("POST /post", .respond(500))
        }
        let stage = try Stage()
        try stage.folder.write("f/there", "old")
        let run = try stage.run(
            """
            tasks:
              - { id: there, urls: \(pair.urls("/there")), to: f/, existing: fail }
              - { id: post, urls: \(pair.urls("/post")), body: { data: x } }
            """)
        #expect(run.status == 1)
        #expect(try stage.text("f/there") == "old")
        #expect(try run.task("there", "error.name") == "destinationExists")
        #expect(pair.first.requests().count == 2 && pair.second.requests().isEmpty)
        #expect(try run.task("post", "error.message")?.hasSuffix("; 1 of 2 `urls` tried") == true)
    }

    /// Typed headers go to every origin that the task names, and a folder's file is named by who answered.
    @Test func headersGoToEachMirrorAndTheNameIsTheOneThatAnswered() throws {
        let pair = try Pair()
        pair.second.on("/other-name.txt", .respond(200, body: "x"))
        let stage = try Stage()
        let run = try stage.run(
            """
            tasks:
              - id: a
                urls: ["\(pair.first.url("/a.txt"))", "\(pair.second.url("/other-name.txt"))"]
                query: { v: 1 }
                headers: { Authorization: Bearer t }
                to: f/
            """)
        #expect(run.status == 0)
        #expect(stage.files == ["f/", "f/other-name.txt"])
        for server in [pair.first, pair.second] {
            let request = try #require(server.requests().first)
            #expect(request.header("Authorization") == "Bearer t" && request.target.hasSuffix("?v=1"))
        }
    }

    @Test func aLocalCopyIsAMirrorToo() throws {
        let pair = try Pair()
        pair.first.on("/a", .respond(200, body: "from afar"))
        let stage = try Stage()
        try stage.folder.write("here.txt", "from here")
        let folder = stage.folder.path
        let run = try stage.run(
            """
            tasks:
              - { id: a, urls: ["file://\(folder)/gone.txt", "\(pair.first.url("/a"))"], to: a }
              - { id: b, urls: ["\(pair.first.url("/b"))", "file://\(folder)/here.txt"], to: b }
            """)
        #expect(run.status == 0)
        #expect(try stage.text("a") == "from afar" && stage.text("b") == "from here")
        #expect(try run.values("$.tasks[*].source") == ["network", "local"])
    }
}
