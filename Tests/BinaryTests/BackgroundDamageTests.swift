import Glibc
import Stores
import TestSupport
import Testing
import TransferModel

/// A journal that is not as it was left: whoever comes says so and puts it aside, or leaves it alone where a later version
/// wrote it. Nobody loses a run without a word, and nobody tries the same for ever.
@Suite struct BackgroundDamageTests {
    private static let journal = "state/transfer-run/journal.sqlite"
    private static let aside = journal + ".quarantined-1"

    enum Damage: CaseIterable {
        case cut, emptied, overwritten, foreign, noDatabase

        func bytes(_ whole: [UInt8], _ scene: BackgroundScene) throws -> [UInt8] {
            switch self {
            case .cut: return Array(whole.prefix(whole.count / 2))
            case .emptied: return Array(whole.prefix(100))
            case .overwritten:
                var bytes = whole
                let middle = bytes.count / 3..<bytes.count / 3 * 2
                bytes.replaceSubrange(middle, with: middle.map { UInt8(truncatingIfNeeded: $0 &* 31) })
                return bytes
            case .foreign:
                do { _ = try Store.open(folder: scene.binary.home.makeFolder("other", mode: 0o700)) }
                return try scene.binary.home.bytes("other/store.sqlite")
            case .noDatabase: return Array(repeating: UInt8(ascii: "x"), count: 20_000)
            }
        }
    }

    enum Comer: CaseIterable { case sameJob, attach, daemon }

    private func job(_ server: ScriptedServer) -> String {
        BackgroundScene.head() + """
            tasks:
              - { id: x, url: "\(server.url("/x"))", to: x }
              - { id: done, url: "\(server.url("/done"))", to: done }
            """
    }

    /// A run that was left in the middle by all who had to do with it, and the bytes of its journal.
    private func leftRun(_ server: ScriptedServer, _ scene: BackgroundScene) throws -> [UInt8] {
        server.on("/x") { _ in [.gate("open")] + .respond(200, body: "x") }
        server.on("/done", .respond(200, body: "done"))
        let program = try scene.stage.start(job(server))
        #expect(scene.waitForEnd(of: "done") && server.waitForRequests(1, "/x"))
        program.send(signal: SIGKILL)
        #expect(scene.end(SIGKILL))
        _ = program.wait()
        server.open(gate: "open")
        for name in [".report.json", ".events.ndjson"] { scene.folder.remove(name) }
        // Who closes it last takes the log into the file; a killed process may hold it open a little longer.
        try waitUntil {
            do { _ = try Journal.open(folder: scene.state).runs() }
            return !scene.binary.home.exists(Self.journal + "-wal")
        }
        return try scene.binary.home.bytes(Self.journal)
    }

    /// What a later version handed over waits for one: it is not given up, and the reason is told once. What no version
    /// could read is given up.
    @Test(arguments: [UInt8(200), 0]) func aRunOfALaterVersionWaitsForIt(_ format: UInt8) throws {
        let server = try ScriptedServer { _ in .respond(200, body: "x") }
        defer { server.stop() }
        let scene = try BackgroundScene()
        let other: RunID
        do {
            #expect(try scene.stage.run(job(server)).status == 0)
            let accepted = AcceptedRun(
                identifiers: ["org.example.later"], job: "later", file: "/later.yaml", folder: "/",
                createdAt: WallTime(nanoseconds: 1), boot: "")
            let recipe = JournalInput(kind: "recipe", name: "0", bytes: format == 0 ? [1, 1] : [format])
            other = try Journal.open(folder: scene.state).accept(accepted, inputs: [recipe], tasks: ["t"])
        }
        // Whoever comes rings, and the process looks at all there is.
        #expect(try scene.stage.run(job(server)).status == 0)
        #expect(scene.waitForLog("run \(other.raw) is \(format == 0 ? "given up" : "to be tried again")"))
        if format != 0 {
            let cancelled = try scene.binary.run("cancel", "org.example.later")
            #expect(cancelled.exitStatus != 0 && cancelled.errorText.contains("is held up"), "\(cancelled.errorText)")
        }
        // It tries again after one second, two, and four.
        if format != 0 { usleep(3_500_000) }
        let journal = try Journal.open(folder: scene.state)
        #expect(try journal.run(other)?.state == (format == 0 ? .finished : .accepted))
        #expect(scene.log.split(separator: "\n").count { $0.contains("run \(other.raw) is") } == 1, "\(scene.log)")
        #expect(try journal.inputCount(of: other, kind: "recipe") == 1)
        _ = scene.end(SIGKILL)
    }

