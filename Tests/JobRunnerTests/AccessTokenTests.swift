import JobRunner
import TestSupport
import Testing
import TransferModel

/// Access tokens over a real network: the rules of a run hold, and servers get what they are to get.
@Suite struct AccessTokenTests {
    private func granted(_ token: String, _ seconds: Int = 3_600) -> Script {
        .respond(200, body: #"{"access_token":"\#(token)","token_type":"Bearer","expires_in":\#(seconds)}"#)
    }

    private func credential(_ stage: RunStage) throws -> Credential {
        var client = OAuth2Client(
            tokenURL: try ResourceURL.parse(stage.server.url("/token")), clientID: "me", grant: .clientCredentials)
        client.clientSecret = "sesame"
        var credential = Credential(source: .oauth2(client))
        (credential.method, credential.preemptive, credential.persistence) = (.bearer, true, .none)
        return credential
    }

    private func stage(_ tasks: Int) throws -> RunStage {
        let stage = try RunStage()
        let credential = try credential(stage)
        for task in 0..<tasks { try stage.add("t\(task)", "/f") { $0.policies.credentials = [credential] } }
        return stage
    }

    private func shown(_ stage: RunStage) -> [String?] {
        stage.server.requests("/f").map { $0.header("Authorization") }
    }

    @Test func manyTasks_askOnce() throws {
        let stage = try stage(40)
        defer { stage.server.stop() }
        stage.server.on("/token", granted("t1"))
        stage.server.on("/f", .respond(200, body: "content"))
        #expect(try stage.run() == .succeeded)
        #expect(stage.violations() == [])
        let asked = stage.server.requests("/token")
        #expect(asked.map(\.bodyText) == ["grant_type=client_credentials"])
        #expect(asked.first?.header("Authorization") == "Basic bWU6c2VzYW1l")
        #expect(shown(stage) == Array(repeating: "Bearer t1", count: 40))
    }

    /// Those that were sent with the first token are sent again with the second, each once.
    @Test func withdrawnToken_isReplacedForAll() throws {
        let stage = try stage(12)
        defer { stage.server.stop() }
        stage.job.sessions[0].maximumConcurrentTasks = 3
        stage.server.on("/token", granted("t1"), granted("t2"))
        stage.server.on("/f") { request in
            request.header("Authorization") == "Bearer t2"
                ? .respond(200, body: "content") : .respond(401, body: "withdrawn")
        }
        #expect(try stage.run() == .succeeded)
        #expect(stage.violations() == [])
        #expect(stage.server.requests("/token").count == 2)
        let shown = shown(stage)
        #expect(shown.filter { $0 == "Bearer t2" }.count == 12)
        #expect((1...3).contains(shown.filter { $0 == "Bearer t1" }.count) && !shown.contains(nil))
    }

    @Test func busyTokenServer_isAskedAgain() throws {
        let stage = try stage(5)
        defer { stage.server.stop() }
        stage.server.on("/token", .respond(503), [.reset], granted("t1"))
        stage.server.on("/f", .respond(200, body: "content"))
        #expect(try stage.run() == .succeeded)
        #expect(stage.violations() == [])
        #expect(stage.server.requests("/token").count == 3 && stage.server.requests("/f").count == 5)
    }

    @Test func refusingTokenServer_failsAllAtOnce() throws {
        let stage = try stage(5)
        defer { stage.server.stop() }
        stage.server.on("/token", .respond(400, body: #"{"error":"invalid_client"}"#))
        #expect(try stage.run() == .failed)
        #expect(stage.violations() == [])
        let errors = (0..<5).compactMap { stage.end($0)?.error }
        #expect(errors.count == 5 && Set(errors.map(\.message)).count == 1)
        #expect(errors.first?.message == "no token from \(stage.server.url("/token")): it says `invalid_client`")
        #expect(stage.server.requests("/f").isEmpty)
    }

    /// Each of several streams of one file shows the token.
    @Test func partsOfAFile_areAskedForWithIt() throws {
        let stage = try RunStage()
        defer { stage.server.stop() }
        let credential = try credential(stage)
        try stage.add("t", "/f") {
            $0.policies.credentials = [credential]
            $0.segments = 4
        }
        stage.server.on("/token", granted("t1"))
        let resource = ServedResource(Script.patternBytes(8 << 20))
        stage.server.on("/f") { request in
            request.header("Authorization") == "Bearer t1" ? resource.answer(request) : .respond(401)
        }
        #expect(try stage.run() == .succeeded)
        #expect(stage.violations() == [])
        #expect(shown(stage).allSatisfy { $0 == "Bearer t1" } && !shown(stage).isEmpty)
        #expect(stage.server.requests("/token").count == 1)
    }
}
