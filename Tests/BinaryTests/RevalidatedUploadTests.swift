import Glibc
import SystemIO
import TestSupport
import Testing
import TransferModel

/// `existing: revalidate` of uploads: what was sent before and is still there is not sent again.
@Suite struct RevalidatedUploadTests {
    /// A server that stores what it is sent, and tells of it what the test wants.
    final class Storage: @unchecked Sendable {
        enum Telling: CaseIterable { case eTagOfTheUpload, eTagOfTheQuestion, dateOnly, lengthOnly }

        let server: ScriptedServer
        init(_ telling: Telling = .eTagOfTheUpload, paths: [String] = ["/a"]) throws {
            server = try ScriptedServer()
            for path in paths { serve(path, telling) }
        }
        deinit { server.stop() }

        private func serve(_ path: String, _ telling: Telling) {
            let server = server
            server.on(path) { request in
                let stored = server.requests(path).last { $0.method == "PUT" }?.body
                let tag = ("ETag", "\"\(stored.map { String(decoding: $0.prefix(20), as: UTF8.self) } ?? "")\"")
                guard request.method == "HEAD" else {
                    return .respond(201, headers: telling == .eTagOfTheUpload ? [tag] : [])
                }
                guard let stored else { return .respond(404) }
                let more: [Script.Header] =
                    switch telling {
                    case .eTagOfTheUpload, .eTagOfTheQuestion: [tag]
                    case .dateOnly: [("Last-Modified", "Wed, 01 Jan 2020 12:00:00 GMT")]
                    case .lengthOnly: []
                    }
                return .headOnly(200, headers: more, length: stored.count)
            }
        }

        /// What a HEAD is answered from now on; anything else is stored.
        func answerHead(_ script: Script, at path: String = "/a") {
            server.on(path) { $0.method == "HEAD" ? script : .respond(201, headers: [("ETag", "\"new\"")]) }
        }

        func methods(_ path: String = "/a") -> [String] { server.requests(path).map(\.method) }

        func job(_ more: String = "", top: String = "") -> String {
            """
            \(top)
            tasks:
              - { id: a, type: upload, method: PUT, existing: revalidate, url: "\(server.url("/a"))",
                  body: { file: a }, retry: { attempts: 1 }\(more) }
            """
        }
    }

    /// A stage with the file, which is old enough to be known by its times.
    private func stage(_ text: String = "light") throws -> Stage {
        let stage = try Stage()
        try stage.folder.write("a", text)
        return stage
    }

    private func touch(_ stage: Stage, _ seconds: Int) {
        var times = [timeval(tv_sec: seconds, tv_usec: 0), timeval(tv_sec: seconds, tv_usec: 0)]
        #expect(utimes(stage.folder.path("a"), &times) == 0)
    }

    @Test(arguments: Storage.Telling.allCases)
    func whatIsStillThere_isNotSentAgain(_ telling: Storage.Telling) throws {
        let storage = try Storage(telling)
        let stage = try stage()
        let first = try stage.run(storage.job(), "--exit-unchanged")
        #expect(first.status == 0 && storage.methods() == ["PUT"])
        #expect(try first.value("$.totals.bytesSaved") == "0" && first.task("a", "source") == "network")
        for round in 1...2 {
            let next = try stage.run(storage.job(), "--exit-unchanged")
            #expect(next.status == 9)
            #expect(storage.methods() == ["PUT"] + Array(repeating: "HEAD", count: round))
            #expect(try next.task("a", "source") == "unchanged" && next.value("$.totals.unchanged") == "1")
            #expect(try next.value("$.totals.bytesSaved") == "5" && next.value("$.totals.bytesSent") == "0")
            #expect(next.errorText.contains("unchanged  a") && next.errorText.contains("1 unchanged · 5 B not sent"))
        }
        #expect(storage.server.requests("/a").last?.header("Accept-Encoding") == "identity")
    }

    // MARK: The file

