import TestSupport
import Testing
import TextFormats
import TransferModel

/// `expect.body`.
@Suite struct BodyExpectationTests {
    @Test func everyMissIsNamed() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        let body = #"{"status": "failed", "n": 1.0, "list": [1, {"b": 2, "a": 1}]}"#
        server.on("/a", .respond(200, headers: [("Content-Type", "application/json")], body: body))
        let run = try Stage().run(
            """
            defaults: { url: "\(server.url("/a"))", allowFailure: true }
            tasks:
              - id: fits
                expect:
                  body: { contains: '"n": 1.0', matches: "(?i)STATUS", json: { $.n: 1, "$.list[1]": { a: 1, b: 2 } } }
              - id: misses
                expect: { body: { contains: done, matches: "^x", json: { $.status: ok, $.none: 1, "$.list[*]": 1 } } }
            """)
        #expect(run.status == 0)
        #expect(try run.task("fits", "outcome") == "succeeded")
        #expect(try run.task("misses", "error.name") == "unexpectedResponse")
        let message = try #require(try run.task("misses", "error.message"))
        for words in [
            "to contain `done`", "to match `^x`", #"expected `$.status` to be "ok", it is "failed""#,
            "expected `$.none` to be 1, it leads to nothing", "it leads to 2 values",
        ] {
            #expect(message.contains(words), "\(message)")
        }
        #expect(try run.task("misses", "body.text") == body)
    }

    /// A body that misses is asked for again only by its status; whoever wrote `retry` for it is told.
    @Test func aMissIsTriedAgain_onlyWhereRetryHasItsStatus() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        for path in ["/waits", "/once"] {
            server.on(path, .respond(200, body: "busy"), .respond(200, body: "busy"), .respond(200, body: "done"))
        }
        let run = try Stage().run(
            """
            defaults: { expect: { body: { contains: done } }, retry: { attempts: 9, backoff: { initial: 10ms } } }
            tasks:
              - { id: waits, url: "\(server.url("/waits"))", retry: { statuses: [200] } }
              - { id: once, url: "\(server.url("/once"))" }
            """)
        #expect(server.requests("/waits").count == 3 && server.requests("/once").count == 1)
        #expect(try run.task("waits", "outcome") == "succeeded")
        let hint = "; `retry` tries it again only where `statuses` has the answer's status."
        #expect(try run.task("once", "explanation")?.hasSuffix(hint) == true && run.errorText.contains(hint))
    }

    /// Of an answer's head as of its body.
    @Test func everyMissOfTheHeadIsNamed() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        let headers = [("Content-Type", "application/json"), ("X-H", "one"), ("X-H", "two")]
        server.on("/a", .respond(200, headers: headers, body: "{}"))
        let run = try Stage().run(
            """
            defaults: { url: "\(server.url("/a"))", allowFailure: true }
            tasks:
              - { id: plain, expect: { mimeType: text/plain, headers: { X-H: ^3, X-N: ^x } } }
              - { id: status, expect: { status: 500, headers: { X-N: ^x } } }
            """)
        #expect(run.status == 0)
        let head = "expected type text/plain, the server sent application/json; "
        let first = "expected `X-H` to match `^3`, the server sent `one` and `two`; "
        let none = "expected `X-N` to match `^x`, the server sent none"
        #expect(try run.task("plain", "error.message") == head + first + none)
        #expect(
            try run.task("status", "error.message") == "GET \(server.url("/a")): 200 OK (expected 500); " + none)
    }

    /// Head and body in one, where the job names what the head was to be. A status that was refused unasked has a page of
    /// its own, and a body that was cut says nothing.
    @Test func aMissedHeadHidesNothingOfTheBody() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        let json = [("Content-Type", "application/json")]
        server.on("/a", .respond(500, headers: json, body: #"{"v": 1, "token": "hunter22"}"#))
        let head = "HTTP/1.1 500 Oops\r\nContent-Length: 90\r\n\r\n"
        server.on("/cut", Script([.bytes(Array((head + #"{"v": 1"#).utf8)), .reset]))
        let run = try Stage().run(
            """
            defaults:
              allowFailure: true
              url: "\(server.url("/a"))"
              retry: { attempts: 1 }
              expect: { status: 200, body: { contains: done, json: { $.v: 2 } } }
            tasks:
              - { id: both }
              - { id: slow, type: upload, method: PUT, body: { data: x }, expect: { body: { matches: "^x" } } }
              - { id: type, expect: { status: 500, mimeType: text/plain } }
              - { id: secret, needs: [both, slow, type], capture: { t: { json: $.token, secret: true } } }
              - { id: met, expect: { body: { contains: token, json: { $.v: 1 } } } }
              - { id: unnamed, expect: { status: null } }
              - { id: cut, url: "\(server.url("/cut"))" }
            """)
        #expect(run.status == 0)
        let status = "GET \(server.url("/a")): 500 Internal Server Error (expected 200)"
        let sent = #"it begins with "{\"v\": 1, \"token\": \""#
        let contains = "; expected the body to contain `done`, \(sent)"
        func message(_ id: String) throws -> String { try run.task(id, "error.message") ?? "" }
        #expect(try message("both") == status + contains + #"hunter22\"}"; expected `$.v` to be 2, it is 1"#)
        #expect(try message("slow").hasPrefix("PUT" + status.dropFirst(3) + contains))
        #expect(try message("slow").contains("; expected the body to match `^x`, it begins with "))
        #expect(try message("type").hasPrefix("expected type text/plain, the server sent application/json" + contains))
        #expect(try message("secret") == status + contains + #"***\"}"; expected `$.v` to be 2, it is 1"#)
        #expect(try run.task("secret", "body.text") == #"{"v": 1, "token": "***"}"#)
        #expect(try message("met") == status)
        #expect(try message("cut") == status.replacing("/a:", with: "/cut:"))
        #expect(try message("unnamed") == "GET \(server.url("/a")): 500 Internal Server Error")
    }

    /// A file that stays packed is looked into as what it says; one that is not packed as its server says, as it is.
    @Test func aPackedFileIsUnpackedForTheLook() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        let packed = Encoder.gzip(Array("there is a needle in it".utf8))
        let label = [("Content-Encoding", "gzip"), ("Content-Type", "text/plain")]
        server.on("/a", .respond(200, headers: label, body: packed))
        server.on("/plain", .respond(200, headers: label, body: "a needle, not packed"))
        let bomb = Encoder.gzip([UInt8](repeating: 0x61, count: 17 << 20))
        server.on("/bomb", .respond(200, headers: label, body: bomb))
        let stage = try Stage()
        let run = try stage.run(
            """
            defaults: { expect: { body: { contains: needle } } }
            tasks:
              - { id: a, url: "\(server.url("/a"))", to: a }
              - { id: unpacked, url: "\(server.url("/a"))", to: unpacked, decompress: true }
              - { id: plain, url: "\(server.url("/plain"))", to: plain }
              - { id: misses, url: "\(server.url("/a"))", to: misses, expect: { body: { contains: pin } } }
              - { id: bomb, url: "\(server.url("/bomb"))", to: bomb }
            """)
        #expect(
            try run.values("$.tasks[*].outcome") == ["succeeded", "succeeded", "succeeded", "failed", "failed"])
        #expect(try run.task("misses", "error.message")?.contains("begins with \"there is") == true)
        #expect(try run.task("bomb", "error.message")?.contains("unpacks to more than") == true)
        #expect(try stage.folder.bytes("a") == packed)
    }

    /// Numbers beyond 2^53 are compared with all their digits.
    @Test func neighboursAreNotTheSame() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/a", .respond(200, body: #"{"id": 9007199254740993}"#))
        let run = try Stage().run(
            """
            defaults: { url: "\(server.url("/a"))", allowFailure: true }
            tasks:
              - { id: same, expect: { body: { json: { $.id: 9007199254740993.0 } } } }
              - { id: other, expect: { body: { json: { $.id: 9007199254740992 } } } }
              - { id: path, expect: { body: { json: { "$[?@==9007199254740992]": 9007199254740993 } } } }
            """)
        #expect(try run.values("$.tasks[*].outcome") == ["succeeded", "failed", "failed"])
    }

    @Test func aFileThatMissesNeverGetsItsName() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/a", .respond(200, body: "version 2"))
        server.on("/b", .respond(200, body: "version 3"))
        let stage = try Stage()
        try stage.folder.write("a", "version 1")
        try stage.folder.write("source", "version 4")
        let run = try stage.run(
            """
            tasks:
              - { id: a, urls: ["\(server.url("/a"))", "\(server.url("/b"))"], to: a, expect: { body: { contains: "3" } } }
              - { id: bad, allowFailure: true, url: "\(server.url("/a"))", to: b, expect: { body: { matches: "3$" } } }
              - { id: local, allowFailure: true, url: "file://\(stage.folder.path)/source", to: c, expect: { body: { contains: "5" } } }
              - { id: inline, allowFailure: true, url: "data:,version6", to: d, expect: { body: { contains: "5" } } }
              - { id: read, allowFailure: true, url: "file://\(stage.folder.path)/source", expect: { body: { contains: "5" } } }
            """)
        #expect(run.status == 0, "\(run.errorText)")
        #expect(try stage.text("a") == "version 3")
        for id in ["bad", "local", "inline", "read"] {
            #expect(try run.task(id, "error.name") == "unexpectedResponse", "\(id)")
        }
        #expect(stage.files == ["a", "source"])
    }

    /// Nothing of it may hold up the loop, and giving up is no match.
    @Test func anExpressionThatRunsAwayIsGivenUp() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/a", .respond(200, body: String(repeating: "a", count: 5000) + "b"))
        let run = try Stage().run(
            """
            tasks:
              - { id: a, url: "\(server.url("/a"))", expect: { body: { matches: "^(a+)+$" } } }
            """)
        #expect(run.status == 1)
        #expect(try run.task("a", "error.message")?.contains("given up") == true)
    }

    @Test func aFileTooLongToLookIntoFailsAtItsHeaders() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/a", .headOnly(200, headers: [], length: 17 << 20) + [.stall])
        let run = try Stage().run(
            "tasks: [{ id: a, url: '\(server.url("/a"))', to: a, expect: { body: { contains: x } } }]")
        #expect(run.status == 1)
        #expect(try run.task("a", "error.message")?.contains("look into files of up to 16777216") == true)
    }

    @Test func aWholeBodyOfSixteenMebibytesIsLookedInto() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        let body = Array(repeating: UInt8(ascii: " "), count: (16 << 20) - 12) + Array(#"{"a": "end"}"#.utf8)
        server.on("/a", .respond(200, body: body))
        let run = try Stage().run(
            """
            tasks:
              - { id: a, url: "\(server.url("/a"))", expect: { body: { json: { $.a: end }, contains: end, matches: 'end"}$' } } }
            """)
        #expect(run.status == 0, "\(run.errorText)")
    }

    /// What missed is no answer for later requests, however long its server says that it stays fresh.
    @Test func anAnswerThatMissesIsNotKept() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        let fresh = [("Cache-Control", "max-age=600")]
        server.on(
            "/a", .respond(200, headers: fresh, body: "not yet"), .respond(200, headers: fresh, body: "done"),
            .respond(200, body: "never asked"))
        let stage = try Stage()
        let job = "tasks: [{ id: a, url: '\(server.url("/a"))', expect: { body: { contains: done } } }]"
        let first = try stage.run(job)
        #expect(first.status == 1)
        #expect(!first.story(of: "a").contains("cacheStored"))
        let second = try stage.run(job)
        #expect(second.status == 0)
        #expect(second.story(of: "a").contains("cacheStored"))
        #expect(try stage.run(job).task("a", "source") == "cache")
        #expect(server.requests().count == 2)
    }

    /// `é` as one character and as two look alike, and are two names and two values.
    @Test func whatOnlyLooksAlikeIsNotWhatWasWanted() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        let json = [("Content-Type", "application/json")]
        server.on("/a", .respond(200, headers: json, body: "{\"\u{E9}\": \"one\", \"e\u{301}\": \"e\u{301}\"}"))
        let run = try Stage().run(
            """
            defaults: { url: "\(server.url("/a"))", allowFailure: true }
            tasks:
              - { id: name, capture: { v: { json: "$['\\u00e9']" } } }
              - { id: same, expect: { body: { json: { "$['e\\u0301']": "e\\u0301" } } } }
              - { id: other, expect: { body: { json: { "$['e\\u0301']": "\\u00e9" } } } }
            """)
        #expect(try run.task("name", "captures") == #"{"v":"one"}"#)
        #expect(try run.task("same", "outcome") == "succeeded")
        #expect(try run.task("other", "outcome") == "failed")
    }
}
