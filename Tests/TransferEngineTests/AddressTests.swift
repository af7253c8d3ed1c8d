import CurlCore
import Testing
import TransferEngine
import TransferModel

/// Which addresses requests may connect to: `addresses`, and `redirects.toPrivate`.
@Suite struct AddressTests {
    private static let outside = "203.0.113.7"

    private func rig(_ task: String = "type: data", _ more: String = "") throws -> EngineRig {
        let rig = try EngineRig(EngineRig.job(task, more))
        rig.start()
        return rig
    }

    private func isLed(_ rig: EngineRig) throws -> Bool {
        try rig.request().request.addresses?.isLedFromPublic ?? false
    }

    private func refusal(_ rig: EngineRig, to address: String) throws -> AddressObjection {
        let limits = try #require(rig.request().request.addresses)
        return try #require(limits.objection(to: NetworkAddress(literal: address)!))
    }

    // MARK: Redirects

    @Test(arguments: [
        "http://127.0.0.1/", "http://10.0.0.1:8080/", "http://[::1]/", "http://169.254.169.254/latest/meta-data/",
        "http://[::ffff:192.168.0.1]/", "http://[fd00::1]/", "http://100.64.0.1/", "http://localhost/",
        "http://a.localhost./", "http://0.0.0.0/", "http://[64:ff9b::7f00:1]/",
    ]) func redirectFromOutsideToAnAddressInside_isRefused(_ location: String) throws {
        let rig = try rig("type: data, redirects: { allowDowngrade: true }")
        try rig.answer(302, [("Location", location)], from: Self.outside)
        #expect(rig.error()?.name == .redirectRefused && rig.loop.transfers.count == 1)
        #expect(rig.error()?.message.contains("`redirects.toPrivate`") == true)
        #expect(rig.error()?.message.hasPrefix(location) == true)
        #expect(rig.error()?.whatHelps(.data).contains("toPrivate: true") == true)
        #expect(rig.redirects.map(\.action) == [.refused])
    }

    @Test func refusedRedirect_isTheResultWhereThatIsAccepted() throws {
        let rig = try rig("type: data, redirects: { onRefuse: accept, allowDowngrade: true }")
        try rig.answer(302, [("Location", "http://127.0.0.1/")], "moved", from: Self.outside)
        #expect(rig.succeeded && rig.body() == "moved" && rig.redirects.map(\.action) == [.accepted])
    }

    @Test(arguments: ["127.0.0.1", "10.1.2.3", "::1", "fe80::1", "169.254.1.1"])
    func redirectFromInside_isFollowed(_ address: String) throws {
        let rig = try rig("type: data, redirects: { allowDowngrade: true }")
        try rig.answer(302, [("Location", "http://127.0.0.1/")], from: address)
        #expect(try rig.request().request.url == "http://127.0.0.1/" && rig.request().request.addresses == nil)
    }

    @Test func redirectInside_isFollowedWhereTheJobAllowsIt() throws {
        let rig = try rig("type: data, redirects: { toPrivate: true, allowDowngrade: true }")
        try rig.answer(302, [("Location", "http://127.0.0.1/")], from: Self.outside)
        #expect(try rig.request().request.addresses == nil)
    }

