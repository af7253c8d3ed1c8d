import AttemptLife
import HTTPRules
import Testing
import TransferModel

/// What `onResponse` makes of an answer, at its headers.
@Suite struct ResponseRuleTests {
    private static func rule(
        _ action: ResponseRule.Action, type: String? = nil, status: StatusSet? = nil, largerThan: Int64? = nil,
        to: String? = nil
    ) -> ResponseRule {
        var rule = ResponseRule(action: action)
        (rule.mimeType, rule.status, rule.largerThan, rule.to) = (type, status, largerThan, to)
        return rule
    }

    private static func life(_ rules: [ResponseRule], type: TaskType = .data) throws -> AttemptLife {
        AttemptLife(
            try ResourceURL.parse("http://a.test/x"),
            AttemptRules(type: type, method: "GET", onResponse: rules, maximumFile: nil, maximumSize: 100))
    }

    private static func headers(_ length: Int64?) -> HeaderBlock {
        HeaderBlock([("Content-Type", "image/png")] + (length.map { [("Content-Length", "\($0)")] } ?? []))
    }

    private static func step(_ life: inout AttemptLife, received: Int64 = 0) -> NextStep {
        life.ended(TransportEnd(error: nil, received: received, sawCloseNotify: false))
    }

    @Test func cancellingEndsTheTransferAtItsHeaders() throws {
        var life = try Self.life([Self.rule(.cancel, type: "image/*", status: .success)])
        #expect(life.head(status: 200, version: .http1, headers: Self.headers(10)) == .abort)
        #expect(life.isFinalAnswer, "it is told as a response")
        guard case .cancel(let error) = Self.step(&life) else { return #expect(Bool(false), "it goes on") }
        #expect(error.name == .cancelled)
        #expect(error.message.contains("of type image/png"))
        let other = try Self.life([Self.rule(.cancel, type: "text/*"), Self.rule(.allow), Self.rule(.cancel)])
        #expect(other.head(status: 200, version: .http1, headers: Self.headers(10)) == .keep)
    }

    @Test func aLengthNobodySaidIsNotLarger() throws {
        let rules = [Self.rule(.cancel, largerThan: 9)]
        for (length, decision) in [(nil, HeadDecision.keep), (9, .keep), (10, .abort)] as [(Int64?, HeadDecision)] {
            let life = try Self.life(rules)
            #expect(life.head(status: 200, version: .http1, headers: Self.headers(length)) == decision)
        }
    }

    @Test func aDownloadIsUnderItsOwnBoundAndOnlyWhereTheAnswerIsMeant() throws {
        let rules = [Self.rule(.download, to: "/d/f")]
        var life = try Self.life(rules)
        #expect(life.head(status: 200, version: .http1, headers: Self.headers(1000)) == .keep)
        #expect(life.target == "/d/f" && life.type == .download && life.receivableSize == nil)
        guard case .deliver = Self.step(&life, received: 1000) else { return #expect(Bool(false), "it is whole") }
        let missed = try Self.life(rules)
        #expect(missed.head(status: 404, version: .http1, headers: Self.headers(10)) == .keep)
        #expect(missed.target == nil && missed.type == .data && missed.isDeclined)
        let inline = try Self.life([])
        #expect(inline.head(status: 200, version: .http1, headers: Self.headers(1000)) == .abort)
    }

    /// Asked of the result alone, and of each attempt's anew.
    @Test func aRedirectIsNotAskedAbout() throws {
        var life = try Self.life([Self.rule(.cancel, status: StatusSet([300...399]))])
        let headers = HeaderBlock([("Location", "/y"), ("Content-Length", "0")])
        #expect(life.head(status: 302, version: .http1, headers: headers) == .discard)
        guard case .send = Self.step(&life) else { return #expect(Bool(false), "it is followed") }
    }
}
