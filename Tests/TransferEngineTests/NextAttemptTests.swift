import CurlCore
import Testing
import TransferEngine
import TransferModel

/// What survives from one attempt of a task to the next.
@Suite struct NextAttemptTests {
    private let whole = (0..<300_000).map { String($0 % 10) }.joined()

    /// A first attempt that was cut after `count` bytes.
    private func cutRig(
        _ task: String = "to: f", _ headers: [(String, String)] = [("ETag", "\"1\"")], at count: Int = 200_000,
        more: String = ""
    ) throws -> EngineRig {
        let rig = try EngineRig(EngineRig.job(task, more))
        rig.start()
        let transfer = try rig.answer(200, headers + [("Content-Length", "300000")], stays: true)
        rig.send(String(whole.prefix(count)), to: transfer)
        try rig.cut()
        #expect(rig.error()?.name == .networkConnectionLost)
        rig.start(attempt: 2)
        return rig
    }

    private func rest(_ rig: EngineRig, from: Int, total: Int = 300_000, tag: String? = "\"1\"") throws {
        let headers = [("Content-Range", "bytes \(from)-\(total - 1)/\(total)")] + (tag.map { [("ETag", $0)] } ?? [])
        let body = String(whole.dropFirst(from))
        try rig.answer(206, headers + [("Content-Length", "\(body.utf8.count)")], body)
    }

    @Test func cutDownload_asksForTheRest() throws {
        let rig = try cutRig()
        let request = try rig.request()
        #expect(request.header("Range") == "bytes=200000-" && request.header("If-Range") == "\"1\"")
        try rest(rig, from: 200_000)
        #expect(rig.succeeded && rig.delivery.text("/here/f") == whole)
        #expect(rig.result()?.source == .resumed && rig.result()?.resumedFrom == 200_000)
    }

    @Test(
        arguments: [
            [("ETag", "W/\"1\"")], [], [("ETag", "\"1\""), ("Accept-Ranges", "none")],
        ] as [[(String, String)]]) func withoutAStrongValidator_theWholeIsAskedFor(_ headers: [(String, String)]) throws
    {
        let rig = try cutRig("to: f", headers)
        #expect(try rig.request().header("Range") == nil)
        try rig.answer(200, headers, whole)
        #expect(rig.succeeded && rig.delivery.text("/here/f") == whole && rig.result()?.resumedFrom == 0)
    }

    @Test func resumeFalse_startsOver() throws {
        let rig = try cutRig("to: f, resume: false")
        #expect(try rig.request().header("Range") == nil)
    }

    @Test func wholeAnswerToARange_replacesWhatWasThere() throws {
        let rig = try cutRig()
        let other = String(repeating: "y", count: 1000)
        try rig.answer(200, [("ETag", "\"2\"")], other)
        #expect(rig.succeeded && rig.delivery.text("/here/f") == other)
        #expect(rig.result()?.startedOver != nil && rig.result()?.resumedFrom == 0)
    }

    @Test(arguments: [
        ("bytes 100000-299999/300000", "\"1\""), ("bytes 200000-299999/300001", "\"1\""),
        ("bytes 200000-299999/300000", "\"2\""), ("bytes 200000-299998/300000", "\"1\""), ("nonsense", "\"1\""),
    ]) func partialAnswerThatDoesNotFit_isNotMixedIn(_ range: String, _ tag: String) throws {
        let rig = try cutRig()
        try rig.answer(206, [("Content-Range", range), ("ETag", tag)], String(whole.dropFirst(200_000)))
        #expect(!rig.succeeded || rig.delivery.text("/here/f") == whole)
        #expect(rig.delivery.text("/here/f") == nil || rig.delivery.text("/here/f") == whole)
    }

    @Test func rangeThatCannotBeSatisfied_startsOver() throws {
        let rig = try cutRig()
        try rig.answer(416, [("Content-Range", "bytes */1000")])
        #expect(try rig.request().header("Range") == nil)
        try rig.answer(200, [("ETag", "\"2\"")], "short")
        #expect(rig.succeeded && rig.delivery.text("/here/f") == "short")
    }

    @Test func secondCut_goesOnFromFurther() throws {
        let rig = try cutRig()
        let transfer = try rig.answer(
            206, [("Content-Range", "bytes 200000-299999/300000"), ("ETag", "\"1\""), ("Content-Length", "100000")],
            stays: true)
        rig.send(String(whole.dropFirst(200_000).prefix(50_000)), to: transfer)
        try rig.cut()
        rig.start(attempt: 3)
        #expect(try rig.request().header("Range") == "bytes=250000-")
        try rest(rig, from: 250_000)
        #expect(rig.delivery.text("/here/f") == whole)
    }

    @Test func anotherPlaceOfTheFile_beginsAtItsOwnStart() throws {
        let rig = try EngineRig(
            "tasks:\n  - { id: t, urls: [\"https://a.example/f\", \"https://b.example/f\"], to: f }\n")
        rig.start()
        let transfer = try rig.answer(200, [("ETag", "\"1\""), ("Content-Length", "300000")], stays: true)
        rig.send(String(whole.prefix(200_000)), to: transfer)
        try rig.cut()
        rig.start(attempt: 2, mirror: 1)
        let request = try rig.request()
        #expect(request.request.url == "https://b.example/f" && request.header("Range") == nil)
        try rig.cut(.emptyReply)
        rig.start(attempt: 3, mirror: 0)
        #expect(try rig.request().header("Range") == "bytes=200000-")
    }