    /// What a name leads to is known when it is connected to, and not before.
    @Test func redirectToAName_isJudgedByItsAddress() throws {
        let rig = try rig()
        try rig.answer(302, [("Location", "https://b.example/x")], from: Self.outside)
        let objection = try refusal(rig, to: "10.0.0.1")
        rig.loop.complete(try rig.request(), .cannotConnect, objection: objection)
        rig.turn()
        #expect(rig.error()?.name == .redirectRefused)
        #expect(
            rig.error()?.message
                == "GET https://b.example/x: b.example is at 10.0.0.1, a private address: a public server must not lead "
                + "there (`redirects.toPrivate`)")
    }

    /// Once a server outside has led somewhere, no later hop leads inside either.
    @Test func laterHops_areBoundToo() throws {
        let rig = try rig("type: data, redirects: { allowDowngrade: true }")
        try rig.answer(302, [("Location", "https://b.example/x")], from: Self.outside)
        try rig.answer(302, [("Location", "https://c.example/x")], from: "198.51.100.1")
        #expect(try isLed(rig))
        try rig.answer(302, [("Location", "http://10.0.0.1/")], from: "198.51.100.2")
        #expect(rig.error()?.name == .redirectRefused && rig.loop.transfers.count == 3)
    }

    @Test func rulesOfASession_holdForEachRequest() throws {
        let rig = try rig(
            "session: s, type: data", "sessions: { s: { addresses: { deny: [private], allow: [10.1.0.0/16] } } }")
        try rig.answer(302, [("Location", "https://b.example/x")], from: "10.1.2.3")
        let limits = try #require(try rig.request().request.addresses)
        #expect(limits.objection(to: NetworkAddress(literal: "10.1.9.9")!) == nil)
        let objection = try refusal(rig, to: "10.2.0.1")
        rig.loop.complete(try rig.request(), .cannotConnect, objection: objection)
        rig.turn()
        #expect(rig.error()?.name == .addressRefused)
        #expect(
            rig.error()?.message
                == "GET https://b.example/x: b.example is at 10.2.0.1, a private address: `addresses.deny` refuses "
                + "`private` in /here/job.yaml:1")
        #expect(rig.error()?.whatHelps(.data).contains("`addresses.allow`") == true)
    }

    // MARK: Other ways that servers lead

    @Test func nextPage_isBoundLikeARedirect() throws {
        let literal = try rig("next: { header: X-Next }, redirects: { allowDowngrade: true }")
        try literal.answer(200, [("X-Next", "http://10.0.0.1/")], "x", from: Self.outside)
        #expect(literal.error()?.name == .redirectRefused && literal.loop.transfers.count == 1)
        #expect(literal.error()?.message.hasPrefix("the next page is at http://10.0.0.1/") == true)

        let named = try rig("next: { header: X-Next }")
        try named.answer(200, [("X-Next", "https://b.example/2")], "x", from: Self.outside)
        #expect(try isLed(named))
        // A redirect of the second page does not shake that off.
        try named.answer(302, [("Location", "https://c.example/2")], from: "10.0.0.1")
        #expect(try isLed(named))

        let inside = try rig("next: { header: X-Next }")
        try inside.answer(200, [("X-Next", "https://b.example/2")], "x", from: "10.0.0.1")
        #expect(try !isLed(inside))
    }

    /// A page that the job counts is at the task's own URL.
    @Test func countedPage_isNotLed() throws {
        let rig = try rig("next: { page: p, until: empty }")
        try rig.answer(200, [], "[1]", from: Self.outside)
        #expect(try !isLed(rig))
    }

    /// The place is on the host that a redirect led to, and who sent that is not known to the next attempt any more.
    @Test func placeOfAnUploadOnAnotherHost_isBoundInTheNextAttempt() throws {
        let rig = try rig("type: upload, method: POST, body: { data: abcdef }, resumable: true")
        try rig.answer(307, [("Location", "https://b.example/x")], from: "10.0.0.1")
        #expect(try !isLed(rig))
        let place = [("Location", "https://b.example/u"), ("Upload-Draft-Interop-Version", "8")]
        _ = try rig.request().receiver.received(interim: HeaderBlock(place))
        try rig.cut()
        rig.start(attempt: 2)
        #expect(try rig.request().request.url == "https://b.example/u" && isLed(rig))
    }

    // MARK: Proxies

    private let proxied = "sessions: { s: { proxy: \"http://proxy.test:3128\", addresses: { deny: [private] } } }"

    /// No connection of this machine's shows the address behind a proxy, but the URL does.
    @Test func addressInAURL_isRefusedBehindAProxyToo() throws {
        let job = "\(proxied)\ntasks:\n  - { id: t, session: s, url: \"http://10.0.0.1/f\" }\n"
        let rig = try EngineRig(job)
        rig.start()
        #expect(rig.loop.transfers.isEmpty && rig.error()?.name == .addressRefused)
        #expect(rig.error()?.message.contains("10.0.0.1 is a private address: ") == true)
    }

    /// The proxy is where the job says: no server led there, wherever it is.
    @Test func aRedirectThroughAProxy_isJudgedByItsURL() throws {
        let job = "\(proxied)\ntasks:\n  - { id: t, session: s, url: \"http://a.example/f\" }\n"
        let rig = try EngineRig(job)
        rig.start()
        try rig.answer(302, [("Location", "http://b.example/x")], from: "10.0.0.9")
        #expect(try !isLed(rig))
        try rig.answer(302, [("Location", "http://127.0.0.1/x")], from: "10.0.0.9")
        #expect(rig.error()?.name == .redirectRefused)
    }

    @Test func aProxyAtARefusedAddress_isNamed() throws {
        let job = "\(proxied)\ntasks:\n  - { id: t, session: s, url: \"http://a.example/f\" }\n"
        let rig = try EngineRig(job)
        rig.start()
        rig.loop.complete(try rig.request(), .cannotConnect, objection: try refusal(rig, to: "10.0.0.9"))
        rig.turn()
        #expect(rig.error()?.message.contains("the proxy proxy.test is at 10.0.0.9, a private address") == true)
    }

    // MARK: The cache

    /// Who sent a cached redirect is not known any more. Where it leads inside, its server is asked again.
    @Test func cachedRedirect_isAskedAgainWhereItLeadsInside() throws {
        let job = """
            sessions: { s: { configuration: ephemeral } }
            tasks:
              - { id: a, session: s, type: data, url: "https://a.example/f" }
              - { id: b, session: s, type: data, url: "https://a.example/f" }
              - { id: c, session: s, type: data, url: "https://a.example/f" }

            """
        let rig = try EngineRig(job)
        rig.start("a")
        let moved = [("Location", "https://b.example/x"), ("Cache-Control", "max-age=1000")]
        try rig.answer(301, moved, from: "10.0.0.1")
        #expect(try !isLed(rig))
        try rig.answer(200, [], "a", from: "10.0.0.2")
        rig.start("b")
        #expect(try rig.request().request.url == "https://b.example/x" && isLed(rig))
        rig.loop.complete(try rig.request(), .cannotConnect, objection: try refusal(rig, to: "10.0.0.2"))
        rig.turn()
        #expect(try rig.request().request.url == "https://a.example/f")
        try rig.answer(301, moved, from: "10.0.0.1")
        #expect(try !isLed(rig))
        try rig.answer(200, [], "b", from: "10.0.0.2")
        #expect(rig.verdict("b")?.status == 200)
        // From a server outside it stays refused.
        rig.start("c")
        rig.loop.complete(try rig.request(), .cannotConnect, objection: try refusal(rig, to: "10.0.0.2"))
        rig.turn()
        try rig.answer(301, moved, from: Self.outside)
        rig.loop.complete(try rig.request(), .cannotConnect, objection: try refusal(rig, to: "10.0.0.2"))
        rig.turn()
        #expect(rig.error("c")?.name == .redirectRefused)
    }
}
