import CurlCore
import Testing
import TransferEngine
import TransferModel

/// Groups, lists of checksums, captures that others use, and transfers under a `bandwidth`.
@Suite struct SeveralTasksTests {
    // MARK: Groups

    private func group() throws -> EngineRig {
        let rig = try EngineRig(
            """
            groups: { g: { to: site } }
            tasks:
              - { id: t, group: g, url: "https://a.example/f", to: a }
              - { id: u, group: g, url: "https://a.example/g", to: b }
            """)
        rig.start("t")
        try rig.answer(200, [], "one")
        rig.start("u")
        try rig.answer(200, [], "two")
        return rig
    }

    @Test func members_areStaged_andPublishedTogether() throws {
        let rig = try group()
        #expect(rig.verdict("t") != nil && rig.verdict("u") != nil)
        #expect(rig.delivery.files.isEmpty && rig.delivery.staged.count == 2)
        rig.perform(.publish(GroupIndex(raw: 0)))
        rig.turn()
        #expect(rig.delivery.text("/here/site/a") == "one" && rig.delivery.text("/here/site/b") == "two")
        #expect(rig.reports.contains { if case .published(_, nil) = $0 { true } else { false } })
        #expect(rig.events("u").contains { if case .fileFinished = $0 { true } else { false } })
    }

    @Test func discardedGroup_publishesNothing() throws {
        let rig = try group()
        rig.perform(.discard(GroupIndex(raw: 0)))
        rig.turn()
        #expect(rig.delivery.files.isEmpty && rig.delivery.staged.isEmpty)
    }

    // MARK: Checksums from a list

    private static let sums =
        "982d9e3eb996f559e633f4d194def3761d909f5a3b647d1a851fead67c32c9d1  f\n"
        + "0000000000000000000000000000000000000000000000000000000000000000  other\n"

    private func listed(_ from: String = "https://a.example/SHA256SUMS") throws -> EngineRig {
        let rig = try EngineRig(EngineRig.job("to: f, checksum: { from: \"\(from)\" }"))
        rig.start()
        return rig
    }

    @Test func list_isFetchedFirst_andHeldAgainstTheFile() throws {
        let rig = try listed()
        #expect(try rig.request().request.url == "https://a.example/SHA256SUMS")
        try rig.answer(200, [], Self.sums)
        #expect(try rig.request().request.url == "https://a.example/f")
        try rig.answer(200, [], "text")
        #expect(rig.succeeded && rig.result()?.file?.checksum != nil)
    }

    @Test func fileThatIsNotAsListed_fails() throws {
        let rig = try listed()
        try rig.answer(200, [], Self.sums)
        try rig.answer(200, [], "wrong")
        #expect(rig.error()?.name == .checksumMismatch && rig.delivery.files.isEmpty)
    }

    @Test(arguments: ["", "nonsense", "abc  f"]) func listWithoutAnEntry_fails(_ text: String) throws {
        let rig = try listed()
        try rig.answer(200, [], text)
        #expect(rig.verdict() != nil && !rig.succeeded)
        #expect(!rig.loop.transfers.contains { $0.request.url == "https://a.example/f" })
    }

    @Test func listThatIsNotThere_fails() throws {
        let rig = try listed()
        try rig.answer(404)
        #expect(rig.verdict()?.status == 404 && rig.loop.transfers.count == 1)
    }

    @Test func fileThatStandsAsListed_needsNoRequestOfItsOwn() throws {
        let rig = try EngineRig(EngineRig.job("to: f, checksum: { from: \"https://a.example/SHA256SUMS\" }"))
        rig.delivery.put("/here/f", "text")
        rig.start()
        try rig.answer(200, [], Self.sums)
        #expect(rig.succeeded && rig.result()?.source == .unchanged && rig.loop.transfers.count == 1)
    }

    // MARK: Captures

    private func capturing(_ second: String, _ body: String = "{\"v\":\"one two\"}") throws -> EngineRig {
        let rig = try EngineRig(
            """
            tasks:
              - { id: t, url: "https://a.example/f", capture: { v: { json: $.v } } }
              - { id: u, \(second) }
            """)
        rig.start("t")
        try rig.answer(200, [], body)
        rig.start("u")
        return rig
    }

    @Test func capturedValue_isEncodedIntoAURL() throws {
        let rig = try capturing("url: \"https://a.example/${tasks.t.v}/x\"")
        #expect(try rig.request().request.url == "https://a.example/one%20two/x")
    }

    @Test func capturedValue_isSentInAHeader() throws {
        let rig = try capturing("url: \"https://a.example/g\", headers: { X-V: \"<${tasks.t.v}>\" }")
        #expect(try rig.request().header("X-V") == "<one two>")
    }

