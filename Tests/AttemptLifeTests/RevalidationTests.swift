import AttemptLife
import HTTPRules
import Testing
import TransferModel

/// What a 304 means to an attempt.
@Suite struct RevalidationTests {
    private func life(_ url: String = "https://a.test/x", asking condition: String? = nil) throws -> AttemptLife {
        let life = AttemptLife(
            try ResourceURL.parse(url),
            AttemptRules(
                type: .download, method: "GET", headers: [HeaderField(name: "Accept", value: "x")],
                redirects: RedirectPolicy()))
        if let condition {
            life.ask(
                under: RequestCondition(
                    url: condition, header: HeaderField(name: "If-None-Match", value: "\"1\"")))
        }
        return life
    }

    private func answer(
        _ life: inout AttemptLife, _ status: Int, _ headers: [(String, String)] = [], error: TransferError? = nil
    ) -> NextStep {
        _ = life.head(status: status, version: .http1, headers: HeaderBlock(headers))
        return life.ended(TransportEnd(error: error, received: 0, sawCloseNotify: true))
    }

    private func names(_ request: OutgoingRequest) -> [String] { request.headers.map(\.name) }
    private func isKept(_ step: NextStep) -> Bool { if case .keep = step { true } else { false } }
    private func failure(_ step: NextStep) -> ErrorName? {
        if case .fail(let error, _) = step { error.name } else { nil }
    }

    @Test func a304ToAConditionKeepsTheFile() throws {
        let life = try life(asking: "https://a.test/x")
        #expect(names(life.request) == ["Accept", "If-None-Match"] && life.request.isConditional)
        let decision = life.head(status: 304, version: .http1, headers: HeaderBlock([("ETag", "\"1\"")]))
        #expect(decision == .discard && life.isFinalAnswer && life.lastStatus == 304)
        #expect(isKept(life.ended(TransportEnd(error: nil, received: 0, sawCloseNotify: true))))
    }

    /// It speaks of another version than the one that stands there.
    @Test(arguments: [("\"1\"", true), ("W/\"1\"", true), ("\"2\"", false), ("W/\"2\"", false)])
    func a304WithAnotherTagIsNotBelieved(_ tag: String, _ isBelieved: Bool) throws {
        var life = try life(asking: "https://a.test/x")
        let step = answer(&life, 304, [("ETag", tag)])
        #expect(isKept(step) == isBelieved)
        guard !isBelieved else { return }
        guard case .send(let request, nil) = step else { throw TransferError(.unknown, "no second request") }
        #expect(names(request) == ["Accept"] && !request.isConditional)
        #expect(failure(answer(&life, 304, [("ETag", tag)])) == .unexpectedResponse)
    }

    /// Its headers settled it.
    @Test func a304KeepsItsMeaningWhateverFollows() throws {
        var life = try life(asking: "https://a.test/x")
        #expect(isKept(answer(&life, 304, error: TransferError(.networkConnectionLost, "lost"))))
    }

    /// What is known of the file was told over https, where its host wants to be asked.
    @Test func aHostThatWantsHTTPSIsAskedThere() throws {
        var lore = SessionState()
        let now = WallTime(nanoseconds: 0)
        let secure = try ResourceURL.parse("https://a.test/")
        lore.take(
            HeaderBlock([("Strict-Transport-Security", "max-age=60")]), from: secure, Visit(asked: secure), at: now)
        for condition in ["https://a.test/x", "http://a.test/x"] {
            let life = try life("http://a.test/x", asking: condition)
            life.secure(lore, at: now)
            #expect(life.request.url.text == "https://a.test/x")
            #expect(life.request.isConditional == condition.hasPrefix("https"))
            #expect(names(life.request) == (condition.hasPrefix("https") ? ["Accept", "If-None-Match"] : ["Accept"]))
        }
    }

    @Test func a304ThatNobodyAskedForIsAnError() throws {
        var plain = try life()
        #expect(failure(answer(&plain, 304)) == .unexpectedResponse)
        var elsewhere = try life(asking: "https://a.test/other")
        #expect(!elsewhere.request.isConditional && names(elsewhere.request) == ["Accept"])
        #expect(failure(answer(&elsewhere, 304)) == .unexpectedResponse)
    }

    @Test func theRequestToTheKnownURLCarriesTheCondition() throws {
        var life = try life(asking: "https://b.test/file")
        #expect(names(life.request) == ["Accept"])
        guard case .send(let request, _) = answer(&life, 302, [("Location", "https://b.test/file")]) else {
            Issue.record("the redirect is not followed")
            return
        }
        #expect(names(request) == ["Accept", "If-None-Match"] && request.isConditional)
        #expect(isKept(answer(&life, 304)))
    }

    /// A condition stays behind when a redirect leads away from the URL it belongs to.
    @Test func noOtherRequestCarriesIt() throws {
        var life = try life(asking: "https://a.test/x")
        guard case .send(let request, _) = answer(&life, 302, [("Location", "/y")]) else {
            Issue.record("the redirect is not followed")
            return
        }
        #expect(names(request) == ["Accept"] && !request.isConditional)
        #expect(failure(answer(&life, 304)) == .unexpectedResponse)
    }

    @Test func aFullAnswerIsDeliveredAsEver() throws {
        var life = try life(asking: "https://a.test/x")
        guard case .deliver(false, nil) = answer(&life, 200, [("Content-Length", "0")]) else {
            Issue.record("a 200 to a condition is not delivered")
            return
        }
    }

    @Test func theWholeFileCanBeAskedForAfterwards() throws {
        var life = try life(asking: "https://a.test/x")
        _ = answer(&life, 304)
        let request = life.askForAll()
        #expect(names(request) == ["Accept"] && !request.isConditional && !life.request.isConditional)
        #expect(failure(answer(&life, 304)) == .unexpectedResponse)
    }
}
