import Glibc
import TestSupport
import Testing
import TextFormats

/// The power goes in the middle of a run: what the disk holds at that moment is kept, all that lay in memory is lost.
///
/// The disk is an ext4 in a file. The program is stopped between two calls, the file is copied while it is still
/// mounted, and the copy is mounted as after the cut. Somebody else on the same filesystem flushes his own files all
/// along, as databases and editors do: that writes down names whose bytes may still lie in memory.
@Suite(.enabled(if: MountedFolder.takesImages)) struct PowerCutTests {
    private static let count = 120
    private static func body(_ number: Int) -> [UInt8] {
        Script.patternBytes(20_000 + number, from: number * 1_000 + 1)
    }
    private static func name(_ number: Int) -> String { "\(number.isMultiple(of: 3) ? "over" : "fresh")/\(number)" }

    @Test func whatWasToldToBeDoneIsThereAndNothingIsHalf() throws {
        var random = Seeded("whatWasToldToBeDoneIsThereAndNothingIsHalf")
        var seen = Seen()
        for _ in 0..<Rounds.scaled(3) {
            let cut = try PowerCut(durability: "flush", Self.count, Self.name, Self.body)
            try cut.perform(after: 1 + random.below(Self.count / 2))
            for number in 0..<Self.count {
                let state = cut.state(number)
                #expect(state.isWhole, "\(Self.name(number)) is \(state)")
                if cut.finished.contains(number) { #expect(state == .new, "\(Self.name(number)) is \(state)") }
                seen.count(state, cut, number)
            }
        }
        print("power cuts, flush: \(seen)")
        #expect(seen.finished > 0)
    }

    /// Nothing is promised but that a file holds no foreign bytes: it may be empty, short, or zeros.
    @Test func withoutFlushingAFileMayBeEmptyOrZeros() throws {
        var random = Seeded("withoutFlushingAFileMayBeEmptyOrZeros")
        var seen = Seen()
        for _ in 0..<Rounds.scaled(2) {
            let cut = try PowerCut(durability: "none", Self.count, Self.name, Self.body)
            try cut.perform(after: 1 + random.below(Self.count / 2))
            for number in 0..<Self.count {
                let state = cut.state(number)
                #expect(state != .foreign, "\(Self.name(number))")
                seen.count(state, cut, number)
            }
        }
        print("power cuts, none: \(seen)")
    }

    private struct Seen: CustomStringConvertible {
        var states: [String: Int] = [:]
        var finished = 0

        mutating func count(_ state: PowerCut.State, _ cut: PowerCut, _ number: Int) {
            let isFinished = cut.finished.contains(number)
            finished += isFinished ? 1 : 0
            let kind = PowerCutTests.name(number).prefix { $0 != "/" }
            states["\(kind)\(isFinished ? ", finished" : ""): \(state)", default: 0] += 1
        }

        var description: String {
            states.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: "; ")
        }
    }
}

/// One run, one cut.
private final class PowerCut {
    enum State: String {
        case absent, old, new, empty, zeros, short, foreign
        var isWhole: Bool { self == .absent || self == .old || self == .new }
    }
    private let stage: Stage
    private let server: ScriptedServer
    private let disk: MountedFolder
    private var remains: MountedFolder?
    private let count: Int
    private let durability: String
    private let name: (Int) -> String
    private let body: (Int) -> [UInt8]
    /// The tasks that were told to be done before the cut.
    private(set) var finished: Set<Int> = []

    init(
        durability: String, _ count: Int, _ name: @escaping (Int) -> String,
        _ body: @escaping @Sendable (Int) -> [UInt8]
    ) throws {
        (self.durability, self.count, self.name, self.body) = (durability, count, name, body)
        stage = try Stage()
        let home = stage.binary.home
        try MountedFolder.makeImage(home.path("image"), size: 32 << 20)
        // The filesystem writes nothing down on its own account meanwhile.
        disk = try MountedFolder.image(
            home.path("image"), at: stage.folder.makeFolder("disk"), options: "commit=300")
        server = try ScriptedServer { .respond(200, body: body(Int($0.path.dropFirst()) ?? 0)) }
        for number in 0..<count where name(number).hasPrefix("over") {
            try stage.folder.write("disk/\(name(number))", "old \(number)")
        }
        try stage.folder.makeFolder("disk/fresh")
        try #require(Binary(program: "/bin/sync").run("-f", stage.folder.path("disk")).exitStatus == 0)
    }

    deinit { server.stop() }

    private var job: String {
        let tasks = (0..<count).map {
            "  - { id: t\($0), url: '\(server.url("/\($0)"))', to: disk/\(name($0)), existing: replace }\n"
        }
        return "sessions: { default: { durability: \(durability) } }\ntasks:\n" + tasks.joined()
    }

    /// Cuts when so many files have their names; with luck in the middle between names and flush.
    func perform(after named: Int) throws {
        let neighbour = try Binary(program: "/bin/sh").start([
            "-c", "cd \(stage.folder.path("disk")) && while :; do echo more >> neighbour; sync neighbour; done",
        ])
        let program = try stage.start(job)
        while program.isRunning, (try? lines("fileFinished").count) ?? 0 < named { usleep(300) }
        _ = program.freeze()
        neighbour.send(signal: SIGKILL)
        _ = neighbour.wait()
        let told = try lines("taskFinished")
        try copy()
        program.send(signal: SIGKILL)
        _ = program.wait()
        finished = Set(told.compactMap { $0["task"]?.plainText.flatMap { Int($0.dropFirst()) } })
        remains = try MountedFolder.image(
            stage.binary.home.path("copy"), at: stage.folder.makeFolder("remains"))
    }

    private func lines(_ event: String) throws -> [JSONValue] {
        let text = try stage.eventsSoFar()
        let whole = text.prefix((text.lastIndex(of: 0x0A) ?? -1) + 1)
        return try whole.split(separator: 0x0A).map { try JSONParser.parse(Array($0)) }
            .filter { $0["event"]?.plainText == event }
    }

    /// Of one moment: while somebody still writes, the copy is no state that the disk ever was in.
    private func copy() throws {
        let home = stage.binary.home
        for _ in 0..<20 {
            let before = try home.bytes("image")
            try home.write("copy", before)
            if try home.bytes("image") == before { return }
        }
        Issue.record("the disk does not come to rest")
    }

    func state(_ number: Int) -> State {
        let path = "remains/\(name(number))"
        guard stage.folder.exists(path), let found = try? stage.folder.bytes(path) else { return .absent }
        let new = body(number)
        if found == new { return .new }
        if found == Array("old \(number)".utf8) { return .old }
        if found.isEmpty { return .empty }
        if new.starts(with: found) { return .short }
        return found.count <= new.count && zip(found, new).allSatisfy { $0 == 0 || $0 == $1 } ? .zeros : .foreign
    }
}
