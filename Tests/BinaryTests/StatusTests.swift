import TestSupport
import Testing
import TextFormats
import TransferModel

/// `status`: runs under way, networks, power.
@Suite struct StatusTests {
    private func json(_ result: Binary.Result) throws -> JSONValue { try JSONParser.parse(result.output) }

    private func values(_ path: String, _ result: Binary.Result) throws -> [String?] {
        try JSONPath(path).select(from: try json(result)).map { $0.plainText }
    }

    @Test func tellsOfThisMachine() throws {
        let binary = try Binary()
        let result = try binary.run("status", "--json")
        #expect(result.exitStatus == 0 && result.errorOutput.isEmpty)
        #expect(try values("$.sessions", result).count == 1 && json(result)["sessions"] == .array([]))
        #expect(try json(result)["runs"] == .array([]))
        #expect(try values("$.networks[?@.interface=='lo'].class", result) == ["none"])
        #expect(try values("$.networks[?@.interface=='lo'].why", result) == ["loopback"])
        #expect(try ["mains", "battery", "unknown"].contains(values("$.power.source", result).first ?? nil))
        let text = try binary.run("status")
        #expect(text.exitStatus == 0)
        #expect(text.outputText == "no run is under way\n")
        let all = try binary.run("status", "-v")
        #expect(all.exitStatus == 0)
        #expect(all.outputText.hasPrefix("no run is under way\nnetworks\n") && all.outputText.contains("\npower: "))
        // Nothing of it stays, and no folder is made for it.
        #expect(binary.home.list().isEmpty && binary.folder.list().isEmpty)
    }

    /// That nobody can look is another answer than that nothing is there.
    @Test(arguments: [["status", "x"], ["cancel", "x"], ["status"]])
    func stateThatCannotBeLookedIntoIsToldOf(_ words: [String]) throws {
        let binary = try Binary()
        try binary.folder.link("state", to: "state")
        let result = try binary.run(arguments: words + ["--state-dir", "state"])
        #expect(result.exitStatus == 4)
        #expect(result.errorText.contains("error: ") && !result.errorText.contains("there is no background session"))
    }

    @Test(arguments: [
        ("wired", "wired", "false", "false"), ("cellular", "cellular", "true", "false"),
        ("wifi,metered", "wifi", "true", "false"), ("wifi,constrained,metered", "wifi", "true", "true"),
    ])
    func whatIsDictatedIsShownInstead(network: String, kind: String, metered: String, constrained: String) throws {
        let result = try Binary().run("status", "--json", "--network", network)
        #expect(result.exitStatus == 0)
        #expect(try values("$.networks[*].class", result) == [kind])
        #expect(try values("$.networks[*].metered", result) == [metered])
        #expect(try values("$.networks[*].constrained", result) == [constrained])
        #expect(try JSONPath("$.networks[0].interface").select(from: json(result)) == [.null])
    }

    @Test func noNetworkCanBeDictated() throws {
        let result = try Binary().run("status", "-v", environment: ["TRANSFER_RUN_NETWORK": "none"])
        #expect(result.outputText.hasPrefix("no run is under way\nnetworks\n  none\npower: "))
    }

    @Test(arguments: ["wlan", "wired,fast", "none,metered", ",", "wifi,metered,metered", "wifi,"])
    func wrongNetworksEndWithTwo(network: String) throws {
        let result = try Binary().run("status", "--network=\(network)")
        #expect(result.exitStatus == 2 && result.output.isEmpty)
        #expect(result.errorText.contains("`--network` cannot be `\(network)`"))
    }

    @Test func aNameThatNobodyHasEndsWithTwo() throws {
        let result = try Binary().run("status", "org.example.nightly")
        #expect(result.exitStatus == 2 && result.output.isEmpty)
        #expect(result.errorText.contains("there is no background session `org.example.nightly`"))
    }

    @Test func aProcessThatIsNoRunEndsWithFour() throws {
        let result = try Binary().run("status", "1")
        #expect(result.exitStatus == 4 && result.output.isEmpty)
        #expect(result.errorText.hasPrefix("error: no run with pid 1 listens"))
    }

