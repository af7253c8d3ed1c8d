import Exports
import TestSupport
import Testing
import TransferModel

@Suite struct RequestPhasesTests {
    private func at(_ milliseconds: Int64) -> WallTime { WallTime(nanoseconds: milliseconds * 1_000_000) }

    private func lengths(_ phases: RequestPhases) -> [Int64] {
        RequestPhases.Phase.allCases.map { phases.lengths[$0] / 1_000_000 }
    }

    @Test func aRequestOnANewConnection() {
        var request = TransactionMetrics(method: "", url: "", fetchStart: WallTime(nanoseconds: 0))
        request.fetchStart = at(10)
        (request.domainLookupStart, request.domainLookupEnd) = (at(12), at(20))
        (request.connectStart, request.secureConnectionStart) = (at(20), at(30))
        (request.secureConnectionEnd, request.connectEnd) = (at(45), at(45))
        (request.requestStart, request.requestEnd) = (at(46), at(50))
        (request.responseStart, request.responseEnd) = (at(80), at(120))
        let phases = RequestPhases(request, end: at(500))
        #expect(lengths(phases) == [3, 8, 10, 15, 4, 30, 40])
        #expect(phases.end == at(120).nanoseconds)
    }

    @Test func aRequestOnAKeptConnection_queuesAndWaits() {
        var request = TransactionMetrics(method: "", url: "", fetchStart: WallTime(nanoseconds: 0))
        request.fetchStart = at(0)
        (request.requestStart, request.requestEnd) = (at(5), at(5))
        (request.responseStart, request.responseEnd) = (at(25), at(26))
        #expect(lengths(RequestPhases(request, end: at(500))) == [5, 0, 0, 0, 0, 20, 1])
    }

    @Test func aConnectionThatIsNotMade_connectsToTheEnd() {
        var request = TransactionMetrics(method: "", url: "", fetchStart: WallTime(nanoseconds: 0))
        (request.domainLookupStart, request.domainLookupEnd, request.connectStart) = (at(0), at(4), at(4))
        #expect(lengths(RequestPhases(request, end: at(100))) == [0, 4, 96, 0, 0, 0, 0])
    }

    @Test func aRequestWithoutAnAnswer_waitsToTheEnd() {
        var request = TransactionMetrics(method: "", url: "", fetchStart: WallTime(nanoseconds: 0))
        request.requestStart = at(2)
        #expect(lengths(RequestPhases(request, end: at(100))) == [2, 0, 0, 0, 0, 98, 0])
        request.requestBodyBytesSent = 10
        #expect(lengths(RequestPhases(request, end: at(100))) == [2, 0, 0, 0, 98, 0, 0])
    }

    /// An attempt's duration is without the waits between its requests: the last may begin after it.
    @Test func aRequestAfterTheAttemptsEnd_coversItsOwnTimes() {
        var request = TransactionMetrics(method: "", url: "", fetchStart: WallTime(nanoseconds: 0))
        request.fetchStart = at(50)
        (request.connectStart, request.connectEnd, request.requestStart) = (at(52), at(60), at(61))
        #expect(lengths(RequestPhases(request, end: at(40))) == [3, 0, 8, 0, 0, 0, 0])
    }

    /// Times are rounded and may come in the wrong order: the phases still cover the request, and no more.
    @Test func thePhasesAlwaysCoverTheRequest() {
        var random = Seeded("thePhasesAlwaysCoverTheRequest")
        for _ in 0..<2_000 {
            var request = TransactionMetrics(method: "", url: "", fetchStart: WallTime(nanoseconds: 0))
            request.fetchStart = at(Int64.random(in: 0..<50, using: &random))
            func some() -> WallTime? {
                Bool.random(using: &random) ? at(Int64.random(in: 0..<100, using: &random)) : nil
            }
            (request.domainLookupStart, request.domainLookupEnd, request.connectStart) = (some(), some(), some())
            (request.secureConnectionStart, request.secureConnectionEnd) = (some(), some())
            (request.connectEnd, request.requestStart, request.requestEnd) = (some(), some(), some())
            (request.responseStart, request.responseEnd) = (some(), some())
            let phases = RequestPhases(request, end: at(Int64.random(in: 0..<100, using: &random)))
            let sum = RequestPhases.Phase.allCases.reduce(0) { $0 + phases.lengths[$1] }
            #expect(sum == phases.end - phases.start)
            #expect(RequestPhases.Phase.allCases.allSatisfy { phases.lengths[$0] >= 0 })
        }
    }

    @Test func sumsInStepsAreThoseOfACount() {
        var random = Seeded("sumsInStepsAreThoseOfACount")
        for _ in 0..<200 {
            var sums = StepSums(10)
            var counted = [Double](repeating: 0, count: 10)
            for _ in 0..<20 {
                let from = Double.random(in: -2..<11, using: &random)
                let to = from + Double.random(in: 0..<9, using: &random)
                sums.add(from: from, to: to, weight: 3)
                for step in 0..<10 {
                    counted[step] += 3 * max(0, min(to, Double(step + 1)) - max(from, Double(step)))
                }
            }
            #expect(zip(sums.sums(), counted).allSatisfy { abs($0 - $1) < 1e-9 })
        }
    }
}
