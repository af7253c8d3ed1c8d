import SystemIO
import TestSupport
import Testing
import TextFormats
import TransferModel

/// Uploads that break off and go on, as the server sees them.
@Suite struct ResumableUploadTests {
    /// The server's side: `/up` begins uploads, `/uploads/1` is where they go on.
    private struct Server {
        let server = Result { try ScriptedServer() }
        let version: Int
        /// Takes only what names its own number.
        var isStrict = false

        var number: [Script.Header] {
            version == 0 ? [] : [("Upload-Draft-Interop-Version", "\(version)")]
        }

        func interim(_ more: [Script.Header] = [], place: String = "/uploads/1") -> Script.Step {
            .bytes(Script.head(104, number + [("Location", place)] + more))
        }

        /// It takes so much and is gone. Its 104 was read before: a reset may take what was not.
        func cut(after count: Int) -> Script {
            [interim(), .wait(.milliseconds(40)), .readPart(count), .reset]
        }

        func state(_ offset: Int, complete: Bool = false) -> [Script.Header] {
            let completeness: Script.Header =
                version == 3
                ? ("Upload-Incomplete", complete ? "?0" : "?1") : ("Upload-Complete", complete ? "?1" : "?0")
            return number + [("Upload-Offset", "\(offset)"), completeness]
        }
    }

    private static let quick = "retry: { attempts: 8, backoff: { initial: 1ms, maximum: 5ms } }"

    private func job(_ server: ScriptedServer, method: String = "PUT", session: String = "", task: String = "")
        -> String
    {
        """
        sessions: { default: { \(Self.quick)\(session) } }
        tasks:
          - { id: a, type: upload, method: \(method), url: "\(server.url("/up"))", body: { file: data.zip }, resumable: true\(task) }
        """
    }

    private func twoPlaces(_ server: ScriptedServer, method: String) -> String {
        """
        sessions: { default: { \(Self.quick) } }
        tasks:
          - id: a
            method: \(method)
            urls: ["\(server.url("/up"))", "\(server.url("/other"))"]
            body: { file: data.zip }
            resumable: true
        """
    }

    /// What the server was brought, piece by piece, each at the place that it had said.
    private func assembled(_ server: ScriptedServer, from first: ReceivedRequest) throws -> [UInt8] {
        var held = first.body
        for request in server.requests("/uploads/1") where request.method == "PATCH" {
            #expect(request.header("Upload-Offset") == "\(held.count)")
            held += request.body
        }
        return held
    }

    private func held(_ server: ScriptedServer) -> Int {
        server.requests().filter { $0.method == "PUT" || $0.method == "POST" || $0.method == "PATCH" }
            .map(\.body.count).reduce(0, +)
    }

    // MARK: Cuts

    /// Each says that it keeps what came before it is cut: a host that does so is there, however often it does.
    @Test func aBatchThatIsCutIsNoDeadHost() throws {
        let model = Server(version: 6)
        let server = try model.server.get()
        defer { server.stop() }
        for number in 1...20 {
            server.on(
                "PUT /up\(number)",
                [model.interim(place: "/kept\(number)"), .wait(.milliseconds(40)), .readPart(0), .reset])
            server.on("HEAD /kept\(number)", .respond(204, headers: model.state(0)))
            server.on(
                "PATCH /kept\(number)",
                scripts: [
                    [model.interim(place: "/kept\(number)"), .wait(.milliseconds(40)), .readPart(0), .reset],
                    .respond(201, body: "stored"),
                ])
        }
        let stage = try Stage()
        try stage.folder.write("data.zip", Script.patternBytes(400_000))
        let run = try stage.run(
            """
            sessions: { default: { maximumConnectionsPerHost: 4, retry: { attempts: 4, backoff: { initial: 10ms } } } }
            tasks:
              - id: "u${n}"
                forEach: { n: 1..20 }
                type: upload
                method: PUT
                url: "\(server.url("/up"))${n}"
                body: { file: data.zip }
                resumable: true
            """)
        #expect(run.status == 0, "\(run.errorText)")
        #expect(try run.values("$.tasks[*].waits[?@.reason == 'hostParked'].reason") == [])
    }

