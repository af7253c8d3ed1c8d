import Glibc
import TestSupport
import Testing
import TextFormats
import TransferModel

/// Each call to the kernel fails once, one run after the other: no destination gets a wrong byte, no task is lost, a run that
/// does not succeed says why, and the next one puts everything right.
///
/// The fault is made at the kernel's border and not in `SystemIO`, so that it meets the calls of SQLite, OpenSSL and libcurl, too.
@Suite(.enabled(if: Strace.isUsable)) struct FaultSweepTests {
    struct Variant: Sendable, CustomTestStringConvertible {
        let testDescription: String
        /// Everything but the URLs' origin, `ORIGIN`.
        let job: String
        /// By name, the files that a run makes.
        let files: [String: String]
        /// Files that change together: all are there, or none.
        var isGroup = false
    }

    private static let bodies = [
        "/a": String(repeating: "a, long. ", count: 40_000), "/b": String(repeating: "b ", count: 900), "/c": "c",
        "/list": #"{"items": ["b", "c"]}"#, "/sent": "taken",
    ]

    private static func named(_ names: [String: String]) -> [String: String] { names.mapValues { bodies[$0] ?? "" } }

    static let variants = [
        Variant(
            testDescription: "downloads",
            job: """
                tasks:
                  - { id: a, url: "ORIGIN/a", to: out/a }
                  - { id: b, url: "ORIGIN/b", to: out/b, mode: "0640" }
                  - { id: c, url: "ORIGIN/c", to: out/c }
                """,
            files: named(["out/a": "/a", "out/b": "/b", "out/c": "/c"])),
        Variant(
            testDescription: "a flushed group",
            job: """
                sessions: { default: { durability: flush } }
                groups: { site: { to: site } }
                tasks:
                  - { id: a, group: site, url: "ORIGIN/a", to: a }
                  - { id: b, group: site, url: "ORIGIN/b", to: deep/b }
                """,
            files: named(["site/a": "/a", "site/deep/b": "/b"]), isGroup: true),
        Variant(
            testDescription: "an upload",
            job: """
                tasks:
                  - { id: up, type: upload, method: PUT, url: "ORIGIN/sent", body: { file: job.yaml }, to: out/answer }
                """,
            files: named(["out/answer": "/sent"])),
        Variant(
            testDescription: "a list of files",
            job: """
                tasks:
                  - { id: list, url: "ORIGIN/list", capture: { items: { json: "$.items[*]", all: true } } }
                  - { id: "get-${i}", forEach: { i: { captured: tasks.list.items } }, url: "ORIGIN/${i}", to: "out/${i}" }
                """,
            files: named(["out/b": "/b", "out/c": "/c"])),
    ]

    /// What a call may fail with. A `write` of this program goes to a pipe or an event counter, whose wake-ups cannot fail.
    private static let errors: [String: [String]] = [
        "openat": ["EMFILE", "EIO", "EACCES"], "openat2": ["ENFILE", "EIO"], "pwrite64": ["ENOSPC", "EIO"],
        "pread64": ["EIO"], "fsync": ["EIO", "ENOSPC"], "fdatasync": ["EIO"], "sync_file_range": ["EIO"],
        "syncfs": ["EIO"], "renameat": ["EIO", "EXDEV"], "renameat2": ["EIO", "EINVAL"], "linkat": ["EIO", "ENOENT"],
        "unlinkat": ["EIO"], "unlink": ["EIO"], "mkdirat": ["ENOSPC", "EACCES"], "ftruncate": ["EIO"],
        "fallocate": ["ENOSPC"], "flock": ["ENOLCK"], "fcntl": ["ENOLCK"], "newfstatat": ["EIO", "ENOENT"],
        "fstat": ["EIO"], "statx": ["EIO"], "getdents64": ["EIO"], "readlink": ["EIO"], "utimensat": ["EIO"],
        "fchmod": ["EPERM"], "mmap": ["ENOMEM"], "socket": ["EMFILE", "ENOBUFS"],
        "socketpair": ["EMFILE"], "connect": ["ENETUNREACH", "EAGAIN"], "sendto": ["ECONNRESET", "ENOBUFS"],
        "recvfrom": ["ECONNRESET"], "poll": ["ENOMEM", "EINTR"], "eventfd2": ["EMFILE"], "clone3": ["EAGAIN"],
        "getrandom": ["EIO"], "lseek": ["EIO"], "close": ["EIO"], "setsockopt": ["ENOMEM"],
    ]

    @Test(arguments: variants) func noFaultMakesAWrongFile(_ variant: Variant) async throws {
        let server = try ScriptedServer { request in
            if request.method == "PUT" { return .respond(201, body: Self.bodies["/sent"] ?? "") }
            return ServedResource(Self.bodies[request.path] ?? "", lastModified: "Wed, 01 Jan 2020 12:00:00 GMT")
                .answer(request)
        }
        defer { server.stop() }
        let job =
            "defaults: { timeoutForRequest: 5s, retry: { attempts: 2, backoff: { initial: 10ms, maximum: 10ms } } }\n"
            + variant.job.replacing("ORIGIN", with: server.origin)
        var random = Seeded("noFaultMakesAWrongFile, \(variant.testDescription)")
        var moments = try Self.moments(variant, job)
        try #require(moments.count > 100)
        if !Rounds.isLong { moments = Array(moments.shuffled(using: &random).prefix(40)) }
        let faults = moments.map { ($0, random.pick(Self.errors[$0.call] ?? ["EIO"])) }
        let failed = await withTaskGroup(of: Int.self) { lanes in
            for lane in 0..<2 {
                let mine = faults.indices.filter { $0 % 2 == lane }.map { faults[$0] }
                lanes.addTask { Self.sweep(variant, job, mine) }
            }
            return await lanes.reduce(0, +)
        }
        print("faults, \(variant.testDescription): \(faults.count), of which \(failed) failed their run")
    }

    private static func sweep(_ variant: Variant, _ job: String, _ faults: [(Strace.Moment, String)]) -> Int {
        var failed = 0
        for (moment, error) in faults {
            do {
                failed += try strike(variant, job, moment, error) ? 1 : 0
            } catch {
                Issue.record("\(moment): \(error)")
            }
        }
        return failed
    }

    /// Returns whether the run failed.
    private static func strike(
        _ variant: Variant, _ job: String, _ moment: Strace.Moment, _ error: String
    ) throws -> Bool {
        let what: Comment = "\(error) at \(moment)"
        let stage = try Stage()
        let fault = Strace([Strace.Injection(moment.call, .error(error), when: "\(moment.number)")])
        let result = try stage.start(job, under: fault.command(calls: [moment.call])).wait()
        let said = result.errorText
        let hasSucceeded = result.exitStatus == 0
        guard let status = result.exitStatus, [0, 1, 2, 4, 75].contains(status) else {
            Issue.record("\(what): \(result.ending) \(said)")
            return true
        }
        #expect(hasSucceeded || !said.isEmpty, what)
        let there = variant.files.keys.filter { stage.folder.exists($0) }
        for name in there { #expect(try stage.text(name) == variant.files[name], what) }
        #expect(!hasSucceeded || there.count == variant.files.count, what)
        #expect(!variant.isGroup || there.isEmpty || there.count == variant.files.count, what)
        if stage.folder.exists(".report.json") {
            let report = try JSONParser.parse(try stage.folder.bytes(".report.json"))
            let outcomes = try JSONPath("$.tasks[*].outcome").select(from: report).map(\.plainText)
            #expect(!outcomes.isEmpty && !outcomes.contains(nil), what)
            #expect(!hasSucceeded || !outcomes.contains("failed"), what)
        } else {
            #expect(!hasSucceeded, what)
        }
        let run = try stage.run(job)
        #expect(run.status == 0, "the run after \(what): \(run.errorText)")
        for (name, text) in variant.files { #expect(try stage.text(name) == text, "the run after \(what)") }
        let left = stage.files.filter { $0.contains(".transfer-run-") }
        #expect(left.isEmpty, "the run after \(what)")
        return !hasSucceeded
    }

    /// The calls of a run that nothing strikes, from the opening of the job file on.
    private static func moments(_ variant: Variant, _ job: String) throws -> [Strace.Moment] {
        let stage = try Stage()
        let trace = stage.binary.home.path("trace")
        let command = Strace().command(trace: trace, calls: Array(errors.keys))
        #expect(try stage.run(job, under: command).status == 0)
        for (name, text) in variant.files { #expect(try stage.text(name) == text) }
        return Strace.moments(of: try stage.binary.home.text("trace"), from: Stage.jobFile)
    }
}
