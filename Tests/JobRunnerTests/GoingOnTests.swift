import Glibc
import JobRunner
import Synchronization
import SystemIO
import TestSupport
import Testing
import TransferModel

/// A run that another process goes on with.
@Suite struct GoingOnTests {
    private static let size = 8 << 20

    /// A file whose first answer stops in the middle, after a pause in which what came is told.
    private func stageWithBigFile() throws -> (RunStage, [UInt8]) {
        let stage = try RunStage()
        let body = Script.patternBytes(Self.size)
        let resource = ServedResource(body)
        let pause: [Script.Step] = [.wait(.milliseconds(300)), .bytes(Array(body[2 << 20..<3 << 20])), .stall]
        stage.server.on("/big") { request in
            guard request.number == 1 else { return resource.answer(request) }
            let begin = resource.broken(after: 2 << 20, then: .wait(.zero))
            return Script(begin.steps + pause)
        }
        try stage.add("big", "/big")
        return (stage, body)
    }

    @Test func whoLeavesInMidTransferLeavesWhatIsThere() throws {
        let (stage, body) = try stageWithBigFile()
        defer { stage.server.stop() }
        stage.server.on("/small", .respond(200, body: "x"))
        try stage.add("small", "/small")
        let status = try stage.run { event, inbox in
            guard case .receivedData(let progress) = event.kind, progress.bytes >= 2 << 20 else { return }
            inbox.post(.command(.leave))
        }
        #expect(status == nil)
        #expect(stage.story(task: 0).last?.hasPrefix("ended") == false, "no end is told")
        #expect(!stage.tree.exists("big.bin"))
        #expect(try stage.run() == .succeeded)
        let second = try #require(stage.server.requests("/big").last)
        let range = try #require(second.header("Range"))
        let offset = try #require(Int(range.dropFirst("bytes=".count).dropLast()))
        #expect(offset >= 2 << 20 && offset <= 3 << 20)
        #expect(try stage.tree.bytes("big.bin") == body)
        #expect(stage.server.requests("/small").count == 1, "what has ended is not begun again")
        #expect(stage.violations() == [])
        let lost = stage.events.compactMap { event in
            if case .attemptFinished(let record) = event.kind { record.error } else { nil }
        }
        #expect(lost == [.processEnded])
        #expect(stage.story(task: 0).filter { $0 == "taskCreated" || $0 == "taskResumed" }.count == 2)
        #expect(stage.story(session: 0) == ["sessionStarted", "sessionInvalidated"])
    }

    enum Told: CaseIterable, Sendable { case file, attempt, nothing }