    @Test func answerThatWasNoFile_leavesNothingToResume() throws {
        let rig = try EngineRig(EngineRig.job("to: f"))
        rig.start()
        try rig.answer(503, [("ETag", "\"1\"")], "busy")
        rig.start(attempt: 2)
        #expect(try rig.request().header("Range") == nil)
    }

    @Test func checksumThatFailed_isNotResumed() throws {
        let sum = "sha256:" + String(repeating: "0", count: 64)
        let rig = try EngineRig(EngineRig.job("to: f, checksum: \"\(sum)\""))
        rig.start()
        try rig.answer(200, [("ETag", "\"1\"")], "text")
        #expect(rig.error()?.name == .checksumMismatch)
        rig.start(attempt: 2)
        #expect(try rig.request().header("Range") == nil)
    }

    @Test(arguments: [
        (CurlCode.cannotConnect, ErrorName.cannotConnectToHost), (.recvError, .networkConnectionLost),
        (.emptyReply, .networkConnectionLost), (.timedOut, .timedOut),
    ]) func endsWithoutAnAnswer_haveTheirNames(_ code: CurlCode, _ name: ErrorName) throws {
        let rig = try EngineRig(EngineRig.job("to: f"))
        rig.start()
        try rig.cut(code)
        #expect(rig.error()?.name == name)
    }

    // MARK: Cancelled

    @Test func cancelledTransfer_isStopped_andResumes() throws {
        let rig = try EngineRig(EngineRig.job("to: f"))
        rig.start()
        let transfer = try rig.answer(200, [("ETag", "\"1\""), ("Content-Length", "300000")], stays: true)
        rig.send(String(whole.prefix(100_000)), to: transfer)
        rig.cancel()
        #expect(rig.error()?.name == .cancelled && rig.loop.underWay.isEmpty)
        rig.start(attempt: 2)
        #expect(try rig.request().header("Range") == "bytes=100000-")
    }

    @Test func cancelBeforeTheFirstRequest_sendsNothing() throws {
        let rig = try EngineRig(EngineRig.job("to: f, existing: skip"))
        rig.delivery.isHeld = true
        rig.start()
        rig.cancel()
        #expect(rig.error()?.name == .cancelled && rig.loop.transfers.isEmpty)
        rig.delivery.isHeld = false
        rig.turn()
        #expect(rig.loop.transfers.isEmpty)
    }

    @Test func cancelWhileASlotIsWaitedFor_sendsNothingMore() throws {
        let rig = try EngineRig(EngineRig.job("type: data"))
        rig.grants = false
        rig.start()
        try rig.answer(302, [("Location", "https://b.example/")])
        rig.cancel()
        #expect(rig.error()?.name == .cancelled && rig.loop.transfers.count == 1)
    }

    @Test func cancelOnceTheBodyIsWhole_letsItStand() throws {
        let rig = try EngineRig(EngineRig.job("to: f"))
        rig.start()
        rig.delivery.isHeld = true
        try rig.answer(200, [], "text")
        rig.cancel()
        rig.delivery.isHeld = false
        rig.turn()
        #expect(rig.succeeded && rig.delivery.text("/here/f") == "text")
    }

    @Test func cancelAfterTheEnd_changesNothing() throws {
        let rig = try EngineRig(EngineRig.job("to: f"))
        rig.start()
        try rig.answer()
        let count = rig.reports.count
        rig.cancel()
        #expect(rig.succeeded && rig.reports.count == count)
    }

    // MARK: Silence

    @Test(arguments: [59, 61]) func silentServer_failsAfterTheTimeout(_ seconds: Int) throws {
        let rig = try EngineRig(EngineRig.job("to: f"))
        rig.start()
        rig.advance(.seconds(Int64(seconds)))
        #expect((rig.error()?.name == .timedOut) == (seconds > 60))
        #expect(rig.loop.underWay.isEmpty == (seconds > 60))
    }

    @Test func serverThatSendsNowAndThen_isNotSilent() throws {
        let rig = try EngineRig(EngineRig.job("to: f, timeoutForRequest: 10s"))
        rig.start()
        let transfer = try rig.answer(200, [("Content-Length", "10")], stays: true)
        for _ in 0..<5 {
            rig.advance(.seconds(9))
            rig.send("x", to: transfer)
        }
        #expect(rig.verdict() == nil)
        rig.advance(.seconds(11))
        #expect(rig.error()?.name == .timedOut)
    }

    @Test(arguments: [(500, true), (2_000, false)]) func drip_isTooSlow(_ bytes: Int, _ fails: Bool) throws {
        let rig = try EngineRig(EngineRig.job("to: f, minimumRate: { rate: 1kB/s, over: 10s }"))
        rig.start()
        let transfer = try rig.answer(200, [("Content-Length", "1000000"), ("ETag", "\"1\"")], stays: true)
        for _ in 0..<30 where rig.verdict() == nil {
            rig.send(String(repeating: "x", count: bytes), to: transfer)
            rig.advance(.seconds(1))
        }
        #expect((rig.error()?.name == .timedOut) == fails)
    }
}
