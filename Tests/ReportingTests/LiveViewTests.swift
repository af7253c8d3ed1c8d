import Reporting
import TestSupport
import Testing
import TransferModel

/// The live part of a terminal as a fold of events.
@Suite struct LiveViewTests {
    private static let mebibyte: Int64 = 1 << 20
    private let start = WallTime(nanoseconds: 1_000_000_000_000)

    private func job(_ ids: [String], sizes: [Int64?] = []) throws -> Job {
        var job = Job(name: "nightly", file: "nightly.yaml", baseDirectory: "/srv")
        job.sessions = [SessionConfiguration(name: "default")]
        for (number, id) in ids.enumerated() {
            var values = TaskOptions.Values(policies: TransferPolicies())
            if number < sizes.count { values.sizeHint = sizes[number] }
            job.tasks.append(
                TaskSpecification(
                    id: id, type: .download, session: SessionIndex(raw: 0),
                    location: .url(try ResourceURL.parse("https://mirror.example.org/\(number)")), destination: nil,
                    line: 1, options: TaskOptions(values)))
        }
        return job
    }

    /// A run whose events come at the times that the test says.
    private struct Scene {
        let job: Job
        var run: LiveRun
        let start: WallTime
        var now: WallTime

        init(_ job: Job, _ start: WallTime) {
            (self.job, self.start, now) = (job, start, start)
            run = LiveRun(job: job)
            add(.sessionStarted, nil)
        }

        mutating func add(_ kind: Event.Kind, _ task: UInt32?) {
            run.consume(
                Event(time: now, sequence: 1, session: nil, task: task.map { TaskIndex(raw: $0) }, kind: kind))
        }

        mutating func begin(_ task: UInt32, _ number: Int = 1) {
            add(.attemptStarted(AttemptStart(number: number, url: "https://mirror.example.org/\(task)")), task)
        }

        mutating func receive(_ task: UInt32, _ bytes: Int64, of expected: Int64?) {
            add(.receivedData(Event.Progress(bytes: bytes, expected: expected)), task)
        }

        mutating func fail(_ task: UInt32, _ error: TransferError, backoff: TimeSpan?) {
            add(
                .attemptFinished(
                    AttemptRecord(
                        number: 1, url: "u", outcome: .failed, resumedFrom: 0, startedAt: start, duration: now - start,
                        error: error, backoff: backoff, transactions: [])), task)
        }

        mutating func finish(_ task: UInt32, _ outcome: TaskOutcome = .succeeded) {
            add(
                .taskFinished(
                    TaskRecord(
                        outcome: outcome, tolerated: false, changed: nil, source: .network, waits: [], error: nil,
                        body: nil, lengthUnverified: false, captures: [], duration: .seconds(1), explanation: nil)),
                task)
        }

        mutating func pass(_ span: TimeSpan) {
            now = now + span
            run.look(at: now)
        }

        func lines(_ columns: Int, rows: Int = 24, color: Bool = false, isUnicode: Bool = true) -> [String] {
            var width = 0
            let style = LiveFrame.Style(columns: columns, height: rows, color: color, isUnicode: isUnicode)
            return LiveFrame(style).lines(run, at: now, nameWidth: &width) { job.tasks[Int($0.raw)].id }
        }
    }

    /// Every kind of row: on its way, resumed, of unknown length, between attempts, held back, and more than there is room for.
    private func recorded() throws -> Scene {
        let ids = [
            "debian-12.7.0-amd64-netinst.iso", "kept", "名前-写真.jpg", "stream", "flaky", "asked", "roaming",
        ]
        var scene = Scene(try job(ids + (0..<8).map { "part-\($0)" }), start)
        let mebibyte = Self.mebibyte
        for task: UInt32 in 0..<7 { scene.begin(task) }
        scene.add(.resumedAtOffset(Event.Progress(bytes: 40 * mebibyte, expected: 100 * mebibyte)), 1)
        for second: Int64 in 1...20 {
            scene.pass(.milliseconds(500))
            scene.receive(0, second * 20 * mebibyte, of: 631 * mebibyte)
            scene.receive(1, (40 + second) * mebibyte, of: 100 * mebibyte)
            scene.receive(2, second * 100_000, of: 4_000_000)
            scene.receive(3, second * 1_000, of: nil)
        }
        let busy = TransferError(
            .unexpectedResponse, "GET https://mirror.example.org/5: 503 Service Unavailable\u{1B}[2J")
        scene.fail(4, TransferError(.networkConnectionLost, "the connection was reset"), backoff: .seconds(14))
        scene.add(.waiting(.backoff), 4)
        scene.fail(5, busy, backoff: .seconds(120))
        scene.add(.waiting(.retryAfter), 5)
        scene.fail(6, TransferError(.networkConnectionLost, "the network went away"), backoff: nil)
        scene.add(.waiting(.network, lacks: "a network that is not metered"), 6)
        for task: UInt32 in 7..<11 { scene.begin(task) }
        for task: UInt32 in 11..<13 { scene.finish(task) }
        scene.finish(13, .failed)
        scene.pass(.seconds(1))
        return scene
    }

