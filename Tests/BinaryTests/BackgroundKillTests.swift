import Glibc
import Stores
import TestSupport
import Testing
import TextFormats
import TransferModel

/// Command and process die at random moments, again and again, and whoever comes next goes on: in the end all is there,
/// each end was told once, and nothing was done for nothing.
@Suite struct BackgroundKillTests {
    @Test func killedAtRandomAllEndsRight() async throws {
        var random = Seeded("killedAtRandomAllEndsRight")
        let seeds = (0..<Rounds.scaled(6)).map { _ in random.next() }
        let facts = await KillRounds.play(seeds) { number, seed in
            let round = try KillRound(number, seed)
            defer { round.stop() }
            try round.play()
            return round.facts
        }
        print("killed at random: \(facts)")
        #expect(facts.kills >= seeds.count && facts.resumed > 0)
    }
}

/// One run of thirty files, two of them long and slow and eight of lists that other tasks capture or bring, and the kills that come over it.
private final class KillRound {
    struct Facts: KillFacts, CustomStringConvertible {
        var rounds = 0
        var commands = 0
        var processes = 0
        var resumed = 0
        var startedOver = 0
        /// Files that were whole and fetched again.
        var endsForgotten = 0
        var hooks = 0
        var late = 0
        /// Of the slow files, beyond their sizes.
        var bytesTwice = 0

        var kills: Int { commands + processes }

        mutating func add(_ other: Facts) {
            rounds += other.rounds
            commands += other.commands
            processes += other.processes
            resumed += other.resumed
            startedOver += other.startedOver
            endsForgotten += other.endsForgotten
            hooks += other.hooks
            late += other.late
            bytesTwice += other.bytesTwice
        }

        var description: String {
            "\(rounds) rounds, \(commands) commands and \(processes) processes killed; slow files gone on with "
                + "\(resumed) times, begun anew \(startedOver) times, fetched when whole "
                + "\(endsForgotten) times, \(bytesTwice) bytes of them served twice; "
                + "onFinish began \(hooks) times; the end was known at \(late) kills"
        }
    }

    private static let slowSize = 5_000_000
    private static let slow = ["s1", "s2"]
    private static let piece = 16_384
    private static let pause = TimeSpan.milliseconds(16)
    /// What may be served again after a kill of the process: resume records are written past the first MiB and then once a
    /// second; half a second more for a machine that does something else.
    private static let allowance =
        1_048_576 + Int(1.5 * Double(piece) / pause.seconds) + 4 * piece

    private(set) var facts = Facts()
    private let number: Int
    private var random: Seeded
    private let scene: BackgroundScene
    private let server: ScriptedServer
    private let sizes: [String: Int]
    private let job: String
    /// Whether the list that a task brings is a file, and not an answer.
    private let keepsLines: Bool
    /// How often each was asked for when its end was first found in the journal.
    private var asked: [String: Int] = [:]

    init(_ number: Int, _ seed: UInt64) throws {
        self.number = number
        random = Seeded(seed: seed)
        scene = try BackgroundScene()
        var sizes = Dictionary(uniqueKeysWithValues: Self.slow.map { ($0, Self.slowSize) })
        for file in 1...28 { sizes["f\(file)"] = random.below(random.oneIn(4) ? 300_000 : 3_000) }
        self.sizes = sizes
        server = try Self.server(sizes)
        keepsLines = number.isMultiple(of: 2)
        job = Self.job(server, keepsLines: keepsLines)
    }

    func stop() { server.stop() }

    private static func body(_ id: String, _ size: Int) -> [UInt8] {
        Script.patternBytes(size, from: id.utf8.reduce(0) { $0 * 31 + Int($1) })
    }

    private static func server(_ sizes: [String: Int]) throws -> ScriptedServer {
        let bodies = sizes.reduce(into: [:]) { $0["/\($1.key)"] = body($1.key, $1.value) }
        return try ScriptedServer { request in
            if request.path == "/names" {
                return .respond(200, headers: [("Content-Type", "application/json")], body: "[21,22,23,24]")
            }
            if request.path == "/lines" { return .respond(200, body: "25\n26\n27\n28\n") }
            guard let body = bodies[request.path] else { return .respond(404) }
            let answer = ServedResource(body, etag: "\"\(request.path)\"").answer(request)
            if body.count == slowSize { return answer.paced(piece, pause) }
            return [.wait(.milliseconds(Int64(body.count % 40)))] + answer
        }
    }

    private static func job(_ server: ScriptedServer, keepsLines: Bool) -> String {
        BackgroundScene.head(
            "org.example.test", ", onFinish: [sh, -c, \"echo $TRANSFER_RUN_HOOK_DELIVERY_ID >> told\"]") + """
                tasks:
                  - { id: s1, url: "\(server.url("/s1"))", to: out/s1 }
                  - { id: s2, url: "\(server.url("/s2"))", to: out/s2 }
                  - { id: "f${n}", forEach: { n: 1..20 }, url: "\(server.origin)/f${n}", to: "out/f${n}" }
                  - { id: names, needs: [f1], url: "\(server.url("/names"))", capture: { all: { json: "$[*]", all: true } } }
                  - { id: "f${n}", forEach: { n: { captured: tasks.names.all } }, needs: [f2], url: "\(server.origin)/f${n}",
                      to: "out/f${n}" }
                  - { id: lines, needs: [f3], url: "\(server.url("/lines"))", \(keepsLines ? "to: lines" : "type: data") }
                  - { id: "f${m}", forEach: { m: { lines: { task: lines } } }, needs: [f4], url: "\(server.origin)/f${m}",
                      to: "out/f${m}" }
                """
    }

