import HTTPRules
import TestSupport
import Testing
import TransferModel

/// However many cookies servers send: what the jar holds, what a cookie costs, and what the store has to do.
struct CookieBoundTests {
    private static func url(_ text: String) -> ResourceURL { CookieClient.url(text) }

    /// Cookies for each of the names above a deep one, so that all domains of the site are met.
    private static func flood(_ count: Int, _ host: String, _ random: inout Seeded) -> HeaderBlock {
        let labels = host.split(separator: ".")
        return HeaderBlock(
            (0..<count).map { number in
                let domain = labels.suffix(2 + random.below(labels.count - 1)).joined(separator: ".")
                let end = random.oneIn(3) ? "" : "; Max-Age=\(1 + random.below(90_000))"
                return ("Set-Cookie", "c\(number)=1; Domain=\(domain)\(end)\(random.oneIn(4) ? "; Secure" : "")")
            })
    }

    @Test func redirectsWithFiveThousandCookiesEach_costTheSameFromFirstToLast() throws {
        var random = Seeded("CookieBoundTests.redirectsWithFiveThousandCookiesEach")
        var (jar, clock, work) = (CookieJar(), ManualClock(), [Int]())
        let deep = String(repeating: "a.", count: 60)
        for hop in 0..<25 {
            clock.advance(.milliseconds(5))
            let host = "\(deep)site\(hop).org"
            let headers = Self.flood(5_000, host, &random)
            let before = jar.steps
            let url = Self.url("https://\(host)/\(hop)")
            let outcomes = jar.take(headers, from: url, at: clock.wall, accepting: .always(url))
            work.append(jar.steps - before)
            #expect(outcomes.filter { if case .kept = $0 { true } else { false } }.count == 5_000)
            #expect(jar.count == min((hop + 1) * CookieJar.maximumPerSite, CookieJar.maximum))
        }
        // For each cookie its own place and another's, and the order of ends: no more in a full jar than in an empty one.
        #expect(work.allSatisfy { $0 <= 5_000 * 8 }, "\(work)")
        #expect(work[24] <= 2 * work[0], "\(work)")
        // Of 125,000 cookies the store is told of those that are left.
        let changes = jar.takeChanges()
        #expect(changes.count == jar.persistent.count)
        #expect(changes.allSatisfy { if case .cookie = $0 { true } else { false } })
    }

    /// Over http each cookie is held against the `Secure` ones of its site, and of no other.
    @Test func cookiesOverHTTP_areHeldAgainstTheirOwnSite() {
        var client = CookieClient()
        for site in 0..<20 {
            client.receive((0..<180).map { "c\($0)=1; Secure" }, from: "https://s\(site).org/")
        }
        let before = client.jar.steps
        client.receive((0..<1_000).map { "d\($0)=1" }, from: "http://elsewhere.org/")
        #expect(client.jar.steps - before <= 3 * 1_000)
        let middle = client.jar.steps
        client.receive((0..<1_000).map { "d\($0)=1" }, from: "http://s19.org/")
        #expect(client.jar.steps - middle <= (CookieJar.maximumPerSite + 3) * 1_000)
    }

    /// A cookie in the model: what decides who goes, and nothing of how the jar finds it.
    private struct Held {
        let key: Int
        let site: Int
        let isSecure: Bool
        let end: WallTime?
        let made: Int
        var used: Int
        var id: Cookie.ID { Cookie.ID(name: "c\(key % 1_000)", domain: "s\(site).org", isHostOnly: true, path: "/") }
    }

    private struct Model {
        var held: [Held] = []
        private var count = 0

        private mutating func next() -> Int {
            count += 1
            return count
        }

        mutating func end(at now: WallTime) { held.removeAll { one in one.end.map { $0 <= now } ?? false } }

        mutating func set(_ site: Int, _ name: Int, isSecure: Bool, end: WallTime?) {
            let key = site * 1_000 + name
            let place = held.firstIndex { $0.key == key }
            let made = place.map { held.remove(at: $0).made } ?? next()
            held.append(Held(key: key, site: site, isSecure: isSecure, end: end, made: made, used: next()))
            let own = held.filter { $0.site == site }
            if own.count > 180 {
                let plain = own.filter { !$0.isSecure }
                go((plain.isEmpty ? own : plain).min { $0.used < $1.used }?.key)
            } else if held.count > 3_000 {
                go(held.min { $0.used < $1.used }?.key)
            }
        }

        private mutating func go(_ key: Int?) { held.removeAll { $0.key == key } }

        mutating func send(_ site: Int) {
            let sent = held.filter { $0.site == site }.sorted { $0.made < $1.made }.map(\.key)
            for key in sent {
                guard let place = held.firstIndex(where: { $0.key == key }) else { continue }
                held[place].used = next()
            }
        }
    }

    /// What the jar holds, and what a store has that does what the jar says, in random order and at random times.
    @Test func whoGoesAndWhatTheStoreHas_asInAModel() {
        var random = Seeded("CookieBoundTests.whoGoesAndWhatTheStoreHas")
        for _ in 0..<Rounds.scaled(1) {
            var (client, model, rows, fullest) = (CookieClient(), Model(), [Cookie.ID: WallTime](), 0)
            for _ in 0..<260 {
                client.clock.advance(.milliseconds(Int64(random.below(2_000))))
                // One site gets more than it may have, all together more than the jar may.
                let (now, site) = (client.clock.wall, random.oneIn(4) ? 0 : random.below(30))
                let url = Self.url("https://s\(site).org/")
                model.end(at: now)
                switch random.below(6) {
                case 0:
                    _ = client.jar.header(for: url, at: now)
                    model.send(site)
                case 1:
                    for change in client.jar.takeChanges() {
                        switch change {
                        case .cookie(let cookie): rows[cookie.id] = cookie.expires
                        case .noCookie(let id): rows[id] = nil
                        case .secureHost, .noSecureHost, .credential: Issue.record("\(change)")
                        }
                    }
                    // What has ended the store removes by itself.
                    for (id, end) in rows where end <= now { rows[id] = nil }
                    client.jar.removeExpired(at: now)
                    #expect(Set(rows.keys) == Set(client.jar.persistent.map(\.id)))
                default:
                    let lines = (0..<60).map { _ in
                        let (name, isSecure) = (random.below(260), random.oneIn(3))
                        let age = random.pick([0, 0, 0, 3, 60, 90_000, 90_000, 90_000])
                        let end: WallTime? = age == 0 ? nil : now + .seconds(Int64(age))
                        model.set(site, name, isSecure: isSecure, end: end)
                        return "c\(name)=1" + (age == 0 ? "" : "; Max-Age=\(age)") + (isSecure ? "; Secure" : "")
                    }
                    _ = client.jar.take(
                        HeaderBlock(lines.map { ("Set-Cookie", $0) }), from: url, at: now, accepting: .always(url))
                }
                client.jar.removeExpired(at: now)
                #expect(Set(client.jar.cookies.map(\.id)) == Set(model.held.map(\.id)))
                fullest = max(fullest, client.jar.count)
            }
            #expect(fullest == CookieJar.maximum)
        }
    }
}