    @Test func aFileOfAnotherTimeAndTheSameBytes_isNotSent() throws {
        let storage = try Storage()
        let stage = try stage()
        #expect(try stage.run(storage.job()).status == 0)
        touch(stage, 1_500_000_000)
        #expect(try stage.run(storage.job()).task("a", "source") == "unchanged")
        // Nor one that was written anew, or lies elsewhere now.
        stage.folder.remove("a")
        try stage.folder.write("a", "light")
        #expect(try stage.run(storage.job()).task("a", "source") == "unchanged")
        try stage.folder.write("b", "light")
        let moved = storage.job().replacing("file: a", with: "file: b")
        #expect(try stage.run(moved).task("a", "source") == "unchanged")
        #expect(storage.methods() == ["PUT", "HEAD", "HEAD", "HEAD"])
    }

    /// Neither size nor time tell.
    @Test func aFileOfOtherBytes_isSent() throws {
        let storage = try Storage(.lengthOnly)
        let stage = try stage()
        touch(stage, 1_500_000_000)
        #expect(try stage.run(storage.job()).status == 0)
        try stage.folder.write("a", "night")
        touch(stage, 1_500_000_000)
        #expect(try stage.run(storage.job()).task("a", "source") == "network")
        #expect(storage.methods() == ["PUT", "PUT"] && storage.server.requests("/a")[1].body == Array("night".utf8))
        #expect(try stage.run(storage.job()).task("a", "source") == "unchanged")
        try stage.folder.write("a", "longer")
        #expect(try stage.run(storage.job()).task("a", "source") == "network")
    }

    @Test func anotherType_isSent() throws {
        let storage = try Storage()
        let stage = try stage()
        #expect(try stage.run(storage.job(", contentType: image/png")).status == 0)
        #expect(try stage.run(storage.job(", contentType: image/png")).task("a", "source") == "unchanged")
        #expect(try stage.run(storage.job(", contentType: image/jpeg")).task("a", "source") == "network")
        #expect(storage.methods() == ["PUT", "HEAD", "PUT"])
    }

    // MARK: The server

    @Test(
        arguments: [
            (.respond(404), false), (.respond(405), false), (.respond(403), false), (.respond(500), false),
            (.respond(501), false), ([.reset], false),
            (.headOnly(200, headers: [("ETag", "\"other\"")], length: 5), false),
            (.headOnly(200, headers: [("ETag", "\"light\"")], length: 6), false),
            (.headOnly(200, headers: [("ETag", "W/\"light\"")], length: 5), true),
        ] as [(Script, Bool)])
    func theAnswerToTheQuestion_decides(_ answer: Script, _ isUnchanged: Bool) throws {
        let storage = try Storage()
        let stage = try stage()
        #expect(try stage.run(storage.job()).status == 0)
        storage.answerHead(answer)
        let next = try stage.run(storage.job())
        #expect(next.status == 0)
        #expect(try next.task("a", "source") == (isUnchanged ? "unchanged" : "network"))
        #expect(storage.methods() == (isUnchanged ? ["PUT", "HEAD"] : ["PUT", "HEAD", "PUT"]))
        #expect(isUnchanged || storage.server.requests("/a").last?.body == Array("light".utf8))
    }

    /// 429 and 503 mean later; and then the question is asked again.
    @Test(arguments: [429, 503]) func aServerThatWantsQuiet_getsItFirst(_ status: Int) throws {
        let storage = try Storage()
        let stage = try stage()
        let job = storage.job().replacing("{ attempts: 1 }", with: "{ attempts: 3, backoff: { initial: 1ms } }")
        #expect(try stage.run(job).status == 0)
        let server = storage.server
        server.on("/a") { _ in
            server.requests("/a").count == 2
                ? .respond(status) : .headOnly(200, headers: [("ETag", "\"light\"")], length: 5)
        }
        let next = try stage.run(job)
        #expect(try next.task("a", "source") == "unchanged")
        #expect(storage.methods() == ["PUT", "HEAD", "HEAD"])
    }

