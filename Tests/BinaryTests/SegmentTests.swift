import Digests
import Glibc
import Stores
import TestSupport
import Testing
import TextFormats
import TransferModel

/// Downloads in segments, judged by what arrived at the server and what stands on the disk.
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

    /// Answers honestly, but for what `odd` says to requests for a range; these are counted from 1.
    private func server(_ odd: @escaping @Sendable (Int, Range<Int>) -> Script? = { _, _ in nil }) throws
        -> ScriptedServer
    {
        let server = try ScriptedServer()
        server.on("/f") { request in
            guard let range = Self.range(request) else { return Self.answer(request) }
            return odd(request.number - 1, range) ?? Self.answer(request)
        }
        return server
    }

    private func ranges(_ server: ScriptedServer) -> [Range<Int>?] { server.requests("/f").map { Self.range($0) } }

    /// What each part's own `Content-Digest` says is held against it.
    @Test(arguments: [true, false]) func aPartsOwnDigestIsHeldAgainstIt(_ isRight: Bool) throws {
        let server = try server { _, range in
            let bytes = Array(Self.body[range])
            let digest = try? StreamingDigest(.sha256)
            digest?.update(isRight ? bytes : bytes.reversed())
            let told = Base64.encode(digest?.finish().bytes ?? [])
            let span = "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(Self.body.count)"
            let headers = [("Content-Range", span), Self.tag, ("Content-Digest", "sha-256=:\(told):")]
            return .respond(206, headers: headers, body: bytes)
        }
        defer { server.stop() }
        let stage = try Stage()
        let run = try stage.run(job(server, 4))
        #expect(server.requests("/f").count > 1)
        try expectWhole(run, stage, attempts: isRight ? 1 : 2)
        if isRight { return }
        #expect(try run.task("t", "attempts[0].error.name") == "checksumMismatch")
        #expect(try run.task("t", "attempts[0].error.message")?.contains("`Content-Digest` of a part") == true)
    }

    /// Some servers send the whole's `Content-MD5` with each part; where they send the part's own, it is held against it.
    @Test(arguments: ["the whole's", "the part's", "a wrong one"]) func aContentMD5IsReadBothWays(_ whose: String)
        throws
    {
        let whole = Base64.encode(try Checksum.of(Self.body, .md5).bytes)
        let server = try ScriptedServer()
        server.on("/f") { request in
            guard let range = Self.range(request) else {
                return Self.slowly(200, [Self.tag, ("Content-MD5", whole)], Self.body[...])
            }
            let bytes = Self.body[range]
            var told = whole
            if whose != "the whole's" {
                let own = whose == "the part's" ? Array(bytes) : [1]
                told = Base64.encode((try? Checksum.of(own, .md5))?.bytes ?? [])
            }
            let span = "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(Self.body.count)"
            return Self.slowly(206, [("Content-Range", span), Self.tag, ("Content-MD5", told)], bytes)
        }
        defer { server.stop() }
        let stage = try Stage()
        let run = try stage.run(job(server, 4))
        #expect(server.requests("/f").count > 1)
        try expectWhole(run, stage, attempts: whose == "a wrong one" ? 2 : 1)
        if whose != "a wrong one" { return }
        #expect(try run.task("t", "attempts[0].error.message")?.contains("`Content-MD5` of a part") == true)
    }

    private func expectWhole(_ run: Stage.Run, _ stage: Stage, attempts: Int = 1) throws {
        #expect(run.status == 0, "\(run.errorText)")
        #expect(try stage.folder.bytes("f") == Self.body)
        #expect(stage.files == ["f"])
        #expect(try run.values("$.tasks[0].attempts[*].number").count == attempts)
    }

    // MARK: Honest servers

    @Test(arguments: 1...8) func theFileIsRightHoweverManyBringIt(_ count: Int) throws {
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

    @Test func allThatWereLentTogetherGetTheSame() throws {
        let server = try server()
        defer { server.stop() }
        let stage = try Stage()
        let run = try stage.run(job(server, 4))
        try expectWhole(run, stage)
        let first = ranges(server).prefix(4).compactMap { $0?.count }
        #expect(first.count == 3 && first.max()! - first.min()! < 1 << 20, "\(ranges(server))")
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

    /// Whose ranges are of another file than the whole is: the whole is fetched as it is.
    @Test(arguments: [2, 1]) func aFileThatWasPutTogetherWronglyIsFetchedInOneStream(_ attempts: Int) throws {
        let server = try server { _, range in
            Self.part(range, of: Self.other)
        }
        defer { server.stop() }
        let stage = try Stage()
        try stage.folder.write("sum", Self.body)
        let digest = try Binary(program: "/usr/bin/sha256sum").run(stage.folder.path("sum")).outputText.prefix(64)
        stage.folder.remove("sum")
        let checksum = ", checksum: \"sha256:\(digest)\", retry: { attempts: \(attempts) }"
        let run = try stage.run(job(server, 4, checksum))
        #expect(try run.task("t", "attempts[0].error.name") == "checksumMismatch")
        #expect(ranges(server).count { $0 == nil } == attempts)
        if attempts == 2 { return try expectWhole(run, stage, attempts: 2) }
        #expect(run.status == 1 && stage.files.isEmpty)
    }

    /// Parts are asked for where the last answer came from, without what may not go there.
    @Test func partsComeFromWhereTheRedirectLed() throws {
        let server = try server()
        defer { server.stop() }
        let door = try ScriptedServer()
        defer { door.stop() }
        door.on("/f", .redirect(302, to: server.url("/f")))
        let stage = try Stage()
        let run = try stage.run(job(door, 3, ", headers: { Authorization: x, X-Kind: y, Accept: z }"))
        try expectWhole(run, stage)
        #expect(door.requests().count == 1 && server.requests("/f").count >= 3)
        for request in server.requests("/f") {
            #expect(["Authorization", "X-Kind", "Accept"].map { request.header($0) } == [nil, nil, "z"])
        }
    }

    @Test func aSlowStreamIsHelpedByThoseThatAreDone() throws {
        let server = try server { number, range in number == 1 ? Self.part(range, pause: .milliseconds(100)) : nil }
        defer { server.stop() }
        let stage = try Stage()
        let run = try stage.run(job(server, 2))
        try expectWhole(run, stage)
        let asked = ranges(server)
        #expect(asked.count >= 3)
        #expect(asked[2].map { asked[1]!.contains($0.lowerBound) } == true, "it takes from the slow one: \(asked)")
    }

    // MARK: When one stream is enough

    @Test func aShortFileIsNotDivided() throws {
        let short = Array(Self.body[..<((2 << 20) - 1)])
        let server = try ScriptedServer { _ in Self.slowly(200, [Self.tag], short[...]) }
        defer { server.stop() }
        let stage = try Stage()
        #expect(try stage.run(job(server, 8)).status == 0)
        #expect(server.requests().count == 1)
    }

    @Test(
        arguments: [
            [], [("ETag", "W/\"v1\"")], [("ETag", "\"v1\""), ("Accept-Ranges", "none")],
            [("ETag", "\"v1\""), ("Content-Encoding", "gzip")],
        ] as [[Script.Header]]) func withoutProofThereIsOneStream(_ headers: [Script.Header]) throws
    {
        let server = try ScriptedServer { _ in Self.slowly(200, headers, Self.body[...]) }
        defer { server.stop() }
        let stage = try Stage()
        try expectWhole(try stage.run(job(server, 4)), stage)
        #expect(server.requests().count == 1)
    }

    @Test func aRangeOfTheJobsOwnIsItsAffair() throws {
        let server = try server()
        defer { server.stop() }
        let stage = try Stage()
        let more = ", headers: { Range: 'bytes=0-4194303', If-Range: '\"v1\"' }"
        #expect(try stage.run(job(server, 4, more)).status == 0)
        #expect(server.requests().count == 1)
        #expect(try stage.folder.bytes("f").count == 4 << 20)
    }

    // MARK: Servers that go wrong

    @Test(arguments: ["200", "416", "other range", "no range", "several", "too long", "packed", "no tag"])
    func aServerThatCannotDoRangesIsAskedOnce(_ kind: String) throws {
        // Made at its first use, which takes longer than the first part of an answer.
        _ = Self.other
        let server = try server { _, range in
            let span = ("Content-Range", "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(Self.body.count)")
            switch kind {
            case "200": return Self.slowly(200, [Self.tag], Self.body[...])
            case "416": return .respond(416, headers: [("Content-Range", "bytes */\(Self.body.count)")])
            case "other range": return Self.part((range.lowerBound - 1)..<range.upperBound)
            case "no range": return Self.slowly(206, [Self.tag], Self.body[range])
            case "several":
                return .respond(206, headers: [("Content-Type", "multipart/byteranges; boundary=b"), span], body: "x")
            case "no tag": return Self.slowly(206, [span], Self.other[range])
            case "too long": return Self.slowly(206, [span, Self.tag], Self.body[range.lowerBound...])
            default: return Self.slowly(206, [span, Self.tag, ("Content-Encoding", "gzip")], Self.body[range])
            }
        }
        defer { server.stop() }
        let stage = try Stage()
        let run = try stage.run(job(server, 3))
        // Of the last part, what is too long is not.
        try expectWhole(run, stage)
        if kind != "too long" { #expect(server.requests("/f").count <= 3, "\(ranges(server))") }
        #expect(try run.value("$.tasks[0].attempts[0].startedOver") == nil)
    }

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

    @Test(arguments: [Script.Step.reset, .close]) func aSegmentThatIsCutIsAnothersToBring(_ end: Script.Step) throws {
        let server = try server { number, range in
            guard number == 2 else { return nil }
            let span = ("Content-Range", "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(Self.body.count)")
            let head = Script.head(206, [span, Self.tag, ("Content-Length", "\(range.count)")])
            return [.bytes(head), .bytes(Array(Self.body[range].prefix(300_000))), .wait(.milliseconds(20)), end]
        }
        defer { server.stop() }
        let stage = try Stage()
        try expectWhole(try stage.run(job(server, 4)), stage)
        #expect(ranges(server).count { $0 != nil } >= 2)
    }

    @Test func theFirstStreamMayBeCutToo() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/f") { request in
            guard Self.range(request) == nil else { return Self.answer(request) }
            let head = Script.head(200, [Self.tag, ("Content-Length", "\(Self.body.count)")])
            return [.bytes(head), .bytes(Array(Self.body[..<200_000])), .wait(.milliseconds(60)), .reset]
        }
        let stage = try Stage()
        try expectWhole(try stage.run(job(server, 3)), stage)
        #expect(ranges(server).count { $0 != nil } >= 1 && server.requests("/f").count { Self.range($0) == nil } == 1)
    }

    /// The part of one that stands still is brought by those that move.
    @Test func aStreamThatStandsStillIsLeft() throws {
        let server = try server { number, range in
            guard number == 1 else { return nil }
            let span = ("Content-Range", "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(Self.body.count)")
            let head = Script.head(206, [span, Self.tag, ("Content-Length", "\(range.count)")])
            return [.bytes(head), .bytes(Array(Self.body[range].prefix(100_000))), .stall]
        }
        defer { server.stop() }
        let stage = try Stage()
        let run = try stage.run(job(server, 3))
        try expectWhole(run, stage)
        #expect(ranges(server).count { $0 != nil } >= 2)
        #expect(try run.value("$.tasks[0].duration").flatMap { Double($0) } ?? 60 < 30)
    }

    @Test func oneTooManyIsGivenUp() throws {
        let server = try server { number, _ in
            (2...3).contains(number) ? .respond(429, headers: [("Retry-After", "1")]) : nil
        }
        defer { server.stop() }
        let stage = try Stage()
        try expectWhole(try stage.run(job(server, 4)), stage)
        #expect(ranges(server).count { $0 != nil } >= 2)
    }

    /// Its last stream was one too many: the attempt fails as any other that is answered so.
    @Test func whenNothingElseIsLeftABusyServerIsTriedAgain() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/f") { request in
            if request.number > 3 { return Self.answer(request) }
            guard Self.range(request) == nil else { return .respond(503) }
            let head = Script.head(200, [Self.tag, ("Content-Length", "\(Self.body.count)")])
            return [.bytes(head), .bytes(Array(Self.body[..<400_000])), .gate("cut"), .reset]
        }
        let stage = try Stage()
        let program = try stage.start(job(server, 2))
        #expect(server.waitForRequests(2))
        server.open(gate: "cut")
        let run = try stage.finish(program)
        #expect(run.status == 0)
        #expect(try stage.folder.bytes("f") == Self.body)
    }

    /// Ranges are let through no longer: one stream gets the file, in the same attempt.
    @Test(arguments: [302, 403, 404]) func whoseRangesAreDeclinedIsAskedForAll(_ status: Int) throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/elsewhere", .respond(404))
        server.on("/f") { request in
            if request.number > 1, Self.range(request) == nil { return Self.answer(request) }
            guard Self.range(request) == nil else { return .respond(status, headers: [("Location", "/elsewhere")]) }
            let head = Script.head(200, [Self.tag, ("Content-Length", "\(Self.body.count)")])
            return [.bytes(head), .bytes(Array(Self.body[..<400_000])), .gate("cut"), .reset]
        }
        let stage = try Stage()
        let program = try stage.start(job(server, 2, ", retry: { attempts: 1 }"))
        #expect(server.waitForRequests(2))
        server.open(gate: "cut")
        let run = try stage.finish(program)
        #expect(run.status == 0)
        #expect(try stage.folder.bytes("f") == Self.body)
        #expect(server.requests("/elsewhere").isEmpty)
    }

    /// The ordinary request is answered, and no range ever is. What its stream was not told to leave to others it brings
    /// itself; else the next attempt gets all of it in one.
    @Test(arguments: ["silence", "nothing", "no byte"])
    func whoseRangesBringNothingIsAskedForAll(_ kind: String) throws {
        let server = try server { _, range in
            let span = ("Content-Range", "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(Self.body.count)")
            switch kind {
            case "silence": return [.wait(.seconds(600))]
            case "nothing": return [.reset]
            default:
                return [.bytes(Script.head(206, [Self.tag, span, ("Content-Length", "\(range.count)")])), .reset]
            }
        }
        defer { server.stop() }
        let stage = try Stage()
        let run = try stage.run(job(server, 4, ", retry: { attempts: 3 }, timeoutForRequest: 500ms"))
        let isSilent = kind == "silence"
        try expectWhole(run, stage, attempts: isSilent ? 2 : 1)
        #expect(server.requests("/f").count { Self.range($0) == nil } == (isSilent ? 2 : 1))
        guard isSilent else { return }
        let why = try run.task("t", "attempts[1].startedOver")
        #expect(why?.contains("requests for the rest brought nothing of it") == true)
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

    /// All stand still: that is the attempt's end, as it is of any other.
    @Test func whenNothingMovesItIsTimedOut() throws {
        let server = try ScriptedServer { request in
            let length = Self.range(request)?.count ?? Self.body.count
            return [.bytes(Script.head(200, [Self.tag, ("Content-Length", "\(length)")])), .stall]
        }
        defer { server.stop() }
        let stage = try Stage()
        let run = try stage.run(job(server, 3, ", timeoutForRequest: 300ms, retry: { attempts: 1 }"))
        #expect(run.status == 1)
        #expect(try run.task("t", "error.name") == "timedOut")
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
