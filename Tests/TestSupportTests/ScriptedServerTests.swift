import TestSupport
import Testing
import TransferModel

@Suite struct ScriptedServerTests {
    private func get(_ target: String, _ lines: String = "") -> String {
        "GET \(target) HTTP/1.1\r\nHost: localhost\r\n\(lines)\r\n"
    }

    @Test func answersInOrderAndRepeatsTheLast() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/a", .respond(503), .respond(200, headers: [("X-A", "b")], body: "second"))
        let client = try RawClient(port: server.port)
        client.send(get("/a") + get("/a") + get("/a?x=1", "Connection: close\r\n"))
        let (bytes, ending) = client.readToEnd()
        let second = "HTTP/1.1 200 OK\r\nX-A: b\r\nContent-Length: 6\r\n\r\nsecond"
        #expect(
            String(decoding: bytes, as: UTF8.self)
                == "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n" + second + second)
        #expect(ending == .finished)
        #expect(server.requests("/a").map(\.number) == [1, 2, 3])
        #expect(server.requests().map(\.numberOnConnection) == [1, 2, 3])
        #expect(server.requests("/a?x=1").count == 1)
        #expect(server.totalConnections == 1)
        #expect(server.peakConnections == 1)
    }

    @Test func remembersARequestExactly() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("PUT /up") { .respond(200, body: $0.body) }
        let client = try RawClient(port: server.port)
        let head = "PUT /up HTTP/1.1\r\nhost: x\r\nX-Two:  a \r\nx-two: b\r\nTransfer-Encoding: chunked\r\n\r\n"
        client.send(head + "3\r\nabc\r\n2;ext=1\r\nde\r\n0\r\nTrailer: t\r\n\r\n")
        #expect(client.read(43) == Array("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabcde".utf8))
        let request = try #require(server.requests().first)
        #expect(request.method == "PUT")
        #expect(request.target == "/up")
        #expect(request.version == "HTTP/1.1")
        #expect(request.head == Array(head.utf8))
        #expect(request.headerLines == ["host: x", "X-Two:  a ", "x-two: b", "Transfer-Encoding: chunked"])
        #expect(request.headers("X-TWO") == ["a", "b"])
        #expect(request.chunks == [3, 2])
        #expect(request.bodyText == "abcde")
        #expect(request.isComplete)
    }

    @Test func finishesResetsAndStalls() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/fin", [.send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc"), .cut])
        server.on("/rst", [.send("HTTP/1.1 200 OK\r\n"), .wait(.milliseconds(30)), .reset])
        server.on("/stall", [.send("HTTP"), .stall])
        let finished = try RawClient(port: server.port)
        finished.send(get("/fin"))
        #expect(finished.readToEnd().ending == .finished)
        let reset = try RawClient(port: server.port)
        reset.send(get("/rst"))
        let (bytes, ending) = reset.readToEnd()
        #expect(bytes == Array("HTTP/1.1 200 OK\r\n".utf8))
        #expect(ending == .reset)
        let stalled = try RawClient(port: server.port)
        stalled.send(get("/stall"))
        let (four, late) = stalled.readToEnd(timeout: .milliseconds(50))
        #expect(four == Array("HTTP".utf8))
        #expect(late == .timedOut)
    }

    @Test func waitsForAGate() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/g", [.send("a"), .gate("go"), .send("b"), .close])
        let client = try RawClient(port: server.port)
        client.send(get("/g"))
        #expect(server.waitForRequests(1, "/g"))
        #expect(client.read(2, timeout: .milliseconds(50)) == Array("a".utf8))
        server.open(gate: "go")
        #expect(client.readToEnd().bytes == Array("b".utf8))
    }

    @Test func countsConnectionsExactly() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        for _ in 0..<50 {
            let client = try RawClient(port: server.port)
            client.send(get("/"))
            _ = client.read(12)
            client.close()
            // The server's end hears of it a moment later.
            #expect(server.waitUntilIdle())
        }
        #expect(server.peakConnections == 1)
        let clients = try (0..<5).map { _ in try RawClient(port: server.port) }
        for client in clients { client.send(get("/")) }
        #expect(server.waitForRequests(55))
        #expect(server.peakConnections == 5)
        #expect(server.totalConnections == 55)
        for client in clients { client.close() }
        #expect(server.waitUntilIdle())
        #expect(server.openConnections == 0)
    }

    @Test func answersBeforeTheBodyAndContinues() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/early", [.ignoreBody, .send("HTTP/1.1 413 Too Large\r\n\r\n"), .close])
        server.on("/late", .respond(200))
        let lines = "Expect: 100-continue\r\nContent-Length: 4\r\n"
        let refused = try RawClient(port: server.port)
        refused.send(get("/early", lines))
        #expect(String(decoding: refused.read(12), as: UTF8.self) == "HTTP/1.1 413")
        refused.close()
        let welcome = try RawClient(port: server.port)
        welcome.send(get("/late", lines))
        #expect(String(decoding: welcome.read(25), as: UTF8.self) == "HTTP/1.1 100 Continue\r\n\r\n")
        welcome.send("body")
        #expect(String(decoding: welcome.read(12), as: UTF8.self) == "HTTP/1.1 200")
        #expect(server.requests("/late").first?.bodyText == "body")
    }

    @Test func stopsWhateverIsUnderWay() throws {
        let server = try ScriptedServer()
        server.on("/stall", [.stall])
        server.on("/gate", [.gate("never")])
        server.on("/wait", [.wait(.seconds(600))])
        let clients = try ["/stall", "/gate", "/wait", "/none"].map { target in
            let client = try RawClient(port: server.port)
            client.send(get(target))
            return client
        }
        #expect(server.waitForRequests(4))
        server.stop()
        #expect(clients.count == 4)
        #expect(server.requests("/stall").count == 1)
    }

    @Test func actsOnAConnectionBeforeARequest() throws {
        let server = try ScriptedServer { _ in .respond(200) }
        defer { server.stop() }
        server.onAccept { $0 == 1 ? [.reset] : $0 == 2 ? [.send("SSH-2.0-x\r\n"), .close] : nil }
        #expect(try RawClient(port: server.port).readToEnd().ending == .reset)
        #expect(try RawClient(port: server.port).readToEnd().bytes == Array("SSH-2.0-x\r\n".utf8))
        let third = try RawClient(port: server.port)
        third.send(get("/"))
        #expect(third.read(12) == Array("HTTP/1.1 200".utf8))
    }

    @Test func servesRangesAndValidators() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.serve("/f", ServedResource("0123456789", etag: "\"e\""))
        let client = try RawClient(port: server.port)
        func answer(_ lines: String) -> String {
            client.send(get("/f", lines))
            var bytes = client.read(17)
            while !bytes.suffix(4).elementsEqual([13, 10, 13, 10]) { bytes += client.read(1) }
            let head = String(decoding: bytes, as: UTF8.self)
            let length = head.split(separator: "Content-Length: ").dropFirst().first?.prefix { $0 != "\r\n" }
            return head.prefix(12) + "|" + String(decoding: client.read(Int(length ?? "0") ?? 0), as: UTF8.self)
        }
        #expect(answer("") == "HTTP/1.1 200|0123456789")
        #expect(answer("Range: bytes=3-5\r\n") == "HTTP/1.1 206|345")
        #expect(answer("Range: bytes=7-\r\nIf-Range: \"e\"\r\n") == "HTTP/1.1 206|789")
        #expect(answer("Range: bytes=7-\r\nIf-Range: \"other\"\r\n") == "HTTP/1.1 200|0123456789")
        #expect(answer("Range: bytes=-2\r\n") == "HTTP/1.1 206|89")
        #expect(answer("Range: bytes=10-\r\n") == "HTTP/1.1 416|")
        #expect(answer("If-None-Match: \"e\"\r\n") == "HTTP/1.1 304|")
    }
}
