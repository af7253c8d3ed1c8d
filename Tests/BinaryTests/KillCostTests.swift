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
    /// Bytes that the server sent and that no process had read when it was killed.
    private var unread = 0
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
            // As it is at the kill: a process that gets no time, or waits for the disk, leaves much in its sockets.
            let processes = [kind == .backgroundProcess ? nil : program.processID, scene.process].compactMap(\.self)
            for process in processes { kill(process, SIGSTOP) }
            unread += try SocketQueues.unread(server.port)
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

    private mutating func expectLittleAgain(_ id: String, _ size: Int) throws {
        #expect(try scene.folder.bytes("out/\(id)") == Self.body(id, size), "round \(number), \(kind): \(id)")
        let requests = server.requests("/\(id)")
        facts.resumed += requests.count { $0.header("Range") != nil }
        // What is sent of heads counts as well.
        let again = requests.reduce(0) { $0 + $1.sent } - size - requests.count * 512
        let most =
            unread + facts.kills * (Self.allowed + Self.underWay)
            + (kind.segments > 1 ? requests.count * Self.underWay : 0)
        let story = requests.map { "\($0.header("Range") ?? "whole"): \($0.sent)" }.joined(separator: ", ")
        #expect(again <= most, "round \(number), \(kind): \(again) bytes of \(id), which has \(size): \(story)")
        facts.most = max(facts.most, again / max(1, facts.kills))
        facts.all += max(0, again)
    }
}

/// What waits in sockets of 127.0.0.1.
private enum SocketQueues {
    /// Bytes on their way from the server of this port to those that are connected with it: none of them was read.
    static func unread(_ port: UInt16) throws -> Int {
        let table = String(decoding: try TemporaryTree.bytes(at: "/proc/net/tcp"), as: UTF8.self)
        return table.split(separator: "\n").dropFirst().reduce(0) { sum, line in
            let words = line.split(separator: " ")
            guard words.count > 4 else { return sum }
            let queues = words[4].split(separator: ":").map { Int($0, radix: 16) ?? 0 }
            if words[1].hasSuffix(":\(hex(port))") { return sum + queues[0] }
            return words[2].hasSuffix(":\(hex(port))") ? sum + queues[1] : sum
        }
    }

    private static func hex(_ port: UInt16) -> String {
        let digits = String(port, radix: 16, uppercase: true)
        return String(repeating: "0", count: 4 - digits.count) + digits
    }
}
