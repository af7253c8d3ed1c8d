import Digests
import Glibc
import Stores
import TestSupport
import Testing
import TextFormats
import TransferModel

/// Downloads in segments, judged by what arrived at the server and what stands on the disk. What follows from single
/// answers, and from streams that end early or stand still, is tested on the engine's rig.
@Suite struct SegmentTests {
    /// Long enough for eight parts.
    private static let body = Script.patternBytes(8 << 20)
    private static let other = Script.patternBytes(8 << 20, from: 5)
    private static let tag: Script.Header = ("ETag", "\"v1\"")

    private func job(_ server: ScriptedServer, _ segments: Int, _ more: String = "", session: String = "") -> String {
        """
        sessions: { default: { retry: { backoff: { initial: 10ms, jitter: none } }\(session) } }
        tasks: [{ id: t, url: "\(server.url("/f"))", to: f, segments: \(segments)\(more) }]
        """
    }

    /// The range that a request asks for.
    private static func range(_ request: ReceivedRequest) -> Range<Int>? {
        guard let text = request.header("Range"), text.hasPrefix("bytes=") else { return nil }
        let ends = text.dropFirst(6).split(separator: "-", omittingEmptySubsequences: false).map { Int($0) }
        guard let first = ends.first ?? nil else { return nil }
        return first..<((ends.last ?? nil).map { $0 + 1 } ?? body.count)
    }

    /// An answer that takes its time: what is left to do is left long enough for others to take it.
    private static func slowly(
        _ status: Int, _ headers: [Script.Header], _ bytes: ArraySlice<UInt8>, pause: TimeSpan = .milliseconds(4)
    ) -> Script {
        var steps: [Script.Step] = [
            .bytes(Script.head(status, headers + [("Content-Length", "\(bytes.count)")]))
        ]
        var place = bytes.startIndex
        while place < bytes.endIndex {
            let end = min(place + (128 << 10), bytes.endIndex)
            steps += [.bytes(Array(bytes[place..<end])), .wait(pause)]
            place = end
        }
        return Script(steps)
    }

    private static func answer(_ request: ReceivedRequest, pause: TimeSpan = .milliseconds(4)) -> Script {
        guard let range = range(request), request.header("If-Range") == "\"v1\"" else {
            return slowly(200, [tag], body[...], pause: pause)
        }
        return part(range, pause: pause)
    }

    private static func part(
        _ range: Range<Int>, of body: [UInt8] = body, total: Int = body.count, tag: Script.Header = tag,
        pause: TimeSpan = .milliseconds(4)
    ) -> Script {
        let span = ("Content-Range", "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(total)")
        return slowly(206, [span, tag], body[range], pause: pause)
    }

    /// Answers honestly.
    private func server() throws -> ScriptedServer {
        let server = try ScriptedServer()
        server.on("/f") { Self.answer($0) }
        return server
    }

    private func ranges(_ server: ScriptedServer) -> [Range<Int>?] { server.requests("/f").map { Self.range($0) } }

    private func expectWhole(_ run: Stage.Run, _ stage: Stage, attempts: Int = 1) throws {
        #expect(run.status == 0, "\(run.errorText)")
        #expect(try stage.folder.bytes("f") == Self.body)
        #expect(stage.files == ["f"])
        #expect(try run.values("$.tasks[0].attempts[*].number").count == attempts)
    }

    // MARK: Honest servers

