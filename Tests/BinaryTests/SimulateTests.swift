import TestSupport
import Testing
import TextFormats
import TransferModel

/// `simulate`: a run that does not happen.
@Suite struct SimulateTests {
    private static let model = "hosts: { '*': { latency: 100ms, spread: 0, connect: 0s, bandwidth: 10MB/s } }\n"
    private static func job(_ count: Int = 30) -> String {
        """
        sessions: { default: { maximumConnectionsPerHost: 3 } }
        tasks: [{ id: 't-${n}', forEach: { n: 1..\(count) }, url: 'https://h.invalid/${n}', to: 'a/${n}', sizeHint: 1000 }]

        """
    }

    private func binary(_ count: Int = 30) throws -> Binary {
        let binary = try Binary()
        try binary.folder.write("job.yaml", Self.job(count))
        try binary.folder.write("net.yaml", Self.model)
        return binary
    }

    @Test func theTextSaysHowLongAndWhatBinds() throws {
        let binary = try binary()
        let result = try binary.run("simulate", "job.yaml", "--model", "net.yaml")
        #expect(result.exitStatus == 0, "\(result.errorText)")
        try Snapshot.check(result.outputText, "Golden/simulate.txt")
        #expect(binary.folder.list() == ["job.yaml", "net.yaml"])
    }

