import CurlCore
import Testing
import TransferEngine
import TransferModel

/// Where requests connect to: `connectTo`, `addressFamily` and `unixSocket`.
@Suite struct RoutingTests {
    private func rig(_ sessions: String, _ urls: [(session: String, url: String)]) throws -> EngineRig {
        let tasks = urls.enumerated().map { "  - { id: t\($0), session: \($1.session), url: \"\($1.url)\" }" }
        return try EngineRig("sessions: \(sessions)\ntasks:\n\(tasks.joined(separator: "\n"))\n")
    }

    /// The pools of all tasks' first requests.
    private func pools(_ rig: EngineRig) throws -> [ConnectionPool] {
        try rig.job.tasks.map { task in
            rig.start(task.id)
            let transfer = try #require(rig.loop.transfers.last)
            return transfer.request.pool
        }
    }

    @Test func eachOriginHasConnectionsOfItsOwn() throws {
        let rig = try rig(
            "{ s: { connectTo: { a.test: \"10.0.0.1:8443\", b.test: 10.0.0.1, \"c.test:81\": \"d.test\" } } }",
            [
                ("s", "https://a.test/1"), ("s", "https://a.test/2"), ("s", "https://b.test/"), ("s", "http://a.test/"),
                ("s", "http://c.test:81/"), ("s", "http://c.test/"), ("s", "http://d.test/"),
            ])
        let pools = try pools(rig)
        #expect(
            pools.map { $0.path.host.map { "\($0)" } } == [
                "10.0.0.1", "10.0.0.1", "10.0.0.1", "10.0.0.1", "d.test", nil, nil,
            ])
        #expect(pools.prefix(5).map(\.path.port) == [8443, 8443, 443, 8443, 81])
        #expect(pools[0] === pools[1] && pools[5] === pools[6])
        #expect(Set(pools.map { ObjectIdentifier($0) }).count == 5)
        #expect(rig.loop.transfers.first?.request.url == "https://a.test/1")
    }

    @Test func sessionsShareNoConnections() throws {
        let rig = try rig(
            "{ one: { connectTo: { a.test: 10.0.0.1 } }, two: { connectTo: { a.test: 10.0.0.1 } }, three: {} }",
            [("one", "http://a.test/"), ("two", "http://a.test/"), ("three", "http://a.test/")])
        let pools = try pools(rig)
        #expect(Set(pools.map { ObjectIdentifier($0) }).count == 3)
        #expect(pools.map(\.path.host) == ["10.0.0.1", "10.0.0.1", nil])
    }

    /// Connections that a login proves go the same way.
    @Test func twinsKeepThePath() throws {
        let rig = try rig(
            "{ s: { unixSocket: /run/a.sock }, six: { addressFamily: ipv6 } }",
            [("s", "http://a.test/"), ("six", "https://a.test/")])
        let pools = try pools(rig)
        #expect(pools[0].path.unixSocket == "/run/a.sock" && pools[0].twin().path == pools[0].path)
        #expect(pools[1].path.family == .ipv6 && pools[1].path.unixSocket == nil)
    }

    @Test func aRedirectIsRoutedAnew() throws {
        let rig = try rig("{ s: { connectTo: { b.test: 10.0.0.2 } } }", [("s", "http://a.test/")])
        rig.start("t0")
        #expect(try rig.request().request.pool.path.host == nil)
        try rig.answer(302, [("Location", "http://b.test/x")])
        #expect(try rig.request().request.pool.path.host == "10.0.0.2")
        try rig.answer(302, [("Location", "http://c.test/x")])
        #expect(try rig.request().request.pool.path.host == nil)
    }

    // MARK: Proxies and networks

    @Test func aSocketIsReachedWithoutProxyAndNetwork() throws {
        let rig = try rig(
            "{ s: { unixSocket: /run/a.sock }, n: { proxy: none, connectTo: { a.test: 127.0.0.1 } } }",
            [("s", "http://a.test/"), ("n", "http://a.test/"), ("n", "http://b.test/")])
        let url = try ResourceURL.parse("http://a.test/")
        #expect(rig.engine.connections.firstHop(of: url, SessionIndex(raw: 0)) == nil)
        #expect(rig.engine.connections.firstHop(of: url, SessionIndex(raw: 1)) == "127.0.0.1")
        #expect(
            rig.engine.connections.firstHop(of: try ResourceURL.parse("http://b.test/"), SessionIndex(raw: 1))
                == "b.test")
    }

    // MARK: Failures

    @Test func whyThereWasNoConnectionIsSaid() throws {
        let local = try rig("{ s: { unixSocket: /run/a.sock } }", [("s", "http://a.test/")])
        local.start("t0")
        try local.cut(.cannotConnect, "Failed to connect to a.test port 80", systemError: 2)
        let error = try #require(local.error("t0"))
        #expect(error.name == .cannotConnectToHost && error.errno == 2)
        #expect(error.message == "cannot connect to the Unix socket /run/a.sock: No such file or directory")
        #expect(error.whatHelps(.data).contains("socket"))
        // What happens on a connection is told as ever.
        let cut = try rig("{ s: { unixSocket: /run/a.sock } }", [("s", "http://a.test/")])
        cut.start("t0")
        try cut.cut()
        #expect(cut.error("t0")?.name == .networkConnectionLost)

        let six = try rig("{ s: { addressFamily: ipv6, connectTo: { a.test: b.test } } }", [("s", "http://a.test/")])
        six.start("t0")
        try six.cut(.cannotFind, "Could not resolve host: b.test", systemError: 0)
        #expect(
            six.error("t0")?.message
                == "no IPv6 address of b.test was found, and the session's `addressFamily` allows no other")
    }

    /// In words of its own, whatever libcurl says.
    @Test(arguments: [
        (CurlCode.cannotConnect, Int32(111), "b.test port 81 refused the connection", "the port is right"),
        (.cannotConnect, 113, "b.test port 81 cannot be connected to: No route to host", "no firewall"),
        (.cannotConnect, 0, "b.test port 81 cannot be connected to", "no firewall"),
        (.cannotFind, 0, "no address was found for the host b.test", "the spelling"),
        (.timedOut, 0, "no connection to b.test port 81 within 5 s (`connectTimeout`)", "Raise `connectTimeout`"),
    ])
    func aServerThatIsNotReachedIsNamedWithTheURL(
        _ code: CurlCode, _ errno: Int32, _ words: String, _ advice: String
    ) throws {
        let rig = try rig(
            "{ s: { connectTo: { a.test: \"b.test:81\" }, connectTimeout: 5s } }", [("s", "http://a.test/f")])
        rig.start("t0")
        try rig.cut(code, "libcurl's own words", systemError: errno)
        let error = try #require(rig.error("t0"))
        #expect(error.message == "GET http://a.test/f: \(words)")
        #expect(error.whatHelps(.data).contains(advice))
    }
}

extension CurlCode {
    fileprivate static let cannotFind = CurlCode(rawValue: 6)
}
