import SystemIO
import TestSupport
import Testing
import TextFormats
import TransferModel

/// A folder of files whose state is lost: a fresh container with a restored cache.
@Suite struct LostStateTests {
    private static let modified = WallTime(nanoseconds: 1_700_000_000_000_000_000)
    private static let date = HTTPDate.format(modified)
    private let stage: Stage
    private let server: ScriptedServer

    init() throws {
        stage = try Stage()
        server = try ScriptedServer()
        server.serve("/f", ServedResource("the file", etag: nil, lastModified: Self.date))
    }

    private func job(_ more: String = "") -> String {
        "tasks: [{ id: t, url: \"\(server.url("/f"))\", to: f\(more) }]"
    }

    /// The file as the server's, without anything that a run knows of it.
    private func put(_ text: String = "the file", at time: WallTime = modified) throws {
        try stage.folder.write("f", text)
        try Descriptor.openFolder(stage.folder.path).setModificationTime(
            of: RawName("f"), nanoseconds: time.nanoseconds)
    }

    @Test func anIdenticalFile_isNotFetchedAgain() throws {
        defer { server.stop() }
        try put()
        let run = try stage.run(job())
        #expect(run.status == 0, "\(run.errorText)")
        #expect(try run.value("$.tasks[0].source") == "unchanged")
        #expect(try run.value("$.totals.bytesReceived") == "0" && run.value("$.totals.bytesSaved") == "8")
        // Its answer says nothing of a length: that is asked for.
        #expect(server.requests().map(\.method) == ["GET", "HEAD"])
        #expect(server.requests().map { $0.header("If-Modified-Since") } == [Self.date, nil])
        #expect(try FileFacts.of(stage.folder.path("f")).modifiedNanoseconds == Self.modified.nanoseconds)
    }

    @Test func theNextRun_knowsIt() throws {
        defer { server.stop() }
        server.serve("/f", ServedResource("the file", etag: "\"v1\"", lastModified: Self.date))
        try put()
        #expect(try stage.run(job()).value("$.tasks[0].source") == "unchanged")
        #expect(try stage.run(job()).value("$.tasks[0].source") == "unchanged")
        #expect(server.requests().map(\.method) == ["GET", "HEAD", "GET"])
        #expect(server.requests().last?.header("If-None-Match") == "\"v1\"")
    }

    @Test(arguments: [("the fil", 0), ("another", 0), ("the file", 3600), ("the file", -3600)] as [(String, Int64)])
    func aFileOfAnotherLengthOrTime_isFetched(_ text: String, _ later: Int64) throws {
        defer { server.stop() }
        try put(text, at: Self.modified + .seconds(later))
        let run = try stage.run(job())
        #expect(run.status == 0)
        #expect(try run.value("$.tasks[0].source") == "network")
        #expect(try stage.text("f") == "the file")
    }

    /// Servers there are that answer 304 to anything.
    @Test(arguments: ["Mon, 02 Jan 2006 15:04:05 GMT", nil] as [String?])
    func a304OfAnotherFile_isNotBelieved(_ told: String?) throws {
        defer { server.stop() }
        try put("short")
        let told = told.map { [("Last-Modified", $0)] } ?? []
        server.on("/f") { request in
            if request.method == "HEAD" { return .headOnly(200, headers: told, length: 8) }
            return request.header("If-Modified-Since") != nil
                ? .respond(304, headers: told) : .respond(200, headers: told, body: "the file")
        }
        let run = try stage.run(job())
        #expect(try run.value("$.tasks[0].source") == "network")
        #expect(try stage.text("f") == "the file")
    }

    /// One answer is enough where it says both.
    @Test func a304WithALength_needsNoSecondRequest() throws {
        defer { server.stop() }
        try put()
        server.on("/f", [.bytes(Script.head(304, [("Last-Modified", Self.date), ("Content-Length", "8")]))])
        let run = try stage.run(job())
        #expect(try run.value("$.tasks[0].source") == "unchanged")
        #expect(server.requests().count == 1)
    }

    @Test(arguments: [405, 403, 500]) func aServerThatKnowsNoHEAD_isAskedForTheFile(_ status: Int) throws {
        defer { server.stop() }
        try put()
        server.on("/f") { request in
            if request.method == "HEAD" { return .respond(status) }
            let isAsked = request.header("If-Modified-Since") != nil
            return isAsked ? .respond(304) : .respond(200, body: "the file")
        }
        let run = try stage.run(job())
        #expect(run.status == 0, "\(run.errorText)")
        #expect(try run.value("$.tasks[0].source") == "network")
        #expect(server.requests().map(\.method) == ["GET", "HEAD", "GET"])
    }

    @Test func aServerThatBreaksOffAtTheHEAD_isAskedForTheFile() throws {
        defer { server.stop() }
        try put()
        server.on("/f") { request in
            if request.method == "HEAD" { return Script([.reset]) }
            let isAsked = request.header("If-Modified-Since") != nil
            return isAsked ? .respond(304) : .respond(200, body: "the file")
        }
        let run = try stage.run(job(", retry: { attempts: 4, backoff: { initial: 1ms } }"))
        #expect(run.status == 0, "\(run.errorText)")
        #expect(try run.value("$.tasks[0].source") == "network")
        #expect(server.requests().last?.method == "GET")
        #expect(try stage.text("f") == "the file")
    }

    /// Another session's file may have been put there: only what is kept would tell.
    @Test func anEphemeralSession_fetches() throws {
        defer { server.stop() }
        try put()
        let run = try stage.run("sessions: { s: { configuration: ephemeral } }\n" + job(", session: s"))
        #expect(try run.value("$.tasks[0].source") == "network")
        #expect(server.requests().map { $0.header("If-Modified-Since") } == [nil])
    }

    @Test(arguments: [", preserveTime: false", ", existing: replace", ", decompress: true"])
    func whereTheTimeSaysNothing_theFileIsFetched(_ more: String) throws {
        defer { server.stop() }
        try put()
        let run = try stage.run(job(more))
        #expect(run.status == 0)
        #expect(server.requests().map { $0.header("If-Modified-Since") } == [nil])
    }

    @Test func acrossARedirect_theFileIsKnown() throws {
        defer { server.stop() }
        try put()
        server.on("/old", .redirect(302, to: server.url("/f")))
        let run = try stage.run("tasks: [{ id: t, url: \"\(server.url("/old"))\", to: f }]")
        #expect(run.status == 0, "\(run.errorText)")
        #expect(try run.value("$.tasks[0].source") == "unchanged")
        #expect(server.requests("/f").map(\.method) == ["GET", "HEAD"])
    }
}
