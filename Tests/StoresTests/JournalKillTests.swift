import Glibc
import Stores
import TestSupport
import Testing
import TransferModel

/// A writer is killed again and again. After each kill the journal opens, and holds what the writer was promised and
/// nothing that it did not write.
@Suite struct JournalKillTests {
    private static let program = "\(Binary.packageRoot)/.build/debug/journal-check"

    /// What the writer said before it died.
    private struct Promises {
        var runs: [Int: RunID] = [:]
        var written: [Int: UInt64] = [:]
        var finished: Set<Int> = []
        var delivered: Set<Int> = []
        var failures: [String] = []

        init(_ output: String) {
            // The last line may be half there.
            for line in output.split(separator: "\n", omittingEmptySubsequences: false).dropLast() {
                let words = line.split(separator: " ")
                guard words.count >= 3, let number = Int(words[1]) else {
                    failures.append(String(line))
                    continue
                }
                switch words[0] {
                case "accepted": runs[number] = Int64(words[2]).map { RunID(raw: $0) }
                case "written": written[number] = UInt64(words[2])
                case "finished": finished.insert(number)
                default: delivered.insert(number)
                }
            }
        }
    }

    private func check(_ folder: String, _ seed: UInt64, _ promises: Promises, _ what: String) throws {
        let journal = try Journal.open(folder: folder)
        #expect(journal.quarantined == nil, "\(what)")
        for (number, id) in promises.runs {
            let story = JournalStory(seed: seed &+ UInt64(number))
            let run = try #require(try journal.run(id), "\(what)")
            #expect(run.accepted.identifiers == [story.identifier])
            if promises.finished.contains(number) { #expect(run.state == .finished && run.end != nil, "\(what)") }
            if promises.delivered.contains(number) { #expect(run.deliveredAt != nil, "\(what)") }
            let inputs = try journal.inputs(of: id)
            #expect(inputs == (run.deliveredAt == nil ? [JournalInput(kind: "recording", bytes: story.input)] : []))
            try checkEvents(journal, run, story, upTo: promises.written[number] ?? 0, what)
        }
        // What was never promised may be there, whole.
        for run in try journal.runs() { _ = try journal.history(of: run.id) }
    }

    private func checkEvents(
        _ journal: Journal, _ run: JournalRun, _ story: JournalStory, upTo promised: UInt64, _ what: String
    ) throws {
        let events = try journal.events(of: run.id)
        let truth = story.journalled(story.batches)
        #expect(events.count <= truth.count && run.lastSequence >= promised, "\(what)")
        #expect((events.last?.sequence ?? 0) >= promised, "\(what)")
        #expect(events.map { ValueLines.of($0) } == truth.prefix(events.count).map { ValueLines.of($0) }, "\(what)")
        var expected = story.tasks.map { TaskHistory(id: $0) }
        for event in events { if let task = event.task { expected[Int(task.raw)].apply(event) } }
        #expect(try journal.history(of: run.id) == expected, "\(what)")
    }

    @Test func killedAtAnyMomentItHoldsWhatWasPromised() throws {
        var random = Seeded("killedAtAnyMomentItHoldsWhatWasPromised")
        let binary = try Binary(program: Self.program)
        let tree = try TemporaryTree()
        var promised = 0
        for round in 0..<Rounds.scaled(20) {
            let seed = random.next() >> 1
            let running = try binary.start([tree.path("s"), "\(seed)", "1000"])
            // Long enough, mostly, for the first promise.
            if !random.oneIn(5) { running.waitForOutput("accepted") }
            usleep(UInt32(random.below(40_000)))
            running.send(signal: SIGKILL)
            let result = running.wait()
            let promises = Promises(result.outputText)
            #expect(promises.failures == [])
            promised += promises.written.count
            try check(tree.path("s"), seed, promises, "round \(round), killed")
        }
        #expect(promised > 10)
    }

    /// At chosen calls, where the file is half written.
    @Test(.enabled(if: Strace.isUsable)) func killedAtACallItHoldsWhatWasPromised() throws {
        var random = Seeded("killedAtACallItHoldsWhatWasPromised")
        let binary = try Binary(program: Self.program)
        var kills = 0
        for _ in 0..<Rounds.scaled(14) {
            let tree = try TemporaryTree()
            let seed = random.next() >> 1
            let call = random.pick(["pwrite64", "pwrite64", "pwrite64", "fdatasync", "ftruncate", "openat"])
            let number = 1 + random.below(["pwrite64": 150, "fdatasync": 40, "ftruncate": 3][call] ?? 25)
            let strace = Strace([.init(call, .kill, when: "\(number)")])
            let result = try binary.start(
                [tree.path("s"), "\(seed)", "8"],
                under: strace.command(calls: ["pwrite64", "fdatasync", "ftruncate", "openat"])
            ).wait()
            kills += result.ending == .signal(SIGKILL) ? 1 : 0
            try check(tree.path("s"), seed, Promises(result.outputText), "\(call) \(number)")
        }
        #expect(kills > 3)
    }

    /// A disk that is full for a while: each write says so, nothing of it is there, and later ones succeed.
    @Test(.enabled(if: Strace.isUsable)) func aFullDiskIsToldAndNothingIsHalfWritten() throws {
        var random = Seeded("aFullDiskIsToldAndNothingIsHalfWritten")
        let binary = try Binary(program: Self.program)
        var failures = 0
        for _ in 0..<Rounds.scaled(6) {
            let tree = try TemporaryTree()
            let seed = random.next() >> 1
            let first = 20 + random.below(60)
            let strace = Strace([.init("pwrite64", .error("ENOSPC"), when: "\(first)..\(first + random.below(12))")])
            let result = try binary.start(
                [tree.path("s"), "\(seed)", "4"], under: strace.command(calls: ["pwrite64"])
            ).wait()
            #expect(result.ending == .exit(0), "\(result.errorText)")
            let promises = Promises(result.outputText)
            #expect(promises.failures.allSatisfy { $0.hasPrefix("failed diskFull") }, "\(promises.failures)")
            #expect(promises.delivered.count == 4)
            failures += promises.failures.count
            try check(tree.path("s"), seed, promises, "full disk")
        }
        #expect(failures > 0)
    }
}