    @Test(arguments: ["a\\r\\nX-Evil: 1", "a\\nb", "a\\u0000b"]) func capturedValue_addsNoHeaderLine(_ value: String)
        throws
    {
        let rig = try capturing(
            "url: \"https://a.example/g\", headers: { X-V: \"${tasks.t.v}\" }", "{\"v\":\"\(value)\"}")
        #expect(rig.verdict("u") != nil && rig.error("u") != nil && rig.loop.transfers.count == 1)
    }

    @Test(arguments: ["../../etc/x", "..", "/etc/x"]) func capturedValue_leavesNoFolder(_ value: String) throws {
        let rig = try capturing("url: \"https://a.example/g\", to: \"dir/${tasks.t.v}\"", "{\"v\":\"\(value)\"}")
        if rig.verdict("u") == nil { try rig.answer(200, [], "x") }
        #expect(rig.delivery.files.keys.allSatisfy { $0.hasPrefix("/here/dir/") && !$0.contains("..") })
    }

    // MARK: Bandwidth

    @Test func meteredBody_standsStillWithoutCredit() throws {
        let rig = try EngineRig(EngineRig.job("to: f, bandwidth: 1kB/s"))
        rig.start()
        let transfer = try rig.answer(200, [("Content-Length", "10")], stays: true)
        let reply = Array("hello".utf8).withUnsafeBytes { transfer.receiver.received(body: $0) }
        #expect({ if case .pause = reply { true } else { false } }())
        rig.perform(.credit(rig.index("t"), bytes: 100))
        #expect(transfer.resumes > 0)
        #expect(rig.send("hello", to: transfer) && rig.send("world", to: transfer))
        rig.loop.complete(transfer)
        rig.turn()
        #expect(rig.succeeded && rig.delivery.text("/here/f") == "helloworld")
        let moved = rig.reports.reduce(Int64(0)) { if case .moved(_, let bytes) = $1 { $0 + bytes } else { $0 } }
        #expect(moved == 10)
    }

    @Test func standingStillForCredit_isNoSilence() throws {
        let rig = try EngineRig(EngineRig.job("to: f, bandwidth: 1kB/s, timeoutForRequest: 10s"))
        rig.start()
        let transfer = try rig.answer(200, [("Content-Length", "10")], stays: true)
        _ = Array("hello".utf8).withUnsafeBytes { transfer.receiver.received(body: $0) }
        rig.advance(.seconds(60))
        #expect(rig.verdict() == nil)
    }

    // MARK: Slots that are lent

    @Test func largeFile_couldUseMoreSlots() throws {
        let rig = try EngineRig(EngineRig.job("to: f, segments: 4"))
        rig.start()
        try rig.answer(
            200, [("Content-Length", "80000000"), ("ETag", "\"1\""), ("Accept-Ranges", "bytes")], stays: true)
        rig.turn()
        let wanted = rig.reports.compactMap { if case .couldUse(_, _, let slots) = $0 { slots } else { nil } }
        #expect(wanted.last == 3)
    }

    @Test(
        arguments: [[("ETag", "W/\"1\"")], [("ETag", "\"1\""), ("Accept-Ranges", "none")], []] as [[(String, String)]])
    func fileThatCannotBeTakenInParts_usesOne(_ headers: [(String, String)]) throws {
        let rig = try EngineRig(EngineRig.job("to: f, segments: 4"))
        rig.start()
        try rig.answer(200, headers + [("Content-Length", "80000000")], stays: true)
        rig.turn()
        #expect(!rig.reports.contains { if case .couldUse(_, _, 1...) = $0 { true } else { false } })
    }

    @Test func lentSlot_isUsedForARange() throws {
        let rig = try EngineRig(EngineRig.job("to: f, segments: 2"))
        rig.start()
        try rig.answer(
            200, [("Content-Length", "80000000"), ("ETag", "\"1\""), ("Accept-Ranges", "bytes")], stays: true)
        rig.turn()
        let origin = try #require(
            rig.reports.compactMap { if case .couldUse(_, let origin, 1...) = $0 { origin } else { nil } }.last)
        rig.perform(.lend(rig.index("t"), origin))
        rig.turn()
        #expect(rig.loop.underWay.count == 2)
        let range = try #require(rig.loop.transfers.last?.header("Range"))
        #expect(
            range.hasPrefix("bytes=") && range != "bytes=0-" && rig.loop.transfers.last?.header("If-Range") == "\"1\"")
        rig.cancel()
        #expect(rig.loop.underWay.isEmpty && rig.error()?.name == .cancelled)
    }
}
