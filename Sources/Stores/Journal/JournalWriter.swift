import Synchronization
package import SystemIO
package import TransferModel

/// What a writer reports about its run's journal.
package enum JournalNews: Hashable, Sendable {
    /// All events up to this number can be read.
    case written(upTo: UInt64)
    /// Writing failed. It is tried again, and nothing was lost.
    case failed(StoreError)
}

/// Tasks to be added to a run under way.
package struct RunExtension: Sendable {
    /// Input from which the added tasks are made again after a crash.
    package let note: JournalInput
    /// Ids of the added tasks, in the order of their numbers.
    package let tasks: [String]
    /// Number of tasks that the run has, as far as the sender knows.
    package let after: Int
    /// The tasks are added after the events up to this number were written.
    package let sequence: UInt64
    /// Called on the writer's thread: `true` if the tasks were added, `false` if the run has other tasks by now.
    package let reply: @Sendable (_ isAdded: Bool) -> Void

    package init(
        note: JournalInput, tasks: [String], after: Int, sequence: UInt64,
        reply: @escaping @Sendable (_ isAdded: Bool) -> Void
    ) {
        self.note = note
        self.tasks = tasks
        self.after = after
        self.sequence = sequence
        self.reply = reply
    }
}

/// The thread that writes a run's events, so that neither the loop nor the consumers of its events wait for the disk:
/// what comes within 50 ms is one transaction.
package final class JournalWriter: EventConsumer, Sendable {
    /// Longest time that an event waits to be written, unless the writer is given another.
    package static let writeAfter = TimeSpan.milliseconds(50)
    static let writeCount = 1_000
    static let retryAfter = TimeSpan.seconds(1)

    private let events: Mailbox<Event>
    private let inputs: Mailbox<JournalInput>
    private let extensions: Mailbox<RunExtension>
    private let beginnings: Mailbox<Beginnings>
    private let successes: Mailbox<String>
    private let thread = WorkThread()
    private let failure = Mutex<StoreError?>(nil)
    private let hurried = Atomic<UInt64>(0)
    /// Number of the last event that came.
    private let heard: Atomic<UInt64>
    /// A run extension or a beginning waits until the events up to this number have come; 0 when none waits.
    private let awaited = Atomic<UInt64>(0)
    private let isAsked = Atomic<Bool>(false)

    /// Starts the thread. `tell` is called on it.
    ///
    /// `after`: number of the run's last event that the journal has already, from an earlier process. `writeAfter`: how
    /// long events may wait. Zero after a crash, so that a further crash finds what preceded it
    /// recorded.
    package init(
        folder: String, run: RunID, after last: UInt64 = 0, writeAfter: TimeSpan = JournalWriter.writeAfter,
        tell: @escaping @Sendable (JournalNews) -> Void
    ) throws(SystemError) {
        heard = Atomic(last)
        let wake = thread.wake
        events = Mailbox(wake: { wake.signal() })
        inputs = Mailbox(wake: { wake.signal() })
        extensions = Mailbox(wake: { wake.signal() })
        beginnings = Mailbox(wake: { wake.signal() })
        successes = Mailbox(wake: { wake.signal() })
        try thread.start(named: "journal") { [self] in
            let worker = JournalWorker(folder, run, writeAfter, tell)
            worker.openAhead()
            work(worker)
            failure.withLock { $0 = worker.failure }
        }
    }

    /// Queues the events that the journal records; those of progress are left out.
    package func consume(_ batch: ArraySlice<Event>) {
        events.post(batch.filter(\.isJournalled))
        guard let last = batch.last?.sequence else { return }
        heard.store(last, ordering: .sequentiallyConsistent)
        // Not all events are written, so the last may bring nothing that wakes the writer.
        let awaited = awaited.load(ordering: .sequentiallyConsistent)
        if awaited != 0, awaited <= last { thread.wake.signal() }
    }

    /// Records one more input that the run needs to continue. It is durable before any event that is consumed later.
    package func keep(_ input: JournalInput) { inputs.post(input) }

    /// Adds tasks to the run at once, after the inputs given to `keep` before. What cannot be written now is tried
    /// again.
    package func extend(_ addition: RunExtension) {
        awaited.store(addition.sequence, ordering: .sequentiallyConsistent)
        extensions.post(addition)
    }

    /// Makes the thread write the events up to that number at once, durable against a power cut, and after them what
    /// they begin that must not be sent twice. Call it before they are given to `consume`.
    package func hurry(upTo sequence: UInt64, beginning requests: [BegunRequest] = []) {
        if !requests.isEmpty {
            awaited.store(sequence, ordering: .sequentiallyConsistent)
            beginnings.post(Beginnings(sequence: sequence, requests: requests))
        }
        hurried.store(sequence, ordering: .releasing)
    }

    /// Notes, for the case that the journal is lost, that a task has succeeded whose request was begun before.
    package func noteSuccess(of task: String) { successes.post(task) }

    /// What the events up to a number begin.
    fileprivate struct Beginnings: Sendable {
        let sequence: UInt64
        let requests: [BegunRequest]
    }

    /// Makes the thread write what it has, without waiting for more events.
    package func writeNow() {
        isAsked.store(true, ordering: .releasing)
        thread.wake.signal()
    }

    /// Writes the rest and ends the thread; returns the error if that fails.
    package func finish() -> StoreError? {
        thread.finish()
        return failure.withLock { $0 }
    }

    private func work(_ worker: JournalWorker) {
        while true {
            let isLast = isAsked.exchange(false, ordering: .acquiring)
            let isEnding = thread.isEnding
            let heard = heard.load(ordering: .sequentiallyConsistent)
            let batch = events.takeAll()
            let additions = extensions.takeAll()
            // After these: what was posted before one of them is there by now.
            worker.queueInputs(inputs.takeAll())
            worker.queueExtensions(additions)
            worker.queueEvents(batch)
            worker.beginnings += beginnings.takeAll()
            worker.heard = heard
            worker.noteSuccess(of: successes.takeAll())
            worker.writeIfDue(isLast: isLast || isEnding, hurried: hurried.load(ordering: .acquiring))
            if isEnding, batch.isEmpty { return }
            if batch.isEmpty { worker.wait(on: thread.wake) }
        }
    }
}

