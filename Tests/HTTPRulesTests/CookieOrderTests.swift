import HTTPRules
import TestSupport
import Testing
import TransferModel

/// In which order cookies are sent, and which of too many go.
struct CookieOrderTests {
    private static let place = "https://example.org/"

    @Test func longerPathsThenOlderOnes() {
        var client = CookieClient()
        client.receive(
            ["a=1; path=/", "b=1; path=/x/y", "c=1; path=/x", "d=1; path=/", "e=1; path=/x/y/"], from: Self.place)
        #expect(client.sent(to: "https://example.org/x/y/z") == "e=1; b=1; c=1; a=1; d=1")
        // The domain has no say; of one name all are sent.
        client.receive("a=2; domain=example.org", from: Self.place)
        #expect(client.sent(to: Self.place) == "a=1; d=1; a=2")
    }

    @Test func anUpdateKeepsItsPlace() {
        var client = CookieClient()
        client.receive("a=1", from: Self.place)
        let first = client.jar.cookies[0]
        client.clock.advance(.seconds(60))
        client.receive(["b=1", "a=2; secure; httponly"], from: Self.place)
        #expect(client.sent(to: Self.place) == "a=2; b=1")
        let second = client.jar.cookies[0]
        #expect(second.created == first.created)
        #expect(second.lastUsed > first.lastUsed)
        #expect(second.isSecure && second.isHTTPOnly)
    }

    @Test func outcomesAndUse() {
        var client = CookieClient()
        let id = Cookie.ID(name: "a", domain: "example.org", isHostOnly: true, path: "/")
        #expect(client.receive("a=1", from: Self.place) == .kept(id, replaced: false))
        #expect(client.receive("a=2", from: Self.place) == .kept(id, replaced: true))
        client.receive("b=1; path=/x", from: Self.place)
        client.clock.advance(.seconds(60))
        let header = client.jar.header(for: CookieClient.url(Self.place), at: client.clock.wall)
        #expect(header.used == [id])
        #expect(header.withheld.isEmpty)
        #expect(client.jar[id]?.lastUsed == client.clock.wall)
        #expect(client.jar.cookies[1].lastUsed < client.clock.wall)
        #expect(client.jar.remove(id)?.value.revealed == "2")
        #expect(client.jar.remove(id) == nil)
        #expect(client.jar.count == 1)
    }

    private func names(_ client: CookieClient) -> [String] { client.jar.cookies.map { $0.name } }

    @Test func manyOfASite_theLeastRecentlyUsedGoes() {
        var client = CookieClient()
        let most = CookieJar.maximumPerSite
        for index in 0..<most { client.receive("c\(index)=1; path=/\(index)", from: Self.place) }
        #expect(client.jar.count == most && most == 180)
        // The first was used meanwhile, so the second is the one unused for longest.
        #expect(client.sent(to: "https://example.org/0") == "c0=1")
        let evicted = Cookie.ID(name: "c1", domain: "example.org", isHostOnly: true, path: "/1")
        let outcomes = client.receive(["new=1"], from: Self.place)
        #expect(outcomes.last == .evicted(evicted))
        #expect(outcomes.count == 2)
        #expect(names(client) == ["c0"] + (2..<most).map { "c\($0)" } + ["new"])
        // An update needs no room, another site has its own, a name below has not.
        #expect(client.receive(["new=2"], from: Self.place).count == 1)
        client.receive("a=1", from: "https://example.com/")
        #expect(client.jar.count == most + 1)
        client.receive("a=1", from: "https://www.example.org/")
        #expect(client.jar.count == most + 1 && !names(client).contains("c2"))
    }

    /// A server with a name for each cookie fills its own site's part of the jar.
    @Test func manyNamesOfASite_shareItsRoom() {
        var client = CookieClient()
        client.receive(["a=1", "b=1"], from: "https://other.org/")
        for index in 0..<4_000 { client.receive("c=1", from: "https://n\(index).evil.co.uk/") }
        #expect(client.jar.count == CookieJar.maximumPerSite + 2)
        #expect(client.sent(to: "https://other.org/") == "a=1; b=1")
        // Below a public suffix each name is a site.
        for index in 0..<200 { client.receive("c=1", from: "https://n\(index).github.io/") }
        for host in ["10.0.0.1", "10.0.0.2", "[::1]", "localhost"] { client.receive("c=1", from: "https://\(host)/") }
        #expect(client.jar.count == CookieJar.maximumPerSite + 206)
    }

    @Test func whatIsNotSecureGoesFirst() {
        var client = CookieClient()
        client.receive("plain=1", from: Self.place)
        for index in 0..<179 { client.receive("c\(index)=1; secure", from: Self.place) }
        _ = client.sent(to: Self.place)
        client.receive("new=1; secure", from: Self.place)
        #expect(!names(client).contains("plain"))
        // So whoever has http only cannot push Secure cookies out: the newcomer goes itself.
        let outcomes = client.receive(["flood=1"], from: "http://example.org/")
        #expect(outcomes.count == 2)
        #expect(!names(client).contains("flood"))
        #expect(client.jar.count == 180)
        // Among Secure ones alone it is the oldest use.
        client.receive("newer=1; secure", from: Self.place)
        #expect(!names(client).contains("c0"))
        #expect(names(client).contains("newer"))
    }

    @Test func whatHasEndedGoesBeforeAll() {
        var client = CookieClient()
        for index in 0..<179 { client.receive("c\(index)=1", from: Self.place) }
        client.receive("short=1; max-age=5; secure", from: Self.place)
        client.clock.advance(.seconds(5))
        #expect(client.receive(["new=1"], from: Self.place).count == 1)
        #expect(names(client) == (0..<179).map { "c\($0)" } + ["new"])
    }

    @Test func threeThousandInAll() {
        var client = CookieClient()
        for domain in 0..<60 {
            client.receive((0..<50).map { "c\($0)=1\($0 == 7 ? "; secure" : "")" }, from: "https://d\(domain).org/")
        }
        #expect(client.jar.count == CookieJar.maximum)
        // All of the first domain was used just now, and of the second all but one.
        _ = client.sent(to: "https://d0.org/")
        client.clock.advance(.seconds(1))
        _ = client.sent(to: "http://d1.org/")
        let outcomes = client.receive(["a=1"], from: "https://another.org/")
        #expect(
            outcomes.last
                == .evicted(Cookie.ID(name: "c7", domain: "d1.org", isHostOnly: true, path: "/")))
        #expect(client.jar.count == CookieJar.maximum)
        client.receive("b=1", from: "https://another.org/")
        #expect(client.jar[Cookie.ID(name: "c0", domain: "d2.org", isHostOnly: true, path: "/")] == nil)
        #expect(client.jar[Cookie.ID(name: "c0", domain: "d0.org", isHostOnly: true, path: "/")] != nil)
    }

    @Test func tooManyFromAStore() {
        let now = ManualClock().wall
        let stored = (0..<200).map { index in
            let used = WallTime(nanoseconds: now.nanoseconds - Int64(index))
            return Cookie(
                name: "c\(index)", value: "1", domain: "example.org", isHostOnly: true, path: "/",
                expires: now + .seconds(60), created: used, lastUsed: used)
        }
        var jar = CookieJar(stored: stored, at: now)
        #expect(jar.count == 180)
        #expect(Set(jar.cookies.map { $0.name }) == Set((0..<180).map { "c\($0)" }))
        // The store lets go of the rest.
        #expect(jar.hasChanges)
        #expect(Set(jar.takeChanges()) == Set(stored[180...].map { .noCookie($0.id) }))
        #expect(!jar.hasChanges && jar.takeChanges().isEmpty)
    }
}
