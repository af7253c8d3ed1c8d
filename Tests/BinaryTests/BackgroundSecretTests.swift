import Glibc
import TestSupport
import Testing
import TransferModel

/// What a background run must not tell, and whom its folder must not trust.
@Suite struct BackgroundSecretTests {
    private static let password = "open-sesame-of-ada"
    private static let key = "key-that-nobody-sees"
    private static let token = "token-learned-on-the-way"
    private static let secrets = [password, key, token]

    private func job(_ server: ScriptedServer) -> String {
        """
        secrets: { PASSWORD: { env: PASSWORD }, KEY: { file: key } }
        sessions:
          night:
            configuration: background
            identifier: org.example.secret
            headers: { X-Key: "${secret.KEY}" }
            credentials: [{ host: "*", user: ada, password: "${secret.PASSWORD}" }]
            onFinish: [sh, -c, "cat /proc/$PPID/environ > told; env >> told"]
        defaults: { session: night }
        tasks:
          - { id: login, url: "\(server.url("/login"))", capture: { token: { json: $.token, secret: true } } }
          - { id: keyed, url: "\(server.url("/keyed"))?key=${secret.KEY}", to: keyed }
          - { id: late, url: "\(server.url("/late"))?as=${tasks.login.token}", to: late,
              headers: { Authorization: "Bearer ${tasks.login.token}" } }
        """
    }

    private func server() throws -> ScriptedServer {
        let server = try ScriptedServer()
        server.on("/login") { request in
            guard request.header("Authorization") != nil else {
                return .respond(401, headers: [("WWW-Authenticate", "Basic realm=\"r\"")])
            }
            return .respond(
                200, headers: [("Content-Type", "application/json"), ("Set-Cookie", "s=1; Max-Age=60")],
                body: #"{"token":"\#(Self.token)"}"#)
        }
        server.on("/keyed", .respond(200, body: "keyed"))
        server.on("/late") { _ in [.gate("open")] + .respond(200, body: "late") }
        return server
    }

    @Test func secretsAreNowhereButInTheirRequests() throws {
        let server = try server()
        defer { server.stop() }
        let scene = try BackgroundScene()
        try scene.binary.home.makeFolder("runtime", mode: 0o700)
        try scene.folder.write("key", Self.key, mode: 0o600)
        let program = try scene.stage.start(job(server), environment: ["PASSWORD": Self.password])
        #expect(server.waitForRequests(1, "/late"))
        #expect(scene.waitForEnd(of: "keyed"))
        let process = try #require(scene.process)
        for number in [process, program.processID] { try expectSilent("/proc/\(number)/cmdline") }
        try expectSilent("/proc/\(process)/environ")
        try expectPrivate(scene, "under way")
        try expectNothingTold(scene, "under way")
        let written = try scene.folder.contents().filter { $0.key != "key" }
        for (name, bytes) in written { expectSilent(bytes, "\(name) under way") }
        server.open(gate: "open")
        let run = try scene.stage.finish(program)
        #expect(run.status == 0, "\(run.errorText)")
        #expect(server.requests("/late").first?.header("Authorization") == "Bearer \(Self.token)")
        #expect(server.requests("/keyed").first?.target == "/keyed?key=\(Self.key)")
        try expectPrivate(scene, "afterwards")
        try expectNothingTold(scene, "afterwards")
        let told = [run.report.plainText ?? "", run.errorText] + run.events.compactMap { $0.plainText }
        for text in told { expectSilent(Array(text.utf8), "what was told") }
        #expect(told[0].contains("***"))
        #expect(try scene.stage.text("told").contains("TRANSFER_RUN_HOOK_DELIVERY_ID="))
        try expectSilent(scene.folder.path("told"))
    }

    private func expectSilent(_ path: String) throws { try expectSilent(TemporaryTree.bytes(at: path), path) }

    private func expectSilent(_ bytes: [UInt8], _ place: String) {
        let text = String(decoding: bytes, as: UTF8.self)
        for secret in Self.secrets { #expect(!text.contains(secret), "\(secret) in \(place)") }
    }

    /// State, cache and runtime folder, all of them.
    private func expectNothingTold(_ scene: BackgroundScene, _ when: String) throws {
        for name in scene.binary.home.list() where !name.hasSuffix("/") {
            // A socket has no bytes.
            guard let bytes = try? scene.binary.home.bytes(name) else { continue }
            // What a login was answered is the user's own, and kept for the next.
            expectSilent(bytes, "\(name) \(when)")
        }
    }

    private func expectPrivate(_ scene: BackgroundScene, _ when: String) throws {
        let own = ["state/transfer-run", "runtime/transfer-run", "cache/transfer-run"]
        for folder in own where scene.binary.home.exists(folder) {
            #expect(scene.binary.home.mode(folder) == 0o700, "\(folder) \(when)")
            for name in scene.binary.home.list(folder) {
                let path = "\(folder)/\(name.hasSuffix("/") ? String(name.dropLast()) : name)"
                let mode: UInt32 = name.hasSuffix("/") ? 0o700 : 0o600
                // A log of SQLite's may go while this looks.
                let found = scene.binary.home.mode(path)
                #expect(found == nil || found == mode, "\(path) \(when)")
            }
        }
        #expect(scene.binary.home.exists("state/transfer-run/journal.sqlite"))
    }

    // MARK: Folders of others

    enum Place: String, CaseIterable {
        case state = "state/transfer-run"
        case runtime = "runtime/transfer-run"
        case journal = "state/transfer-run/journal.sqlite"
    }

    /// Who could write there could have put there what is found.
    @Test(arguments: Place.allCases) func whatOthersMayWriteIsRefused(_ place: Place) throws {
        let server = try ScriptedServer { _ in .respond(200, body: "x") }
        defer { server.stop() }
        let scene = try BackgroundScene()
        let job = BackgroundScene.head() + "tasks: [{ id: t, url: \"\(server.url("/x"))\", to: x }]"
        #expect(try scene.stage.run(job).status == 0)
        #expect(scene.end(SIGTERM))
        let mode = try #require(scene.binary.home.mode(place.rawValue))
        try scene.binary.home.setMode(place.rawValue, mode | 0o020)
        for words in [[Stage.jobFile], [Stage.jobFile, "--detach"], ["attach", "org.example.test"], ["daemon"]] {
            // Nobody looks for a process where there is nothing to follow.
            if place == .runtime, words[0] == "attach" { continue }
            // What the command before began may not have found out yet.
            #expect(scene.waitUntilGone())
            let result = try scene.binary.start(words, timeout: .seconds(20)).wait()
            #expect(result.exitStatus == 4, "\(words): \(result.ending)")
            #expect(result.errorText.contains("written by others"), "\(words): \(result.errorText)")
            #expect(result.errorText.contains(scene.binary.home.path(place.rawValue)), "\(words): \(result.errorText)")
        }
        #expect(scene.waitUntilGone() && server.requests().count == 1)
    }
}
