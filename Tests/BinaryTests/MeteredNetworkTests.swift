import Glibc
import TestSupport
import Testing
import TransferModel

/// Networks that begin to cost, and power that goes, while transfers run: NetworkManager and UPower are played.
@Suite(.enabled(if: MockBus.isThere && NetworkWorld.isAllowed))
struct MeteredNetworkTests {
    private let bus: MockBus
    private let world: NetworkWorld
    private var environment: [String: String] { ["DBUS_SYSTEM_BUS_ADDRESS": bus.address] }

    init() throws {
        bus = try MockBus()
        world = try NetworkWorld(["wlp1s0"])
        try bus.perform("device('wlp1s0', '', 4)")
        try bus.perform("own(NM)")
        try bus.perform("own(UP)")
    }

    /// Of an upload that stands in the middle, not one more byte leaves when its network begins to cost: not what the
    /// kernel holds to be sent either. It goes on when it is free again.
    @Test func whatBeginsToCostIsCutOff() throws {
        let server = try world.scriptedServer()
        defer { server.stop() }
        let size = 32 << 20
        // It reads a little and then nothing for as long as the network costs: the kernel's buffers are full.
        server.on(
            "/up", [.readPart(64 << 10), .gate("free"), .drainBody] + .respond(200), [.drainBody] + .respond(200))
        let stage = try Stage()
        try stage.folder.write("body", [UInt8](repeating: 7, count: size))
        let job = """
            tasks:
              - { id: up, url: "\(server.url("/up"))", method: PUT, body: { file: body },
                  allowsExpensiveNetworkAccess: false, waitsForConnectivity: true }
            """
        let program = try stage.start(job, ["-v"], environment: environment, under: world.client)
        #expect(server.waitForRequests(1))
        _ = program.waitForOutput("never said", timeout: .milliseconds(300))
        try bus.perform("metered('wlp1s0', 1)")
        #expect(program.waitForOutput("waits for a network that is not expensive (wlp1s0 is wifi, metered)"))
        let sent = try sentBytes()
        // Whatever had come is read now, and the connection is at its end.
        server.open(gate: "free")
        #expect(server.waitUntilIdle())
        // What the kernel held would leave as soon as somebody reads; a moment, so that it can.
        usleep(300_000)
        #expect(try sentBytes() - sent < 10_000)
        let first = try #require(server.requests("/up").first)
        #expect(!first.isComplete && first.drained < size / 2)
        #expect(server.totalConnections == 1)
        try bus.perform("metered('wlp1s0', 4)")
        let run = try stage.finish(program)
        #expect(run.status == 0)
        #expect(server.requests("/up").map(\.isComplete) == [false, true])
        #expect(server.requests("/up").last?.drained == size)
        #expect(try run.task("up", "attempts[0].error.message")?.contains("expensive now") == true)
        #expect(try run.values("$.tasks[0].waits[*].reason") == ["network"])
    }

    /// What left the client's machine so far, be it the kernel who sent it.
    private func sentBytes() throws -> Int {
        let file = "/sys/class/net/wlp1s0/statistics/tx_bytes"
        let result = try Binary(program: world.client[0]).start(world.client.dropFirst() + ["cat", file]).wait()
        return try #require(Int(result.outputText.filter { $0 != "\n" }))
    }

    /// Who minds is stopped, who does not goes on over the same network.
    @Test func onlyWhoMindsIsStopped() throws {
        let server = try world.scriptedServer { _ in [.gate("end")] + .respond(200, body: "x") }
        defer { server.stop() }
        let stage = try Stage()
        let job = """
            sessions: { one: { allowsExpensiveNetworkAccess: false }, two: {} }
            tasks:
              - { id: minds, session: one, url: "\(server.url("/1"))", to: one, retry: { backoff: { initial: 10ms } } }
              - { id: overrides, session: one, url: "\(server.url("/2"))", to: two, allowsExpensiveNetworkAccess: true }
              - { id: free, session: two, url: "\(server.url("/3"))", to: three }
            """
        let program = try stage.start(job, environment: environment, under: world.client)
        #expect(server.waitForRequests(3))
        try bus.perform("metered('wlp1s0', 3)")
        #expect(program.waitForOutput("minds"))
        server.open(gate: "end")
        let run = try stage.finish(program)
        #expect(run.status == 1)
        #expect(try run.task("minds", "error.name") == "dataNotAllowed")
        #expect(try run.task("minds", "error.reason") == "expensive")
        #expect(try run.task("overrides", "attempts[0].outcome") == "succeeded")
        #expect(try run.task("free", "attempts[0].outcome") == "succeeded")
        #expect(server.requests().count == 3)
    }

    /// Only when it costs nobody: without a plug it stands still, also in the middle, and goes on with one.
    @Test func discretionaryWorkWantsPowerAndAFreeNetwork() throws {
        let server = try world.scriptedServer()
        defer { server.stop() }
        let resource = ServedResource(Script.patternBytes(1 << 20))
        server.on("/a") { request in
            if request.header("Range") != nil { return resource.answer(request) }
            return resource.broken(after: 600_000, then: .stall)
        }
        let stage = try Stage()
        let job = """
            sessions: { main: { discretionary: true } }
            tasks: [{ id: a, url: "\(server.url("/a"))", to: a }]
            """
        try bus.perform("power(True, 40.0, 2)")
        let program = try stage.start(job, ["-v"], environment: environment, under: world.client)
        #expect(program.waitForOutput("waits for mains power or a fuller battery (the battery is at 40 % and falling)"))
        #expect(server.totalConnections == 0)
        try bus.perform("power(False, 41.0, 1)")
        #expect(server.waitForRequests(1))
        _ = program.waitForOutput("never said", timeout: .milliseconds(300))
        try bus.perform("metered('wlp1s0', 1)")
        #expect(program.waitForOutput("waits for a network that costs nothing (wlp1s0 is wifi, metered)"))
        try bus.perform("metered('wlp1s0', 2)")
        let run = try stage.finish(program)
        #expect(run.status == 0)
        #expect(try stage.folder.bytes("a") == resource.body)
        #expect(server.requests("/a").count == 2 && server.requests("/a").last?.header("Range") != nil)
        #expect(Set(try run.values("$.tasks[0].waits[*].reason")).isSuperset(of: ["power", "network"]))
    }

    @Test func noWaitPutsDiscretionaryWorkOff() throws {
        let server = try world.scriptedServer { _ in .respond(200, body: "x") }
        defer { server.stop() }
        try bus.perform("power(True, 40.0, 2)")
        let job = """
            sessions: { main: { discretionary: true } }
            tasks:
              - { id: a, url: "\(server.url("/a"))", to: a }
              - { id: b, url: "\(server.url("/b"))", to: b, needs: [a] }
            """
        let run = try Stage().run(job, "--no-wait", environment: environment, under: world.client)
        #expect(run.status == 75)
        #expect(try run.values("$.tasks[*].outcome") == ["deferred", "deferred"])
        let lack = "it waits for mains power or a fuller battery (the battery is at 40 % and falling)"
        #expect(try run.task("a", "explanation")?.contains(lack) == true)
        #expect(server.totalConnections == 0)
    }
}
