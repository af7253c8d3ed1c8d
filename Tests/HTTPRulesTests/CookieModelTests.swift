import HTTPRules
import TestSupport
import Testing
import TransferModel

/// The jar against the oracle in random worlds, and against lines of any bytes.
struct CookieModelTests {
    private static let hosts = [
        "example.com", "www.example.com", "a.www.example.com", "other.com", "bbc.co.uk", "www.bbc.co.uk", "co.uk",
        "github.io", "x.github.io", "10.0.0.1", "[::1]", "localhost",
    ]
    private static let paths = ["/", "/a", "/a/", "/a/b", "/a/b/c", "/ab", "/b"]

    /// Mostly one site, so that cookies meet; in a crowd one host.
    private static func place(_ random: inout Seeded, isCrowded: Bool = false) -> CookieOracle.Place {
        let host = random.oneIn(isCrowded ? 20 : 3) ? random.pick(hosts) : random.pick(hosts[..<(isCrowded ? 1 : 3)])
        return CookieOracle.Place(https: !random.oneIn(3), host: host, path: random.pick(paths))
    }

    private static func url(_ place: CookieOracle.Place) -> ResourceURL {
        CookieClient.url("\(place.https ? "https" : "http")://\(place.host)\(place.path)")
    }

    /// With few attributes, many cookies of one domain are kept, and more than it may have.
    private static func line(_ random: inout Seeded, attributes: Int) -> String {
        let odd = ["", " ", "A", "a", "__Secure-x", "__host-y", "__HOST-", " a\t"]
        let (names, oddity) = attributes == 2 ? (500, 9) : (70, 3)
        let name = random.oneIn(oddity) ? random.pick(odd) : "c\(random.below(names))"
        let value =
            random.oneIn(8)
            ? random.pick(["", " ", "=", "a=b", "\"x y\"", "__Secure-z", "1, b=2"]) : "\(random.below(9))"
        var line = name + (random.oneIn(12) ? "" : "=") + value
        for _ in 0..<random.below(attributes) {
            let (name, value) = attribute(&random)
            let spelled = String(name.map { random.oneIn(3) ? Character($0.uppercased()) : $0 })
            let blank = random.pick(["", " ", "\t ", ""])
            line += ";\(blank)\(spelled)\(blank)" + (value.map { "=\(blank)\($0)" } ?? "")
        }
        return line
    }

    private static func attribute(_ random: inout Seeded) -> (String, String?) {
        switch random.below(9) {
        case 0: ("max-age", random.pick(["0", "-5", "1", "3", "60", "x", "", "99999999999"]))
        case 1: ("expires", random.pick(CookieOracle.dates).text)
        case 2, 3: ("path", random.pick(paths + ["", "x", "//"]))
        case 4, 5:
            (
                "domain",
                random.pick(
                    hosts + ["", ".", "com", ".co.uk", ".example.com", "EXAMPLE.com", "example.com.", "ample.com"])
            )
        case 6, 7: ("secure", random.oneIn(4) ? "no" : nil)
        default: ("samesite", random.pick(["None", "lax", "STRICT", "x", ""]))
        }
    }

    private static func texts(_ jar: CookieJar) -> [String] {
        jar.cookies.map { "\($0.id)=\($0.value.revealed) \($0.isSecure)" }
    }

    private static func texts(_ oracle: CookieOracle) -> [String] {
        oracle.entries.sorted { $0.number < $1.number }.map { entry in
            let id = Cookie.ID(
                name: entry.name, domain: entry.domain, isHostOnly: entry.hostOnly, path: entry.path)
            return "\(id)=\(entry.value) \(entry.secure)"
        }
    }

