import Glibc
import HTTPRules
import Stores
import SystemIO
import TestSupport
import Testing
import TransferModel

/// A second run of a job asks whether its files are still the same, and a 304 leaves them as they stand.
@Suite struct RevalidationTests {
    static let past = "Wed, 01 Jan 2020 12:00:00 GMT"

    /// A server whose one file can be exchanged for another.
    private final class Mirror: Sendable {
        let server: ScriptedServer
        init(_ resource: ServedResource) throws {
            server = try ScriptedServer()
            serve(resource)
        }
        deinit { server.stop() }

        func serve(_ resource: ServedResource) { server.on("/a") { resource.answer($0) } }

        /// The conditions that came, in order; "none" for a request without.
        var conditions: [String] {
            server.requests().map { request in
                request.headerLines.first { $0.lowercased().hasPrefix("if-") } ?? "none"
            }
        }
        func job(_ more: String = "", top: String = "") -> String {
            "tasks: [{ id: a, url: '\(server.url("/a"))', to: a\(more.isEmpty ? "" : ", \(more)") }]\n\(top)"
        }
    }

    @Test(
        arguments: [
            ("\"v1\"", nil, "If-None-Match: \"v1\""), ("W/\"v1\"", nil, "If-None-Match: W/\"v1\""),
            ("\"v1\"", past, "If-None-Match: \"v1\""), (nil, past, "If-Modified-Since: \(past)"),
        ] as [(String?, String?, String)])
    func anUnchangedFileCostsOne304(_ etag: String?, _ date: String?, _ asked: String) throws {
        let mirror = try Mirror(ServedResource("hello", etag: etag, lastModified: date))
        let stage = try Stage()
        #expect(try stage.run(mirror.job(), "--exit-unchanged").status == 0)
        let before = try FileFacts.of(stage.folder.path("a"))
        let run = try stage.run(mirror.job(), "--exit-unchanged")
        #expect(run.status == 9)
        #expect(mirror.conditions == ["none", asked])
        // Nothing touched it, not even its inode.
        #expect(try FileFacts.of(stage.folder.path("a")) == before)
        #expect(try stage.text("a") == "hello")
        #expect(try run.task("a", "source") == "unchanged" && run.task("a", "changed") == "false")
        #expect(try run.values("$.tasks[0].attempts[*].transactions[*].response.status") == ["304"])
        #expect(try run.task("a", "response.status") == "304")
        #expect(try run.task("a", "file.path") == "a" && run.task("a", "file.bytes") == "5")
        #expect(try run.task("a", "length") == nil)
        #expect(try run.value("$.totals.unchanged") == "1" && run.value("$.totals.bytesSaved") == "5")
        #expect(run.errorText.contains("warning") == false)
    }

