import CurlCore
import TestSupport
import Testing
import TransferEngine
import TransferModel

/// Requests that move next to nothing, and bytes that are none of a body's own.
@Suite struct ProgressFloorTests {
    /// A download whose body of 1 MB has begun.
    private func begun(_ task: String = "to: f", _ more: String = "") throws -> (EngineRig, ScriptedTransfer) {
        let rig = try EngineRig(EngineRig.job(task, more))
        rig.start()
        return (rig, try rig.answer(200, [("Content-Length", "1000000")], "start", stays: true))
    }

    /// Sends `text` after each `span`; returns the seconds after which the attempt ended.
    private func drip(
        _ rig: EngineRig, _ transfer: ScriptedTransfer, _ text: String, each span: TimeSpan, for most: Int
    ) -> Double? {
        for step in 1...most {
            rig.advance(span)
            if rig.verdict() != nil { return span.seconds * Double(step) }
            rig.send(text, to: transfer)
            rig.turn()
        }
        return nil
    }

    @Test func bodyThatDrips_timesOutAfterTenMinutes() throws {
        let (rig, transfer) = try begun()
        let end = try #require(drip(rig, transfer, "x", each: .seconds(10), for: 400))
        #expect(end >= 600 && end <= 800)
        #expect(rig.error()?.name == .timedOut && rig.error()?.message.contains("less than the 1 kB") == true)
        #expect(transfer.isStopped)
    }

    @Test func bodyThatIsSlowButMoves_goesOn() throws {
        let (rig, transfer) = try begun()
        #expect(drip(rig, transfer, String(repeating: "x", count: 40), each: .seconds(20), for: 400) == nil)
    }

    @Test func minimumRateOfTheTask_takesTheFloorsPlace() throws {
        let (rig, transfer) = try begun("to: f, minimumRate: { rate: 1B/s, over: 100s }")
        #expect(drip(rig, transfer, "xxxxxxxxxxxxxxx", each: .seconds(10), for: 400) == nil)
    }

    @Test func longerTimeoutForRequest_isTheTimeInWhichBytesMustMove() throws {
        let (rig, transfer) = try begun("to: f, timeoutForRequest: 1h")
        let end = try #require(drip(rig, transfer, "x", each: .seconds(300), for: 100))
        #expect(end >= 3_600 && end <= 5_000)
    }

    /// A head that is an hour away is `timeoutForRequest`'s alone.
    @Test func waitForAHead_isNotSlow() throws {
        let rig = try EngineRig(EngineRig.job("to: f, timeoutForRequest: 1h"))
        rig.start()
        for _ in 0..<50 { rig.advance(.seconds(60)) }
        #expect(rig.verdict() == nil)
        try rig.answer(200, [], "text")
        #expect(rig.succeeded)
    }

    /// The job's own limit is not the server's fault.
    @Test func timeStoodStillForABandwidth_isNotSlow() throws {
        let rig = try EngineRig(EngineRig.job("to: f, bandwidth: 1B/s"))
        rig.start()
        let transfer = try rig.answer(200, [("Content-Length", "100000")], stays: true)
        for _ in 0..<100 {
            // The second byte finds no credit, and the transfer stands still from then on.
            for _ in 0..<2 { rig.send("x", to: transfer) }
            rig.advance(.seconds(30))
            rig.perform(.credit(rig.index("t"), bytes: 1))
        }
        #expect(rig.verdict() == nil)
    }

    /// The server has all of the body and thinks: that is `timeoutForRequest`'s alone.
    @Test func waitForTheAnswerToABody_isNotSlow() throws {
        let rig = try EngineRig(
            EngineRig.job(
                "type: upload, body: { data: words }, timeoutForRequest: 1h, minimumRate: { rate: 1kB/s, over: 10s }"))
        rig.start()
        #expect(rig.readBody(of: try rig.request()))
        for _ in 0..<50 { rig.advance(.seconds(60)) }
        #expect(rig.verdict() == nil)
        try rig.answer()
        #expect(rig.succeeded)
    }

    // MARK: Silence

    @Test func timeStoodStillForABandwidth_isNoSilence() throws {
        let rig = try EngineRig(EngineRig.job("to: f, bandwidth: 1B/s, timeoutForRequest: 10s"))
        rig.start()
        let transfer = try rig.answer(200, [("Content-Length", "100000")], stays: true)
        rig.send("x", to: transfer)
        for _ in 0..<10 { rig.advance(.seconds(30)) }
        #expect(rig.verdict() == nil && transfer.resumes == 0)
        rig.perform(.credit(rig.index("t"), bytes: 1))
        #expect(transfer.resumes == 1)
        rig.advance(.seconds(11))
        #expect(rig.error()?.name == .timedOut)
    }