    @Test(arguments: [3, 5, 6, 8, 0]) func whatIsCutGoesOnWhereItWas(_ version: Int) throws {
        var random = Seeded("whatIsCutGoesOnWhereItWas \(version)")
        for _ in 0..<Rounds.scaled(3) {
            let model = Server(version: version)
            let server = try model.server.get()
            defer { server.stop() }
            let bytes = random.bytes(400_000 + random.below(400_000))
            let cuts = (0..<1 + random.below(3)).map { _ in random.below(130_000) }
            server.on("PUT /up", model.cut(after: cuts[0]))
            server.on("HEAD /uploads/1") { [unowned server] _ in .respond(204, headers: model.state(held(server))) }
            let patches = cuts.dropFirst().map { Script([.readPart($0), .reset]) } + [.respond(201, body: "stored")]
            server.on("PATCH /uploads/1", scripts: patches)
            let stage = try Stage()
            try stage.folder.write("data.zip", bytes)
            let run = try stage.run(job(server))
            #expect(run.status == 0, "\(run.errorText)")
            let first = try #require(server.requests("/up").first)
            #expect(server.requests("/up").count == 1)
            #expect(try assembled(server, from: first) == bytes)
            #expect(first.header("Upload-Complete") == "?1")
            #expect(first.header("Upload-Draft-Interop-Version") == "6")
            let questions = server.requests("/uploads/1").filter { $0.method == "HEAD" }
            #expect(questions.count == cuts.count)
            // From then on it speaks as the server does.
            let atPlace = server.requests("/uploads/1")
            let numbers = atPlace.map { $0.header("Upload-Draft-Interop-Version") }
            #expect(Set(numbers) == [version == 0 ? nil : "\(version)"])
            for patch in server.requests("/uploads/1") where patch.method == "PATCH" {
                #expect(
                    patch.header("Content-Type") == (version == 3 || version == 5 ? nil : "application/partial-upload"))
                #expect(
                    patch.header(version == 3 ? "Upload-Incomplete" : "Upload-Complete") == (version == 3 ? "?0" : "?1")
                )
            }
            try expectTold(run, cuts: cuts, size: bytes.count)
        }
    }

    private func expectTold(_ run: Stage.Run, cuts: [Int], size: Int) throws {
        var offsets = [0]
        for cut in cuts { offsets.append((offsets.last ?? 0) + cut) }
        #expect(try run.values("$.tasks[0].attempts[*].resumedFrom") == offsets.map { "\($0)" })
        #expect(try run.task("a", "body.text") == "stored")
        #expect(try run.task("a", "response.status") == "201")
        let isResumed = (offsets.last ?? 0) > 0
        #expect(try run.task("a", "source") == (isResumed ? "resumed" : "network"))
        let told = run.events.filter { $0["event"]?.plainText == "resumedAtOffset" }
        #expect(told.map { $0["offset"]?.plainText } == offsets.dropFirst().filter { $0 > 0 }.map { "\($0)" })
        #expect(run.events.last { $0["event"]?.plainText == "sentBodyData" }?["bytes"]?.plainText == "\(size)")
    }

    /// A server that wants its own number hears it at last.
    @Test(arguments: [8, 5, 3]) func aStrictServerIsAskedInItsOwnWords(_ version: Int) throws {
        let model = Server(version: version)
        let server = try model.server.get()
        defer { server.stop() }
        let bytes = Script.patternBytes(200_000)
        server.onHead("PUT /up") { request in
            let isOwn = request.header("Upload-Draft-Interop-Version") == "\(version)"
            return isOwn ? model.cut(after: 50_000) : [.readPart(10_000), .reset]
        }
        server.on("HEAD /uploads/1", .respond(200, headers: model.state(50_000)))
        server.on("PATCH /uploads/1", .respond(201))
        let stage = try Stage()
        try stage.folder.write("data.zip", bytes)
        let run = try stage.run(job(server))
        #expect(run.status == 0)
        let last = try #require(server.requests("/up").last)
        #expect(last.header("Upload-Draft-Interop-Version") == "\(version)")
        #expect(try assembled(server, from: last) == bytes)
    }

    @Test func aServerThatKnowsNothingGetsAllOfItAgain() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        let bytes = Script.patternBytes(200_000)
        server.on("/up", [.readPart(50_000), .reset], [.readPart(70_000), .reset], .respond(201))
        let stage = try Stage()
        try stage.folder.write("data.zip", bytes)
        let run = try stage.run(job(server))
        #expect(run.status == 0)
        #expect(server.requests().map(\.body.count) == [50_000, 70_000, 200_000])
        #expect(server.requests().last?.body == bytes)
        #expect(try run.task("a", "source") == "network")
        #expect(try run.values("$.tasks[0].attempts[*].resumedFrom") == ["0", "0", "0"])
    }

    @Test(arguments: [
        [("Upload-Offset", "150000")], [("Upload-Offset", "300000")], [("Upload-Offset", "-1")], [],
        [("Upload-Offset", "50000"), ("Upload-Length", "7")],
    ])
    func aServerThatLiesGetsAllOfItAgain(_ lie: [(String, String)]) throws {
        let model = Server(version: 6)
        let server = try model.server.get()
        defer { server.stop() }
        // So little that what lies in buffers on the way is less than the lie says.
        let bytes = Script.patternBytes(100_000)
        server.on("PUT /up", model.cut(after: 50_000), .respond(201))
        server.on("HEAD /uploads/1", .respond(204, headers: model.number + lie.map { (name: $0.0, value: $0.1) }))
        let stage = try Stage()
        try stage.folder.write("data.zip", bytes)
        let run = try stage.run(job(server))
        #expect(run.status == 0)
        #expect(server.requests().map(\.method) == ["PUT", "HEAD", "PUT"])
        #expect(server.requests("/up").last?.body == bytes)
        #expect(try run.value("$.tasks[0].attempts[1].startedOver") != nil)
        #expect(try run.value("$.tasks[0].attempts[1].resumedFrom") == "0")
    }

    @Test func aPOSTWhoseUploadIsLostIsNotSentTwice() throws {
        let model = Server(version: 6)
        let server = try model.server.get()
        defer { server.stop() }
        server.on("POST /up", model.cut(after: 50_000), .respond(201))
        server.on("HEAD /uploads/1", .respond(404))
        let stage = try Stage()
        try stage.folder.write("data.zip", Script.patternBytes(100_000))
        let run = try stage.run(job(server, method: "POST"))
        #expect(run.status == 1)
        #expect(try run.task("a", "error.name") == "uploadNotResumed")
        #expect(server.requests().map(\.method) == ["POST", "HEAD"])
        // The job may say otherwise; and what can go on is no second sending.
        let again = try stage.run(job(server, method: "POST", task: ", retry: { attempts: 3, nonIdempotent: true }"))
        #expect(again.status == 0)
    }

    @Test func aPOSTThatIsCutGoesOn() throws {
        let model = Server(version: 6)
        let server = try model.server.get()
        defer { server.stop() }
        let bytes = Script.patternBytes(100_000)
        server.on("POST /up", model.cut(after: 50_000))
        server.on("HEAD /uploads/1", .respond(503), .respond(204, headers: model.state(50_000)))
        server.on("PATCH /uploads/1", .respond(201))
        let stage = try Stage()
        try stage.folder.write("data.zip", bytes)
        let run = try stage.run(job(server, method: "POST"))
        #expect(run.status == 0)
        #expect(server.requests().map(\.method) == ["POST", "HEAD", "HEAD", "PATCH"])
        #expect(try assembled(server, from: server.requests()[0]) == bytes)
    }

    /// A POST that one place of several has begun to take is not sent to the next as well.
    @Test(arguments: [true, false]) func aPOSTGoesOnAtThePlaceThatHasIt(_ isCut: Bool) throws {
        let model = Server(version: 6)
        let server = try model.server.get()
        defer { server.stop() }
        let bytes = Script.patternBytes(100_000)
        let fails: Script = [model.interim(), .readBody, .bytes(Script.head(500, [("Content-Length", "0")]))]
        server.on("POST /up", isCut ? model.cut(after: 50_000) : fails)
        server.on("HEAD /uploads/1", .respond(204, headers: model.state(50_000)))
        server.on("PATCH /uploads/1", .respond(201))
        server.on("POST /other", .respond(201))
        let stage = try Stage()
        try stage.folder.write("data.zip", bytes)
        #expect(try stage.run(twoPlaces(server, method: "POST")).status == 0)
        #expect(server.requests().map(\.target) == ["/up", "/uploads/1", "/uploads/1"])
    }

    /// All arrived, and only the answer was lost.
    @Test func whatIsCompleteIsNotSentAgain() throws {
        let model = Server(version: 6)
        let server = try model.server.get()
        defer { server.stop() }
        let bytes = Script.patternBytes(100_000)
        server.on("PUT /up", [model.interim(), .readBody, .reset])
        server.on("HEAD /uploads/1", .respond(204, headers: model.state(100_000, complete: true)))
        let stage = try Stage()
        try stage.folder.write("data.zip", bytes)
        let run = try stage.run(job(server))
        #expect(run.status == 0)
        #expect(server.requests().map(\.method) == ["PUT", "HEAD"])
        #expect(try run.task("a", "response.status") == "204")
    }

    /// What was to come out of the lost answer is nowhere else.
    @Test func whatTheLostAnswerHeldIsMissedAsThat() throws {
        let model = Server(version: 6)
        let server = try model.server.get()
        defer { server.stop() }
        server.on("PUT /up", [model.interim(), .readBody, .reset])
        server.on("HEAD /uploads/1", .respond(204, headers: model.state(100_000, complete: true)))
        let stage = try Stage()
        try stage.folder.write("data.zip", Script.patternBytes(100_000))
        let run = try stage.run(job(server, task: ", capture: { id: { json: $.id } }"))
        #expect(run.status == 1)
        #expect(try run.task("a", "error.message")?.contains("has all of the upload, only its answer") == true)
        #expect(server.requests().map(\.method) == ["PUT", "HEAD"])
    }

    /// The server has all of it and said no: that it has it is no success, in this run or in the next.
    @Test(arguments: ["PUT", "POST"]) func whatWasRefusedIsNotDone(_ method: String) throws {
        let model = Server(version: 6)
        let server = try model.server.get()
        defer { server.stop() }
        let refusal = Script([model.interim(), .readBody]) + .respond(500)
        server.on("\(method) /up", refusal, refusal, .respond(201))
        server.on("HEAD /uploads/1", .respond(204, headers: model.state(100_000, complete: true)))
        let stage = try Stage()
        try stage.folder.write("data.zip", Script.patternBytes(100_000))
        let task = ", retry: { attempts: 2 }"
        let run = try stage.run(job(server, method: method, task: task))
        #expect(run.status == 1)
        #expect(try run.task("a", "error.message")?.contains("500") == true)
        let again = method == "PUT" ? [method, "HEAD", method] : [method, "HEAD"]
        #expect(server.requests().map(\.method) == again)
        // A POST that has failed is begun anew when the job is run again.
        let next = try stage.run(job(server, method: method, task: task))
        #expect(next.status == (method == "PUT" ? 0 : 1))
        #expect(server.requests().dropFirst(again.count).contains { $0.method == method })
    }

    @Test func aServerThatTakesLittleAtATimeGetsPieces() throws {
        let model = Server(version: 8)
        let server = try model.server.get()
        defer { server.stop() }
        let bytes = Script.patternBytes(1_000_000)
        let limit: [Script.Header] = [("Upload-Limit", "max-append-size=300000")]
        server.on("PUT /up", [model.interim(limit), .readPart(1), .stall])
        server.on("HEAD /uploads/1") { [unowned server] _ in .respond(204, headers: model.state(held(server)) + limit) }
        server.on("PATCH /uploads/1") { [unowned server] request in
            let isLast = request.header("Upload-Complete") == "?1"
            return .respond(isLast ? 200 : 204, headers: model.state(held(server), complete: isLast))
        }
        let stage = try Stage()
        try stage.folder.write("data.zip", bytes)
        let run = try stage.run(job(server))
        #expect(run.status == 0)
        #expect(try assembled(server, from: server.requests()[0]) == bytes)
        let patches = server.requests("/uploads/1").filter { $0.method == "PATCH" }
        let begun = server.requests()[0].body.count
        #expect(patches.map(\.body.count) == [300_000, 300_000, 300_000, 100_000 - begun])
        #expect(patches.map { $0.header("Upload-Complete") } == ["?0", "?0", "?0", "?1"])
        #expect(try run.values("$.tasks[0].attempts[*].outcome") == ["succeeded"])
    }

    // MARK: Who is told what

    @Test func nothingGoesToAPlaceElsewhere() throws {
        let model = Server(version: 6)
        let (server, other) = (try model.server.get(), try ScriptedServer { _ in .respond(204) })
        defer {
            server.stop()
            other.stop()
        }
        server.on("PUT /up", [model.interim(place: other.url("/uploads/1")), .readPart(5_000), .reset], .respond(201))
        let stage = try Stage()
        try stage.folder.write("data.zip", Script.patternBytes(100_000))
        #expect(try stage.run(job(server)).status == 0)
        #expect(other.requests().isEmpty)
        #expect(server.requests().map(\.method) == ["PUT", "PUT"])
    }

    @Test func whoOneIsGoesWithEachRequest() throws {
        let model = Server(version: 6)
        let server = try model.server.get()
        defer { server.stop() }
        let bytes = Script.patternBytes(100_000)
        let challenge: [Script.Header] = [("WWW-Authenticate", "Basic realm=r")]
        server.onHead("PUT /up") { request in
            request.header("Authorization") == nil
                ? [.readBody] + Script.respond(401, headers: challenge) : model.cut(after: 50_000)
        }
        server.on("HEAD /uploads/1") { request in
            request.header("Authorization") == nil
                ? .respond(401, headers: challenge) : .respond(204, headers: model.state(50_000))
        }
        server.on("PATCH /uploads/1", .respond(201))
        let stage = try Stage()
        try stage.folder.write("data.zip", bytes)
        let run = try stage.run(
            job(
                server, session: ", credentials: [{ host: '*', user: me, password: open-sesame }]",
                task: ", headers: { X-Own: mine, Authorization-Like: x }, contentType: x/y"))
        #expect(run.status == 0)
        let patch = try #require(server.requests("/uploads/1").last)
        #expect(patch.header("Authorization")?.hasPrefix("Basic ") == true)
        #expect(patch.header("X-Own") == "mine")
        #expect(patch.headers("Content-Type") == ["application/partial-upload"])
        #expect(try assembled(server, from: try #require(server.requests("/up").last)) == bytes)
    }

    @Test func aRedirectIsFollowedBeforeItBegins() throws {
        let model = Server(version: 6)
        let server = try model.server.get()
        defer { server.stop() }
        let bytes = Script.patternBytes(100_000)
        server.on("PUT /up", .redirect(307, to: "/there"))
        server.on("PUT /there", model.cut(after: 30_000))
        server.on("HEAD /uploads/1", .respond(204, headers: model.state(30_000)))
        server.on("PATCH /uploads/1", .respond(201))
        let stage = try Stage()
        try stage.folder.write("data.zip", bytes)
        #expect(try stage.run(job(server)).status == 0)
        let first = try #require(server.requests("/there").first)
        #expect(first.header("Upload-Complete") == "?1")
        #expect(first.headers("Upload-Draft-Interop-Version") == ["6"])
        #expect(try assembled(server, from: first) == bytes)
    }

    @Test func aBodyTheServerWillNotTakeEndsAtOnce() throws {
        let model = Server(version: 8)
        let server = try model.server.get()
        defer { server.stop() }
        server.on("PUT /up", [model.interim([("Upload-Limit", "max-size=10")]), .stall])
        let stage = try Stage()
        try stage.folder.write("data.zip", Script.patternBytes(100_000))
        let run = try stage.run(job(server))
        #expect(run.status == 1)
        #expect(try run.task("a", "error.name") == "dataLengthExceedsMaximum")
        #expect(server.requests().count == 1)
    }

    // MARK: From run to run

    enum End: String, CaseIterable, Sendable { case killed, stopped, givenUp }

    /// A run that ends in the middle, and the next: what is done to the file meanwhile decides.
    private func secondRun(
        _ end: End, session: String = "", between: (TemporaryTree) throws -> Void = { _ in }
    ) throws -> (server: ScriptedServer, run: Stage.Run, stage: Stage) {
        let model = Server(version: 6)
        let server = try model.server.get()
        var isHandedOver = false
        defer { if !isHandedOver { server.stop() } }
        let stage = try Stage()
        try stage.folder.write("data.zip", Script.patternBytes(300_000))
        let last: Script.Step = end == .givenUp ? .reset : .stall
        server.on("PUT /up", [model.interim(), .wait(.milliseconds(40)), .readPart(120_000), last], .respond(201))
        server.on("HEAD /uploads/1", .respond(204, headers: model.state(120_000)))
        server.on("PATCH /uploads/1", .respond(201))
        let task = end == .givenUp ? ", retry: { attempts: 1 }" : ""
        let program = try stage.start(job(server, session: session, task: task))
        if end != .givenUp {
            #expect(server.waitForRequests(1))
            while held(server) < 120_000 { Polling.sleep(milliseconds: 5) }
            // What is kept is written within a fifth of a second.
            if end == .killed { Polling.sleep(milliseconds: 700) }
            program.send(signal: end == .killed ? 9 : 15)
        }
        if end == .killed { _ = program.wait() } else { _ = try stage.finish(program) }
        try between(stage.folder)
        let run = try stage.run(job(server, session: session, task: task))
        isHandedOver = true
        return (server, run, stage)
    }

    @Test(arguments: End.allCases) func theNextRunGoesOn(_ end: End) throws {
        let (server, run, _) = try secondRun(end)
        defer { server.stop() }
        #expect(run.status == 0)
        #expect(server.requests().map(\.method) == ["PUT", "HEAD", "PATCH"])
        #expect(try assembled(server, from: server.requests()[0]) == Script.patternBytes(300_000))
        #expect(try run.value("$.tasks[0].attempts[0].resumedFrom") == "120000")
        #expect(try run.task("a", "source") == "resumed")
    }

    @Test func anotherFileIsAnotherUpload() throws {
        let (server, run, _) = try secondRun(.killed) {
            try $0.write("data.zip", Array(Script.patternBytes(300_000).reversed()))
        }
        defer { server.stop() }
        #expect(run.status == 0)
        #expect(server.requests().map(\.method) == ["PUT", "PUT"])
        #expect(server.requests().last?.body == Script.patternBytes(300_000).reversed())
    }

    /// A POST that an earlier run began is not lost with it: the job was asked for again.
    @Test func whatTheServerForgotBeginsAnewInTheNextRun() throws {
        let model = Server(version: 6)
        let server = try model.server.get()
        defer { server.stop() }
        server.on("POST /up", model.cut(after: 20_000), .respond(201))
        server.on("HEAD /uploads/1", .respond(404))
        let stage = try Stage()
        try stage.folder.write("data.zip", Script.patternBytes(100_000))
        let once = ", retry: { attempts: 1 }"
        #expect(try stage.run(job(server, method: "POST", task: once)).status == 1)
        let run = try stage.run(job(server, method: "POST", task: once))
        #expect(run.status == 0)
        #expect(server.requests().map(\.method) == ["POST", "HEAD", "POST"])
        #expect(try run.value("$.tasks[0].attempts[0].startedOver")?.contains("does not know") == true)
    }

    /// Somebody else asks by now: what he may not go on with is no reason not to send it. Who may not send it either has spoilt
    /// nothing for the one who may.
    @Test(arguments: [true, false]) func whatIsSomebodyElsesBeginsAnew(_ maySend: Bool) throws {
        let model = Server(version: 6)
        let server = try model.server.get()
        defer { server.stop() }
        server.on(
            "PUT /up", model.cut(after: 20_000), maySend ? [.readBody] + .respond(201) : .respond(403), .respond(500))
        server.on("HEAD /uploads/1", .respond(403), .respond(204, headers: model.state(20_000)))
        server.on("PATCH /uploads/1", .respond(201))
        let stage = try Stage()
        try stage.folder.write("data.zip", Script.patternBytes(100_000))
        let job = job(server, task: ", retry: { attempts: 1 }")
        #expect(try stage.run(job).status == 1)
        let run = try stage.run(job)
        #expect(run.status == (maySend ? 0 : 1))
        #expect(server.requests().map(\.method) == ["PUT", "HEAD", "PUT"])
        #expect(try run.value("$.tasks[0].attempts[0].startedOver")?.contains("(403)") == true)
        guard !maySend else { return }
        #expect(try stage.run(job).status == 0)
        #expect(server.requests().map(\.method) == ["PUT", "HEAD", "PUT", "HEAD", "PATCH"])
    }

    /// `cancel` gives up what was begun, also where only an answer said which place that is.
    @Test func whatIsGivenUpIsForgottenAtACapturedPlace() throws {
        let model = Server(version: 6)
        let server = try model.server.get()
        defer { server.stop() }
        server.on("/where", .respond(200, body: "{\"id\": \"data\"}"))
        server.on(
            "PUT /up/data", [model.interim(), .wait(.milliseconds(40)), .readPart(20_000), .stall], .respond(201))
        server.on("HEAD /uploads/1", .respond(204, headers: model.state(20_000)))
        server.on("PATCH /uploads/1", .respond(201))
        let stage = try Stage()
        try stage.folder.write("data.zip", Script.patternBytes(100_000))
        let job = """
            tasks:
              - { id: where, url: "\(server.url("/where"))", capture: { id: { json: $.id } } }
              - id: a
                needs: [where]
                type: upload
                method: PUT
                url: "\(server.url("/up/"))${tasks.where.id}"
                body: { file: data.zip }
                resumable: true
            """
        let program = try stage.start(job)
        try #require(server.waitForRequests(2))
        while program.isRunning, held(server) < 20_000 { Polling.sleep(milliseconds: 5) }
        Polling.sleep(milliseconds: 500)
        #expect(try stage.binary.run("cancel", "\(program.processID)", "a").exitStatus == 0)
        #expect(try stage.finish(program).status == 1)
        #expect(try stage.run(job).status == 0)
        #expect(server.requests().map(\.method) == ["GET", "PUT", "GET", "PUT"])
    }

    @Test func anEphemeralSessionKeepsNothing() throws {
        let (server, run, _) = try secondRun(.stopped, session: ", configuration: ephemeral")
        defer { server.stop() }
        #expect(run.status == 0)
        #expect(server.requests().map(\.method) == ["PUT", "PUT"])
    }

    /// Each run of a job sends it, from the first on: what is kept at the 104 and forgotten at the answer is forgotten in a
    /// store that is made meanwhile, too.
    @Test func whatIsDoneIsDoneAnewByTheNextRun() throws {
        let model = Server(version: 6)
        let server = try model.server.get()
        defer { server.stop() }
        server.on("POST /up", [model.interim(), .readBody] + .respond(201))
        server.on("HEAD /uploads/1", .respond(204, headers: model.state(100_000, complete: true)))
        for _ in 0..<6 {
            let stage = try Stage()
            try stage.folder.write("data.zip", Script.patternBytes(100_000))
            for _ in 0..<2 { #expect(try stage.run(job(server, method: "POST")).status == 0) }
        }
        #expect(server.requests().map(\.method) == Array(repeating: "POST", count: 12))
    }

    /// What one place of several may have is of no use once another has all of it.
    @Test func whatSucceededElsewhereIsDoneAnewByTheNextRun() throws {
        let model = Server(version: 6)
        let server = try model.server.get()
        defer { server.stop() }
        server.on("PUT /up", [model.interim(), .readBody, .wait(.milliseconds(400)), .reset], .respond(201))
        server.on("PUT /other", .respond(201))
        server.on("HEAD /uploads/1", .respond(204, headers: model.state(100_000, complete: true)))
        let stage = try Stage()
        try stage.folder.write("data.zip", Script.patternBytes(100_000))
        for _ in 0..<2 { #expect(try stage.run(twoPlaces(server, method: "PUT")).status == 0) }
        #expect(server.requests().map(\.target) == ["/up", "/other", "/up"])
    }

    /// One file to one place, twice: each task goes on with its own.
    @Test func twoTasksHaveTwoUploads() throws {
        let model = Server(version: 6)
        let server = try model.server.get()
        defer { server.stop() }
        server.on(
            "PUT /up",
            scripts: [1, 2].map { number in
                [model.interim(place: "/uploads/\(number)"), .wait(.milliseconds(40)), .readPart(50_000), .reset]
            })
        for number in [1, 2] {
            server.on("HEAD /uploads/\(number)", .respond(204, headers: model.state(50_000)))
            server.on("PATCH /uploads/\(number)", .respond(201))
        }
        let stage = try Stage()
        try stage.folder.write("data.zip", Script.patternBytes(100_000))
        let job = """
            defaults:
              { type: upload, method: PUT, url: "\(server.url("/up"))", body: { file: data.zip }, resumable: true,
                retry: { attempts: 1 } }
            tasks: [{ id: a }, { id: b }]
            """
        #expect(try stage.run(job).status == 1)
        #expect(try stage.run(job).status == 0)
        for number in [1, 2] {
            #expect(server.requests("/uploads/\(number)").map(\.method) == ["HEAD", "PATCH"])
        }
    }

    @Test func whatCameToItsEndIsForgotten() throws {
        let (server, run, stage) = try secondRun(.stopped)
        defer { server.stop() }
        #expect(run.status == 0)
        #expect(try stage.run(job(server)).status == 0)
        #expect(server.requests().map(\.method) == ["PUT", "HEAD", "PATCH", "PUT"])
    }
}