    /// A question that stays without an answer is not asked again.
    @Test func aServerThatAnswersNoQuestion_getsTheFile() throws {
        let storage = try Storage()
        let stage = try stage()
        let patient = storage.job(", timeoutForRequest: 300ms")
            .replacing("{ attempts: 1 }", with: "{ attempts: 3, backoff: { initial: 1ms } }")
        #expect(try stage.run(patient).status == 0)
        storage.answerHead([.stall])
        let next = try stage.run(patient)
        #expect(next.status == 0)
        #expect(storage.methods() == ["PUT", "HEAD", "PUT"])
    }

    /// After an upload that broke off the server may hold anything: what was known before does not count.
    @Test func anUploadThatBrokeOff_isSentAgain() throws {
        let storage = try Storage(.lengthOnly)
        let stage = try stage()
        #expect(try stage.run(storage.job()).status == 0)
        try stage.folder.write("a", "night")
        storage.server.on("/a") { _ in [.readBody, .reset] }
        #expect(try stage.run(storage.job()).status == 1)
        try stage.folder.write("a", "light")
        storage.server.on("/a") { $0.method == "HEAD" ? .headOnly(200, length: 5) : .respond(201) }
        #expect(try stage.run(storage.job()).task("a", "source") == "network")
        #expect(storage.methods() == ["PUT", "PUT", "PUT"])
    }

    /// Another task put another file there.
    @Test func whatAnotherTaskSentThere_isNotTakenForIt() throws {
        let storage = try Storage(.lengthOnly)
        let stage = try stage()
        try stage.folder.write("b", "night")
        #expect(try stage.run(storage.job()).status == 0)
        let other = storage.job().replacing("existing: revalidate, ", with: "").replacing("file: a", with: "file: b")
        #expect(try stage.run(other).status == 0)
        #expect(try stage.run(storage.job()).task("a", "source") == "network")
        #expect(storage.methods() == ["PUT", "PUT", "PUT"])
    }

    /// The question is answered as the upload was: after a login, and a redirect.
    @Test func theQuestionTakesTheWayOfTheUpload() throws {
        let storage = try Storage(.lengthOnly, paths: ["/there"])
        let server = storage.server
        server.on("/a") { request in
            guard request.header("Authorization") != nil else {
                return .respond(401, headers: [("WWW-Authenticate", "Basic realm=\"r\"")])
            }
            return .redirect(307, to: "/there")
        }
        let stage = try stage()
        let job = storage.job(", credentials: [{ host: \"*\", user: u, password: p }]")
        #expect(try stage.run(job).status == 0)
        #expect(try stage.run(job).task("a", "source") == "unchanged")
        #expect(storage.methods("/there") == ["PUT", "HEAD"])
        // Where nothing but the length tells, another user's upload is no proof.
        let other = storage.job(", credentials: [{ host: \"*\", user: v, password: q }]")
        #expect(try stage.run(other).task("a", "source") == "network")
        #expect(storage.methods("/there") == ["PUT", "HEAD", "HEAD", "PUT"])
    }

    // MARK: What is kept

    @Test func whatIsForgotten_isSent() throws {
        let storage = try Storage()
        let stage = try stage()
        let job = storage.job(", session: api", top: "name: one\nsessions: { api: {} }")
        #expect(try stage.run(job).status == 0)
        #expect(try stage.run(job).task("a", "source") == "unchanged")
        #expect(try stage.binary.run("reset", "api").exitStatus == 0)
        #expect(try stage.run(job).task("a", "source") == "network")
        #expect(storage.methods() == ["PUT", "HEAD", "PUT"])
    }