    @Test(arguments: [1, 3, 8]) func theFileIsRightHoweverManyBringIt(_ count: Int) throws {
        let server = try server()
        defer { server.stop() }
        let stage = try Stage()
        let run = try stage.run(job(server, count, session: ", maximumConnectionsPerHost: 8"))
        try expectWhole(run, stage)
        let requests = server.requests("/f")
        #expect(server.peakRequests <= count && server.peakConnections <= count)
        #expect(count == 1 ? requests.count == 1 : requests.count >= min(count, 7), "\(ranges(server))")
        #expect(requests[0].header("Range") == nil && requests[0].header("If-Range") == nil)
        for request in requests.dropFirst() {
            #expect(request.header("Range") != nil && request.header("If-Range") == "\"v1\"")
            #expect(request.header("Accept-Encoding") == "identity")
        }
        // Each is told, and one answer.
        #expect(try run.values("$.tasks[0].attempts[0].transactions[*].response.status").count == requests.count)
        #expect(run.story(of: "t").filter { $0 == "response" }.count == 1)
        #expect(try run.value("$.tasks[0].file.bytes") == "\(Self.body.count)")
        #expect(try run.value("$.tasks[0].source") == "network")
    }

    @Test(arguments: [true, false]) func theChecksumIsOfAllInOrder(_ isRight: Bool) throws {
        let server = try server()
        defer { server.stop() }
        let stage = try Stage()
        try stage.folder.write("sum", Self.body)
        let found = try Binary(program: "/usr/bin/sha256sum").run(stage.folder.path("sum")).outputText.prefix(64)
        let digest = isRight ? String(found) : String(found.reversed())
        let run = try stage.run(job(server, 4, ", checksum: \"sha256:\(digest)\""))
        #expect(run.status == (isRight ? 0 : 1))
        #expect(stage.folder.exists("f") == isRight)
        #expect(try run.values("$.tasks[0].attempts[*].number").count == (isRight ? 1 : 2), "once more, in one stream")
        if !isRight { #expect(try run.task("t", "error.name") == "checksumMismatch") }
    }

    // MARK: Servers that go wrong

    /// What came of two versions is of none: all of it again.
    @Test(arguments: ["tag", "length"]) func anotherVersionStartsOver(_ kind: String) throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/f") { request in
            guard let range = Self.range(request) else {
                let isFirst = request.number == 1
                let tag = isFirst ? Self.tag : ("ETag", "\"v2\"")
                return Self.slowly(200, [tag], (isFirst ? Self.body : Self.other)[...])
            }
            return kind == "tag"
                ? Self.part(range, tag: ("ETag", "\"v2\"")) : Self.part(range, total: Self.body.count + 1)
        }
        let stage = try Stage()
        let run = try stage.run(job(server, 4))
        #expect(run.status == 0)
        #expect(try stage.folder.bytes("f") == Self.other)
        #expect(stage.files == ["f"])
        #expect(try run.values("$.tasks[0].attempts[*].number").count == 1)
        #expect(try run.value("$.tasks[0].attempts[0].startedOver") != nil)
        #expect(server.requests("/f").filter { Self.range($0) == nil }.count == 2)
        #expect(server.requests("/f").count <= 5, "once is enough")
    }

    /// All streams break: what is there without a hole is not fetched again, the rest is.
    @Test func theNextAttemptGoesOnFromTheFirstHole() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/f") { request in
            let range = Self.range(request)
            guard request.number <= 3 else { return Self.answer(request) }
            let begin = range?.lowerBound ?? 0
            let length = range?.count ?? Self.body.count
            let span = ("Content-Range", "bytes \(begin)-\(begin + length - 1)/\(Self.body.count)")
            let head = Script.head(
                range == nil ? 200 : 206, (range == nil ? [] : [span]) + [Self.tag, ("Content-Length", "\(length)")])
            return [
                .bytes(head), .bytes(Array(Self.body[begin...].prefix(500_000))), .gate("all"), .reset,
            ]
        }
        let stage = try Stage()
        try stage.folder.write("sum", Self.body)
        let sum = try Binary(program: "/usr/bin/sha256sum").run(stage.folder.path("sum")).outputText.prefix(64)
        stage.folder.remove("sum")
        let program = try stage.start(job(server, 3, ", checksum: \"sha256:\(sum)\""))
        #expect(server.waitForRequests(3))
        server.open(gate: "all")
        let run = try stage.finish(program)
        try expectWhole(run, stage, attempts: 2)
        let fourth = try #require(server.requests("/f").dropFirst(3).first)
        let offset = try #require(Self.range(fourth)).lowerBound
        #expect(fourth.header("Range") == "bytes=\(offset)-")
        #expect(offset > 0 && offset <= 500_000)
        #expect(try run.values("$.tasks[0].attempts[*].resumedFrom") == ["0", "\(offset)"])
    }

    // MARK: Limits and others

    @Test(arguments: 1...2) func aHostsLimitIsKept(_ limit: Int) throws {
        let server = try server()
        defer { server.stop() }
        let stage = try Stage()
        let run = try stage.run(job(server, 8, session: ", maximumConnectionsPerHost: \(limit)"))
        try expectWhole(run, stage)
        #expect(server.peakConnections <= limit)
        #expect(limit == 1 ? server.requests().count == 1 : server.requests().count >= 2)
        #expect(try run.value("$.sessions[0].hosts[0].peakConnections") == "\(limit)")
    }

    /// A task that comes later gets a slot at once, and not when a part is through.
    @Test func aTaskGoesBeforeASegment() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/f") { Self.answer($0, pause: .milliseconds(40)) }
        server.on("/small", .respond(200, body: "x"))
        let stage = try Stage()
        let run = try stage.run(
            """
            sessions: { default: { maximumConnectionsPerHost: 3 } }
            tasks:
              - { id: t, url: "\(server.url("/f"))", to: f, segments: 8 }
              - { id: small, url: "\(server.url("/small"))", to: small, earliestBegin: 200ms }
            """)
        #expect(run.status == 0)
        #expect(try stage.folder.bytes("f") == Self.body)
        #expect(server.peakConnections <= 3)
        let big = try #require(run.task("t", "duration").flatMap { Double($0) })
        let small = try #require(run.task("small", "duration").flatMap { Double($0) })
        #expect(small < big - 0.2, "\(small) s of \(big) s")
    }

    @Test func allStreamsShareOneBandwidth() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/f") { Self.answer($0, pause: .zero) }
        let stage = try Stage()
        let run = try stage.run(job(server, 4, ", bandwidth: 8MiB/s"))
        try expectWhole(run, stage)
        #expect(server.requests("/f").count >= 4)
        let duration = try #require(run.value("$.tasks[0].duration").flatMap { Double($0) })
        #expect(duration > 0.7 && duration < 10)
    }

    @Test func whatIsSuspendedGoesOn() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/f") { Self.answer($0, pause: .milliseconds(40)) }
        let stage = try Stage()
        let program = try stage.start(job(server, 3))
        #expect(server.waitForRequests(3))
        #expect(try stage.binary.run("suspend", "\(program.processID)").exitStatus == 0)
        #expect(server.waitUntilIdle())
        #expect(try stage.binary.run("resume", "\(program.processID)").exitStatus == 0)
        let run = try stage.finish(program)
        try expectWhole(run, stage, attempts: 2)
        #expect(try run.values("$.tasks[0].attempts[*].outcome") == ["cancelled", "succeeded"])
    }

    @Test func moreThanIsWantedIsStillTooMuch() throws {
        let server = try server()
        defer { server.stop() }
        let stage = try Stage()
        let run = try stage.run(job(server, 4, ", maximumSize: 4MiB"))
        #expect(run.status == 1 && server.requests().count == 1)
        #expect(try run.task("t", "error.name") == "dataLengthExceedsMaximum")
    }

    @Test func theBeginningIsStillLookedAt() throws {
        let server = try server()
        defer { server.stop() }
        let stage = try Stage()
        let run = try stage.run(job(server, 4, ", expect: { magic: gzip }"))
        #expect(run.status == 1 && stage.files.isEmpty)
        #expect(try run.task("t", "error.name") == "magicMismatch")
    }

    /// Of what a run leaves, the next one takes what is there without a hole.
    @Test(arguments: [SIGINT, SIGKILL]) func theNextRunGoesOnFromTheFirstHole(_ signal: Int32) throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        let there = 1_500_000
        server.on("/f") { request in
            guard Self.range(request) == nil, request.number == 1 else {
                // What the stalled stream leaves is asked for by the others, and waits for the signal.
                let whole = Self.answer(request, pause: .zero)
                return request.number > 3 ? [.gate("signal")] + whole : whole
            }
            let head = Script.head(200, [Self.tag, ("Content-Length", "\(Self.body.count)")])
            return [.bytes(head), .bytes(Array(Self.body[..<there])), .stall]
        }
        let stage = try Stage()
        let program = try stage.start(job(server, 3))
        let state = stage.binary.home.path("state/transfer-run")
        for _ in 0..<1000 {
            if Store.isThere(folder: state), (try? Store.open(folder: state).partFiles().isEmpty) == false { break }
            usleep(2000)
        }
        #expect(server.waitForRequests(3))
        let count = server.requests("/f").count
        #expect(program.send(signal: signal))
        #expect(program.wait().exitStatus == (signal == SIGKILL ? nil : 130))
        server.open(gate: "signal")
        stage.folder.remove(".report.json")
        stage.folder.remove(".events.ndjson")
        let run = try stage.run(job(server, 3))
        try expectWhole(run, stage)
        let first = try #require(
            server.requests("/f").dropFirst(count).first { $0.header("Range")?.hasSuffix("-") == true })
        let offset = try #require(Self.range(first)).lowerBound
        #expect(offset >= 1 << 20 && (signal == SIGKILL ? offset <= there : offset == there))
        #expect(try run.task("t", "source") == "resumed")
    }

    @Test func membersOfAGroupComeInSegmentsToo() throws {
        let server = try server()
        defer { server.stop() }
        let stage = try Stage()
        let run = try stage.run(
            """
            groups: { g: { to: set } }
            tasks: [{ id: t, url: "\(server.url("/f"))", to: f, segments: 4, group: g }]
            """)
        #expect(run.status == 0)
        #expect(try stage.folder.bytes("set/f") == Self.body)
        #expect(server.requests().count >= 4)
    }

    /// What the server says of the bytes is held against all of them, in order.
    @Test(arguments: [true, false]) func theServersDigestIsOfAll(_ isRight: Bool) throws {
        let stage = try Stage()
        try stage.folder.write("sum", Self.body)
        let hex = Array(try Binary(program: "/usr/bin/sha256sum").run(stage.folder.path("sum")).outputText.prefix(64))
        stage.folder.remove("sum")
        var digest = stride(from: 0, to: 64, by: 2).compactMap { UInt8(String(hex[$0...($0 + 1)]), radix: 16) }
        if !isRight { digest[0] ^= 1 }
        let header = ("Repr-Digest", "sha-256=:\(Base64.encode(digest)):")
        let server = try ScriptedServer { request in
            Self.range(request) == nil
                ? Self.slowly(200, [Self.tag, header], Self.body[...]) : Self.answer(request)
        }
        defer { server.stop() }
        let run = try stage.run(job(server, 4, ", retry: { attempts: 1 }"))
        #expect(run.status == (isRight ? 0 : 1))
        #expect(server.requests().count >= 4)
        if !isRight { #expect(try run.task("t", "error.name") == "checksumMismatch") }
    }

    // MARK: Anything

    /// What a server of the next test does with one request.
    private enum Fate: CaseIterable {
        case honest, slow, cut, nothing, whole, noSuchRange, otherRange, busy, broken
    }

    /// Two versions, the second from some request on. `If-Range` is heeded, as it must be.
    private static func chance(_ request: ReceivedRequest, _ seed: UInt64, newFrom: Int) -> Script {
        var random = Seeded(seed: seed &+ UInt64(request.number) &* 0x9E37_79B9)
        let isNew = request.number >= newFrom
        let bytes = isNew ? other : body
        let tag: Script.Header = ("ETag", isNew ? "\"v2\"" : "\"v1\"")
        let asked = request.header("If-Range") == tag.value ? range(request) : nil
        let fate = random.oneIn(2) ? Fate.honest : random.pick(Fate.allCases)
        let part = asked ?? 0..<bytes.count
        let span = ("Content-Range", "bytes \(part.lowerBound)-\(part.upperBound - 1)/\(bytes.count)")
        let status = asked == nil ? 200 : 206
        let headers: [Script.Header] = asked == nil ? [tag] : [span, tag]
        let head = Script.head(status, headers + [("Content-Length", "\(part.count)")])
        switch fate {
        case .slow: return slowly(status, headers, bytes[part])
        case .cut: return [.bytes(head), .bytes(Array(bytes[part].prefix(random.below(part.count)))), .reset]
        case .nothing: return [.reset]
        case .whole where asked != nil: return .respond(200, headers: [tag], body: bytes)
        case .noSuchRange where asked != nil: return .respond(416)
        case .otherRange where asked != nil && part.lowerBound > 0:
            let wrong = ("Content-Range", "bytes \(part.lowerBound - 1)-\(part.upperBound - 2)/\(bytes.count)")
            return .respond(206, headers: [wrong, tag], body: Array(bytes[part]))
        case .busy: return .respond(random.oneIn(2) ? 429 : 503, headers: [("Retry-After", "0")])
        case .broken: return .respond(500)
        case .honest, .whole, .noSuchRange, .otherRange: return [.bytes(head), .bytes(Array(bytes[part]))]
        }
    }

    @Test func theFileIsOneVersionWhateverTheServerDoes() throws {
        var random = Seeded("theFileIsOneVersionWhateverTheServerDoes")
        for _ in 0..<Rounds.scaled(10) {
            let newFrom = random.oneIn(2) ? Int.max : 2 + random.below(8)
            try fetch(2 + random.below(5), seed: random.next(), newFrom: newFrom)
        }
    }

    private func fetch(_ segments: Int, seed: UInt64, newFrom: Int) throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/f") { request in Self.chance(request, seed, newFrom: newFrom) }
        let stage = try Stage()
        let patience = "{ attempts: 20, backoff: { initial: 2ms, maximum: 5ms } }"
        let run = try stage.run(job(server, segments, ", retry: \(patience)"))
        let asked = "server \(seed), new from \(newFrom): \(ranges(server))"
        #expect(run.status == 0, "\(run.errorText) \(asked)")
        let file = try stage.folder.bytes("f")
        let isNew = file == Self.other && newFrom < Int.max
        #expect(file == Self.body || isNew, "\(asked)")
        #expect(stage.files == ["f"])
    }

    /// Where the server says no length, it is us who stop at the range's end: what came last counts like the rest.
    @Test func whatIsStoppedIsCounted() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/f") { request in
            guard let range = Self.range(request) else { return Self.answer(request, pause: .milliseconds(10)) }
            let span = ("Content-Range", "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(Self.body.count)")
            let head = Script.head(206, [span, Self.tag, ("Transfer-Encoding", "chunked")])
            let size = String(range.count, radix: 16)
            return Script([.bytes(head + Array("\(size)\r\n".utf8) + Self.body[range] + Array("\r\n0\r\n\r\n".utf8))])
        }
        let stage = try Stage()
        let run = try stage.run(job(server, 4))
        #expect(run.status == 0)
        #expect(try stage.folder.bytes("f") == Self.body)
        #expect(server.requests().count > 1)
        let received = try #require(try run.value("$.totals.bytesReceived").flatMap { Int($0) })
        #expect(received >= Self.body.count)
    }
}