/// The writer's state, owned by its thread.
private final class JournalWorker {
    private let folder: String
    private let run: RunID
    private let writeAfter: TimeSpan
    private let tell: @Sendable (JournalNews) -> Void
    /// Opened anew after a failure, whose cause may be gone by then.
    private var journal: Journal?
    private var unwritten: [Event] = []
    private var unkept: [JournalInput] = []
    private var additions: [RunExtension] = []
    /// What is to be written down once its events are.
    var beginnings: [JournalWriter.Beginnings] = []
    /// Events up to this number have come.
    var heard: UInt64 = 0
    /// The run as the file knows it in which its beginnings stand; `nil` before the first of this process.
    private var begun: LostRun?
    private var due: Instant?
    private(set) var failure: StoreError?

    init(
        _ folder: String, _ run: RunID, _ writeAfter: TimeSpan, _ tell: @escaping @Sendable (JournalNews) -> Void
    ) {
        self.writeAfter = writeAfter
        self.folder = folder
        self.run = run
        self.tell = tell
    }

    func queueInputs(_ batch: [JournalInput]) {
        if batch.isEmpty { return }
        unkept += batch
        if due == nil { due = Clocks.instant() + writeAfter }
    }

    func queueExtensions(_ batch: [RunExtension]) {
        if batch.isEmpty { return }
        additions += batch
    }

    private var canAdd: Bool { additions.first.map { $0.sequence <= heard } ?? false }
    private var canBegin: Bool { beginnings.first.map { $0.sequence <= heard } ?? false }

    func queueEvents(_ batch: [Event]) {
        if batch.isEmpty { return }
        unwritten += batch
        if due == nil { due = Clocks.instant() + writeAfter }
    }

    func noteSuccess(of tasks: [String]) {
        if let begun { Journal.noteSuccess(of: tasks, begun, folder: folder) }
    }

    func writeIfDue(isLast: Bool, hurried: UInt64) {
        if canAdd || canBegin, due == nil { due = Clocks.instant() }
        guard let due, !unwritten.isEmpty || !unkept.isEmpty || canAdd || canBegin else { return }
        let isHurried = unwritten.first.map { $0.sequence <= hurried } ?? false
        let isDue =
            failure == nil && (isHurried || canAdd || canBegin || unwritten.count >= JournalWriter.writeCount)
        if isLast || isDue || due <= Clocks.instant() { write(durably: isHurried) }
    }

    private func write(durably: Bool) {
        do throws(StoreError) {
            let journal = try opened()
            while let input = unkept.first {
                try journal.keep(input, of: run)
                unkept.removeFirst()
            }
            let last = try journal.append(unwritten, to: run, durably: durably)
            unwritten = []
            while canBegin {
                begun = try journal.noteBegun(beginnings[0].requests, of: run)
                beginnings.removeFirst()
            }
            while canAdd {
                let addition = additions[0]
                let isAdded = try journal.extend(
                    run, inputs: [addition.note], tasks: addition.tasks, after: addition.after)
                additions.removeFirst()
                addition.reply(isAdded)
            }
            due = nil
            failure = nil
            // Those who wait for a beginning wait until that is written down, too.
            if beginnings.isEmpty { tell(.written(upTo: last)) }
        } catch {
            journal = nil
            due = Clocks.instant() + JournalWriter.retryAfter
            if failure != error { tell(.failed(error)) }
            failure = error
        }
    }

    /// Opens the journal before the run's tasks take the descriptors for it. A failure shows at the first write.
    func openAhead() { _ = try? opened() }

    private func opened() throws(StoreError) -> Journal {
        if let journal { return journal }
        let opened = try Journal.open(folder: folder, mends: false)
        journal = opened
        return opened
    }

    func wait(on wake: WakeSignal) {
        guard let due else { return wake.wait() }
        let left = due - Clocks.instant()
        if left > .zero { _ = wake.wait(nanoseconds: left.nanoseconds) }
    }
}
