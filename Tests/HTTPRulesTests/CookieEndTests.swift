import HTTPRules
import TestSupport
import Testing
import TransferModel

/// `Expires` and `Max-Age`: when a cookie ends, what an end in the past does, and the bound of 400 days.
struct CookieEndTests {
    private static let place = "http://example.org/"
    private static let day: Int64 = 86_400

    private func age(_ line: String) -> Int64? {
        var client = CookieClient()
        client.receive(line, from: Self.place)
        return client.jar.cookies.first?.expires.map { ($0 - client.clock.wall).nanoseconds / 1_000_000_000 }
    }

    @Test(arguments: [
        ("a=1; Max-Age=1", 1), ("a=1; max-age=3600;", 3600), ("a=1; MAX-AGE = 0060 ", 60),
        ("a=1; Max-Age=34560000", 400 * day), ("a=1; Max-Age=34560001", 400 * day),
        ("a=1; Max-Age=99999999999999999999999999", 400 * day),
        // it wins wherever it stands, and the last that can be read counts
        ("a=1; Max-Age=5; Expires=Sat, 21 Nov 2026 09:00:00 GMT", 5),
        ("a=1; Expires=Thu, 01 Jan 1970 00:00:00 GMT; Max-Age=5", 5), ("a=1; Max-Age=5; Max-Age=7", 7),
        ("a=1; Max-Age=0; Max-Age=7", 7), ("a=1; Max-Age=5; Max-Age=x", 5), ("a=1; Max-Age=5; Max-Age=", 5),
        // an end that is no number leaves the date; the clock stands at 07:00:00.001
        ("a=1; Max-Age=x; Expires=Sat, 21 Nov 2026 09:00:00 GMT", 7199),
        ("a=1; Expires=Sat, 21 Nov 2026 09:00:00 GMT", 7199), ("a=1; expires=21-nov-26 09:00:00", 7199),
        ("a=1; Expires=Sat, 21 Nov 2026 08:00:00 GMT; Expires=Sat, 21 Nov 2026 09:00:00 GMT", 7199),
        ("a=1; Expires=Sat, 21 Nov 2026 09:00:00 GMT; Expires=never", 7199),
        ("a=1; Expires=Fri, 31 Dec 9999 23:59:59 GMT", 400 * day), ("a=1; Expires=Thu, 1 Jan 2099 0:0:0", 400 * day),
    ]) func ends(line: String, seconds: Int64) {
        #expect(age(line) == seconds)
    }

    @Test(arguments: [
        "a=1", "a=1; Max-Age", "a=1; Max-Age=", "a=1; Max-Age=x", "a=1; Max-Age=+5", "a=1; Max-Age=1.5",
        "a=1; Max-Age=5s",
        "a=1; Max-Age=50,399", "a=1; Max-Age=\"5\"", "a=1; Max-Age=-", "a=1; Max-Age=--5", "a=1; Max-Age=5 5",
        "a=1; Max-Age=0x5", "a=1; Max-Age=٥", "a=1; Expires=", "a=1; Expires", "a=1; Expires=0", "a=1; Expires=soon",
        "a=1; Expires=2027-01-01", "a=1; MaxAge=5", "a=1; Max-Age=\(String(repeating: "1", count: 1025))",
    ]) func withTheSession(line: String) {
        var client = CookieClient()
        client.receive(line, from: Self.place)
        #expect(client.jar.cookies.map { $0.expires } == [nil])
        #expect(client.jar.persistent.isEmpty)
    }

