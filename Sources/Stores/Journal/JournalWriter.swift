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
    package static let writeAfter = TimeSpan.milliseconds(50)
    static let writeCount = 1_000
    static let retryAfter = TimeSpan.seconds(1)

    private let events: Mailbox<Event>
    private let inputs: Mailbox<JournalInput>
    private let thread = WorkThread()
    private let failure = Mutex<StoreError?>(nil)
    private let hurried = Atomic<UInt64>(0)
    private let isAsked = Atomic<Bool>(false)

    /// `tell` is called on the writer's thread.
    ///
    /// `writeAfter`: how long events may lie here. None after a crash: who brought it about must be known after the next.
    package init(
        folder: String, run: RunID, writeAfter: TimeSpan = JournalWriter.writeAfter,
        tell: @escaping @Sendable (JournalNews) -> Void
    ) throws(SystemError) {
        let wake = thread.wake
        events = Mailbox(wake: { wake.signal() })
        inputs = Mailbox(wake: { wake.signal() })
        try thread.start(named: "journal") { [self] in
            let worker = JournalWorker(folder, run, writeAfter, tell)
            work(worker)
            failure.withLock { $0 = worker.failure }
        }
    }

    package func consume(_ batch: ArraySlice<Event>) { events.post(batch.filter(\.isJournalled)) }

    /// Keeps one more thing that the run needs in order to go on. It is durable before any event that is told later.
    package func keep(_ input: JournalInput) { inputs.post(input) }

    /// Somebody waits until all events up to that number would survive a power cut. Before they are handed over.
    package func hurry(upTo sequence: UInt64) { hurried.store(sequence, ordering: .releasing) }

    /// No more comes for now: what was handed over is written without waiting for it.
    package func writeNow() {
        isAsked.store(true, ordering: .releasing)
        thread.wake.signal()
    }

    /// Writes what is left. The error, if it cannot.
    package func finish() -> StoreError? {
        thread.finish()
        return failure.withLock { $0 }
    }

    private func work(_ worker: JournalWorker) {
        while true {
            let isLast = isAsked.exchange(false, ordering: .acquiring)
            let isEnding = thread.isEnding
            let batch = events.takeAll()
            // After the events: what was posted before one of them is there by now.
            worker.take(inputs.takeAll())
            worker.take(batch)
            worker.writeIfDue(isLast: isLast || isEnding, hurried: hurried.load(ordering: .acquiring))
            if isEnding, batch.isEmpty { return }
            if batch.isEmpty { worker.wait(on: thread.wake) }
        }
    }
}

/// Everything here belongs to the writer's thread.
private final class JournalWorker {
    private let folder: String
    private let run: RunID
    private let writeAfter: TimeSpan
    private let tell: @Sendable (JournalNews) -> Void
    /// Opened anew after a failure: somebody may have mended what was wrong.
    private var journal: Journal?
    private var unwritten: [Event] = []
    private var unkept: [JournalInput] = []
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

    func take(_ batch: [JournalInput]) {
        if batch.isEmpty { return }
        unkept += batch
        if due == nil { due = Clocks.instant() + writeAfter }
    }

    func take(_ batch: [Event]) {
        if batch.isEmpty { return }
        unwritten += batch
        if due == nil { due = Clocks.instant() + writeAfter }
    }

    func writeIfDue(isLast: Bool, hurried: UInt64) {
        guard let due, !unwritten.isEmpty || !unkept.isEmpty else { return }
        let isHurried = unwritten.first.map { $0.sequence <= hurried } ?? false
        let isDue = failure == nil && (isHurried || unwritten.count >= JournalWriter.writeCount)
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
