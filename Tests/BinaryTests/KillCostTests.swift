import Glibc
import TestSupport
import Testing
import TransferModel

/// A run, its background process or both are killed at a random moment, and the next run goes on: of each file at most
/// 256 KiB come again.
@Suite struct KillCostTests {
    @Test func aKillCostsAtMost256KiBOfAFile() async throws {
        var random = Seeded("aKillCostsAtMost256KiBOfAFile")
        let seeds = (0..<(Rounds.isLong ? 200 : KilledDownload.Kind.allCases.count)).map { _ in random.next() }
        let facts = await KillRounds.play(seeds) { number, seed in
            var round = try KilledDownload(number, seed)
            defer { round.stop() }
            try round.play()
            return round.facts
        }
        print("what kills cost: \(facts)")
        #expect(facts.rounds == seeds.count && facts.resumed > 0)
    }
}

/// One job that is killed once or twice before it may end.
private struct KilledDownload {
    /// What is killed in a round, and what it fetches.
    enum Kind: CaseIterable {
        case oneFile, segments, severalFiles, backgroundProcess, backgroundBoth, backgroundSegments
        var isBackground: Bool { self == .backgroundProcess || self == .backgroundBoth || self == .backgroundSegments }
        var segments: Int { self == .segments || self == .backgroundSegments ? 4 : 1 }
    }

    struct Facts: KillFacts, CustomStringConvertible {
        var rounds = 0
        var kills = 0
        var resumed = 0
        /// The most bytes of one file that came again for one kill.
        var most = 0
        var all = 0

        mutating func add(_ other: Facts) {
            rounds += other.rounds
            kills += other.kills
            resumed += other.resumed
            most = max(most, other.most)
            all += other.all
        }

        var description: String {
            "\(rounds) rounds, \(kills) kills, \(resumed) requests for a rest; at most \(most) bytes of a file came again, "
                + "\(all) in all"
        }
    }

    private static let piece = 16 << 10
    private static let allowed = 256 << 10
    /// What the server has sent and nobody has read when a process dies, or when a stream has reached the next one's part.
    private static let underWay = 6 * piece

    private(set) var facts = Facts()
    /// Bytes that the server had sent and that were in no file when their process was killed.
    private var waiting = 0
    private var atLastKill = (sent: 0, inFiles: 0)
    private let number: Int
    private let kind: Kind
    private var random: Seeded
    private let scene: BackgroundScene
    private let server: ScriptedServer
    private let sizes: [String: Int]
    /// How long the longest file takes, in microseconds.
    private let length: Int

    init(_ number: Int, _ seed: UInt64) throws {
        self.number = number
        let kind = Kind.allCases[number % Kind.allCases.count]
        var random = Seeded(seed: seed)
        self.kind = kind
        scene = try BackgroundScene()
        let count = kind == .severalFiles || kind.isBackground && random.oneIn(2) ? 2 + random.below(4) : 1
        var sizes: [String: Int] = [:]
        for file in 0..<count {
            let most = [300 << 10, 2 << 20, 20 << 20][random.below(3)]
            sizes["f\(file)"] = kind.segments > 1 ? (4 << 20) + random.below(16 << 20) : (64 << 10) + random.below(most)
        }
        self.sizes = sizes
        // As long as that takes, half a second to two seconds.
        let longest = sizes.values.max() ?? 1
        let length = 500_000 + random.below(1_500_000)
        self.length = length
        self.random = random
        let pause = TimeSpan.microseconds(Int64(max(200, length / max(1, longest / Self.piece / kind.segments))))
        let bodies = sizes.reduce(into: [:]) { $0["/\($1.key)"] = Self.body($1.key, $1.value) }
        server = try ScriptedServer { request in
            guard let body = bodies[request.path] else { return .respond(404) }
            return ServedResource(body, etag: "\"\(request.path)\"").answer(request).paced(Self.piece, pause)
        }
    }

    func stop() { server.stop() }

    private static func body(_ id: String, _ size: Int) -> [UInt8] {
        Script.patternBytes(size, from: id.utf8.reduce(0) { $0 * 31 + Int($1) })
    }

    private var job: String {
        let head = kind.isBackground ? BackgroundScene.head() : ""
        return head + "tasks:\n"
            + sizes.keys.sorted().map {
                "  - { id: \($0), url: \"\(server.url("/\($0)"))\", to: out/\($0), segments: \(kind.segments) }\n"
            }.joined()
    }

    mutating func play() throws {
        facts.rounds = 1
        var program = try scene.stage.start(job)
        for _ in 0..<(1 + random.below(2)) {
            usleep(UInt32(20_000 + random.below(length)))
            guard program.isRunning else { break }
            facts.kills += 1
            // As it is at the kill: what a busy disk has not taken yet is lost in any case.
            let processes = [kind == .backgroundProcess ? nil : program.processID, scene.process].compactMap(\.self)
            for process in processes { kill(process, SIGSTOP) }
            noteWhatWaits()
            switch kind {
            case .backgroundProcess: _ = scene.end(SIGKILL)
            case .backgroundBoth, .backgroundSegments:
                program.send(signal: SIGKILL)
                _ = scene.end(SIGKILL)
            case .oneFile, .segments, .severalFiles: program.send(signal: SIGKILL)
            }
            if kind == .backgroundProcess { continue }
            _ = program.wait()
            scene.folder.remove(".report.json")
            scene.folder.remove(".events.ndjson")
            program = try scene.stage.start(job)
        }
        let result = try scene.stage.finish(program)
        #expect(result.status == 0, "round \(number), \(kind): \(result.errorText)")
        for (id, size) in sizes { try expectLittleAgain(id, size) }
        #expect(scene.folder.list("out").sorted() == sizes.keys.sorted(), "round \(number), \(kind)")
    }

    /// Counts what came since the last kill and is in no file yet: in sockets, in the loop, on its way to the disk.
    private mutating func noteWhatWaits() {
        let sent = sizes.keys.flatMap { server.requests("/\($0)") }.reduce(0) { $0 + $1.sent - 512 }
        let folder = scene.folder.path("out")
        let inFiles = TemporaryTree.names(in: folder).reduce(0) { sum, name in
            var facts = stat()
            return lstat("\(folder)/\(name)", &facts) == 0 ? sum + Int(facts.st_blocks) * 512 : sum
        }
        waiting += max(0, sent - atLastKill.sent - (inFiles - atLastKill.inFiles))
        atLastKill = (sent, inFiles)
    }

    private mutating func expectLittleAgain(_ id: String, _ size: Int) throws {
        #expect(try scene.folder.bytes("out/\(id)") == Self.body(id, size), "round \(number), \(kind): \(id)")
        let requests = server.requests("/\(id)")
        facts.resumed += requests.count { $0.header("Range") != nil }
        // What is sent of heads counts as well.
        let again = requests.reduce(0) { $0 + $1.sent } - size - requests.count * 512
        let most =
            waiting + facts.kills * (Self.allowed + Self.underWay)
            + (kind.segments > 1 ? requests.count * Self.underWay : 0)
        let story = requests.map { "\($0.header("Range") ?? "whole"): \($0.sent)" }.joined(separator: ", ")
        #expect(again <= most, "round \(number), \(kind): \(again) bytes of \(id), which has \(size): \(story)")
        facts.most = max(facts.most, again / max(1, facts.kills))
        facts.all += max(0, again)
    }
}
