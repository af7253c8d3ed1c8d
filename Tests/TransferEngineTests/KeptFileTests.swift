import TestSupport
import Testing
import TransferEngine
import TransferModel

/// What a second run does with what the first one left: files, and what sessions learned.
@Suite struct KeptFileTests {
    private let tree: TemporaryTree

    init() throws {
        tree = try TemporaryTree("rig")
        try tree.makeFolder("state", mode: 0o700)
    }

    private func rig(_ task: String = "to: f") throws -> EngineRig {
        try EngineRig(EngineRig.job(task), state: tree.path("state"))
    }

    /// A run that fetches the file, has ended, and is followed by the one that this returns.
    private func secondRun(
        after headers: [(String, String)], _ change: (ModelDelivery) -> Void = { _ in }
    ) throws -> EngineRig {
        let first = try rig()
        first.start()
        #expect(first.turn { !first.loop.underWay.isEmpty })
        try first.answer(200, headers, "text")
        #expect(first.succeeded && first.end() == [])
        let second = try rig()
        second.delivery.files = first.delivery.files
        change(second.delivery)
        second.start()
        #expect(second.turn { !second.loop.underWay.isEmpty })
        return second
    }

    @Test func fileOfAnEarlierRun_isAskedAboutUnderItsValidators() throws {
        let rig = try secondRun(after: [("ETag", "\"1\"")])
        #expect(try rig.request().header("If-None-Match") == "\"1\"")
        try rig.answer(304)
        #expect(rig.succeeded && rig.result()?.source == .unchanged)
        #expect(rig.delivery.text("/here/f") == "text")
        #expect(rig.end() == [])
    }

    @Test func fileThatTheServerHasChanged_isReplaced() throws {
        let rig = try secondRun(after: [("ETag", "\"1\"")])
        try rig.answer(200, [("ETag", "\"2\"")], "news")
        #expect(rig.succeeded && rig.result()?.source == .network)
        #expect(rig.delivery.text("/here/f") == "news")
        #expect(rig.end() == [])
    }

    @Test func fileThatSomebodyChanged_isFetchedWithoutACondition() throws {
        let rig = try secondRun(after: [("ETag", "\"1\"")]) { $0.put("/here/f", "other") }
        #expect(try rig.request().header("If-None-Match") == nil)
        try rig.answer(200, [], "text")
        #expect(rig.succeeded && rig.delivery.text("/here/f") == "text")
        #expect(rig.end() == [])
    }

    @Test func fileThatGoesWhileItsServerIsAsked_isFetchedAfterAll() throws {
        let rig = try secondRun(after: [("ETag", "\"1\"")])
        rig.delivery.files["/here/f"] = nil
        try rig.answer(304)
        #expect(rig.verdict() == nil)
        #expect(try rig.request().header("If-None-Match") == nil)
        try rig.answer(200, [], "text")
        #expect(rig.succeeded && rig.delivery.text("/here/f") == "text")
        #expect(rig.end() == [])
    }

    @Test func cookieOfAnEarlierRun_isSent_onceTheStoreIsRead() throws {
        let rig = try secondRun(after: [("Set-Cookie", "a=b; Max-Age=30000000; Path=/")])
        #expect(try rig.request().header("Cookie") == "a=b")
        try rig.answer(200, [], "text")
        #expect(rig.end() == [])
    }

    /// Destinations are looked at before their tasks begin. One that has changed since is looked at again, and so is that of
    /// a task that had to wait for another.
    @Test(arguments: ["", ", needs: [t]"]) func linkThatCameAfterTheLookAhead_isFollowed(_ needs: String) throws {
        let path = tree.path("second")
        let job = EngineRig.job("to: f") + "  - { id: u, url: \"https://a.example/u\", to: \(path)\(needs) }\n"
        let rig = try EngineRig(job, state: tree.path("state"))
        rig.start()
        #expect(rig.turn { !rig.loop.underWay.isEmpty })
        try rig.answer(200, [], "text")
        try tree.write("elsewhere", "")
        try tree.link("second", to: "elsewhere")
        if needs.isEmpty { rig.advance(.seconds(1)) }
        rig.start("u")
        #expect(rig.turn { !rig.loop.underWay.isEmpty })
        try rig.answer(200, [], "more")
        #expect(rig.delivery.text(tree.path("elsewhere")) == "more")
        #expect(rig.end() == [])
    }
}
