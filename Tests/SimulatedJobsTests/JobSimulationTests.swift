import SimulatedJobs
import TestSupport
import Testing
import TransferModel

/// What a modelled network makes of a job: durations that can be worked out by hand.
@Suite struct JobSimulationTests {
    private func many(_ count: Int, _ top: String = "", size: String = "1000000") throws -> Job {
        try job(
            top
                + "tasks: [{ id: 't-${n}', forEach: { n: 1..\(count) }, url: 'https://h.example/${n}', to: 'a/${n}', sizeHint: \(size) }]"
        )
    }

    private static let plain = "latency: 100ms, spread: 0, connect: 0s"

    @Test func latencyOverConnections_isTheDuration() throws {
        let job = try many(60, "sessions: { default: { maximumConnectionsPerHost: 6 } }\n", size: "0")
        let summary = run(job, try model("hosts: { '*': { \(Self.plain) } }"))
        #expect(abs(seconds(summary) - 1.0) < 0.001, "\(seconds(summary))")
        #expect(summary.outcomes == [.succeeded: 60] && summary.retries == 0)
    }

    @Test func bandwidthOfTheHost_isSharedByItsConnections() throws {
        // 20 MB at 10 MB/s, and the latency of ten rounds of which all but the first overlap with nothing.
        let summary = run(try many(20), try model("hosts: { '*': { latency: 0s, connect: 0s, bandwidth: 10MB/s } }"))
        #expect(abs(seconds(summary) - 2.0) < 0.01, "\(seconds(summary))")
        #expect(summary.bytes == 20_000_000)
    }

    /// A report does not show what more connections would have moved.
    @Test func aMeasuredLine_isOnlyTheMostThatTheReportShows() throws {
        var net = try model("hosts: { '*': { latency: 0s, connect: 0s, bandwidth: 10MB/s } }")
        let modelled = run(try many(20), net).lines(seed: 1).joined(separator: "\n")
        #expect(modelled.contains("no setting of the job makes it faster"), "\(modelled)")
        net.rules[0].host.mostSeen = 3
        let measured = run(try many(20), net).lines(seed: 1).joined(separator: "\n")
        #expect(measured.contains("(at 3 requests at a time)") && !measured.contains("no setting"), "\(measured)")
    }

    @Test func bandwidthOfAConnection_holdsHoweverFewThereAre() throws {
        let one = run(
            try many(1), try model("hosts: { '*': { latency: 0s, connect: 0s, connectionBandwidth: 1MB/s } }"))
        #expect(abs(seconds(one) - 1.0) < 0.01, "\(seconds(one))")
        // Six connections of 1 MB/s, under a line of 4 MB/s.
        let both = "hosts: { '*': { latency: 0s, connect: 0s, connectionBandwidth: 1MB/s, bandwidth: 4MB/s } }"
        let six = run(try many(12), try model(both))
        #expect(abs(seconds(six) - 3.0) < 0.05, "\(seconds(six))")
    }

    @Test func connectionsAreMadeOnce() throws {
        let job = try many(6, "sessions: { default: { maximumConnectionsPerHost: 2 } }\n", size: "0")
        let summary = run(job, try model("hosts: { '*': { latency: 100ms, spread: 0, connect: 500ms } }"))
        #expect(abs(seconds(summary) - 0.8) < 0.001, "\(seconds(summary))")
        let shared = run(job, try model("hosts: { '*': { latency: 100ms, spread: 0, connect: 500ms, version: '2' } }"))
        #expect(seconds(shared) < seconds(summary))
    }

