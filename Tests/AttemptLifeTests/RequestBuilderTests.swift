import AttemptLife
import HTTPRules
import TestSupport
import Testing
import TransferModel

/// What the requests of an attempt carry, redirect by redirect.
struct RequestBuilderTests {
    private static let urls = ["https://a.test/x", "https://mirror.test/y", "https://b.test/z", "http://a.test/x"]

    private func field(_ name: String, secret: Bool = false) -> HeaderField {
        let value = secret ? SecretText(pieces: [.secret(name: "S", value: "v", hosts: nil)]) : SecretText("1")
        return HeaderField(name: name, value: value)
    }

    private func builder(_ headers: [HeaderField], method: String = "GET", hasBody: Bool = false) throws
        -> RequestBuilder
    {
        RequestBuilder(
            try ResourceURL.parse(Self.urls[0]),
            AttemptRules(
                type: hasBody ? .upload : .download, method: method, headers: headers, hasBody: hasBody,
                mirrors: [try ResourceURL.parse(Self.urls[1])]))
    }

    private func names(_ headers: [HeaderField]) -> [String] { headers.map(\.name) }

    @Test func hop_toAnUnnamedOrigin_stripsWhatIsMeantForTheTasksOwn() throws {
        let builder = try builder([
            field("Accept"), field("Authorization"), field("cookie"), field("X-Key", secret: true),
        ])
        let target = try ResourceURL.parse("https://b.test/")
        let hop = builder.hop(from: builder.firstRequest(), to: target, method: "GET", keepsBody: false)
        #expect(names(hop.request.headers) == ["Accept"] && hop.request.url == target)
        #expect(hop.stripped == ["Authorization", "cookie", "X-Key"])
        #expect(hop.droppedWithBody.isEmpty)
    }

    @Test func hop_thatTakesTheBodyOff_dropsTheHeadersThatDescribeIt() throws {
        let builder = try builder([field("Content-Type"), field("Accept")], method: "POST", hasBody: true)
        let target = try ResourceURL.parse("https://a.test/done")
        let hop = builder.hop(from: builder.firstRequest(), to: target, method: "GET", keepsBody: false)
        #expect(names(hop.request.headers) == ["Accept"] && !hop.request.sendsBody)
        #expect(hop.stripped.isEmpty && hop.droppedWithBody == ["Content-Type"])
    }

    /// https is another origin than http, unless the session knows that the host demands it.
    @Test func hop_toTheSameHostOverHTTPS_stripsWhatIsMeantForHTTP() throws {
        let builder = RequestBuilder(
            try ResourceURL.parse(Self.urls[3]),
            AttemptRules(type: .download, method: "GET", headers: [field("Authorization")]))
        let target = try ResourceURL.parse(Self.urls[0])
        let hop = builder.hop(from: builder.firstRequest(), to: target, method: "GET", keepsBody: false)
        #expect(hop.stripped == ["Authorization"])
    }

    /// A page of the task's own host keeps the headers over https where that host demands it; one of another host does
    /// not get them, whatever that host demands.
    @Test(arguments: [("http://a.test/2", 1), ("https://a.test/2", 1), ("http://b.test/2", 0), ("https://b.test/2", 0)])
    func secure_decidesForTheOriginThatIsAsked(_ page: String, _ count: Int) throws {
        let now = WallTime(nanoseconds: 1_795_244_400_000_000_000)
        var kept = SessionState.Kept()
        kept.secureHosts = ["a.test", "b.test"].map {
            StrictTransport.Entry(host: $0, expires: now + .seconds(60), coversSubdomains: false)
        }
        var state = SessionState()
        state.recall(kept, at: now)
        let life = AttemptLife(
            try ResourceURL.parse(page),
            AttemptRules(type: .download, method: "GET", headers: [field("Authorization")]),
            home: try ResourceURL.parse(Self.urls[3]))
        life.secure(state, at: now)
        #expect(life.request.url.isSecure && life.request.headers.count == count)
    }

