import Glibc
import Synchronization
import SystemIO
import TestSupport
import Testing
import TextFormats
import TransferModel

/// For a bounded time, jobs of many transfers run against a server that misbehaves by seed, and their processes are killed:
/// in the end each file is right, each task is accounted for, and a process that lives through all of it holds no more
/// memory and descriptors than after its second job.
@Suite struct SoakTests {
    /// `SOAK_SECONDS`; else a sample, and ten minutes with `TRANSFER_RUN_LONG=1`.
    private static var seconds: Int64 {
        getenv("SOAK_SECONDS").flatMap { Int64(String(cString: $0)) } ?? (Rounds.isLong ? 600 : 6)
    }

    @Test func aServerThatMisbehaves_andProcessesThatDie_loseNothing() throws {
        var random = Seeded("aServerThatMisbehaves_andProcessesThatDie_loseNothing")
        let end = Clocks.instant() + .seconds(Self.seconds)
        let steady = try SoakScene()
        defer { steady.stop() }
        var facts = SoakFacts()
        repeat {
            try steady.play(.background, kills: 0, seed: random.next(), &facts)
            steady.measureProcess()
            let killed = try SoakScene()
            defer { killed.stop() }
            for kind in [SoakScene.Kind.foreground, .background] {
                try killed.play(kind, kills: 1 + random.below(3), seed: random.next(), &facts)
            }
        } while Clocks.instant() < end
        print("soak: \(facts); \(steady.growth)")
        #expect(facts.kills > 0 && facts.misdeeds > 0)
        steady.expectNoGrowth()
    }
}

/// What came over the transfers of a soak.
private struct SoakFacts: CustomStringConvertible {
    var jobs = 0
    var tasks = 0
    var kills = 0
    var requests = 0
    var misdeeds = 0
    var description: String {
        "\(jobs) jobs of \(tasks) tasks, \(kills) kills, \(requests) requests, of which \(misdeeds) went wrong at the server"
    }
}

/// A home, a server, and the jobs that run there one after the other.
private final class SoakScene {
    enum Kind { case foreground, background }

    private let scene: BackgroundScene
    private let world = SoakWorld()
    private let server: ScriptedServer
    private var sizes: [(pid: Int32, descriptors: Int, kilobytes: Int)] = []

    init() throws {
        scene = try BackgroundScene()
        let world = world
        server = try ScriptedServer { world.answer($0) }
    }

    func stop() { server.stop() }

    func play(_ kind: Kind, kills: Int, seed: UInt64, _ facts: inout SoakFacts) throws {
        var random = Seeded(seed: seed)
        let files = (0..<(60 + random.below(60))).map { "f\($0)" }
        let puts = (0..<10).map { "p\($0)" }
        world.begin(seed: seed)
        scene.folder.remove("out")
        let job = text(kind, files, puts, &random)
        var program = try scene.stage.start(job)
        for _ in 0..<kills {
            usleep(UInt32(20_000 + random.below(600_000)))
            guard program.isRunning else { break }
            facts.kills += 1
            if kind == .background, random.oneIn(2) {
                scene.end(SIGKILL)
                continue
            }
            program.send(signal: SIGKILL)
            if kind == .background { scene.end(SIGKILL) }
            _ = program.wait()
            for left in [".report.json", ".events.ndjson"] { scene.folder.remove(left) }
            program = try scene.stage.start(job)
        }
        let run = try scene.stage.finish(program)
        #expect(run.status == 0, "\(kind), seed \(seed): \(run.errorText)")
        #expect(try run.values("$.tasks[*].id").count == files.count + puts.count, "\(kind), seed \(seed)")
        #expect(scene.folder.list("out").sorted() == files.sorted(), "\(kind), seed \(seed)")
        for file in files where !world.isRight(try scene.folder.bytes("out/\(file)"), "/\(file)") {
            Issue.record("\(kind), seed \(seed): \(file) is none of what the server had")
        }
        for put in puts {
            #expect(world.stored("/\(put)") == SoakWorld.body("/\(put)", version: 0), "\(kind), seed \(seed): \(put)")
        }
        facts.jobs += 1
        facts.tasks += files.count + puts.count
        let (requests, misdeeds) = world.counts
        facts.requests += requests
        facts.misdeeds += misdeeds
    }

    private func text(_ kind: Kind, _ files: [String], _ puts: [String], _ random: inout Seeded) -> String {
        for put in puts { _ = try? scene.folder.write("in/\(put)", SoakWorld.body("/\(put)", version: 0)) }
        let session = kind == .background ? "configuration: background, identifier: org.example.soak" : ""
        let head = """
            sessions: { s: { \(session) } }
            defaults: { session: s, timeoutForRequest: 2s, retry: { attempts: 30, for: 60s, backoff: { initial: 5ms, maximum: 50ms } } }
            tasks:

            """
        return head
            + files.map { file in
                let path = random.oneIn(6) ? "/to/\(file)" : "/\(file)"
                let segments = random.oneIn(8) ? ", segments: 3" : ""
                return "  - { id: \(file), url: \"\(server.url(path))\", to: out/\(file)\(segments) }\n"
            }.joined()
            + puts.map {
                "  - { id: \($0), url: \"\(server.url("/\($0)"))\", type: upload, method: PUT, body: { file: in/\($0) } }\n"
            }.joined()
    }

