import TestSupport
import Testing

/// `--network` in the place of what the system says: then loopback is a network like any.
@Suite struct DictatedNetworkTests {
    private let server: ScriptedServer
    private let stage: Stage

    init() throws {
        server = try ScriptedServer { _ in .respond(200, body: "x") }
        stage = try Stage()
    }

    private func run(_ session: String, _ task: String, _ network: String) throws -> Stage.Run {
        defer { server.stop() }
        return try stage.run(
            """
            sessions: { main: { \(session) } }
            tasks: [{ id: a, url: "\(server.url("/a"))", to: a, \(task) }]
            """, "--network", network)
    }

    /// A task cannot loosen its session's word on cellular networks; for the other two its own word wins (S168).
    @Test(
        arguments: [
            ("allowsCellularAccess", "cellular", "cellular", false),
            ("allowsCellularAccess", "cellular", "cellular", true),
            ("allowsExpensiveNetworkAccess", "wifi,metered", "expensive", false),
            ("allowsExpensiveNetworkAccess", "wifi,metered", "expensive", true),
            ("allowsConstrainedNetworkAccess", "wired,constrained", "constrained", false),
            ("allowsConstrainedNetworkAccess", "wired,constrained", "constrained", true),
        ])
    func theTasksWordAndItsSessions(_ key: String, _ network: String, _ reason: String, _ taskAllows: Bool) throws {
        let run = try run("\(key): \(!taskAllows)", "\(key): \(taskAllows)", network)
        let passes = taskAllows && key != "allowsCellularAccess"
        #expect(run.status == (passes ? 0 : 1))
        if !passes { #expect(try run.task("a", "error.reason") == reason) }
        #expect(server.totalConnections == (passes ? 1 : 0))
    }

    @Test func whatIsSaidIsWhatTheMetricsTell() throws {
        let run = try run("", "", "wifi,metered,constrained")
        #expect(run.status == 0)
        let kind = "attempts[0].transactions[0]"
        #expect(try run.task("a", "\(kind).isCellular") == "false")
        #expect(try run.task("a", "\(kind).isExpensive") == "true")
        #expect(try run.task("a", "\(kind).isConstrained") == "true")
    }

    @Test func withNoneNothingIsReached() throws {
        let run = try run("", "", "none")
        #expect(run.status == 1)
        #expect(try run.task("a", "error.name") == "notConnectedToInternet")
        #expect(server.totalConnections == 0)
    }

    @Test func noWaitAndNoNetwork() throws {
        defer { server.stop() }
        let run = try stage.run(
            "tasks: [{ id: a, url: \"\(server.url("/a"))\", to: a, waitsForConnectivity: true }]", "--network", "none",
            "--no-wait")
        #expect(run.status == 75)
    }

    @Test func whatIsNoNetworkIsSaidSo() throws {
        let run = try run("", "", "wifi,fast")
        #expect(run.status == 2)
        #expect(
            run.errorText.contains("`--network` cannot be `wifi,fast`: `fast` is neither `metered` nor `constrained`"))
    }
}
