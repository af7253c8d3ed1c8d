import CurlCore
import Testing
import TransferEngine
import TransferModel

/// Where a redirect leads, with which method, body and headers.
@Suite struct RedirectTests {
    private func rig(_ task: String = "type: data", _ more: String = "") throws -> EngineRig {
        let rig = try EngineRig(EngineRig.job(task, more))
        rig.start()
        return rig
    }

    @Test(arguments: [
        (301, "GET", "GET"), (302, "GET", "GET"), (303, "GET", "GET"), (307, "GET", "GET"), (308, "GET", "GET"),
        (301, "POST", "GET"), (302, "POST", "GET"), (303, "POST", "GET"), (307, "POST", "POST"), (308, "POST", "POST"),
        (301, "PUT", "PUT"), (302, "DELETE", "DELETE"), (303, "PUT", "GET"), (303, "HEAD", "HEAD"),
    ]) func methodAfterARedirect(_ status: Int, _ method: String, _ next: String) throws {
        let hasBody = ["POST", "PUT"].contains(method)
        let rig = try rig("type: data, method: \(method)\(hasBody ? ", body: { data: x }" : "")")
        try rig.answer(status, [("Location", "/next")])
        let request = try rig.request()
        #expect(request.request.url == "https://a.example/next" && request.request.method == next)
        #expect((request.request.bodyLength != nil) == (hasBody && next == method))
        #expect(rig.redirects.map(\.status) == [status] && rig.redirects.first?.method == next)
    }

    @Test(arguments: [
        ("/x?y=1", "https://a.example/x?y=1"), ("x", "https://a.example/x"), ("//b.example/x", "https://b.example/x"),
        ("https://b.example:8443/x", "https://b.example:8443/x"), ("?q", "https://a.example/f?q"),
    ]) func location_isResolved(_ location: String, _ url: String) throws {
        let rig = try rig()
        try rig.answer(302, [("Location", location)])
        #expect(try rig.request().request.url == url)
    }

    @Test(arguments: [300, 304, 305, 306]) func otherStatuses_areFinal(_ status: Int) throws {
        let rig = try rig("type: data, expect: { status: \(status) }")
        try rig.answer(status, [("Location", "/next")])
        #expect(rig.loop.transfers.count == 1 && rig.verdict()?.status == status)
    }

    @Test func redirectWithoutALocation_isFinal() throws {
        let rig = try rig("type: data, expect: { status: 302 }")
        try rig.answer(302)
        #expect(rig.succeeded && rig.loop.transfers.count == 1)
    }

    // MARK: Headers

    @Test(arguments: [
        ("https://a.example/x", true), ("https://b.example/x", false), ("https://a.example:444/x", false),
    ]) func authorization_staysWithItsOrigin(_ location: String, _ stays: Bool) throws {
        let rig = try rig(
            "type: data, headers: { Authorization: \"Bearer x\", Cookie: a=1, X-Api-Key: y, Accept-Language: de }")
        try rig.answer(302, [("Location", location)])
        let next = try rig.request()
        #expect((next.header("Authorization") == "Bearer x") == stays)
        #expect((next.header("Cookie") == "a=1") == stays)
        #expect((next.header("X-Api-Key") == "y") == stays)
        #expect(next.header("Accept-Language") == "de" && next.header("User-Agent") == "rig")
        #expect(rig.redirects.first?.stripped == (stays ? [] : ["Authorization", "Cookie", "X-Api-Key"]))
    }

    @Test func keptHeader_goesAlong_andOthersDoNot() throws {
        let rig = try rig(
            "type: data, headers: { X-Request-Id: \"7\", X-Own: y }, redirects: { keepHeaders: [x-request-id] }")
        try rig.answer(302, [("Location", "https://b.example/x")])
        #expect(try rig.request().header("X-Request-Id") == "7" && rig.request().header("X-Own") == nil)
        #expect(rig.redirects.first?.stripped == ["X-Own"])
    }

    @Test func rewrittenRedirect_isJudgedByWhereItGoes() throws {
        let rig = try rig(
            "type: data, headers: { X-Own: y }, redirects: { rewrite: [{ match: a.example, to: b.example }] }")
        try rig.answer(302, [("Location", "https://a.example/x")])
        #expect(try rig.request().request.url == "https://b.example/x" && rig.request().header("X-Own") == nil)
    }

    /// Whatever kind of body the job makes of a secret.
    @Test(arguments: [
        "data: \"k=${secret.key}\"", "json: { k: \"${secret.key}\" }", "form: { k: \"${secret.key}\" }",
        "multipart: [{ name: k, data: \"${secret.key}\" }]",
    ]) func bodyMadeOfASecret_goesElsewhereWhereItsHostsSaySo(_ body: String) throws {
        let task = "type: data, method: POST, body: { \(body) }"
        for (hosts, goes) in [("", false), (", hosts: [a.example]", false), (", hosts: [\"*.example\"]", true)] {
            let rig = try EngineRig(
                EngineRig.job(task, "secrets: { key: { env: KEY\(hosts) } }"), environment: ["KEY": "s3cret-value"])
            rig.start()
            try rig.answer(308, [("Location", "/own")])
            try rig.answer(307, [("Location", "https://b.example/x")])
            #expect((rig.error()?.name == .secretBarred) != goes && rig.loop.transfers.count == (goes ? 3 : 2))
            #expect(rig.redirects.last?.action == (goes ? .followed : .refused))
        }
    }