    @Test func limitsOfTheJobBind() throws {
        let net = try model("hosts: { '*': { \(Self.plain) } }")
        let paced = try many(10, "sessions: { default: { requestsPerSecond: 10 } }\n", size: "0")
        #expect(abs(seconds(run(paced, net)) - 1.0) < 0.05, "\(seconds(run(paced, net)))")
        let limited = try many(10, "limits: { bandwidth: 5MB/s }\n")
        #expect(abs(seconds(run(limited, net)) - 2.0) < 0.3, "\(seconds(run(limited, net)))")
        #expect(run(limited, net).lines(seed: 1).joined(separator: "\n").contains("`limits.bandwidth`"))
        let few = try many(12, "sessions: { default: { maximumConnectionsPerHost: 2 } }\n", size: "0")
        let text = run(few, net).lines(seed: 1).joined(separator: "\n")
        #expect(text.contains("sessions.default.maximumConnectionsPerHost"), "\(text)")
    }

    @Test func tooManyConnectionsAreTurnedAway() throws {
        let job = try many(8, "sessions: { default: { maximumConnectionsPerHost: 8 } }\n", size: "0")
        let summary = run(job, try model("hosts: { '*': { \(Self.plain), maximumConnections: 4 } }"))
        #expect(summary.retries > 0 && summary.failures == 0)
        #expect(summary.lines(seed: 1).joined(separator: "\n").contains("answered 503"))
    }

    @Test func faultsLeadToRetriesAndFailures() throws {
        let job = try many(400, size: "10000")
        let none = run(job, try model("hosts: { '*': { \(Self.plain) } }"))
        let some = run(
            job, try model("hosts: { '*': { \(Self.plain), statuses: { 503: 5%, 404: 2% }, faults: { cut: 2% } } }"))
        #expect(none.retries == 0 && none.failures == 0)
        #expect(some.retries > 5 && some.failures > 1 && some.failures < 40)
        #expect(some.duration > none.duration)
        let all = run(try many(3), try model("hosts: { '*': { \(Self.plain), statuses: { 404: 100% } } }"))
        #expect(all.failures == 3)
    }

    @Test func theSameSeedGivesTheSame_andTheOrderOfHostsIsTheFilesOwn() throws {
        let job = try many(50)
        let net = try model(
            """
            hosts:
              h.example: { latency: 10ms, size: { minimum: 1kB, maximum: 1MB }, bandwidth: 20MB/s, faults: { hangUp: 3% } }
              "*": { latency: 10s }

            """)
        #expect(run(job, net, seed: 7).duration == run(job, net, seed: 7).duration)
        #expect(run(job, net, seed: 7).duration != run(job, net, seed: 8).duration)
        #expect(seconds(run(job, net, seed: 7)) < 10)
    }

    /// Durations never shrink when the network gets slower in every way: without faults, over one host.
    @Test func aSlowerNetworkIsNeverQuicker() throws {
        var random = Seeded("aSlowerNetworkIsNeverQuicker")
        for _ in 0..<Rounds.scaled(40) {
            let connections = 1 + random.below(8)
            let job = try many(
                1 + random.below(60), "sessions: { default: { maximumConnectionsPerHost: \(connections) } }\n",
                size: "\(random.below(1 << 22))")
            let (latency, rate) = (1 + random.below(300), 1 + random.below(50))
            func net(_ factor: Int) throws -> NetworkModel {
                try model(
                    "hosts: { '*': { latency: \(latency * factor)ms, spread: 0, connect: \(latency * factor)ms, bandwidth: \(rate * 1000 / factor)kB/s } }"
                )
            }
            let (fast, slow) = (run(job, try net(1)), run(job, try net(2)))
            #expect(fast.duration <= slow.duration)
            #expect(fast.bytes == slow.bytes)
        }
    }
}

/// Settings that a sweep varies.
@Suite struct SweepTests {
    private static let text = """
        sessions: { default: { maximumConnectionsPerHost: 6 } }
        tasks: [{ id: 't-${n}', forEach: { n: 1..48 }, url: 'https://h.example/${n}', to: 'a/${n}', sizeHint: 0 }]

        """

