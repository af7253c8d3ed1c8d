import Glibc
import TestSupport
import Testing
import TransferModel

/// What kinds of network a task may use, in machines with networks of their own: who sent what from which address is in
/// the server's log.
@Suite(.enabled(if: NetworkWorld.isAllowed)) struct NetworkTests {
    private let wifi = "wlp1s0"
    private let cellular = "wwp2s0"
    private let wired = "enp3s0"

    private func job(_ server: ScriptedServer, _ keys: String) -> String {
        """
        tasks:
          - { id: a, url: "\(server.url("/a"))", to: a, retry: { backoff: { initial: 50ms } }, \(keys) }
        """
    }

    /// The system's routes lead over the forbidden one: the connection is bound to the other.
    @Test func ofTwoNetworksThePermittedOneIsTaken() throws {
        let world = try NetworkWorld([cellular, wifi])
        let server = try world.scriptedServer { _ in .respond(200, body: "x") }
        defer { server.stop() }
        let stage = try Stage()
        let free = try stage.run(job(server, "existing: replace"), under: world.client)
        #expect(free.status == 0)
        #expect(server.requests().last?.clientAddress == world.address(of: cellular))
        #expect(try free.task("a", "attempts[0].transactions[0].isCellular") == "true")
        #expect(try free.task("a", "attempts[0].transactions[0].isExpensive") == "true")
        let bound = try stage.run(job(server, "existing: replace, allowsCellularAccess: false"), under: world.client)
        #expect(bound.status == 0)
        #expect(server.requests().last?.clientAddress == world.address(of: wifi))
        #expect(try bound.task("a", "attempts[0].transactions[0].isCellular") == "false")
        #expect(server.requests().count == 2)
    }

    @Test(arguments: ["allowsCellularAccess", "allowsExpensiveNetworkAccess"])
    func withoutAPermittedNetworkATaskFailsAtOnce(_ key: String) throws {
        let world = try NetworkWorld([cellular])
        let server = try world.scriptedServer { _ in .respond(200, body: "x") }
        defer { server.stop() }
        let run = try Stage().run(job(server, "\(key): false"), under: world.client)
        #expect(run.status == 1)
        #expect(try run.task("a", "error.name") == "dataNotAllowed")
        #expect(try run.task("a", "error.code") == "-1020")
        #expect(try run.task("a", "error.reason") == (key == "allowsCellularAccess" ? "cellular" : "expensive"))
        #expect(try run.task("a", "error.message")?.contains(cellular) == true)
        #expect(server.totalConnections == 0)
    }

    @Test func withNoNetworkAtAllATaskSaysSo() throws {
        let world = try NetworkWorld([wifi])
        let server = try world.scriptedServer { _ in .respond(200, body: "x") }
        defer { server.stop() }
        try world.takeDown(wifi)
        let run = try Stage().run(job(server, ""), under: world.client)
        #expect(run.status == 1)
        #expect(try run.task("a", "error.name") == "notConnectedToInternet")
        #expect(try run.task("a", "error.reason") == nil)
    }

    /// A network is there, and none leads to this host.
    @Test func aHostThatOnlyAForbiddenNetworkLeadsToIsNotReached() throws {
        let world = try NetworkWorld([cellular, wifi])
        let server = try world.scriptedServer { _ in .respond(200, body: "x") }
        defer { server.stop() }
        try world.removeRoute(wifi)
        let run = try Stage().run(job(server, "allowsCellularAccess: false"), under: world.client)
        #expect(run.status == 1)
        #expect(try run.task("a", "error.name") == "dataNotAllowed")
        #expect(try run.task("a", "error.reason") == "cellular")
        try world.removeRoute(cellular)
        let lost = try Stage().run(job(server, ""), under: world.client)
        #expect(try lost.task("a", "error.name") == "notConnectedToInternet")
        #expect(server.totalConnections == 0)
    }

    /// A redirect leads to another host: each hop is judged by where it goes.
    @Test func eachHopIsJudged() throws {
        let world = try NetworkWorld([wifi, cellular])
        let server = try world.scriptedServer { _ in .respond(200, body: "x") }
        let near = try world.localServer { _ in .redirect(302, to: server.url("/far")) }
        defer {
            server.stop()
            near.stop()
        }
        try world.removeRoute(wifi)
        let run = try Stage().run(job(near, "allowsCellularAccess: false"), under: world.client)
        #expect(run.status == 1)
        #expect(try run.task("a", "error.name") == "dataNotAllowed")
        #expect(try run.task("a", "redirects[0].status") == "302")
        #expect(near.requests().count == 1 && server.totalConnections == 0)
    }

    @Test func loopbackIsExempt() throws {
        let world = try NetworkWorld([cellular])
        let server = try world.localServer { _ in .respond(200, body: "x") }
        defer { server.stop() }
        try world.takeDown(cellular)
        let stage = try Stage()
        let run = try stage.run(job(server, "allowsCellularAccess: false"), under: world.client)
        #expect(run.status == 0)
        #expect(try run.task("a", "attempts[0].transactions[0].isCellular") == nil)
    }

    /// An address of the machine's own needs no network either, and nor does a container.
    @Test func aMachineReachesItselfWithoutNetworks() throws {
        let world = try NetworkWorld([cellular])
        let server = try world.localServer(at: world.address(of: cellular)) { _ in .respond(200, body: "x") }
        defer { server.stop() }
        let run = try Stage().run(job(server, "allowsCellularAccess: false"), under: world.client)
        #expect(run.status == 0)
    }

    // MARK: Waiting

    /// One event, no attempt burnt, and a start as soon as the network is there.
    @Test func aTaskThatWaitsBeginsWhenANetworkComes() throws {
        let world = try NetworkWorld([wifi, cellular])
        let server = try world.scriptedServer { _ in .respond(200, body: "x") }
        defer { server.stop() }
        try world.takeDown(wifi)
        let stage = try Stage()
        let program = try stage.start(
            job(server, "allowsCellularAccess: false, waitsForConnectivity: true"), ["-v"], under: world.client)
        #expect(program.waitForOutput("a network that is not cellular (wwp2s0 is cellular, metered)"))
        try world.bringUp(wifi)
        #expect(server.waitForRequests(1, timeout: .seconds(5)))
        let run = try stage.finish(program)
        #expect(run.status == 0)
        #expect(server.requests().map(\.clientAddress) == [world.address(of: wifi)])
        #expect(run.story(of: "a").first { $0 == "waiting" } != nil)
        #expect(try Set(run.values("$.tasks[0].waits[*].reason")) == ["network"])
        // An attempt may come between the network and its route, which this test adds after it.
        let earlier = try run.values("$.tasks[0].attempts[*].outcome").dropLast()
        #expect(try run.values("$.tasks[0].attempts[*].error.name") == earlier.map { _ in "noPermittedRoute" })
    }

    /// The network is there, and its route comes later.
    @Test func aRouteThatComesLaterIsWaitedFor() throws {
        let world = try NetworkWorld([wifi])
        let server = try world.scriptedServer { _ in .respond(200, body: "x") }
        defer { server.stop() }
        try world.removeRoute(wifi)
        let stage = try Stage()
        let program = try stage.start(job(server, "waitsForConnectivity: true"), ["-v"], under: world.client)
        #expect(program.waitForOutput("waits"))
        try world.addRoute(wifi)
        let run = try stage.finish(program)
        #expect(run.status == 0)
        #expect(try run.task("a", "attempts[0].error.name") == "noPermittedRoute")
        #expect(try run.task("a", "attempts[1].outcome") == "succeeded")
    }

    @Test func timeoutForResourceEndsTheWait() throws {
        let world = try NetworkWorld([cellular])
        let server = try world.scriptedServer { _ in .respond(200, body: "x") }
        defer { server.stop() }
        let keys = "allowsCellularAccess: false, waitsForConnectivity: true, timeoutForResource: 300ms"
        let run = try Stage().run(job(server, keys), under: world.client)
        #expect(run.status == 1)
        #expect(try run.task("a", "error.name") == "timedOut")
        #expect(server.totalConnections == 0)
    }

    @Test func noWaitPutsOffWhatHasNoNetwork() throws {
        let world = try NetworkWorld([cellular])
        let server = try world.scriptedServer { _ in .respond(200, body: "x") }
        defer { server.stop() }
        let stage = try Stage()
        let text = job(server, "allowsCellularAccess: false, waitsForConnectivity: true")
        let run = try stage.run(text, "--no-wait", under: world.client)
        #expect(run.status == 75)
        #expect(try run.task("a", "outcome") == "deferred")
        let explanation = try run.task("a", "explanation") ?? ""
        #expect(explanation.contains("it waits for a network that is not cellular (\(cellular) is cellular, metered)"))
    }

    // MARK: In the middle of a transfer

    /// A run that stands in the middle of its file: a part of it has come, and nothing more comes of this answer. Another
    /// task beside it waits for the gate `end`.
    private func startHalf(
        of body: [UInt8], _ server: ScriptedServer, _ world: NetworkWorld, _ keys: String, besideAnother: Bool = false
    ) throws -> (stage: Stage, program: RunningProgram) {
        let resource = ServedResource(body)
        server.on("/a") { request in
            if request.header("Range") != nil { return resource.answer(request) }
            return resource.broken(after: body.count / 2, then: .stall)
        }
        server.on("/other") { _ in [.gate("end")] + .respond(200, body: "other") }
        let other = "\n  - { id: other, url: \"\(server.url("/other"))\", to: other }\n"
        let stage = try Stage()
        let program = try stage.start(
            job(server, keys) + (besideAnother ? other : ""), ["-v"], under: world.client)
        #expect(server.waitForRequests(besideAnother ? 2 : 1))
        try waitForHalf(stage, program)
        return (stage, program)
    }

    /// What goes over the lost network stops and goes on over its return, from where it stood; nothing of it ever goes
    /// over the forbidden one. What goes over that one notices nothing.
    @Test(arguments: [true, false])
    func aTransferGoesOnFromItsOffsetWhenItsNetworkIsBack(_ isUnplugged: Bool) throws {
        let world = try NetworkWorld([cellular, wifi])
        let server = try world.scriptedServer()
        defer { server.stop() }
        let body = Script.patternBytes(4 << 20)
        let keys = "allowsCellularAccess: false, waitsForConnectivity: true"
        let (stage, program) = try startHalf(of: body, server, world, keys, besideAnother: true)
        if isUnplugged { try world.unplug(wifi) } else { try world.takeDown(wifi) }
        #expect(program.waitForOutput("waits for a network that is not cellular"))
        if isUnplugged { try world.plug(wifi) } else { try world.bringUp(wifi) }
        #expect(server.waitForRequests(2, "/a", timeout: .seconds(5)))
        server.open(gate: "end")
        let run = try stage.finish(program)
        #expect(run.status == 0)
        #expect(try stage.folder.bytes("a") == body)
        let requests = server.requests("/a")
        #expect(requests.map(\.clientAddress) == [world.address(of: wifi), world.address(of: wifi)])
        // An attempt may come between the network and its route, which this test adds after it.
        let offset = try #require(run.values("$.tasks[0].attempts[*].resumedFrom").compactMap { Int($0 ?? "") }.last)
        #expect(offset > 0 && requests.last?.header("Range") == "bytes=\(offset)-")
        #expect(server.requests("/other").map(\.clientAddress) == [world.address(of: cellular)])
        #expect(try run.task("other", "attempts[*].number") == "1")
        #expect(try run.task("a", "attempts[0].error.name") == "networkConnectionLost")
        #expect(try run.task("a", "waits[?@.reason=='network'].reason") == "network")
    }

    /// Over whatever network is left.
    @Test func aTransferGoesOnOverAnotherPath() throws {
        let world = try NetworkWorld([wifi, wired])
        let server = try world.scriptedServer()
        defer { server.stop() }
        let body = Script.patternBytes(1 << 20)
        let (stage, program) = try startHalf(of: body, server, world, "waitsForConnectivity: true")
        try world.takeDown(wifi)
        let run = try stage.finish(program)
        #expect(run.status == 0)
        #expect(try stage.folder.bytes("a") == body)
        #expect(
            server.requests("/a").map(\.clientAddress) == [world.address(of: wifi), world.address(of: wired)])
        #expect(server.requests("/a").last?.header("Range") != nil)
    }

    /// Without `waitsForConnectivity` the attempt fails, and its retry meets what is there then.
    @Test func withoutWaitingTheRetryMeetsWhatIsThere() throws {
        let world = try NetworkWorld([wifi, cellular])
        let server = try world.scriptedServer()
        defer { server.stop() }
        let body = Script.patternBytes(1 << 20)
        let (stage, program) = try startHalf(of: body, server, world, "allowsCellularAccess: false")
        try world.takeDown(wifi)
        let run = try stage.finish(program)
        #expect(run.status == 1)
        #expect(try run.task("a", "attempts[0].error.name") == "networkConnectionLost")
        #expect(try run.task("a", "error.name") == "dataNotAllowed")
        #expect(server.requests().count == 1)
    }

    /// Streams of one connection are lost together, each with its reason.
    @Test func allStreamsOfAConnectionAreLost() throws {
        let world = try NetworkWorld([wifi])
        var options = try TLSOptions()
        options.takesHTTP2 = true
        let server = try world.scriptedServer(tls: options)
        defer { server.stop() }
        // The first is answered; then the others go over the connection that it proved to speak HTTP/2.
        let others = [3, 5, 7].flatMap { HTTP2Frame.head($0, length: 99) + HTTP2Frame.data("half", $0) }
        server.on(
            "PRI *",
            [
                .bytes(HTTP2Frame.beginning), .wait(.milliseconds(100)),
                .bytes(HTTP2Frame.head(length: 5) + HTTP2Frame.data("whole", isLast: true)), .wait(.milliseconds(300)),
                .bytes(others), .stall,
            ])
        let waiting = ["b", "c", "d"]
        let base = "https://\(NetworkWorld.server):\(server.port)"
        let job = """
            sessions: { default: { tls: { trust: { policy: insecure } } } }
            defaults: { retry: { attempts: 1 } }
            tasks:
              - { id: a, url: "\(base)/a", to: a }

            """
        let tasks = waiting.map { "  - { id: \($0), url: \"\(base)/\($0)\", to: \($0), needs: [a] }\n" }
        let stage = try Stage()
        let program = try stage.start(job + tasks.joined(), ["-v"], under: world.client)
        waitUntil { stage.hasAnswers(4) }
        #expect(stage.hasAnswers(4))
        try world.takeDown(wifi)
        let run = try stage.finish(program)
        #expect(run.status == 1 && server.totalConnections == 1)
        for id in waiting {
            #expect(try run.task(id, "error.name") == "networkConnectionLost", "\(id)")
            #expect(try run.task(id, "error.message")?.contains("went away (\(wifi))") == true, "\(id)")
        }
    }

    /// Another address on the same network: the connection cannot go on.
    @Test func anAddressThatChangesCounts() throws {
        let world = try NetworkWorld([wifi])
        let server = try world.scriptedServer()
        defer { server.stop() }
        let body = Script.patternBytes(1 << 20)
        let (stage, program) = try startHalf(of: body, server, world, "waitsForConnectivity: true")
        try world.renumber(wifi)
        let run = try stage.finish(program)
        #expect(run.status == 0)
        #expect(try stage.folder.bytes("a") == body)
        #expect(server.requests("/a").last?.clientAddress == "10.77.1.3")
    }

    /// Until the answer has begun, and then a moment for the rest of what was sent.
    private func waitForHalf(_ stage: Stage, _ program: RunningProgram) throws {
        for _ in 0..<400 where !stage.hasAnswers(1) {
            _ = program.waitForOutput("never said", timeout: .milliseconds(50))
        }
        if !stage.hasAnswers(1) { Issue.record("nothing of the file came") }
        _ = program.waitForOutput("never said", timeout: .milliseconds(500))
    }
}
