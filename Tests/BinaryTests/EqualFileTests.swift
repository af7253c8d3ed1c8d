import Digests
import Glibc
import Synchronization
import TestSupport
import Testing
import TextFormats
import TransferModel

/// Downloads with the same `checksum`: the file is fetched once in a run, and the others copy it.
@Suite struct EqualFileTests {
    private static let body = Script.patternBytes(300_000)
    private static func sum(_ body: [UInt8], _ algorithm: DigestAlgorithm = .sha256) -> String {
        (try? Checksum.of(body, algorithm))?.description ?? ""
    }

    private func server(_ names: [String] = ["/a", "/b", "/c"]) throws -> ScriptedServer {
        let server = try ScriptedServer()
        for name in names { server.on(name, .respond(200, headers: [("ETag", "\"1\"")], body: Self.body)) }
        return server
    }

    private func job(_ server: ScriptedServer, _ head: String = "", sum: String? = nil, _ more: String = "") -> String {
        let sum = sum ?? Self.sum(Self.body)
        return head + "\ntasks:\n"
            + ["a", "b", "c"].map {
                "  - { id: \($0), url: \"\(server.url("/\($0)"))\", to: out/\($0), checksum: \"\(sum)\"\(more) }\n"
            }.joined()
    }

    private func expectWhole(
        _ stage: Stage, _ names: [String] = ["a", "b", "c"], _ place: SourceLocation = #_sourceLocation
    )
        throws
    {
        #expect(stage.folder.list("out") == names, sourceLocation: place)
        for name in names { #expect(try stage.folder.bytes("out/\(name)") == Self.body, sourceLocation: place) }
    }

    @Test(arguments: [DigestAlgorithm.sha256, .sha512, .blake2b]) func oneRequest_bringsAll(
        _ algorithm: DigestAlgorithm
    )
        throws
    {
        let server = try server()
        defer { server.stop() }
        let stage = try Stage()
        let run = try stage.run(job(server, sum: Self.sum(Self.body, algorithm)))
        #expect(run.status == 0 && server.requests().count == 1)
        try expectWhole(stage)
        let sources = try run.values("$.tasks[*].source").compactMap(\.self)
        #expect(sources.sorted() == ["local", "local", "network"])
        let waits = try run.values("$.tasks[?@.source=='local'].waits[*].reason")
        #expect(waits.count { $0 == "dependency" } == 2, "the time in which another fetched is a wait: \(waits)")
        let first = try run.values("$.tasks[?@.source=='network'].id")[0] ?? ""
        #expect(try run.values("$.tasks[*].file.copiedFrom") == [first, first])
        #expect(try run.values("$.tasks[*].changed") == ["true", "true", "true"])
        #expect(try run.values("$.tasks[*].length") == ["verified", "verified", "verified"])
        #expect(try run.value("$.totals.bytesReceived") == "300000")
        #expect(try run.value("$.totals.bytesSaved") == "600000")
        #expect(run.events.filter { $0["copiedFrom"]?.plainText == first }.count == 2)
        // All are right in the next run, and nothing is copied.
        let again = try stage.run(job(server, sum: Self.sum(Self.body, algorithm)))
        #expect(try again.values("$.tasks[*].source") == ["unchanged", "unchanged", "unchanged"])
        #expect(server.requests().count == 1)
    }

    /// By a list of checksums, from which each task takes its own line.
    @Test func sumsOfAList_countAsWell() throws {
        let server = try server()
        defer { server.stop() }
        let hex = Self.sum(Self.body).split(separator: ":")[1]
        server.on("/sums", .respond(200, body: "\(hex)  a\n\(hex)  b\n\(hex)  c\n"))
        let stage = try Stage()
        let tasks = ["a", "b", "c"].map {
            "  - { id: \($0), url: \"\(server.url("/\($0)"))\", to: out/\($0), checksum: { from: \"\(server.url("/sums"))\" } }\n"
        }
        let run = try stage.run("tasks:\n" + tasks.joined())
        #expect(run.status == 0 && server.requests().count == 2)
        try expectWhole(stage)
    }

    @Test(arguments: [DigestAlgorithm.md5, .sha1]) func sumsThatProveNothing_areEachFetched(
        _ algorithm: DigestAlgorithm
    )
        throws
    {
        let server = try server()
        defer { server.stop() }
        let stage = try Stage()
        #expect(try stage.run(job(server, sum: Self.sum(Self.body, algorithm))).status == 0)
        #expect(server.requests().count == 3)
    }

    /// However few tasks or connections there may be, and whichever task needs which.
    @Test(arguments: [
        "limits: { maximumConcurrentTasks: 1 }", "sessions: { default: { maximumConnectionsPerHost: 1 } }",
        "sessions: { default: { durability: flush } }", "failFast: true",
    ])
    func underAnyLimit_oneRequestIsEnough(_ head: String) throws {
        let server = try server()
        defer { server.stop() }
        let stage = try Stage()
        let run = try stage.run(job(server, head))
        #expect(run.status == 0 && server.requests().count == 1)
        try expectWhole(stage)
    }

    @Test func oneThatNeedsTheOther_copies() throws {
        let server = try server()
        defer { server.stop() }
        let stage = try Stage()
        let sum = Self.sum(Self.body)
        let run = try stage.run(
            """
            tasks:
              - { id: b, url: "\(server.url("/b"))", to: out/b, checksum: "\(sum)", needs: [a] }
              - { id: a, url: "\(server.url("/a"))", to: out/a, checksum: "\(sum)", mode: "0600" }
            """)
        #expect(run.status == 0 && server.requests().map(\.path) == ["/a"])
        #expect(try run.task("b", "file.copiedFrom") == "a")
        try expectWhole(stage, ["a", "b"])
        #expect(stage.folder.mode("out/b").map { $0 & 0o777 } != 0o600, "each has its own mode")
    }

    /// The first fails for good: the next fetches, with its own retries and its own error.
    @Test func whenTheFirstFails_theNextFetches() throws {
        let server = try server()
        defer { server.stop() }
        server.on("/a", .respond(404))
        let stage = try Stage()
        let run = try stage.run(job(server, "limits: { maximumConcurrentTasks: 1 }"))
        #expect(run.status == 1 && server.requests().map(\.path) == ["/a", "/b"])
        #expect(try run.task("a", "error.name") == "unexpectedResponse")
        try expectWhole(stage, ["b", "c"])
    }

    /// While the first waits for its next attempt, another fetches; the first then copies.
    @Test func whileTheFirstBacksOff_theNextTakesOver() throws {
        let server = try server()
        defer { server.stop() }
        server.on("/a", .respond(503))
        let stage = try Stage()
        let head = "sessions: { default: { retry: { attempts: 5, backoff: { initial: 20ms, jitter: none } } } }"
        let run = try stage.run(job(server, head))
        #expect(run.status == 0 && server.requests("/a").count <= 1)
        #expect(server.requests().filter { $0.path != "/a" }.count == 1)
        try expectWhole(stage)
    }

    /// Each server sends something else than it should: none of it gets a name.
    @Test func wrongBytes_areNeverCopied() throws {
        let server = try server()
        defer { server.stop() }
        for name in ["/a", "/b", "/c"] { server.on(name, .respond(200, body: "wrong")) }
        let stage = try Stage()
        let run = try stage.run(job(server))
        #expect(run.status == 1 && stage.folder.list("out").isEmpty)
        #expect(try run.values("$.tasks[*].error.name") == Array(repeating: "checksumMismatch", count: 3))
    }

    /// `existing` decides before anything is copied, and a file that is right already is copied by the others.
    @Test func whatIsThereAlready_isASource() throws {
        let server = try server()
        defer { server.stop() }
        let stage = try Stage()
        try stage.folder.write("out/b", Self.body)
        let run = try stage.run(job(server, "limits: { maximumConcurrentTasks: 1 }", sum: nil, ", priority: 0.5"))
        #expect(run.status == 0 && server.requests().count == 1)
        #expect(try run.task("b", "source") == "unchanged")
        try expectWhole(stage)
        try stage.folder.write("out/c", "another file")
        let skipping = try stage.run(job(server, "", sum: nil, ", existing: skip"))
        #expect(try skipping.task("c", "error.name") == "destinationExists")
        #expect(try stage.text("out/c") == "another file" && server.requests().count == 1)
    }

    /// A hook of the first changes the file before the second copies it.
    @Test func fileThatIsChangedMeanwhile_isFetchedInstead() throws {
        let server = try server()
        defer { server.stop() }
        server.on("/gate", [.gate("changed"), .bytes(Array("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".utf8))])
        let stage = try Stage()
        let sum = Self.sum(Self.body)
        let program = try stage.start(
            """
            tasks:
              - { id: a, url: "\(server.url("/a"))", to: out/a, checksum: "\(sum)" }
              - { id: wait, url: "\(server.url("/gate"))", to: out/wait, needs: [a] }
              - { id: b, url: "\(server.url("/b"))", to: out/b, checksum: "\(sum)", needs: [wait] }
            """)
        #expect(server.waitForRequests(1, "/gate"))
        try stage.folder.write("out/a", Array("changed in place".utf8))
        server.open(gate: "changed")
        let run = try stage.finish(program)
        #expect(run.status == 0 && server.requests().map(\.path) == ["/a", "/gate", "/b"])
        #expect(try run.task("b", "source") == "network" && stage.folder.bytes("out/b") == Self.body)
    }

    @Test func membersOfAGroup_copyWhatStandsAndAreCopied() throws {
        let server = try server()
        defer { server.stop() }
        let stage = try Stage()
        let sum = Self.sum(Self.body)
        let run = try stage.run(
            """
            groups: { g: { to: site } }
            tasks:
              - { id: a, url: "\(server.url("/a"))", to: out/a, checksum: "\(sum)" }
              - { id: m, url: "\(server.url("/b"))", to: m, group: g, checksum: "\(sum)", needs: [a] }
              - { id: n, url: "\(server.url("/c"))", to: n, group: g, checksum: "\(sum)", needs: [a] }
              - { id: b, url: "\(server.url("/c"))", to: out/b, checksum: "\(sum)", needs: [group.g] }
            """)
        #expect(run.status == 0 && server.requests().count == 1)
        try expectWhole(stage, ["a", "b"])
        for name in ["m", "n"] { #expect(try stage.folder.bytes("site/\(name)") == Self.body) }
        #expect(try run.task("m", "file.copiedFrom") == "a" && run.task("n", "source") == "local")
    }

    /// A signal, while one fetches and the others wait: all end, and the next run has all with one more request.
    @Test func signal_endsThoseThatWait() throws {
        let server = try server()
        defer { server.stop() }
        server.on("/a", [.stall])
        server.on("/b", [.stall])
        server.on("/c", [.stall])
        let stage = try Stage()
        let program = try stage.start(job(server))
        #expect(server.waitForRequests(1))
        program.send(signal: SIGINT)
        let run = try stage.finish(program)
        #expect(run.status == 130 && server.requests().count == 1)
        #expect(try run.values("$.tasks[*].outcome") == Array(repeating: "cancelled", count: 3))
    }

    // MARK: The same URL

    private func sameURL(_ server: ScriptedServer, _ head: String = "", count: Int = 3) -> String {
        head + "\ntasks:\n"
            + ["a", "b", "c"].prefix(count).map { "  - { id: \($0), url: \"\(server.url("/f"))\", to: out/\($0) }\n" }
            .joined()
    }

    @Test func oneURL_comesOnce_whereATagSaysThatItIsTheSame() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/f") { request in
            request.header("If-None-Match") == "\"1\""
                ? .respond(304, headers: [("ETag", "\"1\"")])
                : .respond(200, headers: [("ETag", "\"1\"")], body: Self.body)
        }
        let stage = try Stage()
        // One after the other: a busy machine may be slower than the headers are waited for.
        let run = try stage.run(sameURL(server, "limits: { maximumConcurrentTasks: 1 }"))
        #expect(run.status == 0)
        try expectWhole(stage)
        #expect(server.requests().map { $0.header("If-None-Match") } == [nil, "\"1\"", "\"1\""])
        #expect(try run.values("$.tasks[*].source").compactMap(\.self).sorted() == ["local", "local", "network"])
        #expect(try run.values("$.tasks[*].file.copiedFrom").count == 2)
        #expect(try run.value("$.totals.bytesReceived") == "300000")
        #expect(try run.value("$.totals.bytesSaved") == "600000")
        // The next run knows each file by the tag.
        let again = try stage.run(sameURL(server))
        #expect(try again.values("$.tasks[*].source") == ["unchanged", "unchanged", "unchanged"])
    }

