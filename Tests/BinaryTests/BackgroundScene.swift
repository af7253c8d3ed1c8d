import Glibc
import Stores
import TestSupport
import Testing
import TextFormats
import TransferModel

/// A stage with a background process of its own, which ends with it.
final class BackgroundScene {
    let stage: Stage
    var folder: TemporaryTree { stage.folder }
    var binary: Binary { stage.binary }

    init() throws { stage = try Stage() }

    /// Of a stage that somebody else has made.
    init(_ stage: Stage) { self.stage = stage }

    deinit { end(SIGTERM) }

    /// What the process wrote.
    var log: String { (try? binary.home.text("state/transfer-run/background.log")) ?? "" }

    /// Waits until the process has written it.
    func waitForLog(_ text: String) -> Bool {
        happens { log.contains(text) }
    }

    /// The background process, if there is one.
    var process: Int32? {
        guard let note = try? JSONParser.parse(try binary.home.bytes("state/transfer-run/background.lock")),
            let number = note["pid"]?.plainText.flatMap({ Int32($0) }), kill(number, 0) == 0,
            let words = try? TemporaryTree.bytes(at: "/proc/\(number)/cmdline"),
            String(decoding: words, as: UTF8.self).contains("daemon")
        else { return nil }
        return number
    }

    /// Waits until there is none: one that refused its work has said so before it is gone.
    func waitUntilGone() -> Bool {
        happens { process == nil }
    }

    /// Waits until so many attempts of a task are in the journal: of the last run, or of that one.
    func waitForEvents(of task: String, attempts: Int, run number: Int? = nil) -> Bool {
        waitForHistory(run: number) { $0.id == task && $0.attempts >= attempts }
    }

    /// Waits until the end of a task is in the journal.
    func waitForEnd(of task: String) -> Bool { waitForHistory { $0.id == task && $0.outcome != nil } }

    private func waitForHistory(run number: Int? = nil, _ isSo: (TaskStory) -> Bool) -> Bool {
        wait(run: number) { journal, run in try TaskStory.all(of: run, journal).contains(where: isSo) }
    }

    /// Waits until the last run in the journal has ended.
    func waitForEnd() -> Bool { wait { _, run in run.state == .finished } }

    private func wait(run number: Int? = nil, _ isSo: (Journal, JournalRun) throws -> Bool) -> Bool {
        happens {
            guard let journal = try? Journal.open(folder: state), let runs = try? journal.runs(), !runs.isEmpty else {
                return false
            }
            return (try? isSo(journal, runs[number ?? runs.count - 1])) == true
        }
    }

    /// Waits until a process that goes on would find the half of a file that came.
    func waitForPart() -> Bool {
        happens { Store.isThere(folder: state) && (try? Store.open(folder: state).partFiles().isEmpty) == false }
    }

    /// Where journal, lock and log are.
    var state: String { binary.home.path("state/transfer-run") }

    /// Waits until no key to what a run was given is left.
    func waitUntilKeysAreGone() -> Bool {
        happens { !binary.home.list("state/transfer-run").contains(where: { $0.hasPrefix("journal.key-") }) }
    }

    /// Sends a signal to the background process and waits until it is gone; whether there was one.
    @discardableResult
    func end(_ signal: Int32) -> Bool {
        guard let process else { return false }
        kill(process, signal)
        return happens {
            if kill(process, 0) != 0 { return true }
            // Nobody but the system's first process takes its end away, and that may take its time.
            let state = (try? TemporaryTree.bytes(at: "/proc/\(process)/stat")) ?? []
            return String(decoding: state, as: UTF8.self).contains(") Z ")
        }
    }

    /// A session of that identifier, and what its tasks start from.
    static func head(_ identifier: String = "org.example.test", _ more: String = "") -> String {
        """
        sessions: { night: { configuration: background, identifier: \(identifier)\(more) } }
        defaults: { session: night, retry: { backoff: { initial: 10ms, jitter: none } } }

        """
    }
}

/// What the journal's events tell of a task.
struct TaskStory {
    let id: String
    private(set) var attempts = 0
    private(set) var outcome: TaskOutcome?

    static func all(of run: JournalRun, _ journal: Journal) throws -> [TaskStory] {
        var stories = try journal.tasks(of: run.id).map { TaskStory(id: $0) }
        for event in try journal.events(of: run.id) {
            guard let task = event.task.map({ Int($0.raw) }) else { continue }
            switch event.kind {
            case .attemptStarted(let start): stories[task].attempts = start.number
            case .taskFinished(let record): stories[task].outcome = record.outcome
            default: break
            }
        }
        return stories
    }
}
