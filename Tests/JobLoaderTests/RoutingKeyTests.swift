import Diagnostics
import JobLoader
import Testing
import TransferModel

/// `connectTo`, `addressFamily` and `unixSocket` as a job writes them.
@Suite struct RoutingKeyTests {
    private func load(_ sessions: String, head: String = "", url: String = "https://a.test/x") -> LoadResult {
        JobLoaderTests.load(
            """
            \(head)
            sessions: \(sessions)
            tasks: [{ id: a, session: main, url: "\(url)", to: a }]
            """)
    }

    private func detours(_ session: SessionConfiguration) -> [String] {
        session.routing.detours.map { "\($0.from) \($0.to)" }
    }

    @Test func allThreeAreRead() throws {
        let job = try #require(
            load(
                """
                { main: { connectTo: { "A.test:443": "127.0.0.1:8443", b.test: "[::1]" }, addressFamily: any },
                  other: { unixSocket: run/a.sock }, third: { addressFamily: ipv6 } }
                """
            ).job)
        #expect(detours(job.sessions[0]) == ["a.test:443 127.0.0.1:8443", "b.test [::1]"])
        #expect(job.sessions[1].routing.unixSocket == "/job/run/a.sock")
        #expect(job.sessions[2].routing.addressFamily == .ipv6)
        #expect(job.sessions[2].routing.detours.isEmpty && job.sessions[2].routing.unixSocket == nil)
    }

    @Test func valuesAreInterpolated() throws {
        let text = """
            { main: { connectTo: { a.test: "${address}:${port}" }, addressFamily: "${family}" },
              other: { unixSocket: "${folder}/a.sock" } }
            """
        let variables = "variables: { address: \"[::1]\", port: 8443, family: ipv6, folder: /run/x }"
        let job = try #require(load(text, head: variables).job)
        #expect(detours(job.sessions[0]) == ["a.test [::1]:8443"])
        #expect(job.sessions[0].routing.addressFamily == .ipv6)
        #expect(job.sessions[1].routing.unixSocket == "/run/x/a.sock")
    }

    /// Maps merge by what the entry is for, however that is spelled; `null` takes away.
    @Test func anExtendedSessionIsOverridden() throws {
        let job = try #require(
            load(
                """
                { base: { connectTo: { "a.test:443": "1.1.1.1", b.test: "2.2.2.2", c.test: "3.3.3.3" }, addressFamily: ipv4 },
                  main: { extends: base, connectTo: { "A.TEST.:443": "4.4.4.4:4", c.test: null } },
                  local: { extends: base, connectTo: null, addressFamily: null, unixSocket: /run/a.sock },
                  network: { extends: local, unixSocket: null } }
                """
            ).job)
        #expect(detours(job.sessions[1]) == ["b.test 2.2.2.2", "a.test:443 4.4.4.4:4"])
        #expect(job.sessions[1].routing.addressFamily == .ipv4)
        #expect(job.sessions[2].routing.detours.isEmpty && job.sessions[2].routing.addressFamily == .any)
        #expect(job.sessions[2].routing.unixSocket == "/run/a.sock")
        #expect(job.sessions[3].routing.unixSocket == nil)
    }

    @Test(arguments: [
        "{ main: { connectTo: { \"a.test:\": 127.0.0.1 } } }", "{ main: { connectTo: { a.test: \"127.0.0.1:\" } } }",
        "{ main: { connectTo: { a.test: \"::1\" } } }", "{ main: { connectTo: { \"*.test\": 127.0.0.1 } } }",
        "{ main: { connectTo: { a.test: \"https://b.test\" } } }", "{ main: { unixSocket: \"\" } }",
    ])
    func whatIsNoAddressIsAnError(_ sessions: String) {
        #expect(load(sessions).summary.map { $0.split(separator: " ").last } == ["invalid-value"])
    }

    /// The kernel takes 107 bytes and a NUL, of the path that is used and not of the one that is written.
    @Test func thePathOfASocketIsShort() throws {
        let name = String(repeating: "x", count: 102)
        let fits = try #require(load("{ main: { unixSocket: \(name) } }").job)
        #expect(fits.sessions[0].routing.unixSocket?.utf8.count == 107)
        #expect(load("{ main: { unixSocket: \(name)y } }").summary.count == 1)
        #expect(load("{ main: { unixSocket: /\(name)yyyyy } }").summary.count == 1)
        #expect(load("{ main: { unixSocket: /\(name)yyyy } }").job != nil)
        // Bytes, not characters.
        #expect(load("{ main: { unixSocket: \"/\(String(repeating: "é", count: 54))\" } }").summary.count == 1)
    }

    @Test(arguments: [
        "connectTo: { a.test: b.test }", "addressFamily: ipv4", "proxy: \"http://p.test:1\"",
        "proxy: { all: \"http://p.test:1\" }",
    ])
    func keysAboutTheNetworkDoNotGoWithASocket(_ key: String) {
        // At the key that is idle.
        #expect(load("{ main: { unixSocket: /a, \(key) } }").summary == ["2:37 conflicting-keys"])
        #expect(load("{ base: { \(key) }, main: { extends: base, unixSocket: /a } }").summary.count == 1)
        #expect(load("{ main: { unixSocket: /a, proxy: none, connectTo: {}, addressFamily: any } }").job != nil)
    }

    @Test func urlsThatCannotBeReachedAreTold() {
        #expect(load("{ main: { unixSocket: /a } }", url: "ftp://a.test/x").summary.count == 1)
        #expect(load("{ main: { addressFamily: ipv4 } }", url: "http://[::1]/x").summary.count == 1)
        #expect(load("{ main: { addressFamily: ipv6 } }", url: "http://127.0.0.1/x").summary.count == 1)
        #expect(load("{ main: { addressFamily: ipv6 } }", url: "http://[::1]/x").job != nil)
        #expect(load("{ main: { addressFamily: ipv6, connectTo: { a.test: 127.0.0.1 } } }").summary.count == 1)
        // It is not that address that is connected to.
        let detour = "{ main: { addressFamily: ipv6, connectTo: { 127.0.0.1: \"[::1]\" } } }"
        #expect(load(detour, url: "http://127.0.0.1/x").job != nil)
    }

    @Test func whatItReachesIsTold() throws {
        let text = """
            sessions: { main: { connectTo: { a.test: "10.0.0.7:8443" } }, other: { unixSocket: /run/a.sock } }
            tasks: [{ id: a, session: main, url: "https://a.test/x", to: a }]
            """
        let source = SourceText(name: "/job/jobs.yaml", bytes: Array(text.utf8))
        let access = try #require(
            JobLoader.load(
                source, options: LoadOptions(), resources: world(environment: [:], files: [:]), notesAccess: true
            ).access)
        #expect(access.names(.socket) == ["/run/a.sock"])
        #expect(access.names(.host) == ["10.0.0.7:8443, in place of a.test", "https://a.test"])
        #expect(!access.isOrdinary)
    }

    /// A socket's connections are not shared: the session it is copied from keeps its own version.
    @Test func overASocketGoesHTTP1() throws {
        let text = """
            { main: { unixSocket: /a, http: { version: "2" } }, other: { extends: main, unixSocket: null } }
            """
        let result = load(text)
        let job = try #require(result.job)
        #expect(job.sessions.map(\.http.version) == [.http1, .http2])
        #expect(result.summary == ["2:37 warning no-effect"])
    }

    /// A background session has them too, and the environment's proxy is not read for a socket alone.
    @Test func inEveryKindOfSession() throws {
        for kind in ["default", "ephemeral", "background, identifier: b"] {
            let job = try #require(
                load("{ main: { configuration: \(kind), connectTo: { a.test: b.test }, addressFamily: ipv4 } }").job)
            #expect(job.sessions[0].routing.detours.count == 1)
            let local = try #require(load("{ main: { configuration: \(kind), unixSocket: /a } }").job)
            #expect(local.sessions[0].asksEnvironmentForProxy == false)
        }
    }
}