    /// What the redirected request no longer carried cannot be taken off it.
    @Test func hop_afterHop_stripsOnce_andBringsTheHeadersBack() throws {
        var builder = try builder([field("Authorization")])
        let first = builder.firstRequest()
        let away = builder.hop(
            from: first, to: try ResourceURL.parse("https://b.test/"), method: "GET", keepsBody: false)
        builder.followed(away, from: first)
        let further = builder.hop(
            from: away.request, to: try ResourceURL.parse("https://c.test/"), method: "GET", keepsBody: false)
        #expect(away.stripped == ["Authorization"] && further.stripped.isEmpty)
        builder.followed(further, from: away.request)
        let back = builder.hop(from: further.request, to: first.url, method: "GET", keepsBody: false)
        #expect(names(back.request.headers) == ["Authorization"] && builder.hops == 2)
    }

    /// Over random chains of redirects: of the task's headers that a request carried, the next one lacks exactly those
    /// that are reported as stripped and those that went with the body.
    @Test func hop_reportsExactlyWhatTheNextRequestLacks() throws {
        var random = Seeded("hop_reportsExactlyWhatTheNextRequestLacks")
        let all = [
            field("Accept"), field("Authorization"), field("COOKIE"), field("Proxy-Authorization"), field("X-Own"),
            field("X-Key", secret: true), field("Content-Type"), field("content-language", secret: true),
            field("If-Match"),
        ]
        var (stripped, dropped, asked) = (0, 0, 0)
        for _ in 0..<Rounds.scaled(5_000) {
            let hasBody = random.oneIn(2)
            let typed = all.filter { _ in random.oneIn(2) }
            var builder = try builder(typed, method: hasBody ? "POST" : "GET", hasBody: hasBody)
            builder.condition = RequestCondition(
                url: random.pick(Self.urls), header: HeaderField(name: "If-None-Match", value: "\"1\""))
            var request = builder.firstRequest()
            let question = hasBody && random.oneIn(4) ? UploadQuestion.isAnythingThere : nil
            if let question {
                (request.method, request.sendsBody) = ("HEAD", false)
                request.headers = question.headers(request.headers)
                asked += 1
            }
            builder.addCondition(to: &request, isResumed: false)
            for _ in 0..<4 {
                let keepsBody = request.method == "POST" && random.oneIn(2)
                let hop = builder.hop(
                    from: request, to: try ResourceURL.parse(random.pick(Self.urls)),
                    method: keepsBody ? "POST" : request.method == "HEAD" ? "HEAD" : "GET", keepsBody: keepsBody,
                    asking: question)
                let lacking = request.headers.filter { typed.contains($0) && !hop.request.headers.contains($0) }
                #expect(Set(names(lacking)) == Set(hop.stripped).union(hop.droppedWithBody))
                #expect(lacking.count == hop.stripped.count + hop.droppedWithBody.count)
                #expect(hop.request.headers.allSatisfy { typed.contains($0) })
                // Each of the task's headers that the question does not leave out is sent or accounted for.
                let due = question?.headers(typed) ?? typed
                for header in due where !hop.request.headers.contains(header) {
                    let isOfBody = header.name.lowercased().hasPrefix("content-") && !hop.request.sendsBody
                    let mayCross = Redirects.crossesOrigins(
                        header, to: hop.request.url.origin, withBody: true, RedirectPolicy())
                    #expect(isOfBody || !mayCross, "\(header.name) is lost")
                }
                (stripped, dropped) = (stripped + hop.stripped.count, dropped + hop.droppedWithBody.count)
                builder.followed(hop, from: request)
                request = hop.request
                builder.addCondition(to: &request, isResumed: false)
            }
        }
        // It is a test only if all of that happens.
        #expect(stripped > 100 && dropped > 100 && asked > 100)
    }

    // MARK: Through the machine

