import Exports
import SimulatedJobs
import Testing
import TransferModel

/// What a report tells of a host's rates.
@Suite struct MeasuredNetworkTests {
    /// A request whose body came in that span, in milliseconds of the run.
    private func task(_ number: Int, from: Int64, to: Int64, bytes: Int64) -> ReportedTask {
        func at(_ milliseconds: Int64) -> WallTime { WallTime(nanoseconds: 0) + .milliseconds(milliseconds) }
        var request = TransactionMetrics(method: "GET", url: "https://h.example/\(number)", fetchStart: at(from - 2))
        request.status = 200
        (request.requestStart, request.responseStart, request.responseEnd) = (at(from - 2), at(from), at(to))
        request.responseBodyBytesReceived = bytes
        var attempt = ReportedAttempt()
        attempt.transactions = [request]
        var task = ReportedTask()
        task.id = "t-\(number)"
        task.outcome = .succeeded
        task.attempts = [attempt]
        return task
    }

    private func host(_ tasks: [ReportedTask]) throws -> NetworkModel.Host {
        var measured = MeasuredNetwork()
        for task in tasks { measured.add(task) }
        return try #require(measured.model(source: "report.json").rules.first?.host)
    }

    /// Three of a hundred fall over the end of a millisecond.
    @Test func bodiesThatComeWithTheirHeads_tellNoRate() throws {
        let host = try host(
            (0..<100).map { number in
                let from = Int64(number) * 20
                return task(number, from: from, to: from + (number % 33 == 5 ? 1 : 0), bytes: 1_000)
            })
        #expect(host.bandwidth == nil && host.connectionBandwidth == nil && host.mostSeen == nil)
        #expect(host.latency.seconds == 0.002)
    }

    /// Nothing comes for most of the run.
    @Test func timeInWhichNothingMoves_isNoSlowTime() throws {
        let host = try host(
            (0..<5).map { number in
                let from = Int64(number) * 60_000
                return task(number, from: from, to: from + 100, bytes: 1_000_000)
            })
        #expect(host.bandwidth == 10_000_000 && host.connectionBandwidth == 10_000_000 && host.mostSeen == 1)
    }

    @Test func smallBodiesOverASlowLine_tellItsRateTogether() throws {
        let host = try host(
            (0..<20).map { number in
                let from = Int64(number) * 600
                return task(number, from: from, to: from + 500, bytes: 10_000)
            })
        #expect(host.bandwidth == 20_000 && host.connectionBandwidth == 20_000 && host.mostSeen == 1)
    }

    @Test func bodiesThatComeTogether_shareTheHostsRate() throws {
        let host = try host(
            (0..<8).map { number in
                let from = Int64(number / 4) * 1_000
                return task(number, from: from, to: from + 1_000, bytes: 10_000)
            })
        #expect(host.bandwidth == 40_000 && host.connectionBandwidth == 10_000 && host.mostSeen == 4)
    }

    @Test func fewLargeBodies_outweighManySmallOnes() throws {
        let small = (0..<200).map { task($0, from: Int64($0) * 10, to: Int64($0) * 10 + 5, bytes: 100) }
        let large = (200..<204).map { number in
            task(number, from: Int64(number) * 100, to: Int64(number) * 100 + 50, bytes: 5_000_000)
        }
        #expect(try host(small + large).connectionBandwidth == 100_000_000)
    }
}
