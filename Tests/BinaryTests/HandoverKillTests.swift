import Glibc
import Stores
import TestSupport
import Testing

/// A command that hands a job over and leaves is killed at every call by which it touches files: either nothing was taken,
/// or all of it, and the next run of the job joins it.
@Suite(.enabled(if: Strace.isUsable)) struct HandoverKillTests {
    private static let tasks = ["a", "b", "c"]

    /// Nobody gets an answer before the job was run again: else its end might be known by then.
    private static func server() throws -> ScriptedServer {
        try ScriptedServer { request in [.gate("open")] + .respond(200, body: "body of \(request.path)") }
    }

    private static func job(_ server: ScriptedServer) -> String {
        BackgroundScene.head("org.example.test", ", discretionary: false") + "tasks:\n"
            + tasks.map { "  - { id: \($0), url: \"\(server.url("/\($0)"))\", to: out/\($0) }\n" }.joined()
    }

    @Test func allOrNothingIsTaken() async throws {
        var moments = try Self.moments()
        try #require(moments.count > 100)
        let all = moments.count
        if !Rounds.isLong {
            var random = Seeded("allOrNothingIsTaken")
            // One of each part of the way: most of it lies before the run is taken.
            let parts = 24
            moments = (0..<parts).map { part in
                let (first, next) = (part * all / parts, (part + 1) * all / parts)
                return moments[first + random.below(next - first)]
            }
        }
        let facts = await withTaskGroup(of: Facts.self) { lanes in
            for lane in 0..<3 {
                let mine = moments.indices.filter { $0 % 3 == lane }.map { moments[$0] }
                lanes.addTask { Self.sweep(mine) }
            }
            return await lanes.reduce(into: Facts()) { $0.add($1) }
        }
        print("kills while handing over, of \(all) moments: \(facts)")
        // Threads run as they like: now and then a command ends before its moment comes.
        #expect(facts.kills > moments.count / 2)
        #expect(facts.taken > 0 && facts.taken < facts.kills)
    }

    private struct Facts: Sendable, CustomStringConvertible {
        var moments = 0
        var kills = 0
        /// Struck when the run was in the journal.
        var taken = 0
        /// Of those, before a process was there.
        var alone = 0

        mutating func add(_ other: Facts) {
            moments += other.moments
            kills += other.kills
            taken += other.taken
            alone += other.alone
        }

        var description: String {
            "\(kills) of \(moments) struck; \(taken) when the run was taken, \(alone) of them before a process was there"
        }
    }

    private static func sweep(_ moments: [Strace.Moment]) -> Facts {
        var facts = Facts()
        for moment in moments {
            do { try strike(moment, &facts) } catch { Issue.record("\(moment): \(error)") }
        }
        return facts
    }

    private static func strike(_ moment: Strace.Moment, _ facts: inout Facts) throws {
        let server = try server()
        defer { server.stop() }
        let scene = try BackgroundScene()
        let kill = Strace.Injection(moment.call, .kill, when: "\(moment.number)")
        let ending = try handOver(server, scene, Strace([kill]).command(calls: Strace.fileCalls)).ending
        #expect(ending == .signal(SIGKILL) || ending == .exit(0), "\(moment)")
        let wasTaken = try runs(scene) == 1
        facts.moments += 1
        if ending == .signal(SIGKILL) {
            facts.kills += 1
            facts.taken += wasTaken ? 1 : 0
            facts.alone += wasTaken && scene.process == nil ? 1 : 0
        } else {
            #expect(wasTaken, "\(moment)")
        }
        let program = try scene.stage.start(job(server))
        // A process may have asked the server before this command came: who opened the gate then would be too early.
        if wasTaken { #expect(program.waitForOutput("came back to the session"), "killed at \(moment)") }
        for task in tasks { #expect(server.waitForRequests(1, "/\(task)"), "killed at \(moment)") }
        server.open(gate: "open")
        let run = try scene.stage.finish(program)
        #expect(run.status == 0, "killed at \(moment): \(run.errorText)")
        #expect(run.errorText.contains("came back to the session") == wasTaken, "killed at \(moment)")
        #expect(try run.value("$.sessions[0].reassociated") == "\(wasTaken)", "killed at \(moment)")
        for task in tasks {
            #expect(try scene.stage.text("out/\(task)") == "body of /\(task)", "killed at \(moment)")
            #expect(server.requests("/\(task)").count == 1, "killed at \(moment)")
            #expect(run.story(of: task).count { $0 == "taskFinished" } == 1, "killed at \(moment)")
        }
        #expect(try runs(scene) == 1, "killed at \(moment)")
        #expect(scene.stage.files == ["out/", "out/a", "out/b", "out/c"], "killed at \(moment)")
        #expect(scene.waitUntilKeysAreGone(), "killed at \(moment)")
    }

    /// The process that it starts is let go when it becomes the program.
    private static func handOver(
        _ server: ScriptedServer, _ scene: BackgroundScene, _ strace: [String]
    ) throws -> Binary.Result {
        try scene.folder.write(Stage.jobFile, job(server))
        let wrapper = [strace[0], "-b", "execve"] + strace.dropFirst()
        return try scene.binary.start([Stage.jobFile, "--detach", "--no-report"], under: wrapper).wait()
    }

    private static func runs(_ scene: BackgroundScene) throws -> Int {
        Journal.isThere(folder: scene.state) ? try Journal.open(folder: scene.state).runs().count : 0
    }

    /// From a command that nothing strikes.
    private static func moments() throws -> [Strace.Moment] {
        let server = try server()
        defer { server.stop() }
        let scene = try BackgroundScene()
        let trace = scene.binary.home.path("trace")
        let result = try handOver(server, scene, Strace().command(trace: trace, calls: Strace.fileCalls))
        #expect(result.exitStatus == 0 && result.outputText == "org.example.test\n")
        server.open(gate: "open")
        return Strace.moments(of: try scene.binary.home.text("trace"), from: Stage.jobFile)
    }
}
