import AttemptLife
import HTTPRules
import TestSupport
import Testing
import TransferModel

/// A transport that answers anything, and a second, plain opinion on what may come of it.
struct HostileServerTests {
    private static let urls = [
        "https://a.test/x", "https://a.test:444/x", "http://a.test/x", "https://b.test/", "http://c.test/",
        "https://d.test/q?r",
    ]
    private static let locations =
        urls + [
            "/y", "z", "?q", "", "file:///etc/passwd", "data:,x", "https://", "//b.test/", "https://a.test@d.test/",
        ]

    @Test func noAnswerLeadsAstray() throws {
        var random = Seeded("noAnswerLeadsAstray")
        for _ in 0..<Rounds.scaled(20_000) {
            var attempt = try RandomAttempt(&random, urls: Self.urls, locations: Self.locations)
            attempt.run(&random)
        }
    }
}

private struct RandomAttempt {
    private let locations: [String]
    private let rules: AttemptRules
    private let named: [Origin]
    private var life: AttemptLife
    /// Where the file that stands there is said to come from; no URL for a file that nobody knows.
    private let known: String
    private var requests = 1
    private var followed = 0
    private var askedAgain = 0
    private var hasLostBody = false

    init(_ random: inout Seeded, urls: [String], locations: [String]) throws {
        self.locations = locations
        let begin = try ResourceURL.parse(random.pick(urls))
        let mirrors = random.oneIn(3) ? [try ResourceURL.parse(random.pick(urls))] : []
        named = ([begin] + mirrors).map(\.origin)
        let type = random.pick(TaskType.allCases)
        let hasBody = type == .upload || random.oneIn(4)
        let method = hasBody ? random.pick(["POST", "PUT", "PATCH"]) : random.pick(["GET", "GET", "HEAD", "DELETE"])
        rules = AttemptRules(
            type: type, method: method, headers: Self.headers(&random), hasBody: hasBody,
            version: random.pick(HTTPConfiguration.Version.allCases), redirects: Self.policy(&random),
            expect: Self.expectations(&random), maximumSize: random.oneIn(3) ? Int64(random.below(12)) : nil,
            requireLength: random.oneIn(3), hasChecksum: type == .download && random.oneIn(3), mirrors: mirrors,
            bodyTexts: hasBody ? [Self.secret(&random)] : [])
        life = AttemptLife(begin, rules)
        known = random.oneIn(3) ? begin.text : ""
        life.ask(
            under: RequestCondition(url: known, header: HeaderField(name: "If-None-Match", value: "\"1\"")))
    }

    private static func secret(_ random: inout Seeded) -> SecretText {
        let hosts = random.oneIn(2) ? [HostPattern(random.pick(["a.test", "*.test", "b.test:443"]))!] : nil
        return SecretText(pieces: [.literal("p"), .secret(name: "S", value: "v", hosts: hosts)])
    }

    private static func headers(_ random: inout Seeded) -> [HeaderField] {
        let all = [
            HeaderField(name: "Accept", value: "x"), HeaderField(name: "AUTHORIZATION", value: "y"),
            HeaderField(name: "Cookie", value: "z"), HeaderField(name: "Content-Type", value: "t"),
            HeaderField(name: "X-Key", value: secret(&random)),
        ]
        return all.filter { _ in random.oneIn(2) }
    }

    private static func policy(_ random: inout Seeded) -> RedirectPolicy {
        var policy = RedirectPolicy()
        policy.follow = random.oneIn(2) ? .always : random.pick(RedirectPolicy.Follow.allCases)
        policy.maximum = random.below(5)
        policy.allowDowngrade = random.oneIn(2)
        policy.onRefuse = random.oneIn(3) ? .accept : .fail
        if random.oneIn(4) { policy.allowHosts = [HostPattern("a.test")!, HostPattern("b.test")!] }
        return policy
    }

    private static func expectations(_ random: inout Seeded) -> Expectations {
        var expect = Expectations()
        if random.oneIn(4) { expect.status = StatusSet(200, 302) }
        if random.oneIn(4) { expect.mimeType = "text/*" }
        if random.oneIn(5) { expect.size = 5 }
        if random.oneIn(5) { expect.minimumSize = 4 }
        return expect
    }

    // MARK: The transport

    private struct Answer {
        var status: Int
        var version: HTTPProtocol
        var lines: [(String, String)] = []
        var received: Int64
        var closeNotify: Bool
        var error: TransferError?
        func has(_ name: String) -> [String] { lines.filter { $0.0 == name }.map(\.1) }
    }

    private func answer(_ request: OutgoingRequest, _ random: inout Seeded) -> Answer {
        let mayBe2 = request.url.isSecure && request.mayUseHTTP2
        var answer = Answer(
            status: random.pick([200, 200, 200, 201, 204, 301, 302, 303, 304, 307, 308, 404, 503]),
            version: mayBe2 && random.oneIn(2) ? .http2 : .http1, received: Int64(random.below(10)),
            closeNotify: random.oneIn(2), error: nil)
        if random.oneIn(2) { answer.lines.append(("Location", random.pick(locations))) }
        if random.oneIn(2) { answer.lines.append(("Content-Type", random.pick(["text/plain", "image/png", "x"]))) }
        for _ in 0..<random.below(3) {
            let lie = random.pick(["5", "+5", "5, 5", "", "-1", "99999999999999999999", "\(answer.received)"])
            answer.lines.append(("Content-Length", random.oneIn(3) ? lie : "\(answer.received)"))
        }
        if random.oneIn(5) { answer.lines.append(("Transfer-Encoding", random.oneIn(3) ? "gzip" : "chunked")) }
        if random.oneIn(6) { answer.error = TransferError(.networkConnectionLost, "lost") }
        return answer
    }

