import CurlCore
import Testing
import TransferEngine
import TransferModel

/// Downloads with the same `checksum`, on the rig: one fetches, the others copy its file.
@Suite struct CopyingTests {
    /// Of `text`.
    private static let sum = "sha256:982d9e3eb996f559e633f4d194def3761d909f5a3b647d1a851fead67c32c9d1"

    private func rig(_ more: String = "", group: String = "") throws -> EngineRig {
        try EngineRig(
            """
            groups: { g: { to: site } }
            tasks:
              - { id: t, url: "https://a.example/f", to: t, checksum: "\(Self.sum)" }
              - { id: u, url: "https://b.example/g", to: u, checksum: "\(Self.sum)" \(more) }
              - { id: v, url: "https://c.example/h", to: v, checksum: "\(Self.sum)" }
              - { id: m, group: g, url: "https://a.example/m", to: m, checksum: "\(Self.sum)" }
              - { id: n, group: g, url: "https://a.example/n", to: n, checksum: "\(Self.sum)" }
            """)
    }

    private func copiedFrom(_ id: String, _ rig: EngineRig) -> String? { rig.result(id)?.file?.copiedFrom }

    @Test func second_waitsWithoutASlot_andCopies() throws {
        let rig = try rig()
        rig.start("t")
        rig.start("u")
        #expect(rig.loop.transfers.count == 1)
        #expect(rig.reports.contains { if case .unused(rig.index("u"), _) = $0 { true } else { false } })
        try rig.answer(200, [], "text")
        #expect(rig.delivery.text("/here/t") == "text" && rig.delivery.text("/here/u") == "text")
        #expect(rig.result("u")?.source == .local && copiedFrom("u", rig) == "t" && copiedFrom("t", rig) == nil)
        #expect(rig.result("u")?.file?.changed == true && rig.result("u")?.transactions.isEmpty == true)
        #expect(rig.loop.transfers.count == 1)
        // One that begins later need not wait.
        rig.start("v")
        #expect(rig.delivery.text("/here/v") == "text" && rig.loop.transfers.count == 1)
    }

