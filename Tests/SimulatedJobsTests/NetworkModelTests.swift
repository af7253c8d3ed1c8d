import Diagnostics
import SimulatedJobs
import TestSupport
import Testing
import TransferModel

/// Models as people write them, and mistakes in them.
@Suite struct NetworkModelTests {
    @Test func everyKeyIsRead() throws {
        let model = try model(
            """
            delivery: 5ms
            hosts:
              "*.example.org:8080":
                latency: 40ms
                spread: 0.5
                connect: 80ms
                bandwidth: 50MiB/s
                connectionBandwidth: 5MiB/s
                maximumConnections: 8
                version: "2"
                size: { minimum: 1kB, maximum: 2MB }
                statuses: { 503: 1%, 404: 0.2% }
                faults: { cut: 1%, hangUp: 0.5%, timeout: 0.1% }
                retryAfter: 5s

            """)
        let host = try #require(model.rules.first?.host)
        #expect(host.latency.seconds == 0.04 && host.spread == 0.5 && host.connect.seconds == 0.08)
        #expect(host.bandwidth == 50 << 20 && host.connectionBandwidth == 5 << 20 && host.maximumConnections == 8)
        #expect(host.isShared && host.size == 1000...2_000_000)
        #expect(host.statuses == [503: 10, 404: 2] && (host.cuts, host.hangUps, host.timeouts) == (10, 5, 1))
        #expect(host.retryAfter?.seconds == 5 && model.delivery.seconds == 0.005)
    }

    @Test(arguments: [
        ("empty", ""), ("no-hosts", "delivery: 5ms\n"),
        (
            "many-mistakes",
            """
            hosts:
              "a b": {}
              one: { latancy: 5ms, latency: fast, bandwidth: 10MB, connectionBandwidth: 5MB/sec, size: big }
              two: { statuses: { 200: 1%, 503: 60% }, faults: { cut: 41%, hangup: 1% }, version: 3 }
              three: { maximumConnections: 0, statuses: { 500: 0.01% }, size: { minimum: 2MB, maximum: 1MB } }
              four: [1]

            """
        ),
    ])
    func mistakesAreToldAtTheirPlace(_ name: String, _ text: String) throws {
        let (model, problems) = NetworkModelReader.read(SourceText(name: "net.yaml", bytes: Array(text.utf8)))
        #expect(model == nil && problems.hasErrors)
        try Snapshot.check(DiagnosticRenderer.text(problems.sorted(), color: false), "Golden/\(name).txt")
    }

    @Test func anyTextIsReadOrRefused() {
        var random = Seeded("anyTextIsReadOrRefused")
        let pieces = [
            "hosts:", "\n", "  '*': ", "{", "}", "latency: ", "5ms", "statuses: ", "503: 1%", "101%", "faults: ",
            "cut: ",
            "size: ", "-1", ", ", "[", "]", "\t", "null", "&a", "*a", "version: '2'", "1e400", "0.1%",
        ]
        for _ in 0..<Rounds.scaled(3000) {
            let text = (0..<random.below(16)).map { _ in random.pick(pieces) }.joined()
            let (model, problems) = NetworkModelReader.read(SourceText(name: "net.yaml", bytes: Array(text.utf8)))
            #expect((model == nil) == problems.hasErrors, "\(text.debugDescription)")
        }
    }
}