    @Test func interimAnswersAlone_timeOutAsWhatTheyAre() throws {
        let rig = try EngineRig(EngineRig.job("to: f"))
        rig.start()
        try rig.request().hasInterimAnswerOnly = true
        rig.advance(.seconds(61))
        #expect(rig.error()?.name == .timedOut)
        #expect(rig.error()?.message == "only interim answers (status 1xx) came in 60.0 s (`timeoutForRequest`)")
    }

    /// Bytes arrive and make no line.
    @Test func halfALineWithoutEnd_timesOut() throws {
        let rig = try EngineRig(EngineRig.job("to: f"))
        rig.start()
        let transfer = try rig.request()
        var seconds = 0
        while rig.verdict() == nil, seconds < 10_000 {
            seconds += 30
            transfer.lastArrival = rig.time.clock.instant
            rig.advance(.seconds(30))
        }
        #expect(seconds >= 630 && seconds <= 720 && rig.error()?.name == .timedOut)
    }

    // MARK: Framing

    private func framing(_ count: Int, _ transfer: ScriptedTransfer) -> String {
        switch transfer.receiver.received(framing: count) {
        case .taken: "taken"
        case .pause: "pause"
        case .stop: "stop"
        }
    }

    private func chunked(_ task: String, _ more: String = "") throws -> (EngineRig, ScriptedTransfer) {
        let rig = try EngineRig(EngineRig.job(task, more))
        rig.start()
        return (rig, try rig.answer(200, [("Transfer-Encoding", "chunked")], "hello", stays: true))
    }

    @Test(arguments: ["", "to: f, "]) func framingBeyondMaximumSize_endsTheBody(_ to: String) throws {
        let (rig, transfer) = try chunked("\(to)maximumSize: 1kB")
        #expect(framing(1 << 20, transfer) == "taken")
        #expect(framing(2_000, transfer) == "stop")
        rig.loop.complete(transfer, .writeError)
        rig.turn()
        #expect(rig.error()?.name == .dataLengthExceedsMaximum)
        #expect(rig.error()?.message.contains("its chunk sizes, extensions and trailers have 1050576 beside 5") == true)
    }

    @Test func framingUnderABandwidth_standsStillWithoutCredit() throws {
        let rig = try EngineRig(EngineRig.job("to: f, bandwidth: 1kB/s"))
        rig.start()
        let transfer = try rig.answer(200, [("Transfer-Encoding", "chunked")], stays: true)
        rig.perform(.credit(rig.index("t"), bytes: 100))
        #expect(framing(50, transfer) == "taken" && framing(60, transfer) == "pause")
        rig.perform(.credit(rig.index("t"), bytes: 100))
        #expect(transfer.resumes > 0)
    }

    @Test func framingUnderMaximumBytes_countsAndStandsStill() throws {
        let (rig, transfer) = try chunked("to: f", "limits: { maximumBytes: 1kB }")
        #expect(framing(500, transfer) == "taken" && framing(600, transfer) == "pause")
        rig.turn()
        let moved = rig.reports.reduce(Int64(0)) { sum, report in
            if case .moved(_, let bytes) = report { sum + bytes } else { sum }
        }
        #expect(moved == 1_105)
    }

    @Test func framingOfAnUnwantedBody_endsItsTransfer() throws {
        let rig = try EngineRig(EngineRig.job("to: f"))
        rig.start()
        let transfer = try rig.answer(
            302, [("Location", "/g"), ("Transfer-Encoding", "chunked")], "moved", stays: true)
        #expect(framing(60_000, transfer) == "taken" && framing(10_000, transfer) == "stop")
    }

    // MARK: The disk

    @Test func diskThatIsFullWhileABodyWithoutALengthComes_endsItsTransfer() throws {
        let rig = try EngineRig(EngineRig.job("to: f"))
        rig.delivery.writeFailure = TransferError(.notEnoughDiskSpace, "the file system of /here is full")
        rig.start()
        let transfer = try rig.answer(
            200, [("Transfer-Encoding", "chunked")], String(repeating: "x", count: 1 << 20), stays: true)
        #expect(transfer.isStopped && rig.error()?.name == .notEnoughDiskSpace)
        #expect(rig.delivery.files.isEmpty && rig.delivery.bodies.isEmpty)
    }
}
