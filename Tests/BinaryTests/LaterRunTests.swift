import Digests
import Glibc
import HTTPRules
import Stores
import SystemIO
import TestSupport
import Testing
import TextFormats
import TransferModel

/// What is there of a download when its run ends, however that comes about, is the beginning of the next one's.
@Suite struct LaterRunTests {
    private static let body = Script.patternBytes(5 << 20)
    private static let cut = 3 << 20
    private static let tag = "\"v1\""

    /// A server that stops in the middle of the file when it is asked for the first time.
    private final class Scene {
        let server: ScriptedServer
        let stage: Stage

        init(
            _ headers: [Script.Header] = [], then rest: @escaping @Sendable (ReceivedRequest) -> Script = Scene.rest
        ) throws {
            server = try ScriptedServer()
            stage = try Stage()
            let head = Script.head(200, [("Content-Length", "\(body.count)"), ("ETag", tag)] + headers)
            server.on("/f") { request in
                guard request.number == 1 else { return rest(request) }
                return Script([.bytes(head), .bytes(Array(body[..<cut])), .stall])
            }
        }

        deinit { server.stop() }

        /// An answer as a good server gives it.
        static let rest: @Sendable (ReceivedRequest) -> Script = { ServedResource(body, etag: tag).answer($0) }

        var state: String { stage.binary.home.path("state/transfer-run") }

        func job(_ more: String = "", top: String = "") -> String {
            "tasks: [{ id: t, url: '\(server.url("/f"))', to: out/f\(more) }]\n\(top)"
        }

        /// Runs until so much was written that the next run can go on with it, and ends the run in the way given.
        func breakOff(_ job: String, _ options: [String] = [], by signal: Int32 = SIGKILL) throws {
            let program = try stage.start(job, options)
            #expect(waitForRecord())
            #expect(program.send(signal: signal))
            let result = program.wait()
            #expect(result.exitStatus == (signal == SIGKILL ? nil : 130))
            stage.folder.remove(".report.json")
            stage.folder.remove(".events.ndjson")
        }

        func waitForRecord() -> Bool {
            for _ in 0..<2000 {
                if Store.isThere(folder: state), (try? Store.open(folder: state).partFiles().isEmpty) == false {
                    return true
                }
                usleep(5000)
            }
            return false
        }

        /// The half-done file that lies there.
        var part: String? { stage.folder.list("out").first { $0.hasPrefix(".transfer-run-") }.map { "out/\($0)" } }

        var ranges: [String] { server.requests("/f").map { $0.header("Range") ?? "none" } }
    }

    private func expectRight(_ scene: Scene, _ run: Stage.Run, _ place: SourceLocation = #_sourceLocation) throws {
        #expect(run.status == 0, sourceLocation: place)
        #expect(try scene.stage.folder.bytes("out/f") == Self.body, sourceLocation: place)
        #expect(scene.stage.folder.list("out") == ["f"], sourceLocation: place)
        #expect(try Store.open(folder: scene.state).partFiles().isEmpty, sourceLocation: place)
    }

