import TestSupport
import Testing
import TransferModel

/// `connectTo`, `addressFamily` and `unixSocket` as values.
@Suite struct ConnectionRoutingTests {
    @Test(
        arguments: [
            ("example.org", "example.org", nil), ("EXAMPLE.org:443", "example.org", 443), ("a.:80", "a.", 80),
            ("127.0.0.1", "127.0.0.1", nil), ("127.0.0.1:65535", "127.0.0.1", 65535), ("[::1]", "[::1]", nil),
            ("[0:0::1]:8443", "[::1]", 8443), ("bücher.example:1", "xn--bcher-kva.example", 1),
        ] as [(String, String, UInt16?)])
    func hostsWithAndWithoutPorts(_ text: String, _ host: String, _ port: UInt16?) throws {
        let parsed = try HostAndPort.parse(text)
        #expect(parsed == HostAndPort(host: host, port: port))
        #expect(try HostAndPort.parse(parsed.description) == parsed)
    }

    @Test(arguments: [
        ("", "is empty"), (":443", "lacks the host"), ("a:", "lacks the port"), ("[::1]:", "lacks the port"),
        ("a:0", "has `0`"), ("a:65536", "has `65536`"), ("a:https", "has `https`"), ("a:+1", "has `+1`"),
        ("a:1:2", "more than one colon"), ("::1", "without brackets"), ("2001:db8::1", "without brackets"),
        ("[::1", "lacks the `]`"), ("[::g]", "no IPv6 address"), ("[fe80::1%eth0]:1", "no IPv6 address"),
        ("[127.0.0.1]", "no IPv6 address"), ("[::1]443", "goes on after"), ("https://a", "is no host"),
        ("a/b", "is no host"), ("*.a", "is a pattern"), ("*:443", "is a pattern"), ("a b", "is no host"),
        ("300.0.0.1", "is no host"), ("user@a:1", "is no host"),
    ])
    func otherTextsAreNone(_ text: String, _ words: String) {
        #expect { try HostAndPort.parse(text) } throws: { error in
            (error as? HostAndPort.Problem).map { $0.message.contains(words) && !$0.hint.isEmpty } ?? false
        }
    }

    private func routing(_ entries: [(String, String)]) throws -> ConnectionRouting {
        var routing = ConnectionRouting()
        for (from, to) in entries { routing.add(.init(from: try .parse(from), to: try .parse(to))) }
        return routing
    }

    private func target(_ routing: ConnectionRouting, _ url: String) throws -> String? {
        routing.target(of: try ResourceURL.parse(url)).map { "\($0.host):\($0.port)" }
    }

    @Test func thePortDecides() throws {
        let routing = try routing([
            ("a.test", "1.1.1.1"), ("A.test:443", "2.2.2.2:8443"), ("b.test:80", "c.test"), ("[::1]:80", "[::2]:81"),
        ])
        for (url, expected) in [
            ("http://a.test/", "1.1.1.1:80"), ("http://a.test:8080/", "1.1.1.1:8080"),
            ("https://a.test/", "2.2.2.2:8443"), ("https://a.test./", "2.2.2.2:8443"),
            ("http://b.test/", "c.test:80"), ("https://b.test/", nil), ("http://x.a.test/", nil),
            ("http://c.test/", nil), ("http://[0::1]/", "[::2]:81"), ("ftp://a.test/", "1.1.1.1:21"),
        ] {
            #expect(try target(routing, url) == expected, "\(url)")
        }
    }

    /// The order of entries makes no difference, the last of one host and port counts, and no target is looked up again.
    @Test func targetsAreThoseOfAMap() throws {
        var random = Seeded("targetsAreThoseOfAMap")
        for _ in 0..<2_000 {
            var routing = ConnectionRouting()
            var exact: [String: HostAndPort] = [:]
            var anyPort: [String: HostAndPort] = [:]
            for _ in 0..<random.below(8) {
                let (host, port) = (random.pick(["a", "b", "c"]), random.pick([nil, 1, 2]) as UInt16?)
                let from = HostAndPort(host: host + random.pick(["", "."]), port: port)
                if random.oneIn(5) {
                    routing.remove(from)
                    if let port { exact["\(host):\(port)"] = nil } else { anyPort[host] = nil }
                    continue
                }
                let to = HostAndPort(host: random.pick(["a", "b", "x"]), port: random.pick([nil, 7]))
                routing.add(.init(from: from, to: to))
                if let port { exact["\(host):\(port)"] = to } else { anyPort[host] = to }
            }
            for host in ["a", "b", "c", "d"] {
                for port in 1...3 as ClosedRange<UInt16> {
                    let found = routing.target(host: host + random.pick(["", "."]), port: port)
                    let expected = exact["\(host):\(port)"] ?? anyPort[host]
                    #expect(found?.host == expected?.host && found?.port == expected.map { $0.port ?? port })
                }
            }
        }
    }

    @Test func aFamilyTakesNamesAndItsOwnAddresses() {
        var routing = ConnectionRouting()
        for host in ["a.test", "127.0.0.1", "[::1]"] { #expect(routing.mayConnect(to: host)) }
        routing.addressFamily = .ipv4
        #expect(routing.mayConnect(to: "a.test") && routing.mayConnect(to: "127.0.0.1"))
        #expect(!routing.mayConnect(to: "[::1]"))
        routing.addressFamily = .ipv6
        #expect(routing.mayConnect(to: "a.test") && !routing.mayConnect(to: "127.0.0.1"))
        #expect(routing.mayConnect(to: "[::1]"))
    }

    /// What a cache tells answers apart by.
    @Test func placesAreTold() throws {
        let url = try ResourceURL.parse("https://a.test/x")
        #expect(ConnectionRouting().place(of: url) == nil)
        #expect(try routing([("a.test", "b.test")]).place(of: url) == "b.test:443")
        #expect(try routing([("c.test", "b.test")]).place(of: url) == nil)
        var local = ConnectionRouting()
        local.unixSocket = "/run/a.sock"
        #expect(local.place(of: url) == "unix:/run/a.sock")
    }
}