    // MARK: A process that lives through it

    func measureProcess() {
        guard let process = scene.process else { return }
        let descriptors = TemporaryTree.names(in: "/proc/\(process)/fd").count
        let status = String(decoding: (try? TemporaryTree.bytes(at: "/proc/\(process)/status")) ?? [], as: UTF8.self)
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") } ?? ""
        sizes.append((process, descriptors, line.split(separator: " ").compactMap { Int($0) }.first ?? 0))
    }

    var growth: String {
        guard let first = sizes.dropFirst().first, let last = sizes.last else { return "no process lived on" }
        return
            "\(first.descriptors) descriptors and \(first.kilobytes) KiB after the second job, \(last.descriptors) and "
            + "\(last.kilobytes) after the last"
    }

    func expectNoGrowth() {
        guard let first = sizes.dropFirst().first, let last = sizes.last, first.pid == last.pid else { return }
        #expect(last.descriptors <= first.descriptors + 4, "\(growth)")
        #expect(last.kilobytes <= first.kilobytes * 3 / 2 + 4096, "\(growth)")
    }
}

/// The server's files, and what goes wrong at each of their first requests.
private final class SoakWorld: Sendable {
    private struct State {
        var seed: UInt64 = 0
        var requests: [String: Int] = [:]
        var versions: [String: Int] = [:]
        var stored: [String: [UInt8]] = [:]
        var misdeeds = 0
    }
    private let state = Mutex(State())

    /// Another job begins: all files are new.
    func begin(seed: UInt64) { state.withLock { $0 = State(seed: seed) } }

    var counts: (requests: Int, misdeeds: Int) {
        state.withLock { ($0.requests.values.reduce(0, +), $0.misdeeds) }
    }

    func stored(_ path: String) -> [UInt8]? { state.withLock { $0.stored[path] } }

    /// Whether these are the bytes of one version of the file.
    func isRight(_ bytes: [UInt8], _ path: String) -> Bool {
        let last = state.withLock { $0.versions[path] ?? 0 }
        return (0...last).contains { Self.body(path, version: $0) == bytes }
    }

    static func body(_ path: String, version: Int) -> [UInt8] {
        var random = Seeded(seed: path.utf8.reduce(UInt64(version)) { $0 &* 31 &+ UInt64($1) })
        let size = random.oneIn(8) ? (300 << 10) + random.below(1 << 20) : random.below(30_000)
        return Script.patternBytes(size, from: random.below(1 << 16))
    }

    func answer(_ request: ReceivedRequest) -> Script {
        let path = request.path.hasPrefix("/to/") ? "/" + request.path.dropFirst(4) : request.path
        let (chance, isWrong, version) = state.withLock { state -> (Seeded, Bool, Int) in
            let count = state.requests[request.path, default: 0]
            state.requests[request.path] = count + 1
            var chance = Seeded(seed: request.path.utf8.reduce(state.seed &+ UInt64(count)) { $0 &* 131 &+ UInt64($1) })
            // A server that fails too often is given up with good reason.
            let isWrong = count < 4 && chance.oneIn(3)
            if isWrong {
                state.misdeeds += 1
                if request.method == "GET", chance.oneIn(8) { state.versions[path, default: 0] += 1 }
            }
            return (chance, isWrong, state.versions[path] ?? 0)
        }
        var random = chance
        if isWrong { return misdeed(request, path, version, &random) }
        if request.method == "PUT" {
            state.withLock { $0.stored[path] = request.body }
            return .respond(201)
        }
        if request.path.hasPrefix("/to/") { return .redirect(302, to: path) }
        return ServedResource(Self.body(path, version: version), etag: "\"\(version)\"").answer(request)
    }

    private func misdeed(_ request: ReceivedRequest, _ path: String, _ version: Int, _ random: inout Seeded) -> Script {
        let common: [Script] = [
            .respond(503), .respond(500, body: "broken"), .respond(429, headers: [("Retry-After", "0")]), [.reset],
            [.close], .respond(502, headers: [("Connection", "close")], body: "x", close: true),
            .redirect(302, to: request.path), [.bytes(Array("HTTP/1.1 2".utf8)), .reset],
        ]
        guard request.method == "GET" else { return random.pick(common) }
        let resource = ServedResource(Self.body(path, version: version), etag: "\"\(version)\"")
        let size = resource.body.count
        let own: [Script] = [
            resource.broken(after: size / 2), resource.broken(after: size / 3, then: .cut),
            resource.broken(after: max(0, size - 1), then: .close),
            resource.answer(request).paced(4096, .milliseconds(2)),
            // Longer than was announced, and a range that nobody asked for.
            [.bytes(Script.head(200, [("Content-Length", "\(size + 7)")]) + resource.body), .close],
            .respond(
                206, headers: [("Content-Range", "bytes 5-\(max(5, size - 1))/\(size)")],
                body: Array(resource.body.dropFirst(5))),
        ]
        return random.oneIn(2) ? random.pick(common) : random.pick(own)
    }
}