    mutating func run(_ random: inout Seeded) {
        if let refusal = life.refusalToBegin() {
            #expect(refusal.name == .secretBarred)
            return
        }
        var request = life.request
        while true {
            check(request)
            if random.oneIn(20) {
                let error = random.oneIn(2) ? TransferError(.timedOut, "no byte") : nil
                guard case .fail = life.ended(TransportEnd(error: error, received: 0, sawCloseNotify: false)) else {
                    Issue.record("no answer, and no failure")
                    return
                }
                return
            }
            let answer = answer(request, &random)
            let decision = life.head(
                status: answer.status, version: answer.version, headers: HeaderBlock(answer.lines))
            var end = TransportEnd(error: answer.error, received: answer.received, sawCloseNotify: answer.closeNotify)
            if decision == .abort { (end.error, end.received) = (nil, 0) }
            switch life.ended(end) {
            case .send(let next, let record):
                count(from: request, to: next, record, answer)
                request = next
            case .deliver(let unverified, let record):
                checkDelivery(request, answer, unverified: unverified, isAccepted: record?.action == .accepted)
                return
            case .keep:
                // Only what asked may hear that nothing changed, and it asked where the file came from.
                #expect(answer.status == 304 && request.isConditional && request.url.text == known)
                return
            case .fail:
                return
            case .ask, .cancel, .isThere, .judged:
                Issue.record("nobody has a credential, or a rule")
                return
            }
            guard requests <= 12 else {
                Issue.record("it does not end")
                return
            }
        }
    }

    // MARK: The second opinion

    private func check(_ request: OutgoingRequest) {
        let origin = request.url.origin
        #expect(origin.scheme == "https" || origin.scheme == "http")
        for header in request.headers {
            let name = header.name.lowercased()
            if name == "authorization" || name == "cookie" || header.value.isSecret { #expect(named.contains(origin)) }
            #expect(header.value.secretBarred(from: origin) == nil)
            #expect(!(hasLostBody && name == "content-type"))
        }
        if request.sendsBody {
            #expect(rules.hasBody && !hasLostBody)
            #expect(rules.bodyTexts.allSatisfy { $0.secretBarred(from: origin) == nil })
            #expect(named.contains(origin) || rules.bodyTexts.allSatisfy { $0.unboundSecret == nil })
        }
        #expect(request.sendsBody == (rules.hasBody && !hasLostBody))
        if named.contains(origin) {
            let dropped = hasLostBody ? 1 : 0
            #expect(request.headers.count >= rules.headers.count - dropped)
        }
    }

    private mutating func count(
        from old: OutgoingRequest, to new: OutgoingRequest, _ record: RedirectRecord?, _ answer: Answer
    ) {
        requests += 1
        guard let record else {
            askedAgain += 1
            #expect(askedAgain == 1 && !new.mayUseHTTP2 && old.mayUseHTTP2 && new.url == old.url)
            #expect(new.method == old.method && ["GET", "HEAD"].contains(new.method) && answer.version == .http2)
            return
        }
        followed += 1
        #expect(followed <= rules.redirects.maximum)
        #expect(record.action == .followed && record.to == new.url.text && record.from == old.url.text)
        #expect(rules.redirects.follow != .never)
        #expect(!(old.url.isSecure && !new.url.isSecure && !rules.redirects.allowDowngrade))
        let wanted: String
        switch answer.status {
        case 303: wanted = old.method == "HEAD" ? "HEAD" : "GET"
        case 301, 302: wanted = old.method == "POST" ? "GET" : old.method
        default: wanted = old.method
        }
        #expect([301, 302, 303, 307, 308].contains(answer.status))
        #expect(new.method == wanted)
        if wanted != old.method || answer.status == 303 { hasLostBody = hasLostBody || rules.hasBody }
    }

    private func checkDelivery(_ request: OutgoingRequest, _ answer: Answer, unverified: Bool, isAccepted: Bool) {
        #expect(answer.error == nil)
        #expect(answer.received <= rules.maximumSize ?? .max)
        // Of a HEAD, what it announces is held against them.
        if request.method != "HEAD" {
            #expect(answer.received == rules.expect.size ?? answer.received)
            #expect(answer.received >= rules.expect.minimumSize ?? 0)
        }
        if isAccepted {
            #expect((300...399).contains(answer.status) && rules.redirects.onRefuse == .accept)
        } else {
            #expect(rules.expect.status.contains(answer.status))
        }
        if rules.expect.mimeType != nil { #expect(answer.has("Content-Type") == ["text/plain"]) }
        let lengths = answer.has("Content-Length")
        #expect(!lengths.contains { ["+5", "", "-1", "99999999999999999999"].contains($0) })
        let isEmpty = request.method == "HEAD" || answer.status == 204 || answer.status == 304
        if isEmpty || rules.hasChecksum && lengths.isEmpty { return #expect(!unverified) }
        if !answer.has("Transfer-Encoding").isEmpty {
            #expect(answer.has("Transfer-Encoding") == ["chunked"] && answer.version == .http1)
            #expect(lengths.allSatisfy { $0 == "\(answer.received)" || $0 == "5, 5" && answer.received == 5 })
            return #expect(!unverified)
        }
        if !lengths.isEmpty {
            #expect(lengths.allSatisfy { $0 == "\(answer.received)" || $0 == "5, 5" && answer.received == 5 })
            return #expect(!unverified)
        }
        if answer.version == .http1, request.url.isSecure { return #expect(answer.closeNotify && !unverified) }
        #expect(unverified && !rules.requireLength)
        // Beside a plain close only the answer to what cannot be asked twice goes unproved.
        #expect(answer.version == .http1 || !["GET", "HEAD"].contains(request.method))
    }
}
