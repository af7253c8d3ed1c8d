import Reporting
import TestSupport
import Testing
import TransferModel

/// What a run that was stopped says of requests that the same command would send twice.
@Suite struct ResentRequestTests {
    /// What ended the run before its second task.
    enum RunStop: Sendable { case finishBy, signal }

    /// Two tasks: the first has ended so, and the second was put off or cancelled.
    private func stopped(
        _ type: TaskType, _ method: String?, source: ResultSource = .network, report: String? = "j.report.json",
        _ advice: RerunAdvice = RerunAdvice(), by stop: RunStop = .finishBy, change: (inout Job) -> Void = { _ in }
    ) throws -> String {
        var job = Job(name: "j", file: "j.yaml", baseDirectory: "/srv")
        job.sessions = [SessionConfiguration(name: "default")]
        for number in 0..<2 {
            var values = TaskOptions.Values(policies: TransferPolicies())
            values.method = method
            job.tasks.append(
                TaskSpecification(
                    id: "t\(number)", type: type, session: SessionIndex(raw: 0),
                    location: .url(try ResourceURL.parse("https://example.org/\(number)")), destination: nil, line: 1,
                    options: TaskOptions(values)))
        }
        change(&job)
        let putOff = Explanation.sentence(
            outcome: .deferred, error: nil, waits: [], attempts: 0, deferral: .finishBy)
        func record(
            _ outcome: TaskOutcome, _ source: ResultSource?, _ explanation: String?, _ error: TransferError? = nil
        ) -> TaskRecord {
            TaskRecord(
                outcome: outcome, tolerated: false, changed: nil, source: source, waits: [], error: error, body: nil,
                lengthUnverified: false, captures: [], duration: .seconds(1), explanation: explanation)
        }
        let isSignal = stop == .signal
        let last = isSignal ? record(.cancelled, nil, nil, .stoppedBySignal) : record(.deferred, nil, putOff)
        let kinds: [(UInt32?, Event.Kind)] = [
            (0, .taskFinished(record(.succeeded, source, nil))), (1, .taskFinished(last)),
            (
                nil,
                .runFinished(
                    RunRecord(
                        outcome: isSignal ? .cancelled : .deferred, exitStatus: isSignal ? 130 : 75,
                        duration: .seconds(9)))
            ),
        ]
        let sink = MemorySink()
        let progress = PlainProgress(job: job, sink: sink, style: .init(advice: advice, report: report))
        let events = kinds.enumerated().map { number, entry in
            Event(
                time: WallTime(nanoseconds: 0), sequence: UInt64(number + 1), session: nil,
                task: entry.0.map { TaskIndex(raw: $0) }, kind: entry.1)
        }
        progress.consume(events[...])
        return sink.text
    }

    private static let same = "\nGo on: transfer-run run j.yaml\n"
    private static let goesOn = "\nExit status 75: some tasks are put off; the same command goes on with them.\n"

    @Test(arguments: [(TaskType.data, "POST"), (.data, "DELETE"), (.upload, "PUT"), (.upload, "POST")])
    func whereARequestWasSent_rerunGoesOn(_ type: TaskType, _ method: String) throws {
        let text = try stopped(type, method)
        #expect(
            text.contains(
                """
                1 of 2 tasks is not done.
                The same command sends 1 request again; `rerun` does only what is left.
                Go on: transfer-run rerun j.report.json
                Exit status 75: some tasks are put off; the command above goes on with them.

                """), "\(text)")
    }

    @Test func withoutAReport_itSaysWhatIsSentAgain() throws {
        let text = try stopped(.data, "POST", report: nil)
        #expect(text.contains("\nThe same command sends 1 request again.\(Self.same)"), "\(text)")
        var advice = RerunAdvice()
        advice.command = ["get", "https://example.org/"]
        let typed = try stopped(.data, "POST", advice)
        #expect(
            typed.contains("\nThe same command sends 1 request again.\nGo on: transfer-run get https://example.org/\n"),
            "\(typed)")
    }

    @Test(arguments: [(TaskType.data, nil as String?), (.data, "HEAD"), (.download, nil), (.download, "POST")])
    func whatOnlyReads_goesOnByTheSameCommand(_ type: TaskType, _ method: String?) throws {
        let text = try stopped(type, method)
        #expect(text.contains("not done.\(Self.same)") && text.contains(Self.goesOn), "\(text)")
    }

    /// The next run asks the server, or the background process, what was sent.
    @Test func whatIsKnownToBeSent_goesOnByTheSameCommand() throws {
        for policy in [ExistingPolicy.revalidate, .skip] {
            let text = try stopped(.upload, "PUT") { job in
                var values = job.tasks[0].options.values
                values.ownExisting = policy
                job.tasks[0].options = TaskOptions(values)
            }
            #expect(text.contains(Self.same) && text.contains(Self.goesOn), "\(text)")
        }
        #expect(try stopped(.upload, "PUT", source: .unchanged).contains(Self.same))
        #expect(
            try stopped(.data, "POST", by: .signal) { $0.sessions[0].kind = .background }.contains(
                "not done.\(Self.same)"))
    }

    /// Only the tasks of a background session go on there. A session that ended, as by `finishBy`, begins anew.
    @Test(arguments: [RunStop.signal, .finishBy], [true, false])
    func besideABackgroundSession_whatWasSentHereIsSentAgain(_ stop: RunStop, _ isOfSession: Bool) throws {
        let text = try stopped(.data, "POST", by: stop) { job in
            var background = SessionConfiguration(name: "bg")
            background.kind = .background
            job.sessions.append(background)
            if isOfSession { job.tasks[0].session = SessionIndex(raw: 1) }
        }
        let goesOn = isOfSession && stop == .signal
        #expect(text.contains(Self.same) == goesOn, "\(text)")
        #expect(text.contains("\nGo on: transfer-run rerun j.report.json\n") != goesOn, "\(text)")
    }
}