    @Test func againstTheOracle() {
        var random = Seeded("CookieModelTests.againstTheOracle")
        var (sent, evicted) = (0, 0)
        for round in 0..<Rounds.scaled(20) {
            let isCrowded = round % 2 == 1
            var (jar, oracle) = (CookieJar(), CookieOracle())
            let start = ManualClock().wall
            var now = 0
            for step in 0..<500 {
                // Standing still now and then: cookies of one moment have an order, too.
                now += random.below(20)
                let wall = start + .milliseconds(Int64(now))
                let place = Self.place(&random, isCrowded: isCrowded)
                if random.oneIn(4) {
                    let header = jar.header(for: Self.url(place), at: wall).value?.revealed ?? ""
                    let expected = oracle.header(to: place, now: now)
                    #expect(header == expected, "round \(round), step \(step), \(place)")
                    sent += expected.isEmpty ? 0 : 1
                } else {
                    let line = Self.line(&random, attributes: isCrowded ? 2 : 5)
                    let outcomes = jar.take(setCookie: Array(line.utf8), from: Self.url(place), at: wall)
                    oracle.set(line, from: place, now: now)
                    evicted += outcomes.count > 1 ? 1 : 0
                    if step % 5 == 0, Self.texts(jar) != Self.texts(oracle) {
                        Issue.record("round \(round), step \(step): `\(line)` from \(place)")
                        return
                    }
                }
            }
        }
        // A world in which nothing happens proves nothing.
        #expect(sent > 500)
        #expect(evicted > 50)
    }

    /// Whatever comes, what is kept is well formed, and what is sent is one header line.
    @Test func anyBytes() {
        var random = Seeded("CookieModelTests.anyBytes")
        let pieces = [
            "a", "=", ";", " ", "\t", "\"", ",", "Domain=", "Path=/", "Expires=", "Max-Age=", "Secure", "SameSite=None",
            "example.com", ".", "__Host-", "09 Nov 2026 08:49:37", "99999999999999999999", "-", "\r", "\n", "\0", "é",
            "HttpOnly",
        ].map { Array($0.utf8) }
        var (jar, kept) = (CookieJar(), 0)
        var clock = ManualClock()
        for _ in 0..<Rounds.scaled(2_000) {
            clock.advance(.milliseconds(random.oneIn(50) ? 3_600_000 : 7))
            var line = (0..<random.below(12)).flatMap { _ in random.pick(pieces) }
            if random.oneIn(2), !line.isEmpty { line[random.below(line.count)] = random.bytes(1)[0] }
            if random.oneIn(50) { line += random.bytes(random.below(6_000)) }
            let place = Self.place(&random)
            let outcomes = jar.take(setCookie: line, from: Self.url(place), at: clock.wall)
            for case .kept(let id, _) in outcomes {
                guard let cookie = jar[id] else { continue }
                kept += 1
                check(cookie, from: place, at: clock.wall)
                checkAgain(cookie, from: place, at: clock.wall)
            }
            let header = jar.header(for: Self.url(Self.place(&random)), at: clock.wall)
            #expect(header.value?.revealed.utf8.allSatisfy { ($0 >= 0x20 || $0 == 0x09) && $0 != 0x7F } ?? true)
        }
        #expect(kept > 100)
        #expect(jar.count == jar.cookies.count)
        let sites = Dictionary(grouping: jar.cookies) { CookieOracle.site($0.domain) }
        #expect(sites.values.allSatisfy { $0.count <= CookieJar.maximumPerSite })
    }

    private func check(_ cookie: Cookie, from place: CookieOracle.Place, at now: WallTime) {
        let value = cookie.value.revealed
        #expect(cookie.name.utf8.count + value.utf8.count <= 4096 && cookie.name.utf8.count + value.utf8.count > 0)
        #expect(cookie.path.utf8.first == UInt8(ascii: "/"))
        #expect(!cookie.name.utf8.contains { $0 == UInt8(ascii: ";") || $0 == UInt8(ascii: "=") })
        #expect(!value.utf8.contains(UInt8(ascii: ";")))
        #expect(place.host == cookie.domain || (!cookie.isHostOnly && place.host.hasSuffix("." + cookie.domain)))
        #expect(cookie.isHostOnly || !CookieOracle.suffixes.contains(cookie.domain))
        #expect(place.https || !cookie.isSecure)
        if let end = cookie.expires { #expect(end > now && end <= now + .seconds(400 * 86_400)) }
    }

    /// Written out and read again it is the same cookie.
    private func checkAgain(_ cookie: Cookie, from place: CookieOracle.Place, at now: WallTime) {
        var jar = CookieJar()
        let line =
            "\(cookie.name)=\(cookie.value.revealed); path=\(cookie.path)" + (cookie.isSecure ? "; secure" : "")
            + (cookie.isHostOnly ? "" : "; domain=.\(cookie.domain)")
        _ = jar.take(setCookie: Array(line.utf8), from: Self.url(place), at: now)
        #expect(jar[cookie.id]?.value == cookie.value, "\(line)")
    }
}
