import CurlCore
import TestSupport
import Testing
import TransferEngine
import TransferModel

/// An operator's rules for hosts and URLs, at each way by which a run comes to ask a host.
@Suite struct PolicyTests {
    private static let hosts = "hosts: { allow: [\"*.example\"], deny: [bad.example] }"
    private static let allowed = "the policy /etc/p.yaml:1 allows no host but `*.example`"

    private func rig(_ job: String, _ policy: String = hosts, environment: [String: String] = [:]) throws -> EngineRig {
        let rig = try EngineRig(job, policy: policy, environment: environment)
        rig.start()
        return rig
    }

    /// The one request that was sent, and no other after the answer that led to a refused host.
    private func expectRefusal(
        _ rig: EngineRig, _ words: String, requests: Int = 1, _ place: SourceLocation = #_sourceLocation
    ) {
        #expect(rig.loop.transfers.count == requests, sourceLocation: place)
        #expect(rig.error()?.name == .addressRefused, "\(rig.error()?.message ?? "none")", sourceLocation: place)
        #expect(rig.error()?.message.contains(words) == true, "\(rig.error()?.message ?? "")", sourceLocation: place)
    }

    @Test func redirect() throws {
        let rig = try rig(EngineRig.job("to: f"))
        try rig.answer(302, [("Location", "https://b.test/x")])
        expectRefusal(rig, "b.test: \(Self.allowed)")
        #expect(rig.error()?.message == "GET https://b.test/x: b.test: \(Self.allowed)")
        let denied = try self.rig(EngineRig.job("to: f"))
        try denied.answer(302, [("Location", "https://bad.example/x")])
        expectRefusal(denied, "bad.example: the policy /etc/p.yaml:1 denies `bad.example`")
        let fine = try self.rig(EngineRig.job("to: f"))
        try fine.answer(302, [("Location", "https://b.example/x")])
        #expect(try fine.request().request.url == "https://b.example/x")
    }

    @Test func nextPage() throws {
        let rig = try rig(EngineRig.job("next: { header: X-Next }"))
        try rig.answer(200, [("X-Next", "https://b.test/2")], "x")
        expectRefusal(rig, "b.test: \(Self.allowed)")
    }

    @Test func redirectOfAChecksumFile() throws {
        let rig = try rig(EngineRig.job("to: f, checksum: { from: \"https://a.example/SHA256SUMS\" }"))
        try rig.answer(302, [("Location", "https://b.test/sums")])
        expectRefusal(rig, "b.test: \(Self.allowed)")
    }

    @Test func capturedURL() throws {
        let job = """
            tasks:
              - { id: l, url: "https://a.example/l", capture: { u: { header: X-URL } } }
              - { id: t, url: "${tasks.l.u}", to: f }

            """
        let rig = try EngineRig(job, policy: Self.hosts)
        rig.start("l")
        try rig.answer(200, [("X-URL", "https://b.test/f")], "x")
        rig.start()
        expectRefusal(rig, "b.test: \(Self.allowed)")
    }

    /// The job's own are judged when it is read; these stand in the environment.
    @Test func proxyOfTheEnvironment() throws {
        let rig = try rig(EngineRig.job("to: f"), environment: ["https_proxy": "http://p.test:3128"])
        expectRefusal(rig, "p.test: \(Self.allowed)", requests: 0)
    }

    /// Without a port neither side says which ones are meant before a request is made.
    @Test func placeInsteadOfAHost() throws {
        let job = EngineRig.job("session: s, to: f", "sessions: { s: { connectTo: { a.example: b.test } } }")
        let rig = try rig(job)
        expectRefusal(rig, "b.test: \(Self.allowed)", requests: 0)
    }

    /// A task goes on with the next of its `urls`, as it does for an address.
    @Test func refusal_isFinalForItsHost() throws {
        let rig = try rig(EngineRig.job("to: f"), "hosts: { deny: [b.test] }")
        try rig.answer(302, [("Location", "https://b.test/x")])
        guard case .failed(let error)? = rig.verdict()?.outcome else {
            Issue.record("it did not fail")
            return
        }
        #expect(error.name == .addressRefused && error.whatHelps(.download).contains("who wrote the policy"))
    }

    // MARK: Other URLs

    private static let rewrite = "rewrite: [{ match: \"^https://([a-z]+)\\\\.test/\", to: \"https://m.example/$1/\" }]"

    @Test func redirect_isRewrittenBeforeTheJobsOwnRules() throws {
        let own = "redirects: { rewrite: [{ match: \"b.test\", to: own.example }, { match: \"/z\", to: \"/y\" }] }"
        let rig = try rig(EngineRig.job("to: f, \(own)"), Self.rewrite)
        try rig.answer(302, [("Location", "https://b.test/z")])
        #expect(try rig.request().request.url == "https://m.example/b/z")
        // A redirect that the operator has no rule for is the job's.
        try rig.answer(302, [("Location", "https://c.example/z")])
        #expect(try rig.request().request.url == "https://c.example/y")
    }

    @Test func nextPageAndCapturedURL_areRewritten() throws {
        let paged = try rig(EngineRig.job("next: { header: X-Next }"), Self.rewrite)
        try paged.answer(200, [("X-Next", "https://b.test/2")], "x")
        #expect(try paged.request().request.url == "https://m.example/b/2")

        let job = """
            tasks:
              - { id: l, url: "https://a.example/l", capture: { u: { header: X-URL } } }
              - { id: t, url: "${tasks.l.u}", to: f, headers: { X-Own: "1" } }

            """
        let captured = try EngineRig(job, policy: "\(Self.rewrite)\nhosts: { allow: [\"*.example\"] }")
        captured.start("l")
        try captured.answer(200, [("X-URL", "https://b.test/f")], "x")
        captured.start()
        let request = try captured.request()
        #expect(request.request.url == "https://m.example/b/f" && request.header("X-Own") == "1")
    }

    @Test func redirectOfAChecksumFile_isRewritten() throws {
        let rig = try rig(EngineRig.job("to: f, checksum: { from: \"https://a.example/SHA256SUMS\" }"), Self.rewrite)
        try rig.answer(302, [("Location", "https://b.test/sums")])
        #expect(try rig.request().request.url == "https://m.example/b/sums")
    }

    // MARK: Bytes

    @Test func bodyThatDoesNotFit_namesTheRule() throws {
        let job = "limits: { maximumBytes: 4 }\n" + EngineRig.job("type: data")
        let rig = try rig(job, "limits: { bytes: 4 }")
        try rig.answer(200, [("Content-Length", "10")], "0123456789")
        #expect(rig.error()?.message.contains("and the policy /etc/p.yaml:1 lets a run move 4") == true)
    }
}
