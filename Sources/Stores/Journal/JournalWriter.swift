import Synchronization
package import SystemIO
package import TransferModel

/// How a writer's run stands in the journal.
package enum JournalNews: Hashable, Sendable {
    /// All events up to this number can be read.
    case written(upTo: UInt64)
    /// Nothing was written. It is tried again, and nothing was lost.
    case failed(StoreError)
}

/// The thread that writes a run's events, so that neither the loop nor those who fold them wait for the disk: what comes
/// within 50 ms is one transaction.
package final class JournalWriter: EventConsumer, Sendable {
    static let writeAfter = TimeSpan.milliseconds(50)
    static let writeCount = 1_000
    static let retryAfter = TimeSpan.seconds(1)

    private let events: Mailbox<Event>
    private let wake = WakeSignal()
    private let ending = Atomic<Bool>(false)
    private let thread = Mutex<Thread?>(nil)
    private let failure = Mutex<StoreError?>(nil)

    /// `tell` is called on the writer's thread.
    package init(
        folder: String, run: RunID, tell: @escaping @Sendable (JournalNews) -> Void
    ) throws(SystemError) {
        let wake = wake
        events = Mailbox(wake: { wake.signal() })
        let started = try Thread(named: "journal") { [self] in
            let worker = JournalWorker(folder, run, tell)
            work(worker)
            failure.withLock { $0 = worker.failure }
        }
        thread.withLock { $0 = started }
    }

    package func consume(_ batch: ArraySlice<Event>) { events.post(batch.filter(\.isJournalled)) }

    /// Writes what is left. The error, if it cannot.
    package func finish() -> StoreError? {
        ending.store(true, ordering: .releasing)
        wake.signal()
        let running = thread.withLock { thread in
            let running = thread
            thread = nil
            return running
        }
        running?.join()
        return failure.withLock { $0 }
    }

    private func work(_ worker: JournalWorker) {
        while true {
            // Read before the events: whoever ends us has posted everything by then.
            let isEnding = ending.load(ordering: .acquiring)
            let batch = events.takeAll()
            worker.take(batch)
            worker.writeIfDue(isLast: isEnding)
            if isEnding, batch.isEmpty { return }
            if batch.isEmpty { worker.wait(on: wake) }
        }
    }
}

/// Everything here belongs to the writer's thread.
private final class JournalWorker {
    private let folder: String
    private let run: RunID
    private let tell: @Sendable (JournalNews) -> Void
    /// Opened anew after a failure: somebody may have mended what was wrong.
    private var journal: Journal?
    private var unwritten: [Event] = []
    private var due: Instant?
    private(set) var failure: StoreError?

    init(_ folder: String, _ run: RunID, _ tell: @escaping @Sendable (JournalNews) -> Void) {
        self.folder = folder
        self.run = run
        self.tell = tell
    }

    func take(_ batch: [Event]) {
        if batch.isEmpty { return }
        unwritten += batch
        if due == nil { due = Clocks.instant() + JournalWriter.writeAfter }
    }

    func writeIfDue(isLast: Bool) {
        guard let due, !unwritten.isEmpty else { return }
        let isFull = failure == nil && unwritten.count >= JournalWriter.writeCount
        if isLast || isFull || due <= Clocks.instant() { write() }
    }

    private func write() {
        do throws(StoreError) {
            let last = try opened().append(unwritten, to: run)
            unwritten = []
            due = nil
            failure = nil
            tell(.written(upTo: last))
        } catch {
            journal = nil
            due = Clocks.instant() + JournalWriter.retryAfter
            if failure != error { tell(.failed(error)) }
            failure = error
        }
    }

    private func opened() throws(StoreError) -> Journal {
        if let journal { return journal }
        let opened = try Journal.open(folder: folder)
        journal = opened
        return opened
    }

    func wait(on wake: WakeSignal) {
        guard let due else { return wake.wait() }
        let left = due - Clocks.instant()
        if left > .zero { _ = wake.wait(nanoseconds: left.nanoseconds) }
    }
}
