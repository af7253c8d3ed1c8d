import Glibc
import TestSupport
import Testing

/// All processes die at once, and with them what a system keeps only while it is up: the next command goes on.
@Suite struct BackgroundRebootTests {
    private static let body = Script.patternBytes(3_000_000)
    private static let resource = ServedResource(body)

    /// What a system finds of the runtime folder when it is up again.
    enum Left: CaseIterable { case nothing, socketAndLock, foreignFile }

    /// Who comes first then.
    enum Comer: CaseIterable { case attach, sameJob, daemon }

    /// The first answer stops half way for ever: it died with its client.
    private func server() throws -> ScriptedServer {
        let server = try ScriptedServer()
        server.on("/f") { request in
            request.number == 1
                ? Self.resource.broken(after: 2_000_000, then: .stall) : Self.resource.answer(request)
        }
        server.on("/done", .respond(200, body: "done before"))
        server.on("/late", .respond(200, body: "late"))
        return server
    }

    private func job(_ server: ScriptedServer) -> String {
        BackgroundScene.head() + """
            tasks:
              - { id: large, url: "\(server.url("/f"))", to: large }
              - { id: done, url: "\(server.url("/done"))", to: done }
              - { id: late, url: "\(server.url("/late"))", to: late, needs: [large] }
            """
    }

    @Test(arguments: Left.allCases, Comer.allCases) func theWorkGoesOn(_ left: Left, _ comer: Comer) throws {
        let server = try server()
        defer { server.stop() }
        let scene = try BackgroundScene()
        let job = job(server)
        let program = try scene.stage.start(job)
        #expect(scene.waitForEnd(of: "done"))
        #expect(scene.waitForPart())
        program.send(signal: SIGKILL)
        #expect(scene.end(SIGKILL))
        _ = program.wait()
        try leave(left, scene)
        let run = try come(comer, job, scene, server)
        #expect(run.status == 0, "\(run.errorText)")
        #expect(try scene.folder.bytes("large") == Self.body)
        #expect(scene.stage.files == ["done", "large", "late"])
        #expect(server.requests("/done").count == 1 && server.requests("/late").count == 1)
        #expect(server.requests("/f").count == 2)
        #expect(server.requests("/f").last?.header("Range")?.hasPrefix("bytes=") == true)
        #expect(try run.value("$.sessions[0].reassociated") == "true")
        #expect(try run.value("$.tasks[0].source") == "resumed")
    }

    private func leave(_ left: Left, _ scene: BackgroundScene) throws {
        let socket = "runtime/transfer-run/background.sock"
        #expect(scene.binary.home.exists(socket))
        switch left {
        case .socketAndLock: break
        case .nothing: scene.binary.home.remove("runtime")
        case .foreignFile:
            scene.binary.home.remove(socket)
            try scene.binary.home.write(socket, "no socket", mode: 0o600)
        }
    }

    private func come(
        _ comer: Comer, _ job: String, _ scene: BackgroundScene, _ server: ScriptedServer
    ) throws -> Stage.Run {
        switch comer {
        case .sameJob: return try scene.stage.run(job)
        case .attach: return try scene.stage.finish(scene.binary.start(["attach", "org.example.test"]))
        case .daemon:
            // As systemd begins it: nobody asks, and the work goes on.
            let daemon = try scene.binary.start(["daemon"])
            defer {
                daemon.send(signal: SIGTERM)
                _ = daemon.wait()
            }
            #expect(server.waitForRequests(1, "/late"))
            return try scene.stage.finish(scene.binary.start(["attach", "org.example.test"]))
        }
    }
}
