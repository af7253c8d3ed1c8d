import HTTPRules
import Stores
import TestSupport
import Testing
import TransferModel

/// Cookies that outlive a run.
struct StoredCookieTests {
    private let now = ManualClock().wall

    private func cookie(_ number: Int, site: Int) -> Cookie {
        // Later numbers were used later.
        let time = WallTime(nanoseconds: now.nanoseconds + Int64(site * 1_000 + number))
        return Cookie(
            name: "c\(number)", value: "1", domain: "s\(site).org", isHostOnly: true, path: "/",
            expires: now + .seconds(600), created: time, lastUsed: time)
    }

    /// Two runs at once can leave more than a jar may hold; the next one cuts them, in the store too.
    @Test(arguments: [(40, 100, 3_000), (1, 250, 180)]) func tooMany_areCutInTheStoreToo(
        _ sites: Int, _ each: Int, _ rest: Int
    ) throws {
        let tree = try TemporaryTree()
        let store = try Store.open(folder: tree.path)
        let session = try store.session(job: "j", name: "s", now: now)
        let all = (0..<sites).flatMap { site in (0..<each).map { cookie($0, site: site) } }
        try store.learn(session, all.shuffled().map { .cookie($0) }, now: now)

        var state = SessionState(SessionConfiguration(name: "s"), at: now)
        state.recall(try store.sessionState(session), at: now)
        #expect(state.jar.count == rest)
        try store.learn(session, state.takeChanges(), now: now)
        let left = try store.sessionState(session).cookies
        #expect(Set(left.map(\.id)) == Set(all.suffix(rest).map(\.id)))

        // What an answer puts in the place of others takes their place in the store.
        let url = try ResourceURL.parse("https://s\(sites - 1).org/")
        let flood = HeaderBlock((0..<500).map { ("Set-Cookie", "new\($0)=1; Max-Age=60") })
        state.take(flood, from: url, Visit(asked: url), at: now)
        let changes = state.takeChanges()
        #expect(changes.count <= 2 * CookieJar.maximumPerSite + 1)
        try store.learn(session, changes, now: now)
        #expect(Set(try store.sessionState(session).cookies.map(\.id)) == Set(state.jar.persistent.map(\.id)))
    }
}
