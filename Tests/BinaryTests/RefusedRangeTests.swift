import Stores
import TestSupport
import Testing

/// Servers that send a file and not the rest of it: what is there of it must not stand in its way for ever.
@Suite struct RefusedRangeTests {
    private static let body = Script.patternBytes(3 << 20)
    private static let cut = 2 << 20

    /// The first answer breaks off; a request for the rest is answered as the test says, others with all of the file.
    private final class Scene {
        let server: ScriptedServer
        let stage: Stage

        init(_ headers: [Script.Header] = [], rest: @escaping @Sendable (ReceivedRequest) -> Script?) throws {
            server = try ScriptedServer()
            stage = try Stage()
            let said = [("ETag", "\"v1\"")] + headers
            let head = Script.head(200, [("Content-Length", "\(body.count)")] + said)
            server.on("/f") { request in
                if request.number == 1 { return Script([.bytes(head), .bytes(Array(body[..<cut])), .close]) }
                if request.header("Range") != nil, let answer = rest(request) { return answer }
                return .respond(200, headers: said, body: body)
            }
        }

        deinit { server.stop() }

        func run(_ more: String = "", attempts: Int = 4) throws -> Stage.Run {
            stage.folder.remove(".report.json")
            stage.folder.remove(".events.ndjson")
            return try stage.run(
                """
                defaults: { retry: { attempts: \(attempts), backoff: { initial: 10ms, jitter: none } } }
                tasks: [{ id: t, url: '\(server.url("/f"))', to: f\(more) }]
                """)
        }

        /// Whether each request asked for the rest.
        var asked: [Bool] { server.requests("/f").map { $0.header("Range") != nil } }
    }

    private static func part(_ request: ReceivedRequest, _ headers: [Script.Header]) -> Script {
        let from = request.header("Range").flatMap { Int($0.dropFirst(6).dropLast()) } ?? 0
        let range = ("Content-Range", "bytes \(from)-\(body.count - 1)/\(body.count)")
        return .respond(206, headers: [("ETag", "\"v1\""), range] + headers, body: Array(body[from...]))
    }

    /// The same part would miss the same each time.
    @Test(arguments: [
        "mimeType: application/pdf", "mimeType: application/pdf, notHTML: true", "notHTML: true",
        "headers: { X-Version: '1' }", "headers: { Content-Type: pdf }",
    ]) func aRestThatIsNotAsExpectedIsFetchedWithTheWhole(_ expected: String) throws {
        let scene = try Scene([("Content-Type", "application/pdf"), ("X-Version", "1")]) {
            Self.part($0, [("Content-Type", "text/html"), ("X-Version", "2")])
        }
        let run = try scene.run(", expect: { \(expected) }")
        #expect(run.status == 0)
        #expect(try scene.stage.folder.bytes("f") == Self.body)
        #expect(scene.asked == [false, true, false])
        #expect(try run.values("$.tasks[0].attempts[*].resumedFrom") == ["0", "0"])
        #expect(try run.task("t", "attempts[1].startedOver")?.hasPrefix("the rest is not as expected: ") == true)
    }

    @Test(arguments: [400, 403, 404, 412, 501]) func whoRefusesTheRangeIsAskedForTheWhole(_ status: Int) throws {
        let scene = try Scene { _ in .respond(status, body: "no") }
        let run = try scene.run()
        #expect(run.status == 0)
        #expect(try scene.stage.folder.bytes("f") == Self.body)
        #expect(scene.asked == [false, true, false])
        let why = "the server answered \(status) to the request for the rest"
        #expect(try run.values("$.tasks[0].attempts[*].startedOver") == [nil, why])
        #expect(scene.stage.files == ["f"])
    }

    /// Whoever refuses the whole too has nothing against the range: what is there stays for a better day.
    @Test func aPartOutlivesARefusalOfTheWhole() throws {
        let scene = try Scene { Self.part($0, []) }
        #expect(try scene.run(attempts: 1).status == 1)
        scene.server.on("/f", .respond(403, body: "expired"))
        let second = try scene.run()
        #expect(try second.task("t", "error.name") == "unexpectedResponse")
        #expect(try second.task("t", "attempts[0].startedOver") == nil)
        #expect(scene.asked == [false, true, false])
        scene.server.on("/f") { Self.part($0, []) }
        let third = try scene.run()
        #expect(third.status == 0)
        #expect(try third.task("t", "source") == "resumed")
        #expect(try scene.stage.folder.bytes("f") == Self.body)
    }

    /// Others refuse who asks, or when: the whole is not asked for then.
    @Test(arguments: [401, 429, 503]) func otherRefusalsSayNothingOfTheRange(_ status: Int) throws {
        let scene = try Scene { $0.number == 2 ? .respond(status, body: "no") : Self.part($0, []) }
        _ = try scene.run(attempts: 2)
        let run = try scene.run()
        #expect(run.status == 0)
        #expect(try scene.stage.folder.bytes("f") == Self.body)
        #expect(scene.asked == [false, true, true])
        #expect(try run.task("t", "source") == "resumed")
    }

    /// It may be the range that the server cannot cope with: the part outlives the run's attempts, and not the run.
    @Test(arguments: [500, 502]) func anErrorOfTheServersCostsThePartInTheEnd(_ status: Int) throws {
        let scene = try Scene { _ in .respond(status, body: "oops") }
        #expect(try scene.run(attempts: 3).status == 1)
        #expect(try scene.run().status == 0)
        #expect(try scene.stage.folder.bytes("f") == Self.body)
        #expect(scene.asked == [false, true, true, false])
    }

    /// One connection that is closed says nothing; one after the other does. It counts over attempts and runs.
    @Test(arguments: [1, 2, 4]) func whoHangsUpOnEachRangeIsAskedForTheWhole(_ attempts: Int) throws {
        let scene = try Scene { _ in Script([.close]) }
        var run = try scene.run(attempts: attempts)
        for _ in 0..<4 where run.status != 0 { run = try scene.run(attempts: attempts) }
        #expect(run.status == 0)
        #expect(try scene.stage.folder.bytes("f") == Self.body)
        #expect(scene.asked == [false, true, true, false])
        #expect(try run.values("$.tasks[0].attempts[*].startedOver").last??.contains("brought nothing of it") == true)
        #expect(scene.stage.files == ["f"])
    }

    @Test func oneClosedConnectionCostsNothing() throws {
        let scene = try Scene { $0.number == 2 ? Script([.close]) : Self.part($0, []) }
        let run = try scene.run()
        #expect(run.status == 0)
        #expect(scene.asked == [false, true, true])
        #expect(try run.task("t", "source") == "resumed")
        #expect(try scene.stage.folder.bytes("f") == Self.body)
    }

    /// Where nothing is answered at all, it is not the range.
    @Test func aServerThatHangsUpOnAllCostsNothing() throws {
        let scene = try Scene { _ in nil }
        scene.server.on("/f") { request in
            switch request.number {
            case 1:
                let head = Script.head(200, [("Content-Length", "\(Self.body.count)"), ("ETag", "\"v1\"")])
                return Script([.bytes(head), .bytes(Array(Self.body[..<Self.cut])), .close])
            case 2...4: return Script([.close])
            default: return Self.part(request, [])
            }
        }
        let run = try scene.run(attempts: 5)
        #expect(run.status == 0)
        #expect(scene.asked == [false, true, true, false, true])
        #expect(try run.task("t", "source") == "resumed")
    }
}