    @Test func firstThatFails_letsTheSecondFetch_andCopiesInItsNextAttempt() throws {
        let rig = try rig()
        rig.start("t")
        rig.start("u")
        rig.start("v")
        try rig.answer(503)
        #expect(rig.verdict("t")?.status == 503)
        #expect(try rig.request().request.url == "https://b.example/g")
        rig.start("t", attempt: 2)
        try rig.answer(200, [], "text")
        for id in ["t", "v"] { #expect(rig.delivery.text("/here/\(id)") == "text" && copiedFrom(id, rig) == "u") }
        #expect(rig.loop.transfers.count == 2)
    }

    @Test func wrongFile_isNobodysSource() throws {
        let rig = try rig()
        rig.start("t")
        rig.start("u")
        try rig.answer(200, [], "wrong")
        #expect(rig.error("t")?.name == .checksumMismatch)
        try rig.answer(200, [], "wrong too")
        #expect(rig.error("u")?.name == .checksumMismatch && rig.delivery.files.isEmpty)
    }

    @Test func cancelledFetch_isTakenOver() throws {
        let rig = try rig()
        rig.start("t")
        rig.start("u")
        rig.cancel("t")
        #expect(try rig.request().request.url == "https://b.example/g")
        try rig.answer(200, [], "text")
        #expect(rig.result("u")?.source == .network)
    }

    @Test func cancelledWait_leavesTheOthersWaiting() throws {
        let rig = try rig()
        for id in ["t", "u", "v"] { rig.start(id) }
        rig.cancel("u")
        #expect(rig.error("u")?.name == .cancelled)
        try rig.answer(200, [], "text")
        #expect(copiedFrom("v", rig) == "t" && rig.delivery.text("/here/u") == nil)
    }

    @Test(arguments: ["tampered", nil]) func sourceThatIsNotWhatItWas_isFetchedAgain(_ now: String?) throws {
        let rig = try rig()
        rig.start("t")
        try rig.answer(200, [], "text")
        if let now { rig.delivery.put("/here/t", now) } else { rig.delivery.files["/here/t"] = nil }
        rig.start("u")
        rig.start("v")
        #expect(try rig.request().request.url == "https://b.example/g")
        try rig.answer(200, [], "text")
        #expect(rig.result("u")?.source == .network && copiedFrom("u", rig) == nil)
        #expect(copiedFrom("v", rig) == "u" && rig.delivery.text("/here/v") == "text")
    }

    @Test func cancelledCopyThatFails_isNotFetched() throws {
        let rig = try rig()
        rig.start("t")
        try rig.answer(200, [], "text")
        rig.delivery.put("/here/t", "tampered")
        rig.delivery.isHeld = true
        rig.start("u")
        // It is asked first whether its own file is there.
        rig.delivery.isHeld = false
        rig.delivery.isHeld = true
        rig.turn()
        rig.cancel("u")
        rig.delivery.isHeld = false
        rig.turn()
        #expect(rig.error("u")?.name == .cancelled && rig.loop.transfers.count == 1)
    }

    @Test func fileThatStandsAlready_isASource() throws {
        let rig = try rig()
        rig.delivery.put("/here/t", "text")
        rig.start("t")
        rig.start("u")
        #expect(rig.result("t")?.source == .unchanged && copiedFrom("u", rig) == "t" && rig.loop.transfers.isEmpty)
    }

    @Test(arguments: [
        ", expect: { mimeType: text/plain }", ", decompress: file", ", capture: { a: { header: X-A } }",
        ", cachePolicy: returnCacheDataDontLoad", ", method: POST",
    ])
    func taskThatWantsMoreThanTheBytes_asksItself(_ more: String) throws {
        let rig = try rig(more)
        rig.start("t")
        try rig.answer(200, [], "text")
        rig.start("u")
        #expect(rig.loop.transfers.count == 2 || rig.error("u")?.name == .resourceUnavailable)
    }

    // MARK: By URL

    private func sameURL(_ more: String = "") throws -> EngineRig {
        try EngineRig(
            """
            tasks:
              - { id: t, url: "https://a.example/f", to: t }
              - { id: u, url: "https://a.example/f", to: u \(more) }
            """)
    }

    @Test func sameURL_isAskedForUnderTheFirstsTag_andCopied() throws {
        let rig = try sameURL()
        rig.start("t")
        rig.start("u")
        try rig.answer(200, [("ETag", "\"1\"")], "text")
        #expect(try rig.request().header("If-None-Match") == "\"1\"")
        try rig.answer(304, [("ETag", "\"1\"")])
        #expect(rig.delivery.text("/here/u") == "text" && copiedFrom("u", rig) == "t")
        #expect(rig.result("u")?.source == .local && rig.result("u")?.file?.changed == true)
    }

    @Test func otherVersion_isTaken() throws {
        let rig = try sameURL()
        rig.start("t")
        try rig.answer(200, [("ETag", "\"1\"")], "text")
        rig.start("u")
        try rig.answer(200, [("ETag", "\"2\"")], "other")
        #expect(rig.delivery.text("/here/t") == "text" && rig.delivery.text("/here/u") == "other")
        #expect(rig.result("u")?.source == .network && copiedFrom("u", rig) == nil)
    }

    @Test(arguments: [[], [("ETag", "W/\"1\"")], [("Last-Modified", "Sun, 06 Nov 1994 08:49:37 GMT")]])
    func responseWithoutAStrongTag_letsTheOthersGoAtOnce(_ headers: [(String, String)]) throws {
        let rig = try sameURL()
        rig.start("t")
        rig.start("u")
        try rig.answer(200, headers + [("Content-Length", "4")], "te", stays: true)
        #expect(rig.loop.underWay.count == 2)
        #expect(rig.loop.underWay[1].header("If-None-Match") == nil)
    }

    @Test func slowServer_isAskedByEach() throws {
        let rig = try sameURL()
        rig.start("t")
        rig.start("u")
        rig.advance(.milliseconds(249))
        #expect(rig.loop.underWay.count == 1)
        rig.advance(.milliseconds(1))
        #expect(rig.loop.underWay.count == 2)
        #expect(rig.loop.underWay[1].header("If-None-Match") == nil)
    }

    @Test func largeFile_isWaitedFor_onceItsHeadersAreThere() throws {
        let rig = try sameURL()
        rig.start("t")
        rig.start("u")
        try rig.answer(200, [("ETag", "\"1\""), ("Content-Length", "8")], "te", stays: true)
        rig.advance(.seconds(5))
        #expect(rig.loop.underWay.count == 1)
    }

    @Test func sourceChangedAfterThe304_isFetched() throws {
        let rig = try sameURL()
        rig.start("t")
        try rig.answer(200, [("ETag", "\"1\"")], "text")
        rig.delivery.put("/here/t", "tampered")
        rig.start("u")
        try rig.answer(304, [("ETag", "\"1\"")])
        #expect(try rig.request().header("If-None-Match") == nil)
        try rig.answer(200, [("ETag", "\"1\"")], "text")
        #expect(rig.delivery.text("/here/u") == "text" && rig.result("u")?.source == .network)
    }

    @Test(arguments: [", headers: { X-A: b }", ", segments: 4", ", method: POST", ", existing: replace"])
    func taskThatAsksOtherwise_isNoSecondOfTheFirst(_ more: String) throws {
        let rig = try sameURL(more)
        rig.start("t")
        rig.start("u")
        #expect(rig.loop.underWay.count == 2)
    }

    // MARK: Groups

    @Test func members_waitForNoMember_andCopyFromAPlacedFile() throws {
        let rig = try rig()
        rig.start("m")
        rig.start("n")
        #expect(rig.loop.transfers.count == 2, "both fetch: neither has a place before the group is published")
        let other = try self.rig()
        other.start("t")
        other.start("m")
        try other.answer(200, [], "text")
        other.start("n")
        #expect(other.loop.transfers.count == 1 && other.delivery.staged.count == 2)
        other.perform(.publish(GroupIndex(raw: 0)))
        other.turn()
        #expect(other.delivery.text("/here/site/m") == "text" && other.delivery.text("/here/site/n") == "text")
    }

    @Test func member_isCopiedOncePublished() throws {
        let rig = try rig()
        rig.start("m")
        try rig.answer(200, [], "text")
        rig.start("n")
        try rig.answer(200, [], "text")
        rig.start("t")
        #expect(rig.loop.underWay.count == 1, "not published yet")
        try rig.cut()
        rig.perform(.publish(GroupIndex(raw: 0)))
        rig.turn()
        rig.start("u")
        #expect(rig.delivery.text("/here/u") == "text" && rig.loop.underWay.isEmpty)
    }
}