    /// A file of which nothing proves that it is whole may be a half one: it is fetched again, and a mark that is met
    /// with `requireLength` is not forgotten by then.
    @Test func whatNothingProvesIsNotAskedAbout() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        let cut = Script.untilClose(200, headers: [("ETag", "\"v\"")], body: Array("hel".utf8))
        server.on("/a", cut, cut, .respond(200, headers: [("ETag", "\"v\"")], body: "hello"), .respond(304))
        let stage = try Stage()
        let job = "tasks: [{ id: a, url: '\(server.url("/a"))', to: a"
        #expect(try stage.run(job + " }]").task("a", "length") == "unverified")
        #expect(try stage.run(job + ", requireLength: true, retry: { attempts: 1 } }]").status == 1)
        #expect(try stage.run(job + " }]").task("a", "length") == "verified")
        #expect(try stage.text("a") == "hello")
        #expect(try stage.run(job + " }]").task("a", "source") == "unchanged")
        let conditions = server.requests("/a").map { $0.header("If-None-Match") }
        #expect(conditions == [nil, nil, nil, "\"v\""])
    }

    /// The content is not all that the job says of a file.
    @Test(arguments: ["none", "flush"]) func anUnchangedFileGetsItsMode(_ durability: String) throws {
        let mirror = try Mirror(ServedResource("hello", etag: "\"v1\""))
        let stage = try Stage()
        let top = "sessions: { default: { durability: \(durability) } }"
        #expect(try stage.run(mirror.job(top: top)).status == 0)
        for (more, mode) in [("mode: \"0600\"", 0o600), ("", 0o600), ("mode: \"0755\"", 0o755)] as [(String, UInt32)] {
            let run = try stage.run(mirror.job(more, top: top))
            #expect(try run.task("a", "source") == "unchanged" && run.task("a", "changed") == "false")
            #expect(stage.folder.mode("a") == mode)
        }
        let sum = "checksum: \"md5:5d41402abc4b2a76b9719d911017c592\""
        #expect(try stage.run(mirror.job("\(sum), mode: \"0640\"")).task("a", "source") == "unchanged")
        #expect(stage.folder.mode("a") == 0o640)
        // It is not touched.
        #expect(try stage.run(mirror.job("existing: skip, mode: \"0600\"")).task("a", "source") == "unchanged")
        #expect(stage.folder.mode("a") == 0o640)
        #expect(mirror.conditions.count == 4)
    }

    /// What is kept of many files is looked up long before their turn, in whatever order that comes: what is asked and
    /// what comes of it is for each file as if it were alone.
    @Test(arguments: [false, true]) func manyFilesAreEachAskedForAsTheyStand(_ isShuffled: Bool) throws {
        var random = Seeded("manyFilesAreEachAskedForAsTheyStand")
        let server = try ScriptedServer()
        defer { server.stop() }
        let stage = try Stage()
        let count = 300
        let changed = Set((0..<count).filter { _ in random.oneIn(4) })
        for number in 0..<count {
            server.on("/\(number)") { request in
                let version = changed.contains(number) && request.number > 1 ? 2 : 1
                return ServedResource("file \(number) v\(version)", etag: "\"v\(version)\"").answer(request)
            }
        }
        let tasks = (0..<count).map { number in
            let priority = isShuffled ? ", priority: \(Double(random.below(10)) / 10)" : ""
            return "  - { id: t\(number), url: '\(server.url("/\(number)"))', to: out/\(number)\(priority) }\n"
        }
        let job = "tasks:\n" + tasks.joined()
        #expect(try stage.run(job).status == 0)

        let touched = Set((0..<count).filter { _ in random.oneIn(4) })
        let gone = Set((0..<count).filter { !touched.contains($0) && random.oneIn(4) })
        for number in touched { try stage.folder.write("out/\(number)", "changed here") }
        for number in gone { stage.folder.remove("out/\(number)") }
        let run = try stage.run(job)
        #expect(run.status == 0)
        let sources = try run.values("$.tasks[*].source")
        for number in 0..<count {
            let isAsked = !touched.contains(number) && !gone.contains(number)
            let requests = server.requests("/\(number)")
            #expect(requests.map { $0.header("If-None-Match") } == [nil, isAsked ? "\"v1\"" : nil], "\(number)")
            let isNew = changed.contains(number)
            #expect(try stage.text("out/\(number)") == "file \(number) v\(isNew ? 2 : 1)")
            #expect(sources[number] == (isAsked && !isNew ? "unchanged" : "network"), "\(number)")
        }
    }

    /// The name came with the answer, and an answer without a body brings none: it is remembered with the URL.
    @Test func aFileOfAFolderIsKnownByItsURL() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/get") { request in
            let answer = ServedResource("hello", etag: "\"v1\"").answer(request)
            guard request.header("If-None-Match") == nil else { return answer }
            let name = [("Content-Disposition", "attachment; filename=named.txt"), ("ETag", "\"v1\"")]
            return .respond(200, headers: name, body: "hello")
        }
        let stage = try Stage()
        let job = "tasks: [{ id: a, url: '\(server.url("/get"))', to: in/ }]"
        #expect(try stage.run(job).status == 0)
        let run = try stage.run(job, "--exit-unchanged")
        #expect(run.status == 9)
        #expect(try run.task("a", "source") == "unchanged" && run.task("a", "file.path") == "in/named.txt")
        #expect(server.requests().map { $0.header("If-None-Match") } == [nil, "\"v1\""])
        // Another URL of the same folder has nothing to do with it.
        #expect(try stage.run("tasks: [{ id: a, url: '\(server.url("/get?x=1"))', to: in/ }]").status == 0)
        #expect(server.requests().last?.header("If-None-Match") == nil)
        try stage.folder.write("in/named.txt", "changed here")
        #expect(try stage.run(job).status == 0)
        #expect(try stage.text("in/named.txt") == "hello")
        #expect(stage.files == ["in/", "in/named.txt"])
    }

    /// A power cut may take what is in a file and leave its size and time: after a new start of the system it is read.
    @Test(arguments: [true, false]) func afterANewStartTheFileIsRead(_ isWhole: Bool) throws {
        let mirror = try Mirror(ServedResource("hello", etag: "\"v1\""))
        let stage = try Stage()
        #expect(try stage.run(mirror.job()).status == 0)
        let path = stage.folder.path("a")
        let folder = stage.binary.home.path("state/transfer-run")
        func kept() throws -> KeptValidators? {
            let store = try Store.open(folder: folder)
            let session = try #require(
                try store.existingSession(job: stage.folder.path("job.yaml"), name: "default"))
            return try store.validators(session, destination: path)
        }
        // As if the system had been started since.
        var found = try #require(try kept())
        let boot = try #require(found.boot)
        #expect(found.checksum?.algorithm == .xxh3)
        found.boot = boot + 1
        do {
            let store = try Store.open(folder: folder)
            let session = try store.session(
                job: stage.folder.path("job.yaml"), name: "default", now: Clocks.wall())
            try store.change(session, [ValidatorChange(destination: path, kept: found)], now: Clocks.wall())
        }
        let time = try FileFacts.of(path).modifiedNanoseconds
        if !isWhole {
            try stage.folder.write("a", [0, 0, 0, 0, 0])
            try Descriptor.open(path, O_WRONLY).setModificationTime(nanoseconds: time)
        }
        #expect(FileStamp(size: 5, modifiedNanoseconds: time).looksLike(found.file))
        let run = try stage.run(mirror.job())
        #expect(try stage.text("a") == "hello")
        #expect(mirror.conditions == ["none", isWhole ? "If-None-Match: \"v1\"" : "none"])
        #expect(try run.task("a", "source") == (isWhole ? "unchanged" : "network"))
        // What was read from the disk need not be read again.
        #expect(try kept()?.boot == (isWhole ? nil : boot))
    }

    /// What was flushed would survive.
    @Test func whatWasFlushedNeedNotBeRead() throws {
        let mirror = try Mirror(ServedResource("hello", etag: "\"v1\""))
        let stage = try Stage()
        let top = "sessions: { default: { durability: flush } }"
        #expect(try stage.run(mirror.job(top: top)).status == 0)
        let store = try Store.open(folder: stage.binary.home.path("state/transfer-run"))
        let session = try #require(try store.existingSession(job: stage.folder.path("job.yaml"), name: "default"))
        let kept = try #require(try store.validators(session, destination: stage.folder.path("a")))
        #expect(kept.boot == nil)
    }

    /// The other task's file has the name by now.
    @Test func twoTasksNeverKeepOneFile() throws {
        let server = try ScriptedServer { request in ServedResource("hello", etag: "\"v1\"").answer(request) }
        defer { server.stop() }
        let stage = try Stage()
        let first = "{ id: a, url: '\(server.url("/name"))', to: in/ }"
        #expect(try stage.run("tasks: [\(first)]").status == 0)
        let run = try stage.run("tasks: [{ id: b, url: '\(server.url("/b"))', to: in/name }, \(first)]")
        #expect(run.status == 1)
        #expect(try run.task("a", "error.name") == "nameTaken")
        #expect(try run.task("b", "outcome") == "succeeded")
    }

    @Test func aChangeAtTheServerIsFetchedAndKeptInTurn() throws {
        let mirror = try Mirror(ServedResource("old", etag: "\"1\""))
        let stage = try Stage()
        #expect(try stage.run(mirror.job()).status == 0)
        mirror.serve(ServedResource("newer", etag: "\"2\""))
        let changed = try stage.run(mirror.job(), "--exit-unchanged")
        #expect(changed.status == 0)
        #expect(try changed.task("a", "source") == "network" && changed.task("a", "changed") == "true")
        #expect(try stage.text("a") == "newer")
        #expect(try stage.run(mirror.job(), "--exit-unchanged").status == 9)
        #expect(mirror.conditions == ["none", "If-None-Match: \"1\"", "If-None-Match: \"2\""])
    }

    /// The same bytes under another tag: fetched, told as unchanged content, and the new tag counts.
    @Test func theSameBytesUnderAnotherTagAreNoChange() throws {
        let mirror = try Mirror(ServedResource("same", etag: "\"1\""))
        let stage = try Stage()
        #expect(try stage.run(mirror.job()).status == 0)
        mirror.serve(ServedResource("same", etag: "\"2\""))
        let run = try stage.run(mirror.job(), "--exit-unchanged")
        #expect(run.status == 9)
        #expect(try run.task("a", "source") == "network" && run.task("a", "changed") == "false")
        #expect(try stage.run(mirror.job()).task("a", "source") == "unchanged")
    }

    @Test(arguments: ["size", "time", "removed", "folder away"])
    func aLocalChangeIsFetchedAnew(_ what: String) throws {
        let mirror = try Mirror(ServedResource("right", lastModified: Self.past))
        let stage = try Stage()
        let job = "tasks: [{ id: a, url: '\(mirror.server.url("/a"))', to: in/a }]"
        #expect(try stage.run(job).status == 0)
        switch what {
        case "size": try stage.folder.write("in/a", "right and more")
        case "time": try setTime("in/a", of: stage, seconds: 1_577_880_001)
        case "removed": stage.folder.remove("in/a")
        default: stage.folder.remove("in")
        }
        if what == "size" { try setTime("in/a", of: stage, seconds: 1_577_880_000) }
        let run = try stage.run(job)
        #expect(run.status == 0)
        // A file of a whole second is asked about by that: it is not the server's by its time, or by its length.
        switch what {
        case "size": #expect(mirror.conditions == ["none", "If-Modified-Since: \(Self.past)", "none", "none"])
        case "time": #expect(mirror.conditions == ["none", "If-Modified-Since: Wed, 01 Jan 2020 12:00:01 GMT"])
        default: #expect(mirror.conditions == ["none", "none"])
        }
        #expect(try stage.text("in/a") == "right")
        #expect(try run.task("a", "source") == "network")
        #expect(try stage.run(job).task("a", "source") == "unchanged")
    }

    /// What nobody can see without reading the file: only a `checksum` proves content.
    @Test func otherContentOfTheSameSizeAndTimeIsNotNoticed() throws {
        let mirror = try Mirror(ServedResource("right", lastModified: Self.past))
        let stage = try Stage()
        #expect(try stage.run(mirror.job()).status == 0)
        try stage.folder.write("a", "wrong")
        try setTime("a", of: stage, seconds: 1_577_880_000)
        let run = try stage.run(mirror.job())
        #expect(try run.task("a", "source") == "unchanged" && stage.text("a") == "wrong")
        let checksum = "checksum: 'md5:7c4f29407893c334a6cb7a87bf045c0d'"
        #expect(try stage.run(mirror.job(checksum)).status == 0)
        #expect(mirror.conditions == ["none", "If-None-Match: \"v1\"", "none"])
        #expect(try stage.text("a") == "right")
    }

    private func setTime(_ name: String, of stage: Stage, seconds: Int) throws {
        let times = [timespec(tv_sec: seconds, tv_nsec: 0), timespec(tv_sec: seconds, tv_nsec: 0)]
        #expect(utimensat(AT_FDCWD, stage.folder.path(name), times, 0) == 0)
    }

    @Test func withoutValidatorsEveryRunFetches() throws {
        let mirror = try Mirror(ServedResource("x", etag: "\"1\""))
        let stage = try Stage()
        #expect(try stage.run(mirror.job()).status == 0)
        mirror.serve(ServedResource("y", etag: nil))
        for _ in 1...3 { #expect(try stage.run(mirror.job()).task("a", "source") == "network") }
        // The tag of the file before is forgotten with it.
        #expect(mirror.conditions == ["none", "If-None-Match: \"1\"", "none", "none"])
    }

    @Test(arguments: ["existing: replace", "headers: { Accept: text/plain }", "decompress: true", "method: POST"])
    func whoeverAsksOtherwiseFetches(_ more: String) throws {
        let mirror = try Mirror(ServedResource("x"))
        let stage = try Stage()
        #expect(try stage.run(mirror.job()).status == 0)
        let run = try stage.run(mirror.job(more))
        // A key that is not built yet refuses the run, which sends nothing either.
        #expect(run.status == 0 || run.errorText.contains("not built yet"))
        #expect(mirror.conditions.allSatisfy { $0 == "none" })
    }

    /// One user's file is never kept for another, whatever tells them apart.
    @Test(arguments: [
        "headers: { Authorization: 'Bearer %' }", "headers: { Cookie: 'u=%' }", "headers: { X-Tenant: % }",
        "credentials: [{ user: %, password: p, preemptive: true }]", "credentials: [{ user: %, password: p }]",
    ]) func whatAnotherUserGotIsFetchedAnew(_ more: String) throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        let asks = more.contains("credentials")
        server.on("/a") { request in
            let who = ["Authorization", "Cookie", "X-Tenant"].compactMap { request.header($0) }.joined()
            if asks, who.isEmpty { return .respond(401, headers: [("WWW-Authenticate", "Basic realm=\"r\"")]) }
            let headers = [("ETag", "\"v1\""), ("Vary", "X-Tenant")]
            if request.header("If-None-Match") != nil { return .respond(304, headers: headers) }
            return .respond(200, headers: headers, body: who)
        }
        let stage = try Stage()
        func run(_ user: String) throws -> (source: String?, text: String) {
            let task = more.replacing("%", with: user)
            let run = try stage.run("tasks: [{ id: a, url: '\(server.url("/a"))', to: a, \(task) }]")
            #expect(run.status == 0)
            return (try run.task("a", "source"), try stage.text("a"))
        }
        let alice = try run("alice")
        #expect(try run("alice") == ("unchanged", alice.text))
        let bob = try run("bob")
        #expect(bob.source == "network" && bob.text != alice.text)
        #expect(try run("bob") == ("unchanged", bob.text))
        // Nothing that tells who asked is written down.
        for (_, bytes) in try stage.binary.home.contents("state") {
            #expect(!String(decoding: bytes, as: UTF8.self).contains("alice"))
        }
    }

    /// What one session kept of a file counts no more once another put its own there, of the same size and time.
    @Test(arguments: [true, false]) func aFileOfAnotherSessionIsFetchedAnew(_ isOtherJob: Bool) throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        for name in ["one", "two"] {
            let resource = ServedResource("by \(name)", etag: "\"\(name)\"", lastModified: Self.past)
            server.on("/\(name)") { resource.answer($0) }
        }
        let stage = try Stage()
        for name in ["one", "two", "one", "two"] {
            let head =
                isOtherJob ? "name: \(name)\nsessions: { s: {} }" : "name: j\nsessions: { s: {}, one: {}, two: {} }"
            let session = isOtherJob ? "s" : name
            let run = try stage.run(
                "\(head)\ntasks: [{ id: a, session: \(session), url: '\(server.url("/\(name)"))', to: a }]")
            #expect(try run.status == 0 && run.task("a", "source") == "network")
            #expect(try stage.text("a") == "by \(name)")
        }
    }

    @Test func a304ThatNobodyAskedForIsAnError() throws {
        let mirror = try Mirror(ServedResource("x"))
        mirror.server.on("/a", .respond(304, headers: [("ETag", "\"1\"")]))
        let stage = try Stage()
        try stage.folder.write("a", "old")
        let run = try stage.run(mirror.job())
        #expect(run.status == 1)
        #expect(try run.task("a", "error.name") == "unexpectedResponse")
        #expect(try stage.text("a") == "old")
    }

    /// The condition goes where the file came from, and only there.
    /// Servers that compare dates answer so for an older file that was put in the place of the newer.
    @Test func a304OfAnotherDateIsAskedOnceMore() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        let (newer, older) = ("Wed, 01 Jan 2020 12:00:00 GMT", "Wed, 01 Jan 2020 11:00:00 GMT")
        server.on(
            "/a", .respond(200, headers: [("Last-Modified", newer)], body: "newer"),
            .respond(304, headers: [("Last-Modified", older)]),
            .respond(200, headers: [("Last-Modified", older)], body: "older"))
        let stage = try Stage()
        let job = "tasks: [{ id: a, url: '\(server.url("/a"))', to: a }]"
        #expect(try stage.run(job).status == 0)
        let run = try stage.run(job)
        #expect(run.status == 0)
        #expect(try stage.text("a") == "older")
        #expect(try run.task("a", "source") == "network")
        let asked = server.requests().map { $0.header("If-Modified-Since") }
        #expect(asked == [nil, newer, nil])
    }

    @Test func redirectsCarryTheConditionToTheEnd() throws {
        let mirror = try Mirror(ServedResource("one", etag: "\"1\""))
        mirror.server.on("/latest", .redirect(302, to: "/a"))
        let stage = try Stage()
        let job = "tasks: [{ id: a, url: '\(mirror.server.url("/latest"))', to: a }]"
        #expect(try stage.run(job).status == 0)
        #expect(try stage.run(job).task("a", "source") == "unchanged")
        #expect(mirror.conditions == ["none", "none", "none", "If-None-Match: \"1\""])
        mirror.server.on("/latest", .redirect(302, to: "/b"))
        mirror.server.on("/b") { ServedResource("two", etag: "\"1\"").answer($0) }
        #expect(try stage.run(job).task("a", "changed") == "true")
        #expect(try stage.text("a") == "two")
        #expect(mirror.conditions.suffix(2) == ["none", "none"])
    }

    /// The answer is about a file that is gone by then: the whole of it is asked for at once.
    @Test(arguments: ["removed", "changed"]) func aFileThatChangesMeanwhileIsFetched(_ what: String) throws {
        let mirror = try Mirror(ServedResource("right", etag: "\"1\""))
        let stage = try Stage()
        #expect(try stage.run(mirror.job()).status == 0)
        let resource = ServedResource("right", etag: "\"1\"")
        mirror.server.on("/a") { request in
            request.header("If-None-Match") == nil
                ? resource.answer(request) : [.gate("asked")] + resource.answer(request)
        }
        let program = try stage.start(mirror.job())
        #expect(mirror.server.waitForRequests(2))
        if what == "removed" { stage.folder.remove("a") } else { try stage.folder.write("a", "changed by somebody") }
        mirror.server.open(gate: "asked")
        let run = try stage.finish(program)
        #expect(run.status == 0)
        #expect(try stage.text("a") == "right")
        #expect(mirror.conditions == ["none", "If-None-Match: \"1\"", "none"])
        #expect(try run.values("$.tasks[0].attempts[*].transactions[*].response.status") == ["304", "200"])
        #expect(try run.task("a", "source") == "network")
    }

    @Test func anAttemptAfterAFailureAsksAgain() throws {
        let mirror = try Mirror(ServedResource("x", etag: "\"1\""))
        let stage = try Stage()
        #expect(try stage.run(mirror.job()).status == 0)
        // The route was asked once by now.
        mirror.server.on("/a", .respond(500), [.reset], .respond(304))
        let run = try stage.run(mirror.job("retry: { backoff: { initial: 10ms } }"))
        #expect(run.status == 0)
        #expect(try run.task("a", "source") == "unchanged")
        #expect(mirror.conditions == ["none", "If-None-Match: \"1\"", "If-None-Match: \"1\""])
    }

    @Test func manyFilesOfOneRunAreAskedAboutInTheNext() throws {
        let server = try ScriptedServer { request in
            ServedResource("body of \(request.target)", etag: "\"\(request.target)\"").answer(request)
        }
        defer { server.stop() }
        let stage = try Stage()
        for durability in ["none", "flush"] {
            let job = """
                sessions: { default: { durability: \(durability) } }
                tasks: [{ id: "t-${n}", forEach: { n: 1..150 }, url: "\(server.origin)/${n}", to: "\(durability)/${n}" }]
                """
            #expect(try stage.run(job, "--exit-unchanged").status == 0)
            let run = try stage.run(job, "--exit-unchanged")
            #expect(run.status == 9)
            #expect(try run.value("$.totals.unchanged") == "150" && run.value("$.totals.attempts") == "150")
            #expect(try run.value("$.totals.bytesReceived") == "0")
        }
        #expect(server.requests().count { $0.header("If-None-Match") == "\"\($0.target)\"" } == 300)
    }

    @Test func membersOfAGroupStayByA304() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        func serve(_ name: String, _ text: String, _ tag: String) {
            server.on("/\(name)") { ServedResource(text, etag: tag).answer($0) }
        }
        serve("a", "a 1", "\"a1\"")
        serve("b", "b 1", "\"b1\"")
        let stage = try Stage()
        let job = """
            groups: { site: { to: site } }
            tasks:
              - { id: a, group: site, url: "\(server.url("/a"))", to: a }
              - { id: b, group: site, url: "\(server.url("/b"))", to: in/b }
            """
        #expect(try stage.run(job).status == 0)
        let old = try (folder: FileFacts.of(stage.folder.path("site")), a: FileFacts.of(stage.folder.path("site/a")))
        let same = try stage.run(job, "--exit-unchanged")
        #expect(same.status == 9)
        #expect(try same.values("$.tasks[*].source") == ["unchanged", "unchanged"])
        // A set that changes nothing is not exchanged.
        #expect(try FileFacts.of(stage.folder.path("site")).isSameFile(as: old.folder))
        serve("b", "b 2", "\"b2\"")
        let run = try stage.run(job)
        #expect(run.status == 0)
        #expect(try run.values("$.tasks[*].source") == ["unchanged", "network"])
        #expect(try stage.text("site/a") == "a 1" && stage.text("site/in/b") == "b 2")
        let new = try FileFacts.of(stage.folder.path("site/a"))
        #expect(new.isSameFile(as: old.a) && new.modifiedNanoseconds == old.a.modifiedNanoseconds)
        #expect(try stage.run(job, "--exit-unchanged").status == 9)
        #expect(server.requests().filter { $0.header("If-None-Match") == nil }.count == 2)
    }
}
