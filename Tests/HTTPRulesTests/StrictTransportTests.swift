import HTTPRules
import TestSupport
import Testing
import TransferModel

/// RFC 6797, section by section.
struct StrictTransportTests {
    private let now = WallTime(nanoseconds: 1_795_244_400_000_000_000)

    private func after(_ header: String, from url: String = "https://example.org/") throws -> StrictTransport {
        var transport = StrictTransport()
        _ = transport.take(
            HeaderBlock([("Strict-Transport-Security", header)]), from: try ResourceURL.parse(url), at: now)
        return transport
    }

    private func goes(_ url: String, _ transport: StrictTransport, in seconds: Int64 = 0) throws -> String {
        let url = try ResourceURL.parse(url)
        return (transport.secured(url, at: now + .seconds(seconds)) ?? url).text
    }

    @Test(arguments: [
        // 6.1: directives in any order and case, once each; what is unknown is skipped.
        ("max-age=60", true), ("MAX-AGE=60", true), ("max-age=\"60\"", true), ("max-age=60;", true),
        ("preload; max-age = 60", true), ("max-age=60; x=\"y\"", true), ("includeSubDomains; max-age=60", true),
        ("max-age=99999999999999999999", true),
        ("includeSubDomains", false), ("max-age", false), ("max-age=", false), ("max-age=-1", false),
        ("max-age=6x", false), ("max-age=60; max-age=70", false), ("max-age=60; includeSubDomains=1", false),
        ("max-age=0", false), ("", false), (";;;", false), ("=", false),
    ])
    func directives(_ header: String, _ isTaken: Bool) throws {
        #expect(try after(header).isEmpty == !isTaken, "\(header)")
    }

    @Test func whoMaySayIt() throws {
        // 8.1: not over http, not an address; a trailing dot is the same host.
        #expect(try after("max-age=60", from: "http://example.org/").isEmpty)
        #expect(try after("max-age=60", from: "https://127.0.0.1/").isEmpty)
        #expect(try after("max-age=60", from: "https://[::1]/").isEmpty)
        #expect(
            try goes("http://example.org/", after("max-age=60", from: "https://example.org./"))
                == "https://example.org/")
    }

    @Test func whereItHolds() throws {
        let plain = try after("max-age=60")
        let wide = try after("max-age=60; includeSubDomains")
        #expect(try goes("http://example.org/a?b", plain) == "https://example.org/a?b")
        #expect(try goes("http://example.org./a", plain) == "https://example.org./a")
        // 8.3: the port 80 becomes 443, another stays.
        #expect(try goes("http://example.org:80/", plain) == "https://example.org/")
        #expect(try goes("http://example.org:8080/", plain) == "https://example.org:8080/")
        #expect(try goes("http://www.example.org/", plain) == "http://www.example.org/")
        #expect(try goes("http://a.www.example.org/", wide) == "https://a.www.example.org/")
        #expect(try goes("http://notexample.org/", wide) == "http://notexample.org/")
        #expect(try goes("http://org/", wide) == "http://org/")
        #expect(try goes("http://example.org/", plain, in: 59) == "https://example.org/")
        #expect(try goes("http://example.org/", plain, in: 60) == "http://example.org/")
    }

    @Test func secretsOfTheURLGoAlong() throws {
        let secured = try #require(
            try after("max-age=60").secured(ResourceURL.parse("http://u:p@example.org/"), at: now))
        #expect(secured.userInformation == "u:p")
    }

    @Test func newsIsToldOnce() throws {
        var transport = StrictTransport()
        let url = try ResourceURL.parse("https://example.org/")
        func say(_ header: String, in seconds: Int64) -> StrictTransport.Change? {
            transport.take(HeaderBlock([("strict-transport-security", header)]), from: url, at: now + .seconds(seconds))
        }
        let entry = StrictTransport.Entry(
            host: "example.org", expires: now + .seconds(864_000), coversSubdomains: false)
        #expect(say("max-age=864000", in: 0) == .noted(entry))
        #expect(say("max-age=864000", in: 60) == nil)
        #expect(say("max-age=864000; includeSubDomains", in: 60) != nil)
        #expect(say("max-age=864000; includeSubDomains", in: 90_000) != nil)
        #expect(say("max-age=0", in: 90_001) == .removed(host: "example.org"))
        #expect(say("max-age=0", in: 90_002) == nil)
        #expect(transport.isEmpty)
    }

    @Test func theMemoryIsBounded() throws {
        var transport = StrictTransport()
        for number in 0..<StrictTransport.maximum + 5 {
            _ = transport.take(
                HeaderBlock([("Strict-Transport-Security", "max-age=\(1000 + number)")]),
                from: try ResourceURL.parse("https://h\(number).test/"), at: now)
        }
        #expect(transport.all.count == StrictTransport.maximum)
        #expect(try goes("http://h0.test/", transport) == "http://h0.test/")
        #expect(try goes("http://h10004.test/", transport) == "https://h10004.test/")
    }

    @Test func whatAnEarlierRunLeft() throws {
        let entry = StrictTransport.Entry(host: "a.test", expires: now + .seconds(10), coversSubdomains: true)
        let past = StrictTransport.Entry(host: "b.test", expires: now, coversSubdomains: true)
        let transport = StrictTransport(stored: [entry, past], at: now)
        #expect(transport.all == [entry])
    }

    /// Whatever a header says, a host that was not the one that said it, nor below it, is not concerned.
    @Test func otherHostsAreNotConcerned() throws {
        var random = Seeded("StrictTransportTests.otherHostsAreNotConcerned")
        for _ in 0..<Rounds.scaled(500) {
            let pieces = ["max-age", "=", "60", ";", "includeSubDomains", " ", "\"", ",", "x", "\u{301}", "0", "\t"]
            let header = (0..<Int.random(in: 0..<9, using: &random)).map { _ in pieces.randomElement(using: &random)! }
            let transport = try after(header.joined())
            #expect(try goes("http://example.com/", transport) == "http://example.com/")
            #expect(try goes("http://ample.org/", transport) == "http://ample.org/")
        }
    }
}
