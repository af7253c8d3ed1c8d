import Digests
import Synchronization
import TestSupport
import Testing
import TextFormats
import TransferModel

/// `resume: adopt`: half-done files that another program left under their final names.
@Suite struct AdoptTests {
    private static let body = Script.patternBytes(3 << 20)
    private static let sum = (try? Checksum.of(body, .sha256))?.description ?? ""

    private func job(_ server: ScriptedServer, _ more: String = "", session: String = "") -> String {
        """
        sessions: { default: { retry: { backoff: { initial: 10ms, jitter: none } }\(session) } }
        tasks: [{ id: t, url: "\(server.url("/f"))", to: out/f, resume: adopt\(more) }]
        """
    }

    private func asked(_ server: ScriptedServer) -> [String] {
        server.requests("/f").map { "\($0.method) \($0.header("Range") ?? "all")" }
    }

    private func put(_ stage: Stage, _ bytes: some Sequence<UInt8>, at name: String = "out/f") throws {
        try stage.folder.write(name, Array(bytes))
    }

    private final class Seen: Sendable { let bytes = Mutex<[UInt8]>([]) }

    @Test(arguments: [1, 700_000, body.count - 1]) func partOfAnotherProgram_isGoneOnWith(_ size: Int) throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.serve("/f", ServedResource(Self.body))
        let stage = try Stage()
        try put(stage, Self.body.prefix(size))
        let run = try stage.run(job(server, ", checksum: '\(Self.sum)'"))
        #expect(run.status == 0)
        #expect(try stage.folder.bytes("out/f") == Self.body && stage.folder.list("out") == ["f"])
        #expect(asked(server) == ["HEAD all", "GET bytes=\(size)-"])
        #expect(try run.task("t", "source") == "resumed")
        #expect(try run.task("t", "attempts[0].resumedFrom") == "\(size)")
        #expect(try run.value("$.totals.bytesSaved") == "\(size)")
        #expect(run.story(of: "t").contains("resumedAtOffset"))
        // And then it is as it shall be.
        let second = try stage.run(job(server, ", checksum: '\(Self.sum)'"))
        #expect(try second.task("t", "source") == "unchanged" && server.requests("/f").count == 2)
    }

    @Test(arguments: ["default", "ephemeral"]) func wrongPart_isFetchedOnceMoreWhole(_ configuration: String) throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.serve("/f", ServedResource(Self.body))
        let stage = try Stage()
        try put(stage, Script.patternBytes(1 << 20, from: 7))
        let run = try stage.run(
            job(
                server, ", checksum: '\(Self.sum)', retry: { attempts: 1 }",
                session: ", configuration: \(configuration)"))
        #expect(run.status == 0)
        #expect(try stage.folder.bytes("out/f") == Self.body && stage.folder.list("out") == ["f"])
        #expect(asked(server) == ["HEAD all", "GET bytes=\(1 << 20)-", "GET all"])
        #expect(try run.task("t", "source") == "network")
        #expect(try run.task("t", "attempts[0].startedOver")?.contains("no part of this file") == true)
        #expect(try run.value("$.totals.bytesSaved") == "0")
    }

    /// Nobody sees more than was there until the whole is verified, and a run that fails leaves the file as it was.
    @Test func failedRun_leavesTheFileAsItWas() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        let (body, seen) = (Self.body, Seen())
        let stage = try Stage()
        let part = Array(body.prefix(1 << 20))
        try put(stage, part)
        let folder = stage.folder
        server.on("/f") { request in
            if request.method == "HEAD" { return ServedResource(body).answer(request) }
            let rest = body.count - part.count
            let range = ("Content-Range", "bytes \(part.count)-\(body.count - 1)/\(body.count)")
            seen.bytes.withLock { $0 = (try? folder.bytes("out/f")) ?? [] }
            return Script([
                .bytes(Script.head(206, [range, ("Content-Length", "\(rest)")])),
                .bytes(Array(body[part.count..<(2 << 20)])), .reset,
            ])
        }
        let run = try stage.run(job(server, ", checksum: '\(Self.sum)', retry: { attempts: 1 }"))
        #expect(run.status == 1)
        #expect(seen.bytes.withLock { $0 } == part)
        #expect(try stage.folder.bytes("out/f") == part)
    }

    /// The rest that came is kept for the next run, but only for one that can prove the whole.
    @Test(arguments: [true, false]) func cutRest_isGoneOnWithByARunThatHasTheChecksum(_ hasChecksum: Bool) throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        let (body, size) = (Self.body, 1 << 20)
        server.on("/f") { request in
            guard request.method == "GET", request.number == 2 else { return ServedResource(body).answer(request) }
            let range = ("Content-Range", "bytes \(size)-\(body.count - 1)/\(body.count)")
            let lines = [range, ("Content-Length", "\(body.count - size)"), ("ETag", "\"v1\"")]
            return Script([
                .bytes(Script.head(206, lines)), .bytes(Array(body[size..<(2 << 20)])), .wait(.milliseconds(50)),
                .reset,
            ])
        }
        let stage = try Stage()
        try put(stage, body.prefix(size))
        let checksum = ", checksum: '\(Self.sum)'"
        let first = try stage.run(job(server, checksum + ", retry: { attempts: 1 }"))
        #expect(first.status == 1)
        let there = try stage.folder.bytes("out/f")
        #expect(there == Array(body.prefix(size)))
        let second = try stage.run(job(server, hasChecksum ? checksum : ""))
        #expect(second.status == 0)
        #expect(try stage.folder.bytes("out/f") == body && stage.folder.list("out") == ["f"])
        let last = try #require(server.requests("/f").last)
        let start = last.header("Range").flatMap { Int($0.dropFirst(6).dropLast()) }
        // A reset may take what was not read yet.
        #expect(hasChecksum ? start.map { $0 > size } == true : start == nil)
    }

    @Test func nothingThatProvesTheWhole_isFetchedWhole() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.serve("/f", ServedResource(Self.body))
        let stage = try Stage()
        try put(stage, Self.body.prefix(1 << 20))
        let run = try stage.run(job(server))
        #expect(run.status == 0)
        #expect(asked(server) == ["HEAD all", "GET all"])
        #expect(try stage.folder.bytes("out/f") == Self.body)
        #expect(try run.task("t", "attempts[0].startedOver")?.contains("the task has no `checksum`") == true)
    }

    @Test func digestOfTheServer_isEnough() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        let (body, digest) = (Self.body, Base64.encode(try Checksum.of(Self.body, .sha256).bytes))
        server.on("/f") { request in
            let lines = [("Repr-Digest", "sha-256=:\(digest):"), ("ETag", "\"v\"")]
            guard let start = request.header("Range").flatMap({ Int($0.dropFirst(6).dropLast()) }) else {
                return .respond(200, headers: lines + [("Content-Length", "\(body.count)")], body: body)
            }
            let range = ("Content-Range", "bytes \(start)-\(body.count - 1)/\(body.count)")
            return .respond(206, headers: lines + [range], body: Array(body[start...]))
        }
        let stage = try Stage()
        try put(stage, Self.body.prefix(1 << 20))
        let run = try stage.run(job(server))
        #expect(run.status == 0)
        #expect(asked(server).last == "GET bytes=\(1 << 20)-")
        #expect(server.requests("/f").last?.header("If-Range") == "\"v\"")
        #expect(try run.task("t", "source") == "resumed")
    }

    @Test func checksumOfAList_isEnough() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.serve("/f", ServedResource(Self.body))
        server.on("/sums", .respond(200, body: "\(Self.sum.dropFirst(7))  f\n"))
        let stage = try Stage()
        try put(stage, Self.body.prefix(1 << 20))
        let run = try stage.run(job(server, ", checksum: { from: '\(server.url("/sums"))' }"))
        #expect(run.status == 0)
        #expect(try run.task("t", "source") == "resumed" && stage.folder.bytes("out/f") == Self.body)
    }

    @Test func segments_bringTheRest() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.serve("/f", ServedResource(Self.body))
        let stage = try Stage()
        try put(stage, Self.body.prefix(1000))
        let run = try stage.run(job(server, ", checksum: '\(Self.sum)', segments: 3, mode: '0640'"))
        #expect(run.status == 0)
        #expect(try stage.folder.bytes("out/f") == Self.body && stage.folder.list("out") == ["f"])
        #expect(try run.task("t", "attempts[0].resumedFrom") == "1000")
    }

    /// The group's old folder keeps the part as it is until the group is published.
    @Test func memberOfAGroup_isGoneOnWith() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.serve("/f", ServedResource(Self.body))
        let stage = try Stage()
        try put(stage, Self.body.prefix(1 << 20))
        let run = try stage.run(
            """
            groups: { g: { to: out } }
            tasks: [{ id: t, group: g, url: "\(server.url("/f"))", to: f, resume: adopt, checksum: '\(Self.sum)' }]
            """)
        #expect(run.status == 0)
        #expect(try stage.folder.bytes("out/f") == Self.body)
        #expect(asked(server) == ["HEAD all", "GET bytes=\(1 << 20)-"])
    }

    @Test func backgroundSession_goesOnWithIt() throws {
        let background = try BackgroundStage()
        background.server.serve("/f", ServedResource(Self.body))
        try put(background.stage, Self.body.prefix(1 << 20), at: "f")
        let run = try background.stage.run(
            background.job(background.task("f", ", resume: adopt, checksum: '\(Self.sum)'")))
        #expect(run.status == 0)
        #expect(try background.stage.folder.bytes("f") == Self.body)
        #expect(asked(background.server) == ["HEAD all", "GET bytes=\(1 << 20)-"])
        #expect(try run.task("f", "source") == "resumed")
    }

    /// Whatever stands there and however the server answers, the file is right in the end.
    @Test func anyFileAndAnyServer_endWithTheRightFile() throws {
        var random = Seeded("adoptedFiles")
        for round in 0..<Rounds.scaled(12) {
            let server = try ScriptedServer()
            defer { server.stop() }
            let body = Script.patternBytes(1 + random.below(300_000), from: random.below(200))
            var resource = ServedResource(body, etag: random.pick([nil, "\"v\"", "W/\"v\""]))
            resource.acceptsRanges = random.oneIn(2)
            let (served, ignores, refuses) = (resource, random.oneIn(3), random.oneIn(4))
            server.on("/f") { request in
                if request.method == "HEAD", refuses { return .respond(405) }
                if request.method == "GET", ignores { return .respond(200, body: body) }
                return served.answer(request)
            }
            var there = Array(body.prefix(random.below(body.count + 1)))
            if random.oneIn(3), !there.isEmpty { there[random.below(there.count)] ^= 1 }
            if random.oneIn(4) { there += [1, 2, 3] }
            let stage = try Stage()
            try put(stage, there)
            let sum = try Checksum.of(body, .sha256)
            let run = try stage.run(job(server, random.oneIn(3) ? "" : ", checksum: '\(sum)'"))
            #expect(run.status == 0, "round \(round)")
            #expect(try stage.folder.bytes("out/f") == body, "round \(round)")
            #expect(stage.folder.list("out") == ["f"])
        }
    }
}