    @Test func anEphemeralSession_keepsNothing() throws {
        let storage = try Storage()
        let stage = try stage()
        let job = storage.job(top: "sessions: { default: { configuration: ephemeral } }")
        for _ in 0..<2 { #expect(try stage.run(job).status == 0) }
        #expect(storage.methods() == ["PUT", "PUT"])
    }

    /// It goes on in another attempt, or ended in another run: the file is read for what is kept of it.
    @Test func aResumedUpload_isKnownToo() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        let body = Script.patternBytes(300 << 10)
        let place = server.url("/place")
        server.on("/a") { request in
            if request.method == "HEAD" { return .headOnly(200, length: body.count) }
            let interim = "HTTP/1.1 104 Upload\r\nUpload-Draft-Interop-Version: 6\r\nLocation: \(place)\r\n\r\n"
            return [.send(interim), .wait(.milliseconds(40)), .readPart(100 << 10), .reset]
        }
        server.on("/place") { request in
            request.method == "HEAD"
                ? .respond(
                    204,
                    headers: [
                        ("Upload-Offset", "\(50 << 10)"), ("Upload-Complete", "?0"),
                        ("Upload-Draft-Interop-Version", "6"), ("ETag", "\"place\""),
                    ])
                : Script([.readBody])
                    + .respond(
                        201, headers: [("Upload-Complete", "?1"), ("ETag", "\"place\"")])
        }
        let stage = try Stage()
        try stage.folder.write("a", body)
        let job = """
            tasks:
              - { id: a, type: upload, method: PUT, existing: revalidate, resumable: true, url: "\(server.url("/a"))",
                  body: { file: a }, retry: { attempts: 3, backoff: { initial: 1ms } } }
            """
        let first = try stage.run(job)
        #expect(first.status == 0, "\(first.errorText)")
        #expect(try first.task("a", "source") == "resumed")
        #expect(try stage.run(job).task("a", "source") == "unchanged")
        var times = [timeval(tv_sec: 1_500_000_000, tv_usec: 0), timeval(tv_sec: 1_500_000_000, tv_usec: 0)]
        #expect(utimes(stage.folder.path("a"), &times) == 0)
        #expect(try stage.run(job).task("a", "source") == "unchanged")
        #expect(server.requests("/a").map(\.method) == ["PUT", "HEAD", "HEAD"])
    }

    @Test func fortyPhotos_areFortyQuestions() throws {
        let storage = try Storage(paths: (0..<40).map { "/\($0)" })
        let stage = try Stage()
        for number in 0..<40 { try stage.folder.write("photo-\(number)", "light \(number)") }
        let job = """
            tasks:
              - { id: "photo-${n}", forEach: { n: 0..39 }, type: upload, method: PUT, existing: revalidate,
                  url: "\(storage.server.url("/"))${n}", body: { file: "photo-${n}" } }
            """
        #expect(try stage.run(job).status == 0)
        func count(_ method: String) -> Int { storage.server.requests().filter { $0.method == method }.count }
        #expect(count("PUT") == 40 && count("HEAD") == 0)
        let second = try stage.run(job)
        #expect(second.status == 0 && count("PUT") == 40 && count("HEAD") == 40)
        #expect(try second.value("$.totals.unchanged") == "40")
        #expect(second.errorText.contains("40 unchanged · 310 B not sent"))
        try stage.folder.write("photo-7", "night")
        let third = try stage.run(job)
        #expect(try third.task("photo-7", "source") == "network" && third.value("$.totals.unchanged") == "39")
        #expect(count("PUT") == 41)
    }

    @Test func backgroundSession_keepsIt() throws {
        let background = try BackgroundStage()
        try background.stage.folder.write("a", "light")
        let server = background.server
        server.on("/a") { request in
            request.method == "HEAD"
                ? .headOnly(200, headers: [("ETag", "\"1\"")], length: 5) : .respond(201, headers: [("ETag", "\"1\"")])
        }
        let job = background.job(
            "{ id: a, type: upload, method: PUT, existing: revalidate, url: \"\(server.url("/a"))\", body: { file: a } }"
        )
        #expect(try background.stage.run(job).status == 0)
        let second = try background.stage.run(job)
        #expect(second.status == 0)
        #expect(try second.task("a", "source") == "unchanged" && second.value("$.totals.bytesSaved") == "5")
        #expect(server.requests("/a").map(\.method) == ["PUT", "HEAD"])
    }
}