    @Test(arguments: [SIGKILL, SIGINT]) func whatIsThereIsNotFetchedAgain(by signal: Int32) throws {
        let scene = try Scene()
        try scene.breakOff(scene.job(), by: signal)
        #expect(!scene.stage.folder.exists("out/f"))
        let there = try scene.stage.folder.bytes(#require(scene.part))
        let run = try scene.stage.run(scene.job())
        try expectRight(scene, run)
        let first = try #require(try run.task("t", "attempts[0].resumedFrom").flatMap { Int($0) })
        // After a signal all that came is there; when killed, what was noted last.
        #expect(first >= 1 << 20 && first <= there.count)
        if signal == SIGINT { #expect(first == there.count && first == Self.cut) }
        #expect(scene.ranges == ["none", "bytes=\(first)-"])
        #expect(try run.task("t", "source") == "resumed")
        #expect(try run.value("$.totals.bytesSaved") == "\(first)")
        #expect(run.story(of: "t").contains("resumedAtOffset"))
        #expect(run.errorText.contains("warning") == false)
    }

    /// What one user received is never completed with what another receives; and what the first answer said is kept too.
    @Test(arguments: [true, false], [true, false]) func eachUsersFileIsWhole(_ isSame: Bool, byCookie: Bool) throws {
        let scene = try Scene([("Content-Type", "x/y")]) { request in
            guard request.header("If-Range") == Self.tag,
                let start = request.header("Range").flatMap({ Int($0.dropFirst(6).dropLast()) })
            else { return .respond(200, headers: [("ETag", Self.tag), ("Content-Type", "x/y")], body: Self.body) }
            return .respond(
                206,
                headers: [
                    ("ETag", Self.tag), ("Content-Range", "bytes \(start)-\(Self.body.count - 1)/\(Self.body.count)"),
                ], body: Array(Self.body[start...]))
        }
        func job(_ user: String) -> String {
            let preset = "{ name: sid, value: \(user), domain: 127.0.0.1 }"
            return byCookie
                ? scene.job(
                    ", expect: { mimeType: x/y }", top: "sessions: { default: { cookies: { preset: [\(preset)] } } }")
                : scene.job(", expect: { mimeType: x/y }, headers: { Authorization: 'Bearer \(user)' }")
        }
        try scene.breakOff(job("alice"))
        let run = try scene.stage.run(job(isSame ? "alice" : "bob"))
        try expectRight(scene, run)
        #expect(try run.task("t", "source") == (isSame ? "resumed" : "network"))
        #expect((scene.ranges.last == "none") == !isSame)
        let why = try run.task("t", "attempts[0].startedOver")
        #expect(isSame ? why == nil : why?.contains("somebody else") == true)
    }

    /// How a server packs a file that nobody asked to have packed is known to the next run: the rest must be packed alike.
    @Test(arguments: [true, false]) func whatCameLabelledAsPackedGoesOn(_ isAlike: Bool) throws {
        let label = [("Content-Encoding", "gzip")]
        let scene = try Scene(label) { request in
            guard let start = request.header("Range").flatMap({ Int($0.dropFirst(6).dropLast()) }) else {
                return .respond(200, headers: [("ETag", Self.tag)] + label, body: Self.body)
            }
            let range = "bytes \(start)-\(Self.body.count - 1)/\(Self.body.count)"
            return .respond(
                206, headers: [("ETag", Self.tag), ("Content-Range", range)] + (isAlike ? label : []),
                body: Array(Self.body[start...]))
        }
        try scene.breakOff(scene.job())
        let run = try scene.stage.run(scene.job())
        try expectRight(scene, run)
        #expect(try run.task("t", "source") == (isAlike ? "resumed" : "network"))
        #expect(scene.ranges.count == (isAlike ? 2 : 3))
    }

    /// Two kills, and each run goes on where the one before was.
    @Test func itGoesOnFromRunToRun() throws {
        let scene = try Scene { request in
            let whole = Scene.rest(request)
            guard request.number == 2, request.header("Range") == "bytes=\(Self.cut)-" else { return whole }
            let head = Script.head(
                206,
                [
                    ("ETag", Self.tag), ("Content-Length", "\(Self.body.count - Self.cut)"),
                    ("Content-Range", "bytes \(Self.cut)-\(Self.body.count - 1)/\(Self.body.count)"),
                ])
            return Script([.bytes(head), .bytes(Array(Self.body[Self.cut..<(4 << 20)])), .stall])
        }
        try scene.breakOff(scene.job(), by: SIGINT)
        let program = try scene.stage.start(scene.job())
        #expect(scene.server.waitForRequests(2))
        #expect(scene.server.waitUntilRead((4 << 20) - Self.cut, "/f"))
        #expect(program.send(signal: SIGINT))
        #expect(program.wait().exitStatus == 130)
        #expect(try scene.stage.folder.bytes(#require(scene.part)).count == 4 << 20)
        try expectRight(scene, try scene.stage.run(scene.job()))
        #expect(scene.ranges == ["none", "bytes=\(Self.cut)-", "bytes=\(4 << 20)-"])
    }

    /// A run that gave up is gone on with too.
    @Test func soIsWhatAFailureLeaves() throws {
        let scene = try Scene()
        let patience = ", timeoutForRequest: 300ms, retry: { attempts: 1 }"
        let failed = try scene.stage.run(scene.job(patience))
        #expect(failed.status == 1)
        #expect(try failed.task("t", "error.name") == "timedOut")
        #expect(scene.part != nil)
        try expectRight(scene, try scene.stage.run(scene.job(patience)))
        #expect(scene.ranges == ["none", "bytes=\(Self.cut)-"])
    }

    /// A file that was long on its way and just got its name is known at once: a kill does not cost it. How soon the kill
    /// comes is up to the machine, so one time of several does.
    @Test(arguments: ["none", "flush"]) func whatJustGotItsNameIsKnown(_ durability: String) throws {
        let isKnown = try (1...8).contains { _ in
            let scene = try Scene()
            scene.server.on("/f") { request in
                guard request.number == 1 else { return Scene.rest(request) }
                let head = Script.head(200, [("Content-Length", "\(Self.body.count)"), ("ETag", Self.tag)])
                return Script(
                    [
                        .bytes(head), .bytes(Array(Self.body[..<Self.cut])), .gate("rest"),
                        .bytes(Array(Self.body[Self.cut...])),
                    ])
            }
            scene.server.on("/other") { _ in Script([.gate("other")]) }
            let job = """
                sessions: { s: { durability: \(durability) } }
                defaults: { session: s }
                tasks:
                  - { id: t, url: '\(scene.server.url("/f"))', to: out/f }
                  - { id: other, url: '\(scene.server.url("/other"))', type: data }
                """
            let program = try scene.stage.start(job)
            #expect(scene.waitForRecord())
            scene.server.open(gate: "rest")
            waitUntil { scene.stage.folder.exists("out/f") }
            usleep(50_000)
            #expect(program.send(signal: SIGKILL))
            _ = program.wait()
            scene.server.open(gate: "other")
            let again = try scene.stage.start(job, ["--only", "t"]).wait()
            #expect(again.exitStatus == 0)
            #expect(try scene.stage.folder.bytes("out/f") == Self.body)
            let last = try #require(scene.server.requests("/f").last)
            return last.header("If-None-Match") == Self.tag
        }
        #expect(isKnown)
    }

    /// It is known by its URL before it has a name.
    @Test func aFileOfAFolderIsGoneOnWith() throws {
        let scene = try Scene()
        let job = "tasks: [{ id: t, url: '\(scene.server.url("/f"))', to: out/ }]\n"
        try scene.breakOff(job, by: SIGKILL)
        #expect(scene.part != nil)
        let run = try scene.stage.run(job)
        try expectRight(scene, run)
        #expect(try run.task("t", "source") == "resumed")
    }

    enum Change: String, CaseIterable {
        case aByte, shorter, gone, aFolder, anotherURL, anotherQuestion, anotherVersion, noRanges
    }

    /// What no longer fits is dropped, and the report says why.
    @Test(arguments: Change.allCases) func whatDoesNotFitIsFetchedWhole(_ change: Change) throws {
        let other = Script.patternBytes(4 << 20, from: 9)
        let scene = try Scene { request in
            switch change {
            case .anotherVersion: .respond(200, headers: [("ETag", "\"v2\"")], body: other)
            case .noRanges: .respond(200, headers: [("ETag", Self.tag)], body: Self.body)
            default: Scene.rest(request)
            }
        }
        scene.server.on("/g") { _ in .respond(200, headers: [("ETag", Self.tag)], body: Self.body) }
        try scene.breakOff(scene.job(), by: SIGINT)
        let part = try #require(scene.part)
        var job = scene.job()
        var why = ""
        switch change {
        case .aByte:
            var bytes = try scene.stage.folder.bytes(part)
            bytes[1_000_000] ^= 1
            try scene.stage.folder.write(part, bytes)
            why = "was changed"
        case .shorter:
            try scene.stage.folder.write(part, Array(Self.body[..<1000]))
            why = "is shorter than it was"
        case .gone:
            scene.stage.folder.remove(part)
            why = "is gone"
        case .aFolder:
            scene.stage.folder.remove(part)
            try scene.stage.folder.makeFolder(part)
            why = "is no file of ours"
        case .anotherURL:
            job = "tasks: [{ id: t, url: '\(scene.server.url("/g"))', to: out/f }]\n"
            why = "it began at another URL"
        case .anotherQuestion:
            job = scene.job(", headers: { Accept: text/plain }")
            why = "the job asks for it in another way"
        case .anotherVersion: why = "the server has another version"
        case .noRanges: why = "the server sends no ranges"
        }
        let run = try scene.stage.run(job)
        #expect(run.status == 0)
        #expect(try scene.stage.folder.bytes("out/f") == (change == .anotherVersion ? other : Self.body))
        #expect(scene.stage.folder.list("out").filter { !$0.hasSuffix("/") } == ["f"])
        #expect(try run.task("t", "source") == "network")
        #expect(try run.task("t", "attempts[0].startedOver")?.contains(why) == true)
        #expect(try Store.open(folder: scene.state).partFiles().isEmpty)
    }

    /// It was whole but for its name when its run was killed: the last byte alone is asked for again.
    @Test(arguments: [true, false]) func aWholeFileIsOnlyConfirmed(_ isStillTheSame: Bool) throws {
        let scene = try Scene { request in
            isStillTheSame ? Scene.rest(request) : .respond(200, headers: [("ETag", "\"v2\"")], body: "new")
        }
        try scene.breakOff(scene.job(), by: SIGINT)
        let part = try #require(scene.part)
        try scene.stage.folder.write(part, Self.body)
        let store = try Store.open(folder: scene.state)
        let name = String(part.dropFirst(4))
        let session = try #require(
            try store.existingSession(job: scene.stage.folder.path("job.yaml"), name: "default"))
        let destination = scene.stage.folder.path("out/f")
        var record = try #require(try store.resumeRecords(session)[ExactText(destination)])
        record.part = PartFile(name: name, size: Int64(Self.body.count), sum: try #require(sum(Self.body)))
        try store.change(session, [ResumeChange(destination: destination, record: record)], now: Clocks.wall())
        let run = try scene.stage.run(scene.job())
        #expect(scene.ranges == ["none", "bytes=\(Self.body.count - 1)-"])
        if isStillTheSame {
            try expectRight(scene, run)
        } else {
            #expect(run.status == 0)
            #expect(try scene.stage.text("out/f") == "new")
            #expect(scene.stage.folder.list("out") == ["f"])
        }
    }

    /// The checksum is of all bytes, whichever run brought them.
    @Test(arguments: [true, false]) func theChecksumIsOfTheWhole(_ isRight: Bool) throws {
        let scene = try Scene()
        try scene.stage.folder.write("sum", Self.body)
        let sum = String(
            try Binary(program: "/usr/bin/sha256sum").run(scene.stage.folder.path("sum")).outputText.prefix(64))
        let job = scene.job(", checksum: \"sha256:\(isRight ? sum : String(sum.reversed()))\"")
        try scene.breakOff(job, by: SIGINT)
        let run = try scene.stage.run(job)
        #expect(run.status == (isRight ? 0 : 1))
        #expect(try run.task("t", "attempts[0].resumedFrom") == "\(Self.cut)")
        #expect(scene.stage.folder.list("out") == (isRight ? ["f"] : []))
        if !isRight { #expect(try run.task("t", "error.name") == "checksumMismatch") }
    }

    /// What the first answer said of the whole counts for the whole.
    @Test(arguments: [true, false]) func soIsTheDigestThatTheServerSent(_ isRight: Bool) throws {
        let bytes = try Binary(program: "/usr/bin/openssl")
        let folder = bytes.folder
        try folder.write("body", isRight ? Self.body : Self.body.reversed())
        let digest = try bytes.run("dgst", "-sha256", "-binary", "body")
        try folder.write("digest", digest.output)
        let text = try Binary(program: "/usr/bin/base64").run("-w0", folder.path("digest")).outputText
        let scene = try Scene([("Repr-Digest", "sha-256=:\(text):")])
        try scene.breakOff(scene.job(), by: SIGINT)
        let run = try scene.stage.run(scene.job(", retry: { attempts: 1 }"))
        #expect(run.status == (isRight ? 0 : 1))
        #expect(try run.task("t", "attempts[0].resumedFrom") == "\(Self.cut)")
        #expect(scene.stage.folder.list("out") == (isRight ? ["f"] : []))
    }

    /// An ephemeral session has no next run.
    @Test(arguments: ["configuration: ephemeral", "configuration: default"])
    func whatNobodyGoesOnWithIsRemoved(_ session: String) throws {
        let scene = try Scene()
        let isKept = session.hasSuffix("default")
        let run = try scene.stage.run(
            scene.job(
                ", timeoutForRequest: 300ms, retry: { attempts: 1 }", top: "sessions: { default: { \(session) } }"))
        #expect(run.status == 1)
        #expect((scene.part != nil) == isKept)
        #expect(scene.stage.binary.home.exists("state/transfer-run/store.sqlite") == isKept)
    }

    /// That of the part alone, which the answer that continues it tells.
    @Test(arguments: [true, false]) func soIsTheDigestOfThePart(_ isRight: Bool) throws {
        let scene = try Scene { request in
            let bytes = Array(Self.body[Self.cut...])
            guard request.header("Range") == "bytes=\(Self.cut)-" else { return Scene.rest(request) }
            let digest = try? StreamingDigest(.sha512)
            digest?.update(isRight ? bytes : bytes.reversed())
            let told = Base64.encode(digest?.finish().bytes ?? [])
            let span = "bytes \(Self.cut)-\(Self.body.count - 1)/\(Self.body.count)"
            let headers = [("Content-Range", span), ("ETag", Self.tag), ("Content-Digest", "sha-512=:\(told):")]
            return .respond(206, headers: headers, body: bytes)
        }
        try scene.breakOff(scene.job(), by: SIGINT)
        let run = try scene.stage.run(scene.job())
        try expectRight(scene, run)
        #expect(try run.task("t", "source") == (isRight ? "resumed" : "network"))
        if isRight { return #expect(scene.ranges == ["none", "bytes=\(Self.cut)-"]) }
        // Nobody can say which bytes are wrong.
        #expect(scene.ranges == ["none", "bytes=\(Self.cut)-", "none"])
        #expect(try run.task("t", "attempts[0].error.name") == "checksumMismatch")
        #expect(try run.task("t", "attempts[0].error.message")?.contains("`Content-Digest` of a part") == true)
    }

    /// Nobody goes on with it any more.
    @Test(arguments: ["", ", existing: replace", ", decompress: true"]) func whatIsLeftGoesWhenTheJobNoLongerResumes(
        _ more: String
    ) throws {
        let scene = try Scene()
        try scene.breakOff(scene.job(), by: SIGINT)
        #expect(scene.part != nil)
        let run = try scene.stage.run(scene.job(", resume: false\(more)"))
        #expect(run.status == 0)
        #expect(scene.part == nil)
        #expect(scene.ranges == ["none", "none"])
        #expect(try scene.stage.folder.bytes("out/f") == Self.body)
        #expect(try Store.open(folder: scene.state).partFiles().isEmpty)
    }

    @Test func soIsWhatShallNotBeResumed() throws {
        let scene = try Scene()
        let run = try scene.stage.run(scene.job(", resume: false, timeoutForRequest: 300ms, retry: { attempts: 1 }"))
        #expect(run.status == 1)
        #expect(scene.part == nil)
    }

    /// Who cancels a task means it, unless they say otherwise.
    @Test(arguments: [true, false]) func cancelRemovesUnlessItIsAskedToKeep(_ isKept: Bool) throws {
        let scene = try Scene()
        let program = try scene.stage.start(scene.job())
        #expect(scene.waitForRecord())
        let options = isKept ? ["--resumable"] : []
        let cancel = try scene.stage.binary.run(arguments: ["cancel", "\(program.processID)"] + options)
        #expect(cancel.exitStatus == 0)
        #expect(program.wait().exitStatus == 1)
        #expect((scene.part != nil) == isKept)
        #expect(try Store.open(folder: scene.state).partFiles().isEmpty == !isKept)
    }

    /// What a run leaves of a file with a `mode` is nobody else's to read, and a run with another state folder leaves it.
    @Test func whatIsLeftIsNobodyElses() throws {
        let scene = try Scene()
        let job = scene.job(", mode: '0600'")
        try scene.breakOff(job, by: SIGINT)
        let part = try #require(scene.part)
        #expect(try FileFacts.of(scene.stage.folder.path(part)).permissions == 0o600)
        scene.server.on("/other") { _ in .respond(200, body: "x") }
        let other = "tasks: [{ id: o, url: '\(scene.server.url("/other"))', to: out/o }]"
        #expect(try scene.stage.run(other, "--state-dir", scene.stage.folder.path("elsewhere")).status == 0)
        #expect(scene.part == part)
        let run = try scene.stage.run(job)
        #expect(try run.task("t", "source") == "resumed")
        #expect(try FileFacts.of(scene.stage.folder.path("out/f")).permissions == 0o600)
        #expect(scene.part == nil)
    }

    /// A file that is there by now needs nothing of what was left of it.
    @Test(arguments: ["existing: skip", "checksum"]) func whatNobodyNeedsGoes(_ rule: String) throws {
        let scene = try Scene()
        try scene.breakOff(scene.job(), by: SIGINT)
        #expect(scene.part != nil)
        try scene.stage.folder.write("out/f", Self.body)
        let sum = try Checksum.of(Self.body, .sha256)
        let run = try scene.stage.run(scene.job(rule == "checksum" ? ", checksum: \"\(sum)\"" : ", \(rule)"))
        #expect(try run.task("t", "source") == "unchanged")
        try expectRight(scene, run)
        #expect(scene.ranges == ["none"])
    }

    /// What killed runs left is removed, unless somebody is still at it or a later run may go on with it.
    @Test func whatKilledRunsLeftIsRemoved() throws {
        let scene = try Scene()
        try scene.breakOff(scene.job(), by: SIGINT)
        let folder = scene.stage.folder
        let kept = try #require(scene.part)
        try folder.write("out/.transfer-run-gone0000other-1", "half")
        try folder.write("out/.transfer-run-gone0000other-2/tree/x", "half")
        let alive = try folder.write("out/.transfer-run-alive000other-1", "half")
        try folder.write("out/transfer-run", "not ours")
        try folder.write("out/.transfer-runner", "not ours")
        let lock = open(alive, O_RDONLY)
        defer { close(lock) }
        #expect(flock(lock, LOCK_EX) == 0)
        scene.server.on("/other") { _ in .respond(200, body: "x") }
        // Another job, of another session, in the same folder.
        let run = try scene.stage.run(
            "name: other\ntasks: [{ id: o, url: '\(scene.server.url("/other"))', to: out/o }]")
        #expect(run.status == 0)
        #expect(
            Set(folder.list("out"))
                == [
                    ".transfer-run-alive000other-1", String(kept.dropFirst(4)), ".transfer-runner", "o", "transfer-run",
                ])
    }

    private func sum(_ bytes: [UInt8]) -> [UInt8]? {
        let sum = QuickSum()
        bytes.withUnsafeBytes { sum.update($0) }
        return sum.soFar
    }

    /// Long before a second is over, and far from a megabyte.
    @Test(arguments: [(SIGINT, 130), (SIGTERM, 143)] as [(Int32, Int32)])
    func aGracefulStop_keepsADownloadFrom64KiBOn(_ signal: Int32, _ status: Int32) throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        let (body, cut) = (Array(Self.body[..<300_000]), 100_000)
        let head = Script.head(200, [("Content-Length", "\(body.count)"), ("ETag", Self.tag)])
        server.on("/f") { request in
            guard request.number == 1 else { return ServedResource(body, etag: Self.tag).answer(request) }
            // The last byte comes late enough for its progress to be told.
            return Script([
                .bytes(head), .bytes(Array(body[..<cut])), .wait(.milliseconds(300)), .bytes([body[cut]]), .stall,
            ])
        }
        let stage = try Stage()
        let job = "tasks: [{ id: t, url: '\(server.url("/f"))', to: f }]"
        let program = try stage.start(job)
        waitUntil { stage.hasReceived(cut + 1, of: "t") }
        #expect(program.send(signal: signal))
        let result = program.wait()
        #expect(result.exitStatus == status)
        #expect(result.errorText.contains("97.7 KiB of half-done downloads is kept: the same command resumes them."))
        let run = try stage.run(job)
        #expect(run.status == 0)
        #expect(try stage.folder.bytes("f") == body)
        #expect(server.requests("/f").last?.header("Range") == "bytes=\(cut + 1)-")
        #expect(try run.value("$.totals.bytesSaved") == "\(cut + 1)")
    }
}
