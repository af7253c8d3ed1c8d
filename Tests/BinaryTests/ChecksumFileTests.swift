import TestSupport
import Testing
import TextFormats
import TransferModel

/// `checksum: { from: … }`: from a file that another task downloaded, and from a URL.
@Suite struct ChecksumFileTests {
    private static let md5 = "900150983cd24fb0d6963f7d28e17f72"
    private static let zeros = String(repeating: "0", count: 32)

    private func server(_ list: String) throws -> ScriptedServer {
        let server = try ScriptedServer()
        server.on("/sums", .respond(200, body: list))
        for name in ["/a", "/b", "/c"] { server.on(name, .respond(200, body: "abc")) }
        return server
    }

    @Test func aTasksFileSaysWhatTheOthersShallBe() throws {
        let server = try server("\(Self.md5)  a\nMD5 (b) = \(Self.zeros)\n\(Self.md5)  d\n\(Self.md5) *x/e\n")
        defer { server.stop() }
        let stage = try Stage()
        let run = try stage.run(
            """
            defaults: { needs: [sums] }
            tasks:
              - { id: sums, url: "\(server.url("/sums"))", to: in/, needs: [] }
              - { id: a, url: "\(server.url("/a"))", to: a, checksum: { from: sums } }
              - { id: b, url: "\(server.url("/b"))", to: b, checksum: { from: sums } }
              - { id: c, url: "\(server.url("/c"))", to: c, checksum: { from: sums } }
              - { id: d, url: "\(server.url("/c"))", to: d, checksum: { from: sums, entry: d, algorithm: md5 } }
              - { id: e, url: "\(server.url("/c"))", to: e, checksum: { from: sums, entry: x/e } }
              - { id: f, url: "\(server.url("/c"))", to: f, checksum: { from: sums, entry: d, algorithm: sha1 } }
            """)
        #expect(run.status == 1)
        #expect(stage.files == ["a", "d", "e", "in/", "in/sums"])
        #expect(try run.task("a", "file.checksum") == "md5:\(Self.md5)")
        #expect(try run.task("b", "error.name") == "checksumMismatch")
        #expect(try run.task("c", "error.name") == "checksumNotFound")
        #expect(try run.task("c", "error.message") == "the file of `sums` has no checksum of `c`")
        #expect(try run.task("f", "error.message") == "the file of `sums` has no sha1 checksum of `d`")
        for id in ["a", "c"] { #expect(try run.values("$.tasks[?@.id=='\(id)'].attempts[*].number") == ["1"]) }
        // One that is not in the list is not asked for.
        #expect(server.requests().map(\.target).sorted() == ["/a", "/b", "/b", "/c", "/c", "/sums"])
    }

    /// What a list makes of one map, and what stands in a group.
    @Test func tasksThatShareAMapAreCheckedByIt() throws {
        let server = try server("\(Self.md5)  a\n\(Self.zeros)  b\n")
        defer { server.stop() }
        let stage = try Stage()
        let run = try stage.run(
            """
            groups: { lists: { to: lists } }
            tasks:
              - { id: sums, group: lists, url: "\(server.url("/sums"))", to: sums }
              - { id: "${n}", forEach: { n: [a, b] }, needs: [group.lists], url: "\(server.url("/"))${n}", to: "${n}", checksum: { from: sums } }
            """)
        #expect(run.status == 1)
        #expect(stage.files == ["a", "lists/", "lists/sums"])
        #expect(try run.task("a", "file.checksum") == "md5:\(Self.md5)")
        #expect(try run.task("b", "error.name") == "checksumMismatch")
    }

    /// As one that meets a checksum in the job itself: no request for what is there.
    @Test func aFileThatIsAsTheListSaysStays() throws {
        let server = try server("\(Self.md5)  a\n")
        defer { server.stop() }
        let stage = try Stage()
        let checksum = "checksum: { from: '\(server.url("/sums"))' }"
        let job = "tasks: [{ id: a, url: '\(server.url("/a"))', to: a, \(checksum) }]"
        #expect(try stage.run(job).status == 0)
        let second = try stage.run(job)
        #expect(try second.status == 0 && second.task("a", "source") == "unchanged")
        #expect(try second.task("a", "file.checksum") == "md5:\(Self.md5)")
        #expect(server.requests().map(\.target) == ["/sums", "/a", "/sums"])
        try stage.folder.write("a", "abd")
        #expect(try stage.run(job).task("a", "source") == "network")
        #expect(try stage.text("a") == "abc")
    }

    /// Tasks that are left out move the others' numbers; the list is the same all the same, also one of an earlier run.
    @Test func aListIsFoundWhateverIsLeftOut() throws {
        let server = try server("\(Self.md5)  a\n\(Self.md5)  b\n")
        defer { server.stop() }
        let stage = try Stage()
        let job = """
            tasks:
              - { id: c, url: "\(server.url("/c"))", to: c }
              - { id: sums, url: "\(server.url("/sums"))", to: in/ }
              - { id: a, url: "\(server.url("/a"))", to: a, needs: [sums], checksum: { from: sums } }
              - { id: b, url: "\(server.url("/b"))", to: b, needs: [sums], checksum: { from: sums } }
            """
        let first = try stage.run(job, "--only", "a")
        #expect(first.status == 0)
        #expect(try first.values("$.tasks[*].id") == ["sums", "a"])
        #expect(try first.task("a", "file.checksum") == "md5:\(Self.md5)")
        let second = try stage.run(job, "--except", "sums", "--except", "c")
        #expect(second.status == 0)
        #expect(try second.task("b", "file.checksum") == "md5:\(Self.md5)")
        #expect(server.requests("/sums").count == 1)
    }

    /// Of several files of one name each has its own line, by the path that its URL has beside the list.
    @Test func filesOfOneNameAreToldApart() throws {
        let list = "\(Self.zeros)  a\n\(Self.md5)  d/a\n"
        let server = try server(list)
        defer { server.stop() }
        server.on("/d/a", .respond(200, body: "abc"))
        server.on("/d/sums", .respond(200, body: list))
        let stage = try Stage()
        let run = try stage.run(
            """
            tasks:
              - { id: sums, url: "\(server.url("/sums"))", to: sums }
              - { id: task, url: "\(server.url("/d/a"))", to: a, needs: [sums], checksum: { from: sums } }
              - { id: url, url: "\(server.url("/d/a"))", to: b, checksum: { from: "\(server.url("/sums"))" } }
              - { id: beside, url: "\(server.url("/d/a"))", to: c, checksum: { from: "\(server.url("/d/sums"))" } }
              - { id: named, url: "\(server.url("/d/a"))", to: d, needs: [sums], checksum: { from: sums, entry: a } }
            """)
        for id in ["task", "url"] { #expect(try run.task(id, "outcome") == "succeeded") }
        for id in ["beside", "named"] { #expect(try run.task(id, "error.name") == "checksumMismatch") }
    }

    @Test func aListThatSaysTwoThingsIsAnError() throws {
        let server = try server("\(Self.md5)  a\n\(Self.zeros)  a\n")
        defer { server.stop() }
        let stage = try Stage()
        let run = try stage.run(
            """
            tasks:
              - { id: sums, url: "\(server.url("/sums"))", to: sums }
              - { id: a, url: "\(server.url("/a"))", to: a, needs: [sums], checksum: { from: sums } }
            """)
        #expect(try run.task("a", "error.message") == "the file of `sums` has 2 different checksums of `a`")
        #expect(stage.files == ["sums"])
    }

    /// The old list would vouch for the old files.
    @Test func aListThatFailedIsNotReadFromAnotherDay() throws {
        let server = try server("")
        defer { server.stop() }
        server.on("/gone", .respond(404))
        let stage = try Stage()
        try stage.folder.write("sums", "\(Self.md5)  a\n")
        let run = try stage.run(
            """
            tasks:
              - { id: sums, url: "\(server.url("/gone"))", to: sums, allowFailure: true }
              - { id: a, url: "\(server.url("/a"))", to: a, needs: [sums], checksum: { from: sums } }
            """)
        #expect(try run.task("a", "error.name") == "dependencyFailed")
        #expect(stage.files == ["sums"])
    }

    @Test func membersOfAGroupReadTheListThatIsPublishedWithThem() throws {
        let server = try server("\(Self.md5)  a\n")
        defer { server.stop() }
        let stage = try Stage()
        try stage.folder.write("site/sums", "\(Self.zeros)  a\n")
        let run = try stage.run(
            """
            groups: { site: { to: site } }
            defaults: { group: site }
            tasks:
              - { id: sums, url: "\(server.url("/sums"))", to: sums }
              - { id: a, url: "\(server.url("/a"))", to: a, needs: [sums], checksum: { from: sums } }
            """)
        #expect(run.status == 0, "\(run.errorText)")
        #expect(stage.files == ["site/", "site/a", "site/sums"])
        #expect(try stage.text("site/a") == "abc")
    }

    // MARK: From a URL

    @Test func aURLIsFetchedOnceForAllThatNameIt() throws {
        let server = try server(["a", "b", "c"].map { "\(Self.md5)  \($0)\n" }.joined())
        defer { server.stop() }
        let stage = try Stage()
        let run = try stage.run(
            """
            sessions: { default: { maximumConnectionsPerHost: 2 } }
            defaults: { checksum: { from: "\(server.url("/sums"))" }, headers: { Authorization: x } }
            tasks:
              - { id: a, url: "\(server.url("/a"))", to: a }
              - { id: b, url: "\(server.url("/b"))", to: b }
              - { id: c, url: "\(server.url("/c"))", to: c }
            """)
        #expect(run.status == 0, "\(run.errorText)")
        #expect(stage.files == ["a", "b", "c"])
        let targets = server.requests().map(\.target)
        #expect(targets.sorted() == ["/a", "/b", "/c", "/sums"])
        #expect(targets.first == "/sums")
        #expect(server.requests().allSatisfy { $0.header("Authorization") == "x" })
        // It is a request of the attempt that sent it.
        #expect(try run.values("$.tasks[*].attempts[*].transactions[*].request.url").count == 4)
        // The answer that the report tells is the file's.
        let answers = try run.values("$.tasks[*].response.url")
        #expect(answers == ["/a", "/b", "/c"].map { server.url($0) })
        #expect(try run.task("a", "file.checksum") == "md5:\(Self.md5)")
    }

    @Test func aListElsewhereGetsNoCredentials() throws {
        let server = try server("")
        defer { server.stop() }
        let other = try ScriptedServer()
        defer { other.stop() }
        other.on("/moved", .redirect(302, to: "/sums"))
        other.on("/sums", .respond(200, body: Self.md5))
        let stage = try Stage()
        let run = try stage.run(
            """
            sessions: { default: { maximumConnectionsPerHost: 1 } }
            defaults: { checksum: { from: "\(other.url("/moved"))" }, headers: { Authorization: x, X-Own: y, Accept-Language: z } }
            tasks:
              - { id: a, url: "\(server.url("/a"))", to: a }
              - { id: b, url: "\(server.url("/b"))", to: b }
            """)
        #expect(run.status == 0, "\(run.errorText)")
        #expect(other.requests().map(\.target) == ["/moved", "/sums"])
        for request in other.requests() {
            #expect(request.header("Authorization") == nil && request.header("X-Own") == nil)
            #expect(request.header("Accept-Language") == "z")
        }
        #expect(server.requests().allSatisfy { $0.header("Authorization") == "x" })
    }

    /// Nobody named that server for them, whether it asks or not.
    @Test(arguments: ["", ", preemptive: true"]) func aListElsewhereIsNotShownWhoWeAre(_ unasked: String) throws {
        let server = try server("")
        let other = try ScriptedServer()
        defer { for one in [server, other] { one.stop() } }
        func guarded(_ server: ScriptedServer, _ path: String, _ body: String) {
            server.on(path) { request in
                request.header("Authorization") == nil
                    ? .respond(401, headers: [("WWW-Authenticate", "Basic realm=\"r\"")])
                    : .respond(200, body: body)
            }
        }
        guarded(server, "/sums", Self.md5)
        guarded(other, "/sums", Self.md5)
        let stage = try Stage()
        let run = try stage.run(
            """
            sessions: { default: { credentials: [{ user: u, password: pa55word\(unasked) }] } }
            defaults: { allowFailure: true }
            tasks:
              - { id: far, url: "\(server.url("/a"))", to: a, checksum: { from: "\(other.url("/sums"))" } }
              - { id: near, url: "\(server.url("/a"))", to: b, checksum: { from: "\(server.url("/sums"))" } }
              - { id: own, url: "\(server.url("/a"))", to: c, checksum: { from: "\(other.url("/sums"))" },
                  credentials: [{ host: "127.0.0.1:\(other.port)", user: u, password: pa55word }] }
            """)
        #expect(run.status == 0)
        #expect(try run.task("far", "outcome") == "failed")
        #expect(try run.task("near", "outcome") == "succeeded")
        #expect(try run.task("own", "outcome") == "succeeded")
        #expect(other.requests().filter { $0.header("Authorization") != nil }.count == 1)
    }

    @Test func aListThatIsNotThereIsAskedForOnce() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/sums", .respond(404))
        let stage = try Stage()
        let run = try stage.run(
            """
            defaults: { checksum: { from: "\(server.url("/sums"))" } }
            tasks:
              - { id: a, url: "\(server.url("/a"))", to: a }
              - { id: b, url: "\(server.url("/b"))", to: b }
              - { id: c, url: "\(server.url("/c"))", to: c }
            """)
        #expect(server.requests().map(\.target) == ["/sums"])
        #expect(stage.files.isEmpty)
        for id in ["a", "b", "c"] {
            #expect(try run.task(id, "error.name") == "unexpectedResponse")
            #expect(try run.task(id, "error.message")?.hasPrefix("the checksum file \(server.url("/sums")): ") == true)
        }
    }

    @Test func aListThatHealsIsTriedAgain() throws {
        let server = try server("")
        defer { server.stop() }
        server.on("/sums", .respond(503), .respond(200, body: "\(Self.md5)  a\n\(Self.md5)  b\n"))
        let stage = try Stage()
        let run = try stage.run(
            """
            defaults: { checksum: { from: "\(server.url("/sums"))" }, retry: { backoff: { initial: 10ms } } }
            tasks:
              - { id: a, url: "\(server.url("/a"))", to: a }
              - { id: b, url: "\(server.url("/b"))", to: b }
            """)
        #expect(run.status == 0, "\(run.errorText)")
        #expect(stage.files == ["a", "b"])
        #expect(server.requests().count { $0.target == "/sums" } == 2)
    }

    @Test func whoWaitedAsksWhenTheFirstCouldNot() throws {
        let server = try server("")
        defer { server.stop() }
        let list = "\(Self.md5)  a\n\(Self.md5)  b\n"
        server.on("/sums", [.wait(.milliseconds(100)), .close], .respond(200, body: list))
        let stage = try Stage()
        let run = try stage.run(
            """
            defaults: { checksum: { from: "\(server.url("/sums"))" }, retry: { attempts: 1 } }
            tasks:
              - { id: a, url: "\(server.url("/a"))", to: a }
              - { id: b, url: "\(server.url("/b"))", to: b }
            """)
        #expect(try run.values("$.tasks[*].outcome").sorted { $0 ?? "" < $1 ?? "" } == ["failed", "succeeded"])
        #expect(try run.values("$.tasks[*].error.name") == ["networkConnectionLost"])
        #expect(server.requests().count { $0.target == "/sums" } == 2)
    }

    @Test func aListOfThisMachine() throws {
        let server = try server("")
        defer { server.stop() }
        let stage = try Stage()
        let list = try stage.folder.write("sums", "\(Self.md5)  a\n")
        let run = try stage.run(
            """
            tasks:
              - { id: a, url: "\(server.url("/a"))", to: a, checksum: { from: "file://\(list)" } }
              - { id: b, url: "file://\(list)", to: b, checksum: { from: "\(server.url("/a"))" } }
            """)
        #expect(try run.task("a", "outcome") == "succeeded")
        #expect(try run.task("b", "error.message")?.hasSuffix("has no checksum of `sums`") == true)
        #expect(stage.files == ["a", "sums"])
    }
}