    @Test func eachCombinationIsSimulated() throws {
        let net = try model("hosts: { '*': { latency: 100ms, spread: 0, connect: 0s } }")
        let sweeps = [
            try Sweep("sessions.default.maximumConnectionsPerHost=2,4,8"),
            try Sweep("limits.maximumConcurrentTasks=1,64"),
        ]
        let table = try SweepTable(sweeps, job(Self.text), in: net, seed: 1, failFast: false)
        #expect(
            table.rows.map(\.values) == [
                ["2", "1"], ["2", "64"], ["4", "1"], ["4", "64"], ["8", "1"], ["8", "64"],
            ])
        let times = table.rows.map { ($0.summary.duration.seconds * 10).rounded() / 10 }
        #expect(times == [4.8, 2.4, 4.8, 1.2, 4.8, 0.6])
        let lines = table.lines(seed: 1)
        #expect(lines.filter { $0.hasSuffix("shortest") }.count == 1 && lines[6].hasSuffix("shortest"), "\(lines)")
    }

    @Test func thePageHasAPlotAndAsksForNothing() throws {
        let net = try model("hosts: { '*': { latency: 100ms } }")
        let table = try SweepTable(
            [try Sweep("sessions.default.maximumConnectionsPerHost=1,2"), try Sweep("limits.bandwidth=1MB/s,2MB/s")],
            job(Self.text), in: net, seed: 1, failFast: false)
        let page = table.html(job: "<b>&", source: "net.yaml", seed: 1)
        #expect(page.contains("<svg") && page.components(of: "<polyline") == 2 && page.components(of: "<tr>") == 5)
        #expect(page.contains("&lt;b&gt;&amp;") && !page.contains("<b>"))
        for word in ["<script", "http:", "https:", "url(", "src="] { #expect(!page.contains(word), "\(word)") }
    }

    @Test(arguments: [
        ("x", "gives no values"), ("limits.x=1", "cannot be varied"),
        ("sessions.other.bandwidth=1MB/s", "no session `other`"),
        ("limits.bandwidth=5", "must be a rate"), ("sessions.default.maximumConnectionsPerHost=0", "whole number"),
        ("limits.maximumConcurrentTasks=1,,2", "whole number"), ("limits.timeout=soon", "a duration"),
    ])
    func wrongSweepsAreRefused(_ text: String, _ message: String) throws {
        let net = try model("hosts: { '*': {} }")
        let job = try job(Self.text)
        do throws(Sweep.Problem) {
            _ = try SweepTable([try Sweep(text)], job, in: net, seed: 1, failFast: false)
            Issue.record("`\(text)` was taken")
        } catch {
            #expect(error.message.contains(message), "\(error.message)")
        }
    }

    @Test(arguments: [
        ("limits.bandwidth=1KB", "`1kB/s` (decimal) or `1KiB/s`"), ("limits.bandwidth=1MB", "per what: `1MB/s`"),
        ("limits.bandwidth=fast", "`KiB`, `MiB`"), ("limits.maximumBytes=10gb", "`10GB` (decimal) or `10GiB`"),
        ("limits.timeout=2hours", "did you mean `2h`?"),
        ("limits.timeout=soon", "as in `1h30m`"), ("limits.maximumConcurrentTasks=1-5", "=1,2,4`"),
    ])
    func aWrongValueOfASweepShowsRightOnes(_ text: String, _ hint: String) throws {
        let net = try model("hosts: { '*': {} }")
        let job = try job(Self.text)
        let problem = #expect(throws: Sweep.Problem.self) {
            try SweepTable([try Sweep(text)], job, in: net, seed: 1, failFast: false)
        }
        #expect(problem?.hint?.contains(hint) == true)
    }
}

extension String {
    /// How often a text stands in this one.
    fileprivate func components(of text: String) -> Int {
        var (count, rest) = (0, self[...])
        while let place = rest.firstRange(of: text) {
            count += 1
            rest = rest[place.upperBound...]
        }
        return count
    }
}
