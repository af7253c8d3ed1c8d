import Digests
import Glibc
import Stores
import TestSupport
import Testing
import TransferModel

/// A group that failed or was stopped: the next run of the job fetches only what is missing.
@Suite struct KeptGroupTests {
    private let stage: Stage
    private let server: ScriptedServer
    init() throws {
        stage = try Stage()
        server = try ScriptedServer()
        for name in ["a", "b"] { server.serve("/\(name)", ServedResource("text of \(name)")) }
    }

    private func job(needs: String = "a, b", more: String = "", session: String = "") -> String {
        """
        name: nightly
        sessions: { default: { retry: { attempts: 1 }\(session) } }
        groups: { g: { to: site } }
        tasks:
          - { id: a, group: g, url: "\(server.url("/a"))", to: a }
          - { id: b, group: g, url: "\(server.url("/b"))", to: sub/b }
          - { id: c, needs: [\(needs)], group: g, url: "\(server.url("/c"))", to: c }
        \(more)
        """
    }

    /// The file that is there from the second request on.
    private func serveLast() {
        server.on("/c") { request in
            request.number == 1 ? .respond(404, body: "not yet") : ServedResource("c").answer(request)
        }
    }

    private func texts(_ folder: String) throws -> [String: String] {
        try stage.folder.contents(folder).mapValues { String(decoding: $0, as: UTF8.self) }
    }

    private var kept: [String] { stage.files.filter { $0.contains(".transfer-run-kept-") && !$0.hasSuffix("/") } }

    @Test func aFailedGroup_isCompletedByTheNextRun() throws {
        defer { server.stop() }
        try stage.folder.write("site/a", "old a")
        serveLast()
        let first = try stage.run(job())
        #expect(first.status == 1)
        #expect(try texts("site") == ["a": "old a"])
        #expect(kept.count == 2)
        let words =
            "2 verified files of unpublished groups are kept for a week: the same command fetches only the rest."
        #expect(first.errorText.contains(words), "\(first.errorText)")

        let run = try stage.run(job())
        #expect(run.status == 0, "\(run.errorText)")
        #expect(try texts("site") == ["a": "text of a", "c": "c", "sub/": "", "sub/b": "text of b"])
        for path in ["/a", "/b"] {
            #expect(server.requests(path).map { $0.header("If-None-Match") } == [nil, "\"v1\""])
        }
        #expect(try run.values("$.tasks[*].source") == ["resumed", "resumed", "network"])
        #expect(try run.values("$.tasks[*].changed") == ["true", "true", "true"])
        #expect(try run.value("$.totals.bytesSaved") == "18")
        #expect(stage.files.allSatisfy { !$0.contains(".transfer-run-") })

        let last = try stage.run(job())
        #expect(try last.values("$.tasks[*].source") == ["unchanged", "unchanged", "unchanged"])
    }

    /// What the server has by then is what is published.
    @Test func aMemberThatChangedMeanwhile_isFetchedAgain() throws {
        defer { server.stop() }
        serveLast()
        #expect(try stage.run(job()).status == 1)
        server.serve("/a", ServedResource("newer a", etag: "\"v2\""))
        let run = try stage.run(job())
        #expect(try run.values("$.tasks[*].source") == ["network", "resumed", "network"])
        #expect(try texts("site") == ["a": "newer a", "c": "c", "sub/": "", "sub/b": "text of b"])
    }

    @Test func aKeptMemberThatMeetsItsChecksum_needsNoRequest() throws {
        defer { server.stop() }
        let sum = try Checksum.of(Array("text of d".utf8), .sha256)
        let more = "  - { id: d, group: g, url: '\(server.url("/d"))', to: d, checksum: '\(sum)' }"
        server.serve("/d", ServedResource("text of d", etag: nil))
        serveLast()
        let text = job(needs: "a, b, d", more: more)
        #expect(try stage.run(text).status == 1)
        let run = try stage.run(text)
        #expect(run.status == 0)
        #expect(server.requests("/d").count == 1)
        #expect(try run.task("d", "source") == "resumed")
        #expect(try stage.text("site/d") == "text of d")
    }

    /// A kept file that somebody changed is not the one that was verified.
    @Test func aKeptMemberThatWasChanged_isFetchedAgain() throws {
        defer { server.stop() }
        serveLast()
        #expect(try stage.run(job()).status == 1)
        let path = try #require(kept.first { $0.hasSuffix("/a") })
        try stage.folder.write(path, "wrong one")
        let run = try stage.run(job())
        #expect(run.status == 0)
        #expect(try run.values("$.tasks[*].source") == ["network", "resumed", "network"])
        #expect(try stage.text("site/a") == "text of a")
    }

