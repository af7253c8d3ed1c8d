import HTTPRules
import TestSupport
import Testing
import TransferModel

/// Tasks of one session before servers that ask, forget nonces, change their minds and lie, in random order.
struct ChallengeModelTests {
    /// A server with its own opinion of who may enter; it never looks at how the rules under test came to what they sent.
    private struct Server {
        let origin: Origin
        var offers: [String] = []
        var password = "right"
        var nonce = 0
        /// What a request carried decides; `nil` lets it in.
        mutating func answer(_ carried: String?, _ random: inout Seeded) -> [String]? {
            let isKnown = carried.map { isRight($0) } ?? false
            if random.oneIn(6) { nonce += 1 }
            if isKnown, !random.oneIn(8) { return nil }
            let isStale = isKnown && carried?.hasPrefix("Digest") == true && random.oneIn(2)
            let realm = random.oneIn(8) ? "other" : "r"
            return offers.map { offer in
                switch offer {
                case "digest":
                    "Digest realm=\"\(realm)\", nonce=\"n\(nonce)\", qop=\"auth\"\(isStale ? ", stale=true" : "")"
                case "sha": "Digest realm=\"\(realm)\", nonce=\"n\(nonce)\", qop=\"auth\", algorithm=SHA-256"
                case "basic", "bearer": "\(offer) realm=\(realm)"
                default: offer
                }
            }
        }

        private func isRight(_ carried: String) -> Bool {
            let words = carried.split(separator: " ", maxSplits: 1)
            switch words.first {
            case "Digest": return carried.contains("nonce=\"n\(nonce)\"") && password == "right"
            case "Basic": return words.last == "dTpyaWdodA==" && password == "right"
            case "Bearer": return words.last == "right"
            default: return carried.hasSuffix(":right") && password == "right"
            }
        }
    }

    private static let strength = ["negotiate", "ntlm", "sha", "digest", "bearer", "basic"]

    private static func credentials(_ random: inout Seeded) -> [Credential] {
        (0..<random.below(4)).map { _ in
            let right = random.oneIn(2) ? "right" : "wrong"
            let sources: [Credential.Source] = [
                .password(user: "u", password: SecretText(right)), .token(SecretText(right)), .netrc, .helper(["h"]),
            ]
            var credential = Credential(source: random.pick(sources))
            credential.host = random.pick([nil, HostPattern("a.example"), HostPattern("*.example")])
            if case .token = credential.source {
                credential.method = .bearer
            } else {
                credential.method = random.pick([.any, .any, .basic, .digest, .ntlm])
            }
            credential.realm = random.oneIn(4) ? "r" : nil
            credential.maximumFailures = 1 + random.below(3)
            credential.preemptive = random.oneIn(4)
            credential.persistence = random.pick([.none, .session, .permanent])
            return credential
        }
    }

    /// How strong the method is that a request carries; less is stronger.
    private static func rank(_ carried: String) -> Int? {
        let word = carried.split(separator: " ").first.map { $0.lowercased() } ?? ""
        if word == "digest" { return carried.contains("SHA-256") ? 2 : 3 }
        return strength.firstIndex(of: word)
    }

    @Test func randomWorlds() {
        var random = Seeded("ChallengeModelTests.randomWorlds")
        var (entered, unasked, refused) = (0, 0, 0)
        for round in 0..<Rounds.scaled(600) {
            var servers = ["https://a.example/x/y", "https://b.example:8443/x", "http://a.example/x"].map { url in
                var server = Server(origin: ChallengeClient.url(url).origin)
                server.offers = Self.strength.filter { _ in random.oneIn(3) }.shuffled(using: &random)
                server.password = random.oneIn(4) ? "changed" : "right"
                return (url: url, server: server)
            }
            let credentials = Self.credentials(&random)
            var accepted = AcceptedCredentials()
            for _ in 0..<6 {
                var client = ChallengeClient(credentials, servers[0].url)
                client.accepted = accepted
                client.answers = { query in query.source == .netrc ? nil : .found(user: "u", password: "right") }
                var shown: Set<Int> = []
                for _ in 0..<(1 + random.below(3)) {
                    let place = random.below(servers.count)
                    let isLetIn = visit(
                        &client, servers[place].url, &servers[place].server, credentials, &shown, &random, round)
                    entered += isLetIn.entered
                    unasked += isLetIn.unasked
                    refused += isLetIn.refused
                }
                accepted = client.accepted
            }
        }
        // A world in which nothing happens proves nothing.
        #expect(entered > 200)
        #expect(unasked > 200)
        #expect(refused > 200)
    }

    /// One request to its end, and the rules that hold whatever the server does.
    private func visit(
        _ client: inout ChallengeClient, _ url: String, _ server: inout Server, _ credentials: [Credential],
        _ shown: inout Set<Int>, _ random: inout Seeded, _ round: Int
    ) -> (entered: Int, unasked: Int, refused: Int) {
        var carried = client.begin(url).toOrigin
        let unasked = carried == nil ? 0 : 1
        let mostRefusals = credentials.reduce(0) { $0 + $1.maximumFailures + 1 } + Self.strength.count + 4
        var refusals = 0
        while true {
            if let carried { check(carried, server, credentials, round) }
            if let rank = carried.flatMap({ Self.rank($0) }) { shown.insert(rank) }
            guard let offers = server.answer(carried, &random) else {
                client.passed()
                return (1, unasked, 0)
            }
            if carried != nil { refusals += 1 }
            #expect(refusals <= mostRefusals, "round \(round): it goes on for ever")
            if refusals > mostRefusals { return (0, unasked, 1) }
            let step = client.step(offers)
            guard case .send(let next) = step.action else { return (0, unasked, 1) }
            checkChoice(next.toOrigin, offers, client, credentials, shown, round)
            carried = next.toOrigin
        }
    }

    /// Nothing goes to a server that no credential is for.
    private func check(_ carried: String, _ server: Server, _ credentials: [Credential], _ round: Int) {
        let isBearer = carried.hasPrefix("Bearer")
        let fits = credentials.contains { credential in
            var isToken = false
            if case .token = credential.source { isToken = true }
            let isLookedUp = if case .helper = credential.source { true } else { false }
            let isNamed = server.origin == ChallengeClient.url("https://a.example/").origin
            return isToken == isBearer && credential.host?.matches(server.origin) ?? (isLookedUp || isNamed)
        }
        #expect(fits, "round \(round): \(carried) goes to \(server.origin)")
    }

    /// A weaker way is taken only if no credential is there for the stronger, or that was refused.
    private func checkChoice(
        _ carried: String?, _ offers: [String], _ client: ChallengeClient, _ credentials: [Credential],
        _ shown: Set<Int>, _ round: Int
    ) {
        guard let carried, let rank = Self.rank(carried) else {
            Issue.record("round \(round): an answer with nothing in it")
            return
        }
        // Only where one credential for all stands alone can the strongest be told from outside.
        guard credentials.count == 1, credentials[0].method == .any,
            !client.records.contains(where: { $0.previousFailureCount > 0 })
        else { return }
        let strongest = offers.compactMap { Self.rank($0.replacing("algorithm=", with: "")) }.filter { $0 != 4 }.min()
        // A Negotiate that was refused counts against nothing but itself, be it that the session knew it and nobody asked.
        let negotiated = shown.contains(0)
        #expect(rank == strongest || (negotiated && strongest == 0), "round \(round): \(carried) of \(offers)")
    }
}