    @Test func oneURL_thatChangesMeanwhile_bringsBothVersions() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on(
            "/f", .respond(200, headers: [("ETag", "\"1\"")], body: "one"),
            .respond(200, headers: [("ETag", "\"2\"")], body: "two"))
        let stage = try Stage()
        let run = try stage.run(sameURL(server, "limits: { maximumConcurrentTasks: 1 }", count: 2))
        #expect(run.status == 0)
        #expect(try stage.text("out/a") == "one" && stage.text("out/b") == "two")
        #expect(try run.values("$.tasks[*].source") == ["network", "network"])
    }

    @Test func oneURLWithoutATag_isFetchedByEach() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/f", .respond(200, body: Self.body))
        let stage = try Stage()
        let run = try stage.run(sameURL(server))
        #expect(run.status == 0 && server.requests().count == 3)
        try expectWhole(stage)
    }

    /// Servers that fail at random, in every way: each file that is there at the end is right, and each task that
    /// succeeded has one.
    @Test func withRandomFailures_everyFileIsRight() throws {
        var random = Seeded("withRandomFailures_everyFileIsRight")
        for round in 0..<Rounds.scaled(6) {
            let server = try ScriptedServer()
            defer { server.stop() }
            let bodies = (0..<3).map { random.bytes(1 + random.below(200_000) + $0) }
            var tasks = ""
            var wanted: [[UInt8]] = []
            for number in 0..<24 {
                let body = random.pick(bodies)
                wanted.append(body)
                server.on("/\(number)", scripts: answers(body, random.pick(bodies), &random))
                tasks +=
                    "  - { id: t\(number), url: \"\(server.url("/\(number)"))\", to: out/\(number), "
                    + "checksum: \"\(Self.sum(body))\"\(random.oneIn(5) ? ", group: g" : "") }\n"
            }
            let stage = try Stage()
            let head = """
                limits: { maximumConcurrentTasks: \(random.pick([1, 2, 7, 64])) }
                sessions:
                  default:
                    maximumConnectionsPerHost: \(random.pick([1, 3]))
                    retry: { attempts: 3, backoff: { initial: 1ms, jitter: none } }
                groups: { g: { to: site } }
                tasks:

                """
            let run = try stage.run(head + tasks)
            for number in 0..<24 {
                let folder = try run.task("t\(number)", "group") == nil ? "out" : "site"
                let path = folder == "out" ? "out/\(number)" : "site/out/\(number)"
                let isThere = stage.folder.exists(path)
                if isThere { #expect(try stage.folder.bytes(path) == wanted[number], "round \(round), task \(number)") }
                if try run.task("t\(number)", "outcome") == "succeeded" { #expect(isThere, "round \(round)") }
            }
            #expect(try run.value("$.totals.succeeded") != "0")
        }
    }

    /// URLs whose files change at random, and servers that fail at random: each file is one of the versions, whole.
    @Test func withRandomVersions_everyFileIsOneOfThem() throws {
        let random = Mutex(Seeded("withRandomVersions_everyFileIsOneOfThem"))
        for round in 0..<Rounds.scaled(4) {
            let server = try ScriptedServer()
            defer { server.stop() }
            let versions = (0..<3).map { number in random.withLock { $0.bytes(1 + $0.below(100_000) + number) } }
            for name in ["/x", "/y"] {
                server.on(name) { request in
                    let (version, fails) = random.withLock { ($0.below($0.oneIn(3) ? 3 : 1), $0.oneIn(5)) }
                    if fails { return .respond(503) }
                    let tag = [("ETag", "\"\(version)\"")]
                    if request.header("If-None-Match") == tag[0].1 { return .respond(304, headers: tag) }
                    return .respond(200, headers: tag, body: versions[version])
                }
            }
            let tasks = (0..<16).map {
                "  - { id: t\($0), url: \"\(server.url($0 % 2 == 0 ? "/x" : "/y"))\", to: out/\($0) }\n"
            }
            let stage = try Stage()
            let run = try stage.run(
                """
                limits: { maximumConcurrentTasks: \(random.withLock { $0.pick([1, 3, 64]) }) }
                sessions: { default: { retry: { attempts: 8, backoff: { initial: 1ms, jitter: none } } } }
                tasks:

                """ + tasks.joined())
            for number in 0..<16 where try run.task("t\(number)", "outcome") == "succeeded" {
                #expect(versions.contains(try stage.folder.bytes("out/\(number)")), "round \(round), task \(number)")
            }
        }
    }

    private func answers(_ right: [UInt8], _ other: [UInt8], _ random: inout Seeded) -> [Script] {
        let failures = random.below(4)
        var answers: [Script] = []
        for _ in 0..<failures {
            switch random.below(4) {
            case 0: answers.append(.respond(503))
            case 1: answers.append(.respond(200, body: other))
            case 2: answers.append([.cut])
            default:
                let head = "HTTP/1.1 200 OK\r\nContent-Length: \(right.count)\r\n\r\n"
                answers.append([.bytes(Array(head.utf8) + right.prefix(right.count / 2)), .cut])
            }
        }
        return answers + [.respond(200, body: right)]
    }
}