    @Test func theOperatorsMapCounts() throws {
        let binary = try Binary()
        try binary.home.write(".config/transfer-run/networks.yaml", "interfaces: { \"*\": { class: cellular } }\n")
        let result = try binary.run("status", "--json")
        #expect(try Set(values("$.networks[*].class", result)) == ["cellular"])
        #expect(try values("$.networks[?@.interface=='lo'].why", result) == ["networks.yaml (`*`)"])
        // The XDG variable says where; one that is not absolute counts for nothing.
        try binary.home.write("elsewhere/transfer-run/networks.yaml", "interfaces: {}\n")
        let elsewhere = try binary.run(
            "status", "--json", environment: ["XDG_CONFIG_HOME": binary.home.path("elsewhere")])
        #expect(try values("$.networks[?@.interface=='lo'].class", elsewhere) == ["none"])
        let relative = try binary.run("status", "--json", environment: ["XDG_CONFIG_HOME": "elsewhere"])
        #expect(try Set(values("$.networks[*].class", relative)) == ["cellular"])
    }

    @Test func aWrongMapShowsTheLineWithACaret() throws {
        let binary = try Binary()
        let path = try binary.home.write(".config/transfer-run/networks.yaml", "interfaces:\n  eth0: { clas: wired }\n")
        let result = try binary.run("status")
        #expect(result.exitStatus == 2 && result.output.isEmpty)
        #expect(result.errorText.contains("\(path):2:11: error: unknown key `clas`"))
        #expect(result.errorText.contains("^^^^") && result.errorText.contains("did you mean `class`?"))
    }

    /// Only a job that depends on the kind of network needs the map.
    @Test func aMapThatCannotBeReadStopsOnlyJobsThatDependOnIt() throws {
        let binary = try Binary()
        try binary.home.makeFolder(".config/transfer-run")
        try binary.home.link(".config/transfer-run/networks.yaml", to: "networks.yaml")
        try binary.folder.write("any.yaml", "tasks: [{ id: a, url: \"data:,x\" }]")
        try binary.folder.write(
            "choosy.yaml", "tasks: [{ id: a, url: \"https://h.invalid/\", allowsCellularAccess: false }]")
        let any = try binary.run("any.yaml")
        #expect(any.exitStatus == 0)
        #expect(any.errorText.contains("warning: cannot read ") && any.errorText.contains("networks.yaml: "))
        let choosy = try binary.run("choosy.yaml")
        #expect(choosy.exitStatus == 2 && choosy.errorText.hasPrefix("error: cannot read "), "\(choosy.errorText)")
    }

    @Test func aMapThatCannotBeReadIsNoEmptyOne() throws {
        let binary = try Binary()
        try binary.home.makeFolder(".config/transfer-run/networks.yaml")
        let result = try binary.run("status")
        #expect(result.exitStatus == 2)
        #expect(result.errorText.contains("networks.yaml: not a regular file"))
    }