    @Test(arguments: [20, 60, 80, 200]) func aPicture(_ columns: Int) throws {
        let lines = try recorded().lines(columns)
        for line in lines { #expect(TextLayout.width(of: line) < columns, "\(line)") }
        try Snapshot.check(lines.joined(separator: "\n") + "\n", "Golden/live-\(columns).txt")
    }

    @Test func aPictureInColours() throws {
        let lines = try recorded().lines(100, color: true)
        try Snapshot.check(lines.joined(separator: "\n") + "\n", "Golden/live-color.txt")
    }

    @Test func aPictureInASCII() throws {
        let lines = try recorded().lines(100, isUnicode: false)
        try Snapshot.check(lines.joined(separator: "\n") + "\n", "Golden/live-ascii.txt")
    }

    @Test(arguments: [5: 2, 6: 3, 8: 5, 13: 10, 14: 11, 80: 11]) func rowsLeaveRoomForTheLinesAbove(
        _ rows: Int, _ expected: Int
    ) throws {
        #expect(try recorded().lines(80, rows: rows).count == expected)
    }

    /// Whatever events come: lines within the terminal, no control character, and no share beyond the whole.
    @Test func anyEventsGiveAPicture() throws {
        let job = try job((0..<100).map { "task-\($0)" })
        for _ in 0..<Rounds.scaled(200) {
            var events = RandomEvents(Seeded("anyEventsGiveAPicture"))
            var scene = Scene(job, start)
            for _ in 0..<100 {
                let event = events.next()
                if case .expanded = event.kind { continue }
                scene.run.consume(event)
                scene.now = event.time
                scene.run.look(at: event.time)
                let columns = 20 + events.random.below(281)
                for line in scene.lines(columns, rows: 5 + events.random.below(60)) {
                    #expect(TextLayout.width(of: line) < columns, "\(line)")
                    #expect(line.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F }, "\(line)")
                }
                for task in scene.run.tasks.values {
                    if let share = task.share { #expect((0...1).contains(share.done) && share.resumed <= share.done) }
                }
            }
        }
    }

    // MARK: Bars

    private func bar(_ line: String) -> String { line.filter { "█▒░".contains($0) } }

    @Test func aResumedPartIsDrawnInAnotherShade_andARetryMovesBack() throws {
        var scene = Scene(try job(["a"]), start)
        scene.begin(0)
        scene.add(.resumedAtOffset(Event.Progress(bytes: 25, expected: 100)), 0)
        scene.receive(0, 50, of: 100)
        let resumed = bar(scene.lines(100)[0])
        #expect(resumed.count { $0 == "▒" } == 10 && resumed.count { $0 == "█" } == 10 && resumed.count == 40)
        scene.fail(0, TransferError(.networkConnectionLost, "lost"), backoff: .seconds(1))
        #expect(bar(scene.lines(100)[0]) == "" && scene.lines(100)[0].contains("again in 1s: lost"))
        scene.begin(0, 2)
        scene.receive(0, 10, of: 100)
        #expect(bar(scene.lines(100)[0]).count { $0 != "░" } == 4)
        scene.receive(0, 300, of: 100)
        #expect(bar(scene.lines(100)[0]).count { $0 == "█" } == 40 && scene.lines(100)[0].contains("100%"))
    }

    @Test func aTaskWithoutALength_hasNoBarAndNoShare() throws {
        var scene = Scene(try job(["a"]), start)
        scene.begin(0)
        scene.receive(0, 5_000, of: nil)
        #expect(!scene.lines(100)[0].contains("%") && bar(scene.lines(100)[0]) == "")
        #expect(scene.lines(100)[0].contains("4.9 KiB"))
    }

    // MARK: Totals

    @Test func theTimeLeft_isSaidWhereEveryLengthIsKnown_andNotBefore() throws {
        var scene = Scene(try job(["a", "b"], sizes: [1_000_000, 3_000_000]), start)
        scene.begin(0)
        for step: Int64 in 1...9 {
            scene.pass(.seconds(1))
            scene.receive(0, step * 100_000, of: 1_000_000)
        }
        scene.pass(.seconds(1))
        #expect(scene.run.totals.expected == 4_000_000)
        let left = try #require(scene.run.totals.left)
        #expect((25...40).contains(left), "\(left)")
        var unknown = Scene(try job(["a", "b"], sizes: [1_000_000]), start)
        unknown.begin(0)
        for step: Int64 in 1...9 {
            unknown.pass(.seconds(1))
            unknown.receive(0, step * 100_000, of: 1_000_000)
        }
        unknown.pass(.seconds(1))
        #expect(unknown.run.totals.left == nil && unknown.run.totals.expected == nil && unknown.run.totals.rate != nil)
    }

    @Test func whereNothingRuns_theTotalSaysWhatAllWaitFor() throws {
        var scene = Scene(try job(["a", "b"]), start)
        scene.add(.waiting(.network, lacks: "Wi-Fi or a wire"), 0)
        scene.add(.waiting(.network, lacks: "Wi-Fi or a wire"), 1)
        scene.pass(.seconds(1))
        #expect(scene.lines(80) == ["0/2 done · 2 waiting · waits for Wi-Fi or a wire · 1s"])
    }

    /// What one task lacks says nothing of what others wait for.
    @Test func whereNothingRuns_theTotalNamesNoOtherWaitsLack() throws {
        var scene = Scene(try job(["a", "b", "c"]), start)
        scene.add(.waiting(.window, lacks: "its `window` until 01:00 UTC (in 1 h)"), 0)
        scene.add(.waiting(.power), 1)
        scene.add(.waiting(.power), 2)
        scene.pass(.seconds(1))
        #expect(scene.lines(80) == ["0/3 done · 3 waiting · waits for mains power or a fuller battery · 1s"])
    }

    @Test func aCountdownNeverJumps() {
        var random = Seeded("aCountdownNeverJumps")
        for _ in 0..<Rounds.scaled(200) {
            var countdown = Countdown()
            var now = start
            var last = countdown.show(100, at: now)
            var apart = 0.0
            for _ in 0..<200 {
                let span = TimeSpan.milliseconds(Int64(100 + random.below(900)))
                now = now + span
                let estimate = Double(random.below(200))
                let shown = countdown.show(estimate, at: now)
                apart = estimate > max(0, last - span.seconds) * 1.2 + 1 ? apart + span.seconds : 0
                if apart < 3 { #expect(shown <= last, "it rose from \(last) to \(shown)") }
                #expect(shown >= 0)
                last = shown
            }
        }
    }

    @Test func aRate_isThatOfTheLastSeconds() {
        var meter = RateMeter()
        meter.begin(at: 0, start)
        #expect(meter.bytesPerSecond(at: start) == nil)
        for step: Int64 in 1...200 { meter.advance(to: step * 1_000, start + .milliseconds(step * 100)) }
        let steady = meter.bytesPerSecond(at: start + .seconds(20)) ?? 0
        #expect((9_900...10_100).contains(steady))
        // Then nothing more comes.
        #expect(meter.bytesPerSecond(at: start + .seconds(31)).map { $0 < 500 } == true)
    }

    // MARK: The screen

    private final class Output: LiveOutput {
        var size: (columns: Int, rows: Int)? = (80, 24)
        var shown: [(lines: [String], printed: String)] = []
        func show(_ lines: [String], above printed: [UInt8]) {
            shown.append((lines, String(decoding: printed, as: UTF8.self)))
        }
    }

    private func progress(_ job: Job, _ output: Output, brief: Bool = false) -> TerminalProgress {
        TerminalProgress(
            job: job, output: output, style: PlainProgress.Style(width: 80, isBrief: brief), isUnicode: true)
    }

    private func events(_ count: Int, every span: TimeSpan) -> [Event] {
        let begun = Event(
            time: start, sequence: 1, session: nil, task: TaskIndex(raw: 0),
            kind: .attemptStarted(AttemptStart(number: 1, url: "u")))
        return [begun]
            + (1...count).map { step in
                Event(
                    time: start + TimeSpan(nanoseconds: span.nanoseconds * Int64(step)), sequence: UInt64(step + 1),
                    session: nil, task: TaskIndex(raw: 0),
                    kind: .receivedData(Event.Progress(bytes: Int64(step), expected: 10_000)))
            }
    }

    @Test func itIsDrawnTenTimesASecondAtMost_andNotBeforeAFifthOfASecond() throws {
        let output = Output()
        let progress = progress(try job(["a"]), output)
        for event in events(2_000, every: .milliseconds(1)) { progress.consume([event][...]) }
        #expect((17...20).contains(output.shown.count), "\(output.shown.count)")
        let short = Output()
        let other = self.progress(try job(["a"]), short)
        for event in events(190, every: .milliseconds(1)) { other.consume([event][...]) }
        #expect(short.shown.isEmpty && other.nextTick == start + .milliseconds(200))
    }

    @Test func whereNothingHappens_timesCountOn() throws {
        let output = Output()
        let progress = progress(try job(["a"]), output)
        progress.consume(events(1, every: .milliseconds(1))[...])
        var now = start
        for _ in 0..<5 {
            now = try #require(progress.nextTick)
            progress.tick(now)
        }
        #expect(output.shown.count == 5 && now == start + .milliseconds(4_200))
    }

    @Test func ofManyTasksOnlyTroubleRetriesAndChangesScroll() throws {
        let output = Output()
        let progress = progress(try job((0..<5).map { "task-\($0)" }), output, brief: true)
        func end(_ task: UInt32, attempts: Int, _ outcome: TaskOutcome, changed: Bool?) -> [Event] {
            let record = TaskRecord(
                outcome: outcome, tolerated: false, changed: changed, source: .network, waits: [],
                error: outcome == .failed ? TransferError(.timedOut, "late") : nil, body: nil, lengthUnverified: false,
                captures: [], duration: .seconds(1), explanation: nil)
            let kinds: [Event.Kind] =
                (1...attempts).map { .attemptStarted(AttemptStart(number: $0, url: "u")) } + [.taskFinished(record)]
            return kinds.map {
                Event(time: start, sequence: 1, session: nil, task: TaskIndex(raw: task), kind: $0)
            }
        }
        progress.consume(end(0, attempts: 1, .succeeded, changed: nil)[...])
        progress.consume(end(1, attempts: 1, .succeeded, changed: false)[...])
        progress.consume(end(2, attempts: 1, .succeeded, changed: true)[...])
        progress.consume(end(3, attempts: 2, .succeeded, changed: nil)[...])
        progress.consume(end(4, attempts: 1, .failed, changed: nil)[...])
        let text = output.shown.map(\.printed).joined()
        #expect(!text.contains("task-0") && !text.contains("task-1"))
        #expect(["task-2", "task-3", "task-4"].allSatisfy { text.contains($0) }, "\(text)")
    }

    /// A line that was written when the terminal was wider takes several rows now.
    @Test func theScreenCountsTheRowsThatLinesTake() {
        var screen = LiveScreen()
        let line = String(repeating: "x", count: 79)
        #expect(
            String(decoding: screen.draw([line, "y"], columns: 80), as: UTF8.self)
                == "\(line)\u{1B}[K\ny\u{1B}[K\n\u{1B}[J")
        let again = String(decoding: screen.draw(["z"], columns: 40), as: UTF8.self)
        #expect(again == "\u{1B}[3A\rz\u{1B}[K\n\u{1B}[J")
        #expect(String(decoding: screen.erase(columns: 40), as: UTF8.self) == "\u{1B}[1A\r\u{1B}[J")
        #expect(screen.erase(columns: 40).isEmpty)
    }
}