    @Test(arguments: [SIGINT, SIGKILL]) func aStoppedGroup_goesOnWithItsMembersAndTheHalfDoneOne(_ signal: Int32) throws
    {
        defer { server.stop() }
        let body = serveHalf()
        let program = try stage.start(job())
        #expect(server.waitForRequests(1, "/c"))
        waitUntil { progressOfC() >= 2_000_000 }
        // A killed run has told the store what it tells once a second.
        if signal == SIGKILL { waitUntil { storeKnowsThePart() } }
        #expect(program.send(signal: signal))
        let stopped = program.wait()
        if signal == SIGINT {
            #expect(stopped.exitStatus == 130)
            #expect(stopped.errorText.contains("1.9 MiB of half-done downloads is kept"), "\(stopped.errorText)")
        }
        let run = try stage.run(job())
        #expect(run.status == 0, "\(run.errorText)")
        #expect(try run.values("$.tasks[*].source") == ["resumed", "resumed", "resumed"])
        #expect(try stage.folder.bytes("site/c") == body)
        #expect(try stage.text("site/a") == "text of a" && stage.text("site/sub/b") == "text of b")
        #expect(server.requests("/c").last?.header("Range")?.hasPrefix("bytes=") == true)
        #expect(try run.value("$.totals.bytesSaved").flatMap { Int($0) } ?? 0 > 1_000_000)
        #expect(stage.files.allSatisfy { !$0.contains(".transfer-run-") })
    }

    /// The first answer of the last member stops half way.
    private func serveHalf() -> [UInt8] {
        let body = Script.patternBytes(3_000_000)
        server.on("/c") { request in
            let resource = ServedResource(body)
            guard request.number == 1 else { return resource.answer(request) }
            // The last byte comes late enough for its progress to be told.
            return resource.broken(after: 2_000_000, then: .wait(.milliseconds(300))) + [
                .bytes([body[2_000_000]]), .stall,
            ]
        }
        return body
    }

    private func progressOfC() -> Int {
        let text = (try? String(decoding: stage.eventsSoFar(), as: UTF8.self)) ?? ""
        guard let last = text.split(separator: "\n").last(where: { $0.contains("receivedData") }),
            let number = last.split(separator: "\"bytes\":").last?.prefix(while: \.isNumber)
        else { return 0 }
        return Int(number) ?? 0
    }

    private func storeKnowsThePart() -> Bool {
        let folder = stage.binary.home.path("state/transfer-run")
        guard Store.isThere(folder: folder), let store = try? Store.open(folder: folder) else { return false }
        return (try? store.partFiles().isEmpty) == false
    }

    @Test func anEphemeralSession_keepsNothing() throws {
        defer { server.stop() }
        server.on("/c", .respond(404))
        #expect(try stage.run(job(session: ", configuration: ephemeral")).status == 1)
        #expect(stage.files.allSatisfy { !$0.contains(".transfer-run-") })
    }

    @Test func resetForgetsWhatAGroupKept() throws {
        defer { server.stop() }
        serveLast()
        #expect(try stage.run(job()).status == 1)
        #expect(kept.count == 2)
        #expect(try stage.binary.run("reset", "default").exitStatus == 0)
        #expect(kept == [])
        let run = try stage.run(job())
        #expect(try run.values("$.tasks[*].source") == ["network", "network", "network"])
    }

    @Test func maximumStaged_boundsWhatIsKept() throws {
        defer { server.stop() }
        serveLast()
        let text = "limits: { maximumStaged: 10 }\n" + job()
        #expect(try stage.run(text).status == 1)
        #expect(kept.count == 1)
        let run = try stage.run(text)
        #expect(run.status == 0)
        #expect(try run.values("$.tasks[*].source").compactMap { $0 }.sorted() == ["network", "network", "resumed"])
        #expect(try stage.text("site/a") == "text of a" && stage.text("site/sub/b") == "text of b")
    }

    /// The members that the killed process had verified are asked for by what they were known by.
    @Test func aBackgroundProcessThatIsKilled_isFollowedByOneThatTakesItsMembers() throws {
        defer { server.stop() }
        let body = serveHalf()
        let scene = BackgroundScene(stage)
        let text =
            BackgroundScene.head() + """
                groups: { g: { to: site } }
                tasks:
                  - { id: a, group: g, url: "\(server.url("/a"))", to: a }
                  - { id: b, group: g, url: "\(server.url("/b"))", to: sub/b }
                  - { id: c, needs: [a, b], group: g, url: "\(server.url("/c"))", to: c }
                """
        let program = try stage.start(text)
        // What is told once a second of the half-done one was told after the others.
        waitUntil { storeKnowsThePart() }
        #expect(scene.end(SIGKILL))
        let run = try stage.finish(program)
        #expect(run.status == 0, "\(run.errorText)")
        for path in ["/a", "/b"] {
            #expect(server.requests(path).map { $0.header("If-None-Match") } == [nil, "\"v1\""])
        }
        #expect(try run.values("$.tasks[*].source") == ["resumed", "resumed", "resumed"])
        #expect(try stage.text("site/a") == "text of a" && stage.folder.bytes("site/c") == body)
        #expect(stage.files.allSatisfy { !$0.contains(".transfer-run-") })
    }
}