    /// Without its key a run is lost, and nobody waits for it: who attached or asked for it again is told.
    @Test(arguments: ["attach", "again"]) func aRunWithoutItsKeyIsTold(_ how: String) throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        let scene = try BackgroundScene()
        _ = try leftRun(server, scene)
        let keys = scene.binary.home.list("state/transfer-run").filter { $0.hasPrefix("journal.key-") }
        for key in keys { scene.binary.home.remove("state/transfer-run/\(key)") }
        #expect(keys.count == 1)
        if how != "again" {
            let seen = try scene.binary.run("attach", "org.example.test", "--report", "seen.json")
            #expect(seen.exitStatus == 4 && seen.errorText.contains("is not there"), "\(seen.errorText)")
        }
        let again = try scene.stage.run(job(server))
        #expect(again.status == 0 && again.errorText.contains("begins anew"), "\(again.errorText)")
        #expect(scene.stage.files == ["done", "x"])
    }

    /// Whoever only asks how things stand is told as well, and once: also where the process is started for that, which
    /// could tell nobody.
    @Test(arguments: [true, false], [["status", "--json"], ["cancel", "org.example.test"]])
    func whoeverComesFirstTellsOfIt(_ isUnfinished: Bool, _ words: [String]) throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        let scene = try BackgroundScene()
        _ = try leftRun(server, scene)
        try scene.binary.home.write(Self.journal, Array(repeating: UInt8(ascii: "x"), count: 20_000), mode: 0o600)
        if !isUnfinished { scene.binary.home.remove("state/transfer-run/background.unfinished") }
        let first = try scene.binary.run(arguments: words)
        #expect(first.exitStatus == (words[0] == "status" ? 0 : 2))
        #expect(first.errorText.contains("warning: background runs cannot be gone on with"), "\(first.errorText)")
        #expect(first.errorText.contains(scene.binary.home.path(Self.aside)))
        #expect(try scene.binary.run("status", "--json").errorText.isEmpty)
    }

    @Test(arguments: Damage.allCases, Comer.allCases) func itIsPutAsideAndTold(
        _ damage: Damage, _ comer: Comer
    ) throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        let scene = try BackgroundScene()
        let damaged = try damage.bytes(leftRun(server, scene), scene)
        try scene.binary.home.write(Self.journal, damaged, mode: 0o600)
        // What only reading all of it shows is told by the first, and put aside by the next.
        var told = ""
        for _ in 1...2 where !scene.binary.home.exists(Self.aside) { told += try come(comer, scene) }
        #expect(told.contains(scene.binary.home.path(Self.aside)), "\(told)\(scene.log)")
        #expect(try scene.binary.home.bytes(Self.aside) == damaged)
        #expect(told.split(separator: "\n").count < 12, "\(told)")
        // All goes on as if there had never been one.
        let run = try scene.stage.run(job(server), "--new-run")
        #expect(run.status == 0, "\(run.errorText)")
        #expect(scene.stage.files == ["done", "x"])
    }

    /// What it says, and what the process's log says.
    private func come(_ comer: Comer, _ scene: BackgroundScene) throws -> String {
        switch comer {
        case .sameJob:
            let result = try scene.binary.run(Stage.jobFile, "--no-report")
            #expect(result.exitStatus == 0 || result.exitStatus == 4, "\(result.errorText)")
            return result.errorText
        case .attach:
            let result = try scene.binary.run("attach", "org.example.test")
            #expect(result.exitStatus == 2 || result.exitStatus == 4, "\(result.errorText)")
            return result.errorText
        case .daemon:
            let daemon = try scene.binary.start(["daemon"])
            _ = daemon.waitForOutput("put aside", timeout: .seconds(3))
            // Time enough to say the same again and again.
            usleep(500_000)
            daemon.send(signal: SIGTERM)
            let result = daemon.wait()
            #expect(result.exitStatus == 0 || result.exitStatus == 4, "\(result.ending)")
            return result.errorText
        }
    }

    @Test(arguments: Comer.allCases) func aNewerOneIsLeftAlone(_ comer: Comer) throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        let scene = try BackgroundScene()
        // `user_version` stands at byte 60.
        var newer = try leftRun(server, scene)
        newer.replaceSubrange(60..<64, with: [0, 0, 3, 231])
        try scene.binary.home.write(Self.journal, newer, mode: 0o600)
        let words = ["attach": ["attach", "org.example.test"], "daemon": ["daemon"]]["\(comer)"] ?? [Stage.jobFile]
        let result = try scene.binary.run(arguments: words)
        #expect(result.exitStatus == 4)
        #expect(result.errorText.contains("format 999"), "\(result.errorText)")
        #expect(result.errorText.contains(scene.binary.home.path(Self.journal)))
        #expect(try scene.binary.home.bytes(Self.journal) == newer)
        #expect(!scene.binary.home.exists(Self.aside))
        #expect(server.requests("/x").count == 1)
    }

    /// Under the eyes of command and process: both say so, and neither waits for what will never come.
    @Test(arguments: [true, false]) func aJournalThatGoesAwayUnderARunIsTold(_ isAside: Bool) throws {
        let why = isAside ? "was put aside while it was open, because it is damaged" : "was removed while it was open"
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/x") { _ in [.gate("open")] + .respond(200, body: "x") }
        let scene = try BackgroundScene()
        try scene.folder.write(
            Stage.jobFile, BackgroundScene.head() + "tasks: [{ id: x, url: \"\(server.url("/x"))\", to: x }]")
        let program = try scene.binary.start([Stage.jobFile])
        #expect(server.waitForRequests(1))
        #expect(scene.waitForEvents(of: "x", attempts: 1))
        // Somebody met damage, and the next to look puts it aside; or somebody cleared up.
        let file = scene.binary.home.path(Self.journal)
        #expect(rename(file, file + (isAside ? ".quarantined-1" : ".away")) == 0)
        for name in ["-wal", "-shm"] { scene.binary.home.remove(Self.journal + name) }
        server.open(gate: "open")
        let result = program.wait()
        #expect(result.exitStatus == 4)
        #expect(result.errorText.contains(why), "\(result.errorText)")
        #expect(result.errorText.contains("any more: run the job again, and it begins anew"), "\(result.errorText)")
        // The process may come to it a moment after the command.
        waitUntil { scene.log.contains(why) }
        #expect(scene.log.contains(why), "\(scene.log)")
        usleep(1_500_000)
        #expect(scene.log.split(separator: "\n").count < 12, "\(scene.log)")
        // The process is there for others.
        let run = try scene.stage.run(try scene.folder.text(Stage.jobFile).replacing("x }]", with: "y }]"))
        #expect(run.status == 0, "\(run.errorText) \(scene.log)")
        #expect(scene.stage.files.contains("y"))
    }
}
