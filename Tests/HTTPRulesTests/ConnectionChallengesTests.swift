import HTTPRules
import Testing
import TransferModel

@Suite struct ConnectionChallengesTests {
    private func rule(
        _ method: ChallengeRule.Method?, _ disposition: ChallengeRule.Disposition, host: String? = nil,
        realm: String? = nil
    ) -> ChallengeRule {
        var rule = ChallengeRule(disposition: disposition)
        rule.method = method
        rule.host = host.flatMap { HostPattern($0) }
        rule.realm = realm
        return rule
    }

    private func answer(
        _ challenges: ConnectionChallenges, _ method: ChallengeRule.Method = .clientCertificate,
        _ url: String = "https://a.example/"
    ) throws -> String? {
        try challenges.answer(to: method, at: ResourceURL.parse(url)).map { "\($0.level) \($0.disposition.rawValue)" }
    }

    @Test func theSessionAnswersBeforeTheTask() throws {
        let both = ConnectionChallenges(
            session: [rule(.clientCertificate, .use)],
            task: [rule(.clientCertificate, .cancel), rule(.serverTrust, .reject)])
        #expect(try answer(both) == "session use")
        #expect(try answer(both, .serverTrust) == "task reject")
    }

    @Test func theFirstThatFitsIsTaken() throws {
        let rules = ConnectionChallenges(session: [
            rule(.clientCertificate, .reject, host: "b.example"), rule(.clientCertificate, .cancel, host: "*.example"),
            rule(.clientCertificate, .use, host: "a.example"),
        ])
        #expect(try answer(rules) == "session cancel")
        #expect(try answer(rules, .clientCertificate, "https://b.example/") == "session reject")
        #expect(try answer(rules, .clientCertificate, "https://other/") == nil)
        #expect(try answer(rules, .serverTrust) == nil)
    }

    /// `{ do: cancel }` cancels on a 401; it must not end every https request.
    @Test func rulesForRequestsSayNothingOfConnections() throws {
        let rules = ConnectionChallenges(session: [
            rule(nil, .cancel), rule(.basic, .cancel), rule(.serverTrust, .cancel, realm: "x"),
        ])
        #expect(try answer(rules) == nil)
        #expect(try answer(rules, .serverTrust) == nil)
        #expect(ConnectionChallenges(session: [rule(nil, .cancel)]).isEmpty)
    }
}