    @Test(arguments: [
        "a=2; Max-Age=0", "a=2; Max-Age=-1", "a=2; Max-Age=-0", "a=2; max-age=-99999999999999999999999",
        "a=2; Max-Age=000",
        "a=2; Expires=Thu, 01 Jan 1970 00:00:00 GMT", "a=2; Expires=Sat, 21 Nov 2026 07:00:00 GMT",
        "a=2; Expires=1 Jan 1601 0:0:0", "a=2; Max-Age=0; Expires=Sat, 21 Nov 2026 09:00:00 GMT", "a=; Max-Age=0",
    ]) func anEndInThePastRemoves(line: String) {
        var client = CookieClient()
        #expect(client.receive(line, from: Self.place) == nil)
        client.receive(["a=1; path=/x", "a=1; domain=example.org", "b=1", "a=1"], from: Self.place)
        let id = Cookie.ID(name: "a", domain: "example.org", isHostOnly: true, path: "/")
        #expect(client.receive(line, from: Self.place) == .removed(id))
        #expect(client.jar[id] == nil)
        // Only the one with this name, domain, path and host.
        #expect(client.sent(to: "http://example.org/x") == "a=1; a=1; b=1")
    }

    @Test func timeEndsThem() {
        var client = CookieClient()
        client.receive(["a=1; Max-Age=10", "b=1; Max-Age=20", "c=1"], from: Self.place)
        client.clock.advance(.seconds(9))
        #expect(client.sent(to: Self.place) == "a=1; b=1; c=1")
        client.clock.advance(.seconds(1))
        #expect(client.sent(to: Self.place) == "b=1; c=1")
        #expect(client.jar.count == 2)
        // Not for being looked at: what is over is gone, even when nobody asks for it.
        client.clock.advance(.seconds(10))
        client.jar.removeExpired(at: client.clock.wall)
        #expect(client.jar.cookies.map { $0.name } == ["c"])
        client.clock.advance(.seconds(400 * Self.day))
        #expect(client.sent(to: Self.place) == "c=1")
    }

    /// To the nanosecond: at its end it has ended.
    @Test func theEndIsPastIt() {
        var client = CookieClient()
        client.receive("a=1; Max-Age=10", from: Self.place)
        let end = client.clock.wall + .seconds(10)
        let url = CookieClient.url(Self.place)
        let before = WallTime(nanoseconds: end.nanoseconds - 1)
        #expect(client.jar.header(for: url, at: before).used.count == 1)
        #expect(client.jar.header(for: url, at: end).used.isEmpty)
    }

    @Test func anUpdateMovesTheEnd() {
        var client = CookieClient()
        client.receive("a=1; Max-Age=10", from: Self.place)
        client.receive("a=2; Max-Age=100", from: Self.place)
        client.clock.advance(.seconds(50))
        #expect(client.sent(to: Self.place) == "a=2")
        client.receive("a=3", from: Self.place)
        client.clock.advance(.seconds(500))
        #expect(client.sent(to: Self.place) == "a=3")
        #expect(client.jar.persistent.isEmpty)
    }

    /// What goes to disk, and what comes back from there.
    @Test func persistence() {
        var client = CookieClient()
        client.receive(
            ["a=1; Max-Age=100; Secure; HttpOnly; SameSite=Lax", "b=1", "c=1; Max-Age=5; Domain=example.org"],
            from: "https://example.org/x")
        let stored = client.jar.persistent
        #expect(stored.map { $0.name } == ["a", "c"])

        client.clock.advance(.seconds(1))
        var next = CookieJar(stored: stored.reversed(), at: client.clock.wall)
        #expect(next.cookies == stored)
        #expect(
            next.header(for: CookieClient.url("https://example.org/x"), at: client.clock.wall).value?.revealed
                == "a=1; c=1")
        client.clock.advance(.seconds(10))
        #expect(CookieJar(stored: stored, at: client.clock.wall).cookies.map { $0.name } == ["a"])
    }

    /// New cookies come after those of an earlier run, even when the clock was set back between the two.
    @Test func orderOverRuns() {
        var client = CookieClient()
        client.receive(["z=1; Max-Age=9999", "y=1; Max-Age=9999"], from: Self.place)
        let stored = client.jar.persistent
        client.clock.setWall(client.clock.wall + TimeSpan.seconds(-60))
        client.jar = CookieJar(stored: stored, at: client.clock.wall)
        client.receive("a=1", from: Self.place)
        client.receive("z=2; Max-Age=9999", from: Self.place)
        #expect(client.sent(to: Self.place) == "z=2; y=1; a=1")
    }
}