    @Test func machine_sendsTheHopThatItReported() throws {
        let typed = [field("Accept"), field("Authorization"), field("Content-Type")]
        let life = AttemptLife(
            try ResourceURL.parse("https://a.test/x"),
            AttemptRules(type: .upload, method: "PUT", headers: typed, hasBody: true))
        let before = life.request
        _ = life.head(status: 307, version: .http1, headers: HeaderBlock([("Location", "https://b.test/")]))
        guard
            case .send(let next, let record?) = life.ended(
                TransportEnd(error: nil, received: 0, sawCloseNotify: true))
        else {
            Issue.record("the redirect is not followed")
            return
        }
        let lacking = before.headers.filter { !next.headers.contains($0) }
        #expect(record.stripped == names(lacking) && record.stripped == ["Authorization"])
    }

    // MARK: Bodies with secrets

    private func posting(_ hosts: [HostPattern]?) throws -> RequestBuilder {
        let text = SecretText(pieces: [.literal("k="), .secret(name: "S", value: "v", hosts: hosts)])
        return RequestBuilder(
            try ResourceURL.parse(Self.urls[0]),
            AttemptRules(
                type: .upload, method: "POST", hasBody: true, mirrors: [try ResourceURL.parse(Self.urls[1])],
                bodyTexts: ["plain", text]))
    }

    /// A secret without `hosts` goes where the task says, and nowhere that only a server says.
    @Test(
        arguments: [
            ("https://a.test/y", nil, true), ("https://mirror.test/z", nil, true), ("https://b.test/", nil, false),
            ("http://a.test/x", nil, false), ("https://b.test/", "b.test", true), ("https://a.test/y", "b.test", false),
            ("https://c.test/", "b.test", false),
        ] as [(String, String?, Bool)])
    func bodyWithASecret_goesWhereTaskOrHostsNameTheOrigin(_ url: String, _ host: String?, _ goes: Bool) throws {
        let builder = try posting(host.flatMap { HostPattern($0) }.map { [$0] })
        let target = try ResourceURL.parse(url)
        let hop = builder.hop(from: builder.firstRequest(), to: target, method: "POST", keepsBody: true)
        let refusal = builder.barredSecret(in: hop.request)
        #expect((refusal == nil) == goes && (refusal?.name ?? .secretBarred) == .secretBarred)
        let without = builder.hop(from: builder.firstRequest(), to: target, method: "GET", keepsBody: false)
        #expect(builder.barredSecret(in: without.request) == nil)
    }

    // MARK: Conditions and secrets

    @Test func condition_goesOnlyToItsURL_andNotBesideARange() throws {
        var builder = try builder([field("Accept")])
        builder.condition = RequestCondition(
            url: Self.urls[0], header: HeaderField(name: "If-None-Match", value: "\"1\""))
        var request = builder.firstRequest()
        builder.addCondition(to: &request, isResumed: true)
        #expect(!request.isConditional)
        builder.addCondition(to: &request, isResumed: false)
        #expect(request.isConditional && names(request.headers) == ["Accept", "If-None-Match"])
        builder.removeCondition(from: &request)
        #expect(!request.isConditional && names(request.headers) == ["Accept"])
        request.url = try ResourceURL.parse(Self.urls[2])
        builder.addCondition(to: &request, isResumed: false)
        #expect(!request.isConditional)
    }

    @Test func redirect_withABoundSecretInItsURL_isRefusedElsewhere() throws {
        let secrets = BoundSecrets([
            KnownSecret(name: "K", value: "longsecret", hosts: [HostPattern("a.test")!])
        ])
        let own = try ResourceURL.parse("https://a.test/?k=longsecret")
        let other = try ResourceURL.parse("https://b.test/?k=longsecret")
        #expect(AttemptLife.refusal(ofRedirectTo: own, secrets) == nil)
        let refusal = AttemptLife.refusal(ofRedirectTo: other, secrets)
        #expect(refusal?.name == .secretBarred)
        #expect(refusal?.message.contains("`K`") == true)
    }
}
