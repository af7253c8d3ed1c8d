import Glibc
import Stores
import TestSupport
import Testing
import TransferModel

/// A run is killed at every call by which it touches files. Whatever was under way, each destination is the old file or
/// the new one, to the byte, and the next run puts everything right without fetching what it knows to be there.
@Suite(.enabled(if: Strace.isUsable)) struct KillSweepTests {
    /// Files that change together: after a kill all are old, or all are new.
    struct Unit: Sendable {
        var old: [String: String] = [:]
        let new: [String: String]
    }

    struct Variant: Sendable, CustomTestStringConvertible {
        let testDescription: String
        /// Everything but the URLs' origin, `ORIGIN`.
        let job: String
        let units: [Unit]
        /// By task, files that need not be fetched again once the store knows of them.
        let lasting: [String: String]
        /// What the new files have besides their bytes.
        var mode: UInt32?
        var time: Int?
        /// As if this folder's filesystem knew no files without a name.
        var lacking: String?
    }

    private static let time = 1_577_880_000
    private static let bodies = [
        "/a": String(repeating: "a new, long. ", count: 60_000), "/b": String(repeating: "b new ", count: 900),
        "/c": "c new", "/long": String(repeating: "long enough to be gone on with. ", count: 100_000),
    ]
    private static let alone = [
        Unit(new: ["out/a": bodies["/a"]!]), Unit(old: ["out/b": "b old"], new: ["out/b": bodies["/b"]!]),
        Unit(new: ["out/deep/er/c": "c new"]),
    ]
    private static let group = Unit(
        old: ["site/b": "b old", "site/more/d": "d"],
        new: ["site/a": bodies["/a"]!, "site/b": bodies["/b"]!, "site/deep/c": "c new", "site/more/d": "d"])

    private static let lastingAlone = ["a": "out/a", "c": "out/deep/er/c"]
    private static let lastingGroup = ["a": "site/a", "c": "site/deep/c"]

    private static func tasks(_ more: String = "") -> String {
        """
        tasks:
          - { id: a, url: "ORIGIN/a", to: out/a\(more) }
          - { id: b, url: "ORIGIN/b", to: out/b, existing: replace\(more) }
          - { id: c, url: "ORIGIN/c", to: out/deep/er/c\(more) }
        """
    }

    private static func group(_ durability: String) -> String {
        """
        sessions: { default: { durability: \(durability) } }
        groups: { site: { to: site } }
        tasks:
          - { id: a, group: site, url: "ORIGIN/a", to: a }
          - { id: b, group: site, url: "ORIGIN/b", to: b, existing: replace }
          - { id: c, group: site, url: "ORIGIN/c", to: deep/c }
        """
    }

    static let variants = [
        Variant(testDescription: "files", job: tasks(), units: alone, lasting: lastingAlone),
        Variant(
            testDescription: "files that are flushed",
            job: "sessions: { default: { durability: flush } }\n" + tasks(), units: alone,
            lasting: lastingAlone),
        Variant(
            testDescription: "files with a mode and a time",
            job: tasks(", mode: \"0640\", preserveTime: true"), units: alone,
            lasting: lastingAlone, mode: 0o640, time: time),
        Variant(
            // The first call that opens something in the folder is to ask for a file, and not to open a folder that is new.
            testDescription: "files that have a temporary name from the start",
            job: tasks().replacing("er/c", with: "er/c, needs: [a]"), units: alone, lasting: lastingAlone,
            lacking: "out"),
        Variant(
            testDescription: "a file that a later run goes on with",
            job: "tasks: [{ id: a, url: ORIGIN/long, to: out/long }]",
            units: [Unit(old: ["out/long": "old"], new: ["out/long": bodies["/long"]!])], lasting: ["a": "out/long"]),
        Variant(
            testDescription: "files of which one is late",
            job: tasks().replacing("/c\"", with: "/c?late\""), units: alone,
            lasting: lastingAlone),
        Variant(testDescription: "a group", job: group("none"), units: [group], lasting: lastingGroup),
        Variant(testDescription: "a group that is flushed", job: group("flush"), units: [group], lasting: lastingGroup),
    ]

    @Test(arguments: variants) func everyDestinationIsOldOrNew(_ variant: Variant) async throws {
        let server = try ScriptedServer { request in
            let body = Self.bodies[request.path] ?? ""
            let answer = ServedResource(body, lastModified: "Wed, 01 Jan 2020 12:00:00 GMT").answer(request)
            // So late that of the others it was written down that they are there.
            return request.target.hasSuffix("?late") ? [.wait(.milliseconds(100))] + answer : answer
        }
        defer { server.stop() }
        let job = variant.job.replacing("ORIGIN", with: server.origin)
        var moments = try Self.moments(variant, job)
        try #require(moments.count > (variant.lacking == nil ? 30 : 4))
        if !Rounds.isLong {
            var random = Seeded("everyDestinationIsOldOrNew, \(variant.testDescription)")
            // With the last ones, before which all is known.
            moments = Array(moments.dropLast(4).shuffled(using: &random).prefix(16) + moments.suffix(4))
        }
        let facts = await withTaskGroup(of: Facts.self) { lanes in
            for lane in 0..<2 {
                let mine = moments.indices.filter { $0 % 2 == lane }.map { moments[$0] }
                lanes.addTask { Self.sweep(variant, job, mine) }
            }
            return await lanes.reduce(into: Facts()) { $0.add($1) }
        }
        print("kills, \(variant.testDescription): \(facts)")
        // Threads run as they like: now and then a run ends before its moment comes.
        #expect(facts.kills > moments.count / 2)
        if variant.job.contains("?late") { #expect(facts.known > 0) }
    }

    private struct Facts: CustomStringConvertible {
        var moments = 0
        var kills = 0
        /// Files that the store knew of, whose kill had come after.
        var known = 0
        /// Temporary names after a kill and after the run that followed, without their numbers, and how often.
        var left: [String: Int] = [:]
        var stayed: [String: Int] = [:]

        mutating func add(_ other: Facts) {
            moments += other.moments
            kills += other.kills
            known += other.known
            left.merge(other.left, uniquingKeysWith: +)
            stayed.merge(other.stayed, uniquingKeysWith: +)
        }

        var description: String {
            "\(kills) of \(moments) struck; \(known) files known to be there; left behind: \(left.isEmpty ? "nothing" : "\(left)"); "
                + "still there after the next run: \(stayed.isEmpty ? "nothing" : "\(stayed)")"
        }
    }

    // MARK: One kill

    private static func sweep(_ variant: Variant, _ job: String, _ moments: [Strace.Moment]) -> Facts {
        var facts = Facts()
        for moment in moments {
            do { try strike(variant, job, moment, &facts) } catch { Issue.record("\(moment): \(error)") }
        }
        return facts
    }

    private static func strike(
        _ variant: Variant, _ job: String, _ moment: Strace.Moment, _ facts: inout Facts
    ) throws {
        let stage = try stage(variant)
        let kill = Strace.Injection(moment.call, .kill, when: "\(moment.number)")
        let result = try stage.start(job, under: strace(variant, stage, kill).command(calls: Strace.fileCalls)).wait()
        let ending = result.ending
        #expect(ending == .signal(SIGKILL) || ending == .exit(0), "\(moment): \(result.errorText)")
        facts.moments += 1
        facts.kills += ending == .signal(SIGKILL) ? 1 : 0
        for unit in variant.units {
            let isOld = try present(unit, stage) == unit.old
            #expect(try isOld || isNew(unit, stage, variant), "killed at \(moment): \(stage.files)")
        }
        for name in temporaries(stage) { facts.left[name, default: 0] += 1 }

        let known = try known(variant, stage)
        facts.known += known.count
        let run = try stage.run(job)
        #expect(run.status == 0, "the run after a kill at \(moment)")
        for id in known {
            #expect(try run.task(id, "source") == "unchanged", "\(id) after a kill at \(moment)")
        }
        for unit in variant.units {
            #expect(try isNew(unit, stage, variant), "the run after a kill at \(moment) left \(stage.files)")
        }
        let stayed = temporaries(stage)
        for name in stayed { facts.stayed[name, default: 0] += 1 }
        #expect(stayed.isEmpty, "left by a kill at \(moment)")
        #expect(stage.binary.home.list("runtime/transfer-run") == [], "left by a kill at \(moment)")
    }

    /// The tasks of which the store knows that their files are there. A copy is opened: the next run is to find what the kill left.
    private static func known(_ variant: Variant, _ stage: Stage) throws -> [String] {
        let home = stage.binary.home
        let folder = "state/transfer-run"
        let copy = try TemporaryTree("known")
        for name in home.list(folder) where name.hasPrefix("store.") {
            try copy.write(name, try home.bytes("\(folder)/\(name)"), mode: 0o600)
        }
        guard Store.isThere(folder: copy.path), let store = try? Store.open(folder: copy.path),
            let session = try store.existingSession(job: stage.folder.path(Stage.jobFile), name: "default")
        else { return [] }
        return try variant.lasting.filter { _, path in
            try store.validators(session, destination: stage.folder.path(path)) != nil
        }.map { $0.key }
    }

    private static func stage(_ variant: Variant) throws -> Stage {
        let stage = try Stage()
        for (name, text) in variant.units.flatMap(\.old) { try stage.folder.write(name, text) }
        return stage
    }

    private static func isNew(_ unit: Unit, _ stage: Stage, _ variant: Variant) throws -> Bool {
        guard try present(unit, stage) == unit.new else { return false }
        return unit.new.keys.allSatisfy { name in
            var information = stat()
            guard lstat(stage.folder.path(name), &information) == 0 else { return false }
            return variant.mode ?? (information.st_mode & 0o7777) == information.st_mode & 0o7777
                && variant.time ?? information.st_mtim.tv_sec == information.st_mtim.tv_sec
        }
    }

    /// What is there of all that the unit names.
    private static func present(_ unit: Unit, _ stage: Stage) throws -> [String: String] {
        let names = Set(unit.old.keys).union(unit.new.keys).filter { stage.folder.exists($0) }
        return try Dictionary(uniqueKeysWithValues: names.map { ($0, try stage.text($0)) })
    }

    /// Those that the runner made up, without what tells one from another.
    private static func temporaries(_ stage: Stage) -> [String] {
        let prefix = ".transfer-run-"
        let names = stage.files.flatMap { $0.split(separator: "/").filter { $0.hasPrefix(prefix) } }
        return Set(names).map { _ in prefix + "…" }
    }

    // MARK: Where it can strike

    private static func strace(_ variant: Variant, _ stage: Stage, _ kill: Strace.Injection?) -> Strace {
        guard let folder = variant.lacking else { return Strace(kill.map { [$0] } ?? []) }
        // The folder itself is opened by another call; the first of these asks for a file without a name.
        let lack = Strace.Injection("openat", .error("EOPNOTSUPP"), when: "1")
        return Strace([lack] + (kill.map { [$0] } ?? []), paths: [stage.folder.path(folder)])
    }

    /// From a run that nothing strikes.
    private static func moments(_ variant: Variant, _ job: String) throws -> [Strace.Moment] {
        let stage = try stage(variant)
        let trace = stage.binary.home.path("trace")
        let command = strace(variant, stage, nil).command(trace: trace, calls: Strace.fileCalls)
        #expect(try stage.run(job, under: command).status == 0)
        for unit in variant.units { #expect(try isNew(unit, stage, variant)) }
        let text = try stage.binary.home.text("trace")
        let start = variant.lacking ?? Stage.jobFile
        return Strace.moments(of: text, from: start).filter { variant.lacking == nil || $0.call != "openat" }
    }
}
