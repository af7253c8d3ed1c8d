import Glibc
import Stores
import TestSupport
import TransferModel

// A writer for tests to kill: it fills the journal of a folder with runs and says on its output what it was promised.
// `usage: journal-check FOLDER SEED RUNS`; the seed gives everything that it writes (`JournalStory`).

guard CommandLine.arguments.count == 4, let seed = UInt64(CommandLine.arguments[2]),
    let runs = Int(CommandLine.arguments[3])
else {
    print("usage: journal-check FOLDER SEED RUNS")
    exit(2)
}

/// At once, and whole: the next moment may be the last.
func say(_ text: String) {
    let bytes = Array((text + "\n").utf8)
    _ = write(1, bytes, bytes.count)
}

/// What fails is tried again, as a writer would: nothing of it may be there.
func insist<Result>(_ work: () throws(StoreError) -> Result) -> Result? {
    for _ in 0..<100 {
        do throws(StoreError) { return try work() } catch { say("failed \(error.kind) \(error)") }
    }
    return nil
}

guard let journal = insist({ () throws(StoreError) in try Journal.open(folder: CommandLine.arguments[1]) }) else {
    exit(1)
}
for number in 0..<runs {
    var story = JournalStory(seed: seed &+ UInt64(number))
    let accepted = AcceptedRun(
        identifiers: [story.identifier], job: story.identifier, file: "/job.yaml", folder: "/",
        createdAt: WallTime(nanoseconds: 0))
    let input = JournalInput(kind: "recording", bytes: story.input)
    let id = insist { () throws(StoreError) in
        do throws(AcceptProblem) {
            return try journal.accept(accepted, inputs: [input], tasks: story.tasks)
        } catch {
            guard case .failed(let error) = error else { fatalProblem("\(error)") }
            throw error
        }
    }
    guard let id else { exit(1) }
    say("accepted \(number) \(id.raw)")
    for place in 0..<story.batches {
        if place == story.batches / 2 { extend(id, number, story) }
        let batch = story.batch()
        guard let last = insist({ () throws(StoreError) in try journal.append(batch, to: id) }) else { exit(1) }
        say("written \(number) \(last)")
    }
    let end = RunEnd(at: WallTime(nanoseconds: 1), outcome: .failed, exitStatus: 1)
    guard insist({ () throws(StoreError) in try journal.recordEnd(of: id, end) }) != nil else { exit(1) }
    say("finished \(number) 0")
    guard insist({ () throws(StoreError) in try journal.deliver(id, now: end.at) }) != nil else { exit(1) }
    say("delivered \(number) 0")
}

func extend(_ id: RunID, _ number: Int, _ story: JournalStory) {
    let input = JournalInput(kind: "later", bytes: story.laterInput)
    let work = { () throws(StoreError) in try journal.extend(id, inputs: [input], tasks: story.later) }
    guard insist(work) != nil else { exit(1) }
    say("extended \(number) 0")
}

func fatalProblem(_ what: String) -> Never {
    say("failed for good: \(what)")
    exit(1)
}
