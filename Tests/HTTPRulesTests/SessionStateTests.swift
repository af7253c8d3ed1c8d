import HTTPRules
import Testing
import TransferModel

struct SessionStateTests {
    private let now = WallTime(nanoseconds: 1_795_244_400_000_000_000)

    private func lore(_ change: (inout SessionConfiguration) -> Void = { _ in }) -> SessionState {
        var configuration = SessionConfiguration(name: "s")
        change(&configuration)
        return SessionState(configuration, at: now)
    }
    private func visit(_ url: String) throws -> Visit { Visit(asked: try ResourceURL.parse(url)) }
    private func take(_ lore: inout SessionState, _ lines: [(String, String)], from url: String) throws {
        lore.take(HeaderBlock(lines), from: try ResourceURL.parse(url), try visit(url), at: now)
    }
    private func cookies(
        _ lore: inout SessionState, _ typed: [(String, String)] = [], to url: String = "http://a.test/"
    ) throws -> [String]? {
        let fields = typed.map { HeaderField(name: $0.0, value: SecretText($0.1)) }
        let dressed = lore.dress(fields, to: try ResourceURL.parse(url), try visit(url), at: now)
        return dressed?.map { "\($0.name): \($0.value.revealed)" }
    }

    @Test func typedAndKeptCookiesShareALine() throws {
        var lore = lore()
        #expect(try cookies(&lore, [("cookie", "t=1")]) == nil)
        try take(&lore, [("Set-Cookie", "k=2"), ("Set-Cookie", "l=3")], from: "http://a.test/")
        #expect(try cookies(&lore) == ["Cookie: k=2; l=3"])
        #expect(
            try cookies(&lore, [("Accept", "*/*"), ("cookie", "t=1")]) == ["Accept: */*", "cookie: t=1; k=2; l=3"])
        #expect(try cookies(&lore, [("Cookie", "")]) == ["Cookie: k=2; l=3"])
        #expect(try cookies(&lore, to: "http://b.test/") == nil)
    }

    @Test func theJobSaysNo() throws {
        var deaf = lore { $0.cookies.accept = .never }
        try take(&deaf, [("Set-Cookie", "k=2")], from: "http://a.test/")
        #expect(deaf.jar.isEmpty)

        // They are kept all the same.
        var mute = lore { $0.cookies.send = false }
        try take(&mute, [("Set-Cookie", "k=2")], from: "http://a.test/")
        #expect(try cookies(&mute) == nil && mute.jar.count == 1)

        var lore = lore()
        var visit = try visit("http://a.test/")
        visit.usesCookies = false
        lore.take(HeaderBlock([("Set-Cookie", "k=2")]), from: visit.asked, visit, at: now)
        #expect(lore.jar.isEmpty)
        try take(&lore, [("Set-Cookie", "k=2")], from: "http://a.test/")
        #expect(lore.dress([], to: visit.asked, visit, at: now) == nil)
    }

    @Test func theMainDocumentIsTheTasksOwnUnlessSaid() throws {
        var lore = lore { $0.cookies.accept = .onlyFromMainDocumentDomain }
        let other = try ResourceURL.parse("http://b.test/")
        var visit = try visit("http://a.test/")
        lore.take(HeaderBlock([("Set-Cookie", "k=2")]), from: other, visit, at: now)
        #expect(lore.jar.isEmpty)
        visit.mainDocument = other
        lore.take(HeaderBlock([("Set-Cookie", "k=2")]), from: other, visit, at: now)
        #expect(lore.jar.count == 1)
    }

    @Test func onlyWhatLastsIsForTheStore() throws {
        var lore = lore()
        try take(&lore, [("Set-Cookie", "s=1")], from: "https://a.test/")
        #expect(lore.takeChanges().isEmpty)
        try take(&lore, [("Set-Cookie", "p=1; Max-Age=60")], from: "https://a.test/")
        let changes = lore.takeChanges()
        guard case .cookie(let cookie) = changes.first else { return #expect(Bool(false), "\(changes)") }
        #expect(changes.count == 1 && cookie.name == "p")
        // It ends with the session now: the store must let go of it.
        try take(&lore, [("Set-Cookie", "p=2")], from: "https://a.test/")
        #expect(lore.takeChanges() == [.noCookie(cookie.id)])
        // What comes and goes between two writes is no matter of the store's.
        try take(&lore, [("Set-Cookie", "p=2; Max-Age=60"), ("Set-Cookie", "p=2; Max-Age=0")], from: "https://a.test/")
        #expect(!lore.hasChanges && lore.takeChanges().isEmpty)
        try take(&lore, [("Set-Cookie", "p=2; Max-Age=60")], from: "https://a.test/")
        #expect(lore.takeChanges().count == 1)
        try take(&lore, [("Set-Cookie", "p=2; Max-Age=60"), ("Set-Cookie", "p=2; Max-Age=0")], from: "https://a.test/")
        #expect(lore.takeChanges() == [.noCookie(cookie.id)])
    }

    @Test func anUntrustedServerBindsNobody() throws {
        var lore = lore { $0.tls.policy = .insecure }
        try take(&lore, [("Strict-Transport-Security", "max-age=60")], from: "https://a.test/")
        #expect(lore.transport.isEmpty)
    }

    @Test func anEarlierRunsLore() throws {
        var first = lore()
        try take(
            &first, [("Set-Cookie", "p=1; Max-Age=60"), ("Strict-Transport-Security", "max-age=60")],
            from: "https://a.test/")
        var kept = SessionState.Kept()
        for change in first.takeChanges() {
            switch change {
            case .cookie(let cookie): kept.cookies.append(cookie)
            case .secureHost(let entry): kept.secureHosts.append(entry)
            case .noCookie, .noSecureHost, .credential: break
            }
        }
        var second = lore {
            $0.cookies.preset = [CookieConfiguration.Preset(name: "j", value: "2", domain: "a.test")]
        }
        second.recall(kept, at: now)
        #expect(try cookies(&second, to: "https://a.test/") == ["Cookie: p=1; j=2"])
        #expect(second.secured(try ResourceURL.parse("http://a.test/"), at: now)?.text == "https://a.test/")
        second.recall(kept, at: now + .seconds(60))
        #expect(try cookies(&second, to: "https://a.test/") == ["Cookie: j=2"])
    }

    @Test func masks() {
        let headers = HeaderBlock([
            ("Set-Cookie", "sid=abc; Path=/"), ("X", "sid=abc"), ("set-cookie", "bare"), ("SET-COOKIE2", "a=b"),
        ])
        let masked = CookieMask.masked(headers)
        #expect(masked.lines.map { masked.value($0) } == ["sid=***; Path=/", "sid=abc", "***", "a=***"])
    }
}
