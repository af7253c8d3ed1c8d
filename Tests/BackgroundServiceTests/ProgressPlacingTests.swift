import BackgroundService
import TestSupport
import Testing
import TransferModel

/// Progress stands where it belongs among the events, or nowhere.
struct ProgressPlacingTests {
    private static let job: Job = {
        var job = Job(name: "j", file: "j", baseDirectory: "/")
        job.tasks = ["a", "b"].map { id in
            TaskSpecification(
                id: id, type: .data, session: SessionIndex(raw: 0), location: .awaitingCapture(SecretText("")),
                destination: nil, line: 1, options: TaskOptions(TaskOptions.Values(policies: TransferPolicies())))
        }
        return job
    }()
    private var placing = ProgressPlacing(job)

    private func event(_ sequence: UInt64, _ task: UInt32, _ kind: Event.Kind, at time: Int64 = 0) -> Event {
        Event(
            time: WallTime(nanoseconds: time), sequence: sequence, session: SessionIndex(raw: 0),
            task: TaskIndex(raw: task), kind: kind)
    }
    private let start = Event.Kind.attemptStarted(AttemptStart(number: 1, url: "http://x/"))
    private let response = Event.Kind.response(
        ResponseRecord(
            status: 200, url: "http://x/", method: "GET", mimeType: nil, charset: nil, expectedLength: nil,
            suggestedFilename: nil, contentEncoding: nil, headers: .empty))

    private func progress(
        _ task: String, _ direction: TaskProgress.Direction, _ bytes: Int64, after: UInt64, at time: Int64 = 0
    ) -> TaskProgress {
        TaskProgress(
            identifier: "i", task: task, direction, bytes: bytes, expected: nil, after: after,
            at: WallTime(nanoseconds: time))
    }

    private mutating func told() -> [String] {
        placing.placed().map { event in
            switch event.kind {
            case .sentBodyData(let told): "sent \(told.bytes) \(event.time.nanoseconds)"
            case .receivedData(let told): "received \(told.bytes) \(event.time.nanoseconds)"
            default: "?"
            }
        }
    }

    @Test mutating func itWaitsForWhatCameBefore() {
        placing.receive(progress("a", .received, 1, after: 2, at: 5))
        #expect(told() == [])
        placing.passed([event(1, 0, start)][...])
        #expect(told() == [])
        placing.receive(progress("a", .received, 2, after: 2, at: 6))
        placing.passed([event(2, 0, response, at: 7)][...])
        // The last word, and never a time that lies before the event before it.
        #expect(told() == ["received 2 7"])
        placing.receive(progress("a", .received, 3, after: 2, at: 9))
        #expect(told() == ["received 3 9"])
        #expect(told() == [])
    }

    @Test mutating func itComesInAnAttemptThatCanHaveMadeIt() {
        placing.passed([event(1, 0, start), event(2, 1, start)][...])
        placing.receive(progress("a", .received, 1, after: 0))
        placing.receive(progress("b", .sent, 2, after: 2))
        placing.receive(progress("nobody", .sent, 3, after: 2))
        #expect(told() == ["sent 2 0"])
        placing.passed([event(3, 0, response), event(4, 1, response)][...])
        placing.receive(progress("b", .sent, 4, after: 3))
        placing.receive(progress("a", .received, 5, after: 3))
        #expect(told() == ["received 5 0"])
        placing.receive(progress("a", .received, 6, after: 4))
        placing.passed([event(5, 0, .taskFinished(Self.end))][...])
        #expect(told() == [], "it is over")
    }

    private static let end = TaskRecord(
        outcome: .succeeded, tolerated: false, changed: nil, source: nil, waits: [], error: nil, body: nil,
        lengthUnverified: false, captures: [], duration: .zero, explanation: nil)
}