    @Test func theReportIsOneOfTheContract_andSaysThatItIsSimulated() throws {
        let binary = try binary()
        let result = try binary.run("simulate", "job.yaml", "--model", "net.yaml", "--json", "--seed", "5")
        #expect(result.exitStatus == 0, "\(result.errorText)")
        let schema = try SchemaValidator(
            schema: TemporaryTree.bytes(at: "\(Binary.packageRoot)/schemas/report.schema.json"))
        let problems = schema.problems(in: result.output)
        #expect(problems.isEmpty, "\(problems.prefix(5))")
        let report = try JSONParser.parse(result.output)
        #expect(report["simulated"] == .boolean(true))
        #expect(try PlanTests.value(report, "$.totals['tasks','succeeded','bytesReceived']") == ["30", "30", "30000"])
        #expect(try PlanTests.value(report, "$.tasks[0]['id','outcome']") == ["t-1", "succeeded"])
        #expect(try PlanTests.value(report, "$.sessions[0].hosts[0].host") == ["https://h.invalid:443"])
        #expect(try PlanTests.value(report, "$.tasks[29].waits[0].reason") == ["hostLimit"])
        let again = try binary.run("simulate", "job.yaml", "--model", "net.yaml", "--json", "--seed", "5")
        #expect(
            try PlanTests.value(JSONParser.parse(again.output), "$.duration") == PlanTests.value(report, "$.duration"))
        // It can be read like any other report.
        try binary.folder.write("simulated.json", result.output)
        #expect(try binary.run("explain", "simulated.json").outputText.contains("a free connection to the host"))
    }

    @Test func aSweepIsATableAndAPage() throws {
        let binary = try binary()
        let sweep = "sessions.default.maximumConnectionsPerHost=1,3,10"
        let result = try binary.run(
            arguments: ["simulate", "job.yaml", "--model", "net.yaml", "--sweep", sweep, "--html", "plot.html"])
        #expect(result.exitStatus == 0, "\(result.errorText)")
        try Snapshot.check(result.outputText, "Golden/simulate-sweep.txt")
        #expect(try binary.folder.text("plot.html").contains("<polyline"))
    }

    @Test(arguments: [
        (["simulate", "job.yaml"], "needs to know what the network is like"),
        (["simulate", "job.yaml", "--model", "no.yaml"], "cannot read the model no.yaml: no such file"),
        (["simulate", "job.yaml", "--model", "net.yaml", "--from", "r.json"], "both say"),
        (["simulate", "job.yaml", "--model", "net.yaml", "--seed", "x"], "`--seed` must be"),
        (["simulate", "job.yaml", "--model", "net.yaml", "--sweep", "limits.x=1"], "cannot be varied"),
        (["simulate", "job.yaml", "--model", "net.yaml", "--html", "x.html"], "plots a sweep"),
        (["simulate", "job.yaml", "--model", "bad.yaml"], "bad.yaml:1:26: error: `latency` must be a duration"),
        (["simulate", "job.yaml", "--from", "net.yaml"], "net.yaml"),
    ])
    func wrongWordsAreRefused(_ words: [String], _ message: String) throws {
        let binary = try binary()
        try binary.folder.write("bad.yaml", "hosts: { '*': { latency: soon } }\n")
        let result = try binary.run(arguments: words)
        #expect(result.exitStatus == 2 && result.output.isEmpty)
        #expect(result.errorText.contains(message), "\(result.errorText)")
    }

    /// The example's model, with the example that docs/before-a-run.md names.
    @Test func theExamplesModelIsRead() throws {
        let example = "\(Binary.packageRoot)/examples/polite-mirror"
        let result = try Binary().run(
            arguments: [
                "simulate", "\(example)/polite-mirror.transfer.yaml", "--model", "\(example)/networks/home-line.yaml",
                "--set", "site=http://mirror.example.org",
            ])
        #expect(result.exitStatus == 0, "\(result.errorText)")
        #expect(result.outputText.contains("8 succeeded") && result.outputText.contains("http://mirror.example.org:80"))
    }

    @Test func tenThousandTasksTakeNoTime() throws {
        let binary = try binary(10_000)
        let result = try binary.run("simulate", "job.yaml", "--model", "net.yaml", timeout: .seconds(60))
        #expect(result.exitStatus == 0 && result.outputText.contains("10,000 tasks"))
    }

    /// A recorded run tells how the next one goes, with another setting too: within a fifth. Nearly all of its time is the
    /// server's own, so that a busy machine changes little; a run that it does disturb is measured once more.
    @Test func fromARecordedRunTheNextIsForeseen() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        let piece = [UInt8](repeating: 0x61, count: 50_000)
        let head = Script.head(200, [("Content-Length", "\(4 * piece.count)")])
        let slow: Script = [
            .wait(.milliseconds(100)), .bytes(head + piece), .wait(.milliseconds(60)), .bytes(piece),
            .wait(.milliseconds(60)), .bytes(piece), .wait(.milliseconds(60)), .bytes(piece),
        ]
        for number in 1...24 { server.on("/\(number)", slow) }
        let binary = try Binary()
        func job(_ connections: Int) -> String {
            """
            sessions: { default: { configuration: ephemeral, maximumConnectionsPerHost: \(connections) } }
            tasks: [{ id: 't-${n}', forEach: { n: 1..24 }, url: '\(server.url(""))/${n}', to: 'a/${n}', existing: replace }]

            """
        }
        /// Runs it, and returns how long that took.
        func run(_ connections: Int, report: String) throws -> Double {
            try binary.folder.write("run.yaml", job(connections))
            let result = try binary.run("run.yaml", "-q", "--report", report)
            #expect(result.exitStatus == 0, "\(result.errorText)")
            return try duration(JSONParser.parse(binary.folder.bytes(report)))
        }
        var misses: [String] = []
        for _ in 0..<3 {
            let happened = [4: try run(4, report: "recorded.json"), 2: try run(2, report: "other.json")]
            misses = try happened.compactMap { connections, seconds in
                try binary.folder.write("foreseen.yaml", job(connections))
                let result = try binary.run("simulate", "foreseen.yaml", "--from", "recorded.json", "--json")
                #expect(result.exitStatus == 0, "\(result.errorText)")
                let foreseen = try duration(JSONParser.parse(result.output))
                return abs(foreseen - seconds) <= 0.2 * seconds
                    ? nil : "\(connections) connections: \(foreseen) s foreseen, \(seconds) s happened"
            }
            if misses.isEmpty { return }
        }
        Issue.record("\(misses)")
    }

    /// Bodies that come with their heads tell no rate, also where some fall over the end of a millisecond.
    @Test func fromARunOfSmallFilesTheNextIsForeseen() throws {
        let server = try ScriptedServer { _ in .respond(200, body: Script.patternBytes(1_000)) }
        defer { server.stop() }
        let binary = try Binary()
        try binary.folder.write(
            "small.yaml",
            """
            sessions: { default: { configuration: ephemeral } }
            tasks: [{ id: 't-${n}', forEach: { n: 1..100 }, url: '\(server.url(""))/${n}', to: 'a/${n}', existing: replace }]

            """)
        for _ in 0..<3 {
            let result = try binary.run("small.yaml", "-q", "--report", "small.json")
            #expect(result.exitStatus == 0, "\(result.errorText)")
            let happened = try duration(JSONParser.parse(binary.folder.bytes("small.json")))
            let told = try binary.run("simulate", "small.yaml", "--from", "small.json", "--json")
            #expect(told.exitStatus == 0, "\(told.errorText)")
            let foreseen = try duration(JSONParser.parse(told.output))
            #expect(foreseen > happened / 50 && foreseen < 10 * happened + 0.1, "\(foreseen) s for \(happened) s")
        }
    }

    private func duration(_ report: JSONValue) throws -> Double {
        try #require(Double(try PlanTests.value(report, "$.duration")[0]))
    }
}