    @Test func runsAreToldWithWhatTheirTasksWaitFor() throws {
        let server = try ScriptedServer { _ in [.gate("open")] + .respond(200, body: "x") }
        defer { server.stop() }
        let stage = try Stage()
        let program = try stage.start(
            """
            name: nightly
            sessions: { s: { maximumConcurrentTasks: 1 } }
            tasks:
              - { id: first, session: s, url: "\(server.url("/1"))", to: one }
              - { id: second, session: s, url: "\(server.url("/2"))", to: two }
              - { id: third, session: s, url: "\(server.url("/3"))", to: three, needs: [second] }
              - { id: fourth, session: s, url: "\(server.url("/4"))", to: four, needs: [third] }
            """)
        #expect(server.waitForRequests(1))
        _ = try stage.binary.run("suspend", "\(program.processID)", "fourth")
        for words in [["status", "--json"], ["status", "--json", "\(program.processID)"]] {
            let result = try stage.binary.run(arguments: words)
            #expect(try values("$.runs[*].pid", result) == ["\(program.processID)"])
            #expect(try values("$.runs[0].job", result) == ["nightly"])
            #expect(try values("$.runs[0].tasks[*].id", result) == ["first", "second", "third", "fourth"])
            #expect(try values("$.runs[0].tasks[*].state", result) == ["running", "waiting", "waiting", "suspended"])
            #expect(try values("$.runs[0].tasks[*].attempts", result) == ["1", "0", "0", "0"])
            #expect(
                try values("$.runs[0].tasks[1:].waitingFor", result) == ["sessionLimit", "dependency", "suspended"])
            #expect(try values("$.runs[0].counts.waiting", result) == ["2"])
        }
        let text = try stage.binary.run("status").outputText
        #expect(!text.contains("networks\n"))
        #expect(text.contains("  \(program.processID)  nightly: 2 waiting, 1 running, 1 suspended\n"))
        #expect(text.contains("    second waits for a free place in its session (`maximumConcurrentTasks`)\n"))
        _ = try stage.binary.run("resume", "\(program.processID)", "fourth")
        server.open(gate: "open")
        #expect(try stage.finish(program).status == 0)
        #expect(try stage.binary.run("status").outputText == "no run is under way\n")
    }

    /// What holds a task back is shown without being asked for.
    @Test func networksAreShown_whereATaskWaitsForOne() throws {
        let stage = try Stage()
        let program = try stage.start(
            """
            sessions: { s: { waitsForConnectivity: true } }
            tasks: [{ id: a, session: s, url: "http://127.0.0.1:9/a", to: a, allowsCellularAccess: false }]
            """, ["--network", "cellular"])
        #expect(program.waitForOutput("waits for a network"))
        let text = try stage.binary.run("status").outputText
        #expect(text.hasPrefix("runs\n") && text.contains("    a waits for a network"), "\(text)")
        #expect(text.contains("\nnetworks\n") && text.contains("\npower: "), "\(text)")
        program.send(signal: 15)
        _ = program.wait()
    }

    /// It goes on until somebody ends it, or nobody reads it any more.
    @Test func isShownAgainWhenItChanges() throws {
        let binary = try Binary()
        let program = try binary.start(["status", "--watch"])
        #expect(program.waitForOutput("no run is under way\n"))
        program.send(signal: 15)
        #expect(program.wait().ending == .signal(15))
        let cut = try binary.start(
            ["status", "--watch"], timeout: .seconds(30), under: ["/bin/sh", "-c", "\"$@\" | head -n 1", "sh"])
        #expect(cut.wait().outputText == "no run is under way\n")
    }
}

/// The same in networks of their own.
@Suite(.enabled(if: NetworkNamespace.isAllowed)) struct StatusInNamespacesTests {
    @Test func namesTellAndWhatCanBeUsedStandsFirst() throws {
        let space = try NetworkNamespace()
        for (number, name) in ["far0", "wlp1s0", "wwp2s0", "enp3s0"].enumerated() {
            try space.addCable(name)
            if number > 1 { try space.plug(name, "10.7.\(number).1/24") }
        }
        let result = try Binary().start(["status", "--json"], under: space.wrapper).wait()
        #expect(result.exitStatus == 0)
        let value = try JSONParser.parse(result.output)
        let names = try JSONPath("$.networks[*].interface").select(from: value).map { $0.plainText }
        #expect(names.prefix(2) == ["wwp2s0", "enp3s0"])
        let classes = try JSONPath("$.networks[*].class").select(from: value).map { $0.plainText }
        #expect(classes.prefix(2) == ["cellular", "wired"])
        #expect(try JSONPath("$.networks[?@.interface=='wlp1s0'].usable").select(from: value) == [.boolean(false)])
    }

    @Test func changesAreShown() throws {
        let space = try NetworkNamespace()
        try space.addCable("wwp2s0")
        let program = try Binary().start(["status", "--watch", "-v"], under: space.wrapper)
        #expect(program.waitForOutput("wwp2s0"))
        try space.plug("wwp2s0", "10.7.0.1/24")
        #expect(program.waitForOutput("wwp2s0      cellular, metered  there"))
        program.send(signal: 15)
        _ = program.wait()
    }
}