    // MARK: Killing

    private enum Victim: CaseIterable { case command, process, both }

    func play() throws {
        facts.rounds = 1
        var program = try scene.stage.start(job)
        for kill in 0..<1 + random.below(4) {
            // In every third round, whatever the seed, a process dies when there is something to go on with.
            let isSure = kill == 0 && number % 3 == 2
            usleep(UInt32(isSure ? latePause() : pause()))
            guard program.isRunning else { break }
            let victim = random.pick(isSure ? [.process, .both] : Victim.allCases)
            if victim != .process {
                program.send(signal: SIGKILL)
                facts.commands += 1
            }
            if victim != .command, scene.end(SIGKILL) { facts.processes += 1 }
            try noteEnds()
            if victim == .process { continue }
            _ = program.wait()
            if try isOver() {
                facts.late += 1
                return try expectLeft()
            }
            program = try scene.stage.start(job)
        }
        let run = try finish(program)
        #expect(run.status == 0, "round \(number): \(run.errorText) \(scene.log)")
        expectTold(run)
        if try wasToldMeanwhile() {
            facts.late += 1
            return try expectFiles()
        }
        try expectLeft()
    }

    /// Among the small files, among the slow ones, and when of those something is written down.
    private func pause() -> Int {
        switch random.below(3) {
        case 0: random.below(300_000)
        case 1: random.below(1_500_000)
        default: latePause()
        }
    }

    private func latePause() -> Int { 2_500_000 + random.below(2_000_000) }

    /// A command that met three processes that died under it says so, and is run again.
    private func finish(_ program: RunningProgram) throws -> Stage.Run {
        let result = program.wait()
        guard result.exitStatus == 4, result.errorText.contains("times in a row") else {
            return try scene.stage.finish(program)
        }
        return try scene.stage.finish(scene.stage.start(job))
    }

    private func journal() throws -> Journal { try Journal.open(folder: scene.state) }

    private func noteEnds() throws {
        let journal = try journal()
        guard let run = try journal.runs().last else { return }
        for task in try TaskStory.all(of: run, journal) where task.outcome != nil && asked[task.id] == nil {
            asked[task.id] = server.requests("/\(task.id)").count
        }
    }

    /// Somebody knew of the end before the command died: to run the job again would begin anew.
    private func isOver() throws -> Bool { try journal().runs().last?.deliveredAt != nil }

    /// With nobody there who follows, `onFinish` is told of the end: here it was just before the next command came, which
    /// then began anew.
    private func wasToldMeanwhile() throws -> Bool {
        let runs = try journal().runs()
        guard runs.count == 2, runs[0].deliveredAt != nil else { return false }
        return facts.commands > 0
    }

    // MARK: What must hold

    private func expectTold(_ run: Stage.Run) {
        let names = run.events.compactMap { $0["event"]?.plainText }
        #expect(names.count { $0 == "sessionFinishedEvents" } == 1, "round \(number)")
        for id in sizes.keys {
            #expect(run.story(of: id).count { $0 == "taskFinished" } == 1, "round \(number): \(id)")
        }
    }

    private func expectFiles() throws {
        for (id, size) in sizes {
            #expect(try scene.folder.bytes("out/\(id)") == Self.body(id, size), "round \(number): \(id)")
        }
        #expect(scene.stage.files.count == sizes.count + (keepsLines ? 3 : 2), "round \(number): \(scene.stage.files)")
    }

    private func expectLeft() throws {
        try expectFiles()
        for id in sizes.keys {
            let requests = server.requests("/\(id)")
            #expect(requests.count <= 1 + facts.processes, "round \(number): \(id)")
            if let asked = asked[id] { #expect(requests.count == asked, "round \(number): \(id) after its end") }
        }
        let told = try scene.stage.text("told").split(separator: "\n")
        #expect(Set(told).count == 1 && told.count <= 1 + facts.processes, "round \(number): \(told)")
        facts.hooks = told.count
        for id in Self.slow { expectServedOnce(id) }
        #expect(try journal().runs().count == 1, "round \(number)")
        #expect(scene.waitUntilKeysAreGone(), "round \(number)")
    }

    private func expectServedOnce(_ id: String) {
        var served = 0
        var end = 0
        var allowed = Self.slowSize + facts.processes * Self.allowance + 4096
        for request in server.requests("/\(id)") {
            served += request.sent
            // It was known to be there: is it still the server's?
            if request.header("If-None-Match") != nil { continue }
            let start =
                request.header("Range").flatMap { Int($0.dropFirst("bytes=".count).prefix { $0 != "-" }) } ?? 0
            if start == 0, end >= Self.slowSize {
                // It had come, and the process died before that was written down: it has no record any more.
                facts.endsForgotten += 1
                allowed += Self.slowSize
            } else if end > 0 {
                #expect(start >= end - Self.allowance, "round \(number): \(id) goes on at \(start), had \(end)")
                if start == 0 { facts.startedOver += 1 } else { facts.resumed += 1 }
            }
            end = start + request.sent
        }
        facts.bytesTwice += max(0, served - Self.slowSize)
        #expect(served <= allowed, "round \(number): \(id)")
    }
}

extension Script {
    /// The same bytes in small pieces, with a pause after each.
    func paced(_ piece: Int, _ pause: TimeSpan) -> Script {
        Script(
            steps.flatMap { step -> [Step] in
                guard case .bytes(let bytes) = step else { return [step] }
                return stride(from: 0, to: bytes.count, by: piece).flatMap { start -> [Step] in
                    [.bytes(Array(bytes[start..<min(start + piece, bytes.count)])), .wait(pause)]
                }
            })
    }
}
