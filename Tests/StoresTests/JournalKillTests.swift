import Glibc
import Stores
import SystemIO
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
        var extended: Set<Int> = []
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
                case "extended": extended.insert(number)
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
            if promises.extended.contains(number) { #expect(run.taskCount > story.tasks.count, "\(what)") }
            try checkInputs(journal, run, story, what)
            try checkEvents(journal, run, story, upTo: promises.written[number] ?? 0, what)
        }
        // What was never promised may be there, whole.
        for run in try journal.runs() { _ = try journal.tasks(of: run.id) }
        try checkKeys(folder, journal, what)
    }

    /// It is extended whole or not at all, and nothing of what it was given can be read by who has no key.
    private func checkInputs(_ journal: Journal, _ run: JournalRun, _ story: JournalStory, _ what: String) throws {
        var expected = [JournalInput(kind: "recording", bytes: story.input)]
        if run.taskCount > story.tasks.count { expected.append(JournalInput(kind: "later", bytes: story.laterInput)) }
        #expect(try journal.inputs(of: run.id) == (run.deliveredAt == nil ? expected : []), "\(what)")
    }

    /// A key may be left over, until the next time that old runs are forgotten; none is missing.
    private func checkKeys(_ folder: String, _ journal: Journal, _ what: String) throws {
        func count() -> Int { Folders.names(in: folder).count { $0.hasPrefix("journal.key-") } }
        let needed = try journal.runs().count { $0.deliveredAt == nil }
        #expect(count() >= needed, "\(what)")
        try journal.forget(now: WallTime(nanoseconds: 2))
        #expect(count() == needed, "\(what)")
    }

    private func checkEvents(
        _ journal: Journal, _ run: JournalRun, _ story: JournalStory, upTo promised: UInt64, _ what: String
    ) throws {
        let events = try journal.events(of: run.id)
        let truth = story.journalled(story.batches)
        #expect(events.count <= truth.count && run.lastSequence >= promised, "\(what)")
        #expect((events.last?.sequence ?? 0) >= promised, "\(what)")
        #expect(events.map { ValueLines.of($0) } == truth.prefix(events.count).map { ValueLines.of($0) }, "\(what)")
        let tasks = run.taskCount > story.tasks.count ? story.tasks + story.later : story.tasks
        #expect(try journal.tasks(of: run.id) == tasks, "\(what)")
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
        for _ in 0..<Rounds.scaled(20) {
            let tree = try TemporaryTree()
            let seed = random.next() >> 1
            let limits = [
                "pwrite64": 150, "fdatasync": 40, "ftruncate": 3, "openat": 25, "write": 40, "fsync": 20, "unlinkat": 8,
            ]
            let call = random.pick(["pwrite64", "pwrite64", "pwrite64"] + limits.keys.sorted())
            let number = 1 + random.below(limits[call] ?? 1)
            let strace = Strace([.init(call, .kill, when: "\(number)")])
            let result = try binary.start(
                [tree.path("s"), "\(seed)", "8"],
                under: strace.command(calls: limits.keys.sorted())
            ).wait()
            kills += result.ending == .signal(SIGKILL) ? 1 : 0
            try check(tree.path("s"), seed, Promises(result.outputText), "\(call) \(number)")
        }
        #expect(kills > 3)
    }

    /// Of the first run: its key written, flushed, and its name too; then overwritten, flushed and gone.
    @Test(.enabled(if: Strace.isUsable), arguments: [("write", 1...2), ("fsync", 2...5), ("unlinkat", 1...1)])
    func killedWhileItMakesOrErasesAKey(_ call: String, _ numbers: ClosedRange<Int>) throws {
        let binary = try Binary(program: Self.program)
        for number in numbers {
            let tree = try TemporaryTree()
            let strace = Strace([.init(call, .kill, when: "\(number)")])
            let result = try binary.start([tree.path("s"), "5", "1"], under: strace.command(calls: [call])).wait()
            #expect(result.ending == .signal(SIGKILL))
            try check(tree.path("s"), 5, Promises(result.outputText), "\(call) \(number)")
        }
    }

    /// A key that cannot be kept is no key: the run is not taken, and nothing of it is left.
    @Test(
        .enabled(if: Strace.isUsable),
        arguments: [("write", 1, "diskFull"), ("fsync", 2, "other"), ("fsync", 3, "other")])
    func withoutAKeyNoRunIsTaken(_ call: String, _ number: Int, _ kind: String) throws {
        let tree = try TemporaryTree()
        let error = kind == "diskFull" ? "ENOSPC" : "EIO"
        let strace = Strace([.init(call, .error(error), when: "\(number)")])
        let result = try Binary(program: Self.program)
            .start([tree.path("s"), "5", "1"], under: strace.command(calls: [call])).wait()
        let promises = Promises(result.outputText)
        #expect(promises.failures.count == 1 && promises.failures[0].hasPrefix("failed \(kind) cannot keep the key"))
        #expect(promises.runs == [0: RunID(raw: 1)] && promises.delivered == [0])
        #expect(!Folders.names(in: tree.path("s")).contains { $0.hasPrefix("journal.key-") })
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