    /// A run of one download that had put its file in place and told of it when its process ended; with the events up to
    /// that, or only those before.
    private func stageWithFile(_ existing: ExistingPolicy, isTold: Bool, old: String? = nil) throws -> RunStage {
        let stage = try RunStage()
        stage.makeBackground()
        stage.server.on("/f", .respond(200, body: "mine"))
        try stage.add("f", "/f") { $0.existing = existing }
        if let old { try stage.tree.write("f.bin", old) }
        #expect(try stage.run() == .succeeded)
        let named = stage.events.firstIndex { event in if case .fileFinished = event.kind { true } else { false } }
        stage.cut(to: try #require(named) + (isTold ? 1 : 0))
        return stage
    }

    /// The process died between the file's name and the task's end: the file is no stranger's, and told as what it is.
    @Test(arguments: [ExistingPolicy.fail, .revalidate, .replace], Told.allCases)
    func itsOwnFileIsNoHindrance(_ existing: ExistingPolicy, told: Told) throws {
        let before = Clocks.now().wall
        let stage = try stageWithFile(existing, isTold: told == .file, old: existing == .fail ? nil : "old")
        defer { stage.server.stop() }
        let isTold = told == .file
        if told == .nothing {
            stage.cut(to: 0)
            stage.acceptedAt = before
        }
        #expect(try stage.run() == .succeeded)
        #expect(stage.end(0)?.changed == true)
        #expect(stage.server.requests("/f").count == (isTold ? 1 : 2), "what stands there is not fetched again")
        #expect(stage.violations(told == .nothing ? 0 : 1) == [])
        #expect(try stage.tree.text("f.bin") == "mine")
    }

    /// As an earlier version told it.
    @Test func itsOwnFileIsNoHindranceWithoutAStamp() throws {
        let stage = try stageWithFile(.fail, isTold: true)
        defer { stage.server.stop() }
        stage.forgetStamps()
        #expect(try stage.run() == .succeeded)
        #expect(stage.server.requests("/f").count == 2 && stage.end(0)?.changed == true)
        #expect(stage.violations(1) == [])
    }

    /// What somebody put there meanwhile is his.
    @Test(arguments: [true, false]) func aStrangersFileIsOne(_ isTold: Bool) throws {
        let stage = try stageWithFile(.fail, isTold: isTold)
        defer { stage.server.stop() }
        stage.tree.remove("f.bin")
        try stage.tree.write("f.bin", "his")
        #expect(try stage.run() == .failed)
        #expect(stage.end(0)?.error?.name == .destinationExists)
        #expect(try stage.tree.text("f.bin") == "his")
        #expect(stage.server.requests("/f").count == (isTold ? 1 : 2))
    }

    /// What is gone is fetched again.
    @Test func aFileThatIsGoneIsFetchedAgain() throws {
        let stage = try stageWithFile(.fail, isTold: true)
        defer { stage.server.stop() }
        stage.tree.remove("f.bin")
        #expect(try stage.run() == .succeeded)
        #expect(try stage.tree.text("f.bin") == "mine")
    }

    /// What is put in place while the run is left is told: nobody fetches it again.
    @Test func whatIsPutInPlaceAtTheEndIsTold() throws {
        let stage = try RunStage()
        defer { stage.server.stop() }
        stage.makeBackground()
        let body = Script.patternBytes(64 << 10)
        for number in 0..<40 {
            stage.server.on("/\(number)", .respond(200, body: body))
            try stage.add("f\(number)", "/\(number)") { $0.existing = .fail }
        }
        #expect(
            try stage.run { event, inbox in
                if case .response = event.kind { inbox.post(.command(.leave)) }
            } == nil)
        let there = (0..<40).filter { stage.tree.exists("f\($0).bin") }
        let told = (0..<40).filter { stage.story(task: $0).contains { $0 == "fileFinished" } }
        #expect(there == told)
        #expect(try stage.run() == .succeeded)
        for number in there { #expect(stage.server.requests("/\(number)").count == 1) }
        #expect(stage.violations() == [])
    }

    // MARK: What must not be sent twice

    private func stageWithPost() throws -> RunStage {
        let stage = try RunStage()
        stage.server.on("/post", .respond(200, body: "done"))
        stage.server.on("/get", .respond(200, body: "x"))
        try stage.add("post", "/post", type: .data) { $0.method = "POST" }
        try stage.add("get", "/get")
        return stage
    }

    /// It is sent when it is kept that it begins; what may be sent again waits for nobody.
    @Test func aRequestThatMustNotBeSentTwiceWaitsUntilItIsKept() throws {
        let stage = try stageWithPost()
        defer { stage.server.stop() }
        let server = stage.server
        let asked = Mutex<[UInt64]>([])
        let later = Mutex<(@Sendable () -> Void)?>(nil)
        stage.keep = { last, isKept in
            asked.withLock { $0.append(last) }
            later.withLock { $0 = isKept }
        }
        let status = try stage.run { event, _ in
            guard event.task == TaskIndex(raw: 1), case .taskFinished = event.kind else { return }
            #expect(server.requests("/post").isEmpty && asked.withLock { $0.count } == 1)
            later.withLock { $0?() }
        }
        #expect(status == .succeeded)
        #expect(stage.server.requests("/post").count == 1)
        let began = stage.events.first { $0.task == TaskIndex(raw: 0) && $0.word == "attempt 1" }
        #expect(try #require(began).sequence <= asked.withLock { $0[0] })
        #expect(stage.violations(0) == [])
    }

    /// Nothing of it may have been heard: it stops at once, and is sent when somebody lets it go on.
    @Test func whatWasNotSentIsSuspendedAtOnce() throws {
        let stage = try stageWithPost()
        defer { stage.server.stop() }
        let server = stage.server
        let post = TaskIndex(raw: 0)
        let first = Mutex<(@Sendable () -> Void)?>(nil)
        stage.keep = { _, isKept in
            let isFirst = first.withLock { first in
                defer { first = first ?? isKept }
                return first == nil
            }
            if !isFirst { isKept() }
        }
        let status = try stage.run { event, inbox in
            if event.task == TaskIndex(raw: 1), case .taskFinished = event.kind {
                inbox.post(.command(.suspend([post])))
            } else if event.task == post, case .attemptFinished = event.kind, server.requests("/post").isEmpty {
                // What was waited for comes after all, and begins nothing.
                first.withLock { $0?() }
                usleep(100_000)
                #expect(server.requests("/post").isEmpty)
                inbox.post(.command(.resume([post])))
            }
        }
        #expect(status == .succeeded)
        #expect(server.requests("/post").count == 1)
    }

    /// What was not sent when the run was left is no request that may have been heard.
    @Test func whatWasNotSentIsSentByTheNext() throws {
        let stage = try stageWithPost()
        defer { stage.server.stop() }
        stage.keep = { _, _ in }
        let status = try stage.run { event, inbox in
            guard event.task == TaskIndex(raw: 1), case .taskFinished = event.kind else { return }
            inbox.post(.command(.leave))
        }
        #expect(status == nil && stage.server.requests("/post").isEmpty)
        stage.keep = { _, isKept in isKept() }
        #expect(try stage.run() == .succeeded)
        #expect(stage.server.requests("/post").count == 1)
        #expect(stage.violations() == [])
    }

    enum Exchange: CaseIterable, Sendable { case none, replaced, rewritten, longer, untold }

    /// What a task sends is fixed when it begins, whoever carries it on: another file is an error, and nothing of it goes out.
    @Test(arguments: Exchange.allCases, [false, true])
    func aFileThatWasExchangedBetweenProcessesIsNotSent(_ exchange: Exchange, inForm: Bool) throws {
        let stage = try RunStage()
        defer { stage.server.stop() }
        let path = try stage.tree.write("data.bin", "0123456789")
        stage.server.on("/a") { request in request.number == 1 ? [.stall] : .respond(201) }
        let file = SecretText(path)
        let other = SecretText(try stage.tree.write("other.bin", "other"))
        try stage.add("a", "/a", type: .upload) { values in
            values.method = "PUT"
            values.body =
                inForm
                ? .multipart([.init(name: "x", content: .file(other)), .init(name: "y", content: .file(file))])
                : .file(file)
        }
        let server = stage.server
        let status = try stage.run { event, inbox in
            guard case .attemptStarted = event.kind else { return }
            _ = server.waitForRequests(1)
            inbox.post(.command(.leave))
        }
        #expect(status == nil)
        switch exchange {
        case .none: break
        case .longer: try stage.tree.write("data.bin", "0123456789x")
        case .rewritten: try stage.tree.write("data.bin", "9876543210")
        case .replaced, .untold:
            stage.tree.remove("data.bin")
            try stage.tree.write("data.bin", "9876543210")
        }
        // As an earlier version told it.
        if exchange == .untold { stage.forgetBodyFiles() }
        let isSent = exchange == .none || exchange == .untold
        #expect(try stage.run() == (isSent ? .succeeded : .failed))
        #expect(stage.end(0)?.error?.name == (isSent ? nil : .bodyFileChanged))
        #expect(stage.server.requests("/a").count == (isSent ? 2 : 1))
        #expect(stage.violations() == [])
    }

    @Test func whereverItsEventsAreCutTheStoryIsOne() throws {
        var random = Seeded("whereverItsEventsAreCutTheStoryIsOne")
        for _ in 0..<Rounds.scaled(6) {
            let stage = try RunStage()
            defer { stage.server.stop() }
            stage.makeBackground()
            for number in 0..<5 {
                stage.server.on(
                    "/\(number)", random.oneIn(3) ? .respond(503) : .respond(200, body: "file \(number)"),
                    .respond(200, body: "file \(number)"))
                try stage.add("f\(number)", "/\(number)", needs: number == 4 ? [0, 1] : [])
            }
            #expect(try stage.run() == .succeeded)
            let cuts = 1 + random.below(4)
            for _ in 0..<cuts {
                stage.cut(to: 1 + random.below(stage.events.count))
                #expect(try stage.run(hasCrashed: false) == .succeeded)
            }
            #expect(stage.violations(cuts) == [])
            let session = stage.story(session: 0)
            #expect(session == ["sessionStarted", "sessionFinishedEvents", "sessionInvalidated"])
            for number in 0..<5 { #expect(try stage.tree.text("f\(number).bin") == "file \(number)") }
        }
    }

    @Test func theNumbersAndTheClockOfTheRunGoOn() throws {
        let stage = try RunStage()
        defer { stage.server.stop() }
        stage.server.on("/a", .respond(200, body: "a"))
        stage.server.on("/b", .respond(200, body: "b"))
        try stage.add("a", "/a")
        try stage.add("b", "/b", needs: [0])
        #expect(try stage.run() == .succeeded)
        let first = try #require(stage.events.firstIndex { $0.word == "finished succeeded" })
        stage.cut(to: first + 1)
        let left = stage.events.count
        #expect(try stage.run() == .succeeded)
        #expect(stage.events.map(\.sequence) == (1...UInt64(stage.events.count)).map { $0 })
        #expect(stage.events[left].sequence == UInt64(left + 1))
        guard case .runFinished(let record)? = stage.events.last?.kind else {
            Issue.record("the run has no end")
            return
        }
        let lived = try #require(stage.events.last).time - stage.events[0].time
        #expect((record.duration - lived).magnitude < .milliseconds(50))
        #expect(stage.violations() == [])
    }

    @Test func aRunOfWhichOnlyTheEndWasNotToldTellsIt() throws {
        let stage = try RunStage()
        defer { stage.server.stop() }
        stage.server.on("/a", .respond(200, body: "a"))
        try stage.add("a", "/a")
        #expect(try stage.run() == .succeeded)
        let whole = stage.events.map(\.word)
        for count in (whole.count - 2)..<whole.count {
            stage.cut(to: count)
            #expect(try stage.run() == .succeeded)
            #expect(stage.events.map(\.word) == whole)
        }
        #expect(stage.server.requests("/a").count == 1)
    }

    // MARK: Crashes

    @Test func aTaskThatWasThereInThreeCrashesFailsAndTheOthersGoOn() throws {
        let stage = try RunStage()
        defer { stage.server.stop() }
        stage.server.on("/poison", [.stall])
        stage.server.on("/good", .respond(200, body: "good"))
        try stage.add("poison", "/poison")
        try stage.add("good", "/good")
        for crash in 1...3 {
            let status = try stage.run(hasCrashed: crash > 1) { event, inbox in
                // First when the other has ended, then as soon as it begins.
                switch event.kind {
                case .taskFinished where crash == 1, .attemptStarted where crash > 1: inbox.post(.command(.leave))
                default: break
                }
            }
            #expect(status == nil)
            #expect(stage.history.suspects(hasCrashed: true).map(\.raw) == (crash == 2 || crash == 3 ? [0] : []))
        }
        #expect(try stage.run(hasCrashed: true) == .failed)
        #expect(stage.end(0)?.error?.name == .taskCrashedRunner)
        #expect(stage.end(1)?.outcome == .succeeded)
        #expect(stage.violations(3) == [])
    }

    // MARK: What somebody else carries

    @Test func aTaskWaitsForWhatSomebodyElseCarries() throws {
        let stage = try RunStage()
        defer { stage.server.stop() }
        stage.server.on("/a", .respond(200, body: "a"))
        stage.server.on("/b", .respond(200, body: "b"))
        try stage.add("a", "/a")
        try stage.add("b", "/b")
        try stage.add("c", "/b")
        stage.outside = OutsideNeeds([
            TaskIndex(raw: 0): ["x"], TaskIndex(raw: 1): ["x", "y"], TaskIndex(raw: 2): ["z"],
        ])
        let status = try stage.run { event, inbox in
            if event.task?.raw == 2, case .waiting(.dependency, _) = event.kind {
                inbox.post(.outside(OutsideEnd(id: "x", succeeded: true)))
                inbox.post(.outside(OutsideEnd(id: "x", succeeded: true)))
            }
            if event.task?.raw == 0, case .taskFinished = event.kind {
                inbox.post(.outside(OutsideEnd(id: "z", succeeded: false, deferral: .window)))
                inbox.post(.outside(OutsideEnd(id: "y", succeeded: false)))
            }
        }
        #expect(status == .failed)
        #expect(stage.end(0)?.outcome == .succeeded)
        #expect(stage.end(1)?.outcome == .skipped)
        #expect(stage.end(2)?.outcome == .deferred)
        #expect(stage.story(task: 1).contains("waiting dependency"))
    }

    /// Who was told that a running task is cancelled finds that in the events, whatever becomes of the process.
    @Test(arguments: [true, false]) func cancellingARunningTaskIsAnsweredAfterItsEnd(_ keepsPartial: Bool) throws {
        let (stage, _) = try stageWithBigFile()
        defer { stage.server.stop() }
        stage.server.on("/other", [.gate("answered")] + .respond(200, body: "x"))
        try stage.add("other", "/other")
        let answer = Mutex<(reply: ControlReply, last: UInt64)?>(nil)
        let server = stage.server
        let cancel = ControlRequest(action: .cancel, keepPartial: keepsPartial, patterns: [TaskPattern("big")]) {
            (reply, last) in
            answer.withLock { $0 = (reply, last) }
            server.open(gate: "answered")
        }
        let status = try stage.run { event, inbox in
            guard case .receivedData(let progress) = event.kind, progress.bytes >= 2 << 20 else { return }
            if answer.withLock({ $0 }) == nil { inbox.post(.control(cancel)) }
        }
        let end = try #require(stage.events.first { $0.task?.raw == 0 && $0.word == "finished cancelled" })
        let told = try #require(answer.withLock { $0 })
        #expect(told.reply == .changed(["big"]) && told.last >= end.sequence)
        #expect(status == .failed && stage.end(1)?.outcome == .succeeded, "the other goes on meanwhile")
    }

    @Test func whatItCapturedIsKnownBeforeATaskIsLetGo() throws {
        let stage = try RunStage()
        defer { stage.server.stop() }
        stage.server.on("/hidden-value", .respond(200, body: "a"))
        try stage.add("a", "/none") { $0.awaitsCaptures = true }
        stage.job.tasks[0].location = .awaitingCapture(
            SecretText(pieces: [
                .literal("\(stage.server.origin)/"), .capture(task: "x", name: "token", escaping: .none),
            ]))
        stage.outside = OutsideNeeds([TaskIndex(raw: 0): ["x"]])
        let value = CapturedValue(name: "token", text: "hidden-value", isSecret: true)
        let status = try stage.run { event, inbox in
            guard case .waiting(.dependency, _) = event.kind else { return }
            inbox.post(.outside(OutsideEnd(id: "x", succeeded: true, captures: [value])))
        }
        #expect(status == .succeeded)
        #expect(try stage.tree.text("a.bin") == "a")
        #expect(!stage.events.contains { "\($0.kind)".contains("hidden-value") })
    }
}