    @Test func headerMadeOfASecret_staysWithItsOrigin() throws {
        let text = EngineRig.job(
            "type: data, headers: { X-Key: \"k ${secret.key}\" }", "secrets: { key: { env: KEY } }")
        let rig = try EngineRig(text, environment: ["KEY": "s3cret-value"])
        rig.start()
        #expect(try rig.request().header("X-Key") == "k s3cret-value")
        try rig.answer(302, [("Location", "https://b.example/x")])
        #expect(try rig.request().header("X-Key") == nil)
        #expect(rig.redirects.first?.stripped == ["X-Key"])
    }

    @Test func wayBackToTheFirstOrigin_bringsTheHeadersBack() throws {
        let rig = try rig("type: data, headers: { Authorization: \"Bearer x\", X-Own: y }")
        try rig.answer(302, [("Location", "https://b.example/x")])
        #expect(try rig.request().header("Authorization") == nil && rig.request().header("X-Own") == nil)
        try rig.answer(302, [("Location", "https://a.example/y")])
        #expect(try rig.request().header("Authorization") == "Bearer x" && rig.request().header("X-Own") == "y")
        #expect(rig.redirects.map(\.stripped) == [["Authorization", "X-Own"], []])
    }

    // MARK: Refusals

    @Test(arguments: [
        ("follow: never", "/x"), ("follow: sameOrigin", "https://a.example:444/x"),
        ("follow: sameHost", "https://b.example/x"), ("allowHosts: [a.example]", "https://b.example/x"),
        ("allowDowngrade: false", "http://a.example/x"),
    ]) func refusedRedirect_fails(_ rule: String, _ location: String) throws {
        let rig = try rig("type: data, redirects: { \(rule) }")
        try rig.answer(302, [("Location", location)])
        #expect(rig.error()?.name == .redirectRefused && rig.loop.transfers.count == 1)
        #expect(rig.redirects.map(\.action) == [.refused])
    }

    @Test(arguments: [
        ("follow: sameOrigin", "/x"), ("follow: sameHost", "https://a.example:444/x"),
        ("allowHosts: [\"*.example\"]", "https://b.example/x"), ("allowDowngrade: true", "http://a.example/x"),
    ]) func allowedRedirect_isFollowed(_ rule: String, _ location: String) throws {
        let rig = try rig("type: data, redirects: { \(rule) }")
        try rig.answer(302, [("Location", location)])
        #expect(rig.loop.transfers.count == 2)
        try rig.answer(200, [], "there")
        #expect(rig.succeeded && rig.body() == "there")
    }

    @Test func refusedRedirect_isTheResult_whereItIsAccepted() throws {
        let rig = try rig("type: data, expect: { status: 3xx }, redirects: { follow: never, onRefuse: accept }")
        try rig.answer(302, [("Location", "/x")], "moved")
        #expect(rig.succeeded && rig.body() == "moved" && rig.redirects.map(\.action) == [.accepted])
    }

    @Test(arguments: [2, 3]) func tooManyRedirects_fail(_ most: Int) throws {
        let rig = try rig("type: data, redirects: { maximum: \(most) }")
        for number in 0..<most { try rig.answer(302, [("Location", "/\(number)")]) }
        #expect(rig.verdict() == nil)
        try rig.answer(302, [("Location", "/more")])
        #expect(rig.error()?.name == .httpTooManyRedirects && rig.loop.transfers.count == most + 1)
    }

    @Test(arguments: ["ftp://b.example/x", "file:///etc/passwd", "data:,x", "gopher://b.example/"])
    func redirect_neverLeavesHTTP(_ location: String) throws {
        let rig = try rig()
        try rig.answer(302, [("Location", location)])
        #expect(!rig.succeeded && rig.loop.transfers.count == 1 && rig.verdict() != nil)
    }

    @Test func rewrite_changesWhatMatched() throws {
        let rig = try rig(
            "type: data, redirects: { rewrite: [{ match: \"//(.*)\\\\.example\", to: \"//$1.mirror.example\" }] }")
        try rig.answer(302, [("Location", "https://b.example/x")])
        #expect(try rig.request().request.url == "https://b.mirror.example/x")
    }

    // MARK: Slots

    @Test func redirectElsewhere_asksForASlotThere() throws {
        let rig = try rig()
        rig.grants = false
        try rig.answer(302, [("Location", "https://b.example/x")])
        #expect(rig.loop.transfers.count == 1)
        let asked = rig.reports.compactMap { if case .needsGrant(_, let origin, _) = $0 { origin } else { nil } }
        #expect(asked.count == 1)
        #expect(rig.reports.contains { if case .released = $0 { true } else { false } })
        rig.perform(.grant(rig.index("t"), try #require(asked.first)))
        #expect(rig.loop.transfers.count == 2)
    }

    @Test func bodyOfARedirect_isNotTheFile() throws {
        let rig = try rig("to: f")
        try rig.answer(302, [("Location", "/x")], "moved to x")
        try rig.answer(200, [], "file")
        #expect(rig.delivery.text("/here/f") == "file")
    }
}
