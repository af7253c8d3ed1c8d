import Synchronization
package import SystemIO
import TransferEngine
package import TransferModel

/// Numbers and dates every event, redacts secrets, and hands the events over to the consumers in batches.
///
/// The loop only appends to an array; consumers run on a thread of their own, so that rendering a report never delays a
/// transfer. Every event of a run passes `append`.
package final class EventLog: EventSink {
    private var turn: [Event] = []
    /// Number of the last event.
    private(set) var sequence: UInt64
    /// `nil` where no secrets are to be redacted, as in most jobs.
    private var redactor: Redactor?
    private let thread: EventThread
    /// Time of the events that are appended next; set by the loop once a turn.
    package var wall: WallTime
    private let patience: TimeSpan
    /// Latest time at which the appended events are handed over.
    package private(set) var due = Instant.distantFuture
    /// Number of events that are handed over without waiting; smaller towards the end, which has to wait for the
    /// consumers.
    private static let many = 512
    private static let manyAtEnd = 32

    /// `patience`: how long an event may wait for others, because waking the consumers' thread costs as much as several
    /// events. Zero where a person or a program follows the run. `after`: number of the last event of the process that
    /// ran the job before.
    package init(
        consumers: [any EventConsumer], redactor: Redactor?, now: Now, patience: TimeSpan = .zero,
        after sequence: UInt64 = 0
    ) throws(SystemError) {
        self.sequence = sequence
        self.redactor = redactor.flatMap { $0.isEmpty ? nil : $0 }
        self.patience = patience
        wall = now.wall
        thread = try EventThread(consumers)
    }

    /// Appends an event of a task, redacted.
    package func append(_ kind: Event.Kind, task: TaskIndex, session: SessionIndex) {
        add(kind, task: task, session: session)
    }

    /// Adds secrets that are redacted from all later events.
    package func learn(_ secrets: [KnownSecret]) {
        CurrentProcess.hideMemory()
        redactor = (redactor ?? .none).adding(secrets)
    }

    /// The redactor of the events; empty where there are no secrets.
    package var hiding: Redactor { redactor ?? .none }

    /// Appends an event of a session.
    package func append(_ kind: Event.Kind, session: SessionIndex) { add(kind, task: nil, session: session) }
    /// Appends an event of the run as a whole.
    package func append(_ kind: Event.Kind) { add(kind, task: nil, session: nil) }

    private func add(_ kind: Event.Kind, task: TaskIndex?, session: SessionIndex?) {
        sequence += 1
        var event = Event(time: wall, sequence: sequence, session: session, task: task, kind: kind)
        if let redactor { event = event.redacted(by: redactor) }
        turn.append(event)
    }

    /// Hands events over after a turn of the loop, if they are many or have waited long enough.
    package func handOver(at now: Instant, nearsEnd: Bool = false) {
        guard !turn.isEmpty else { return }
        due = min(due, now + patience)
        if due <= now || turn.count >= (nearsEnd ? Self.manyAtEnd : Self.many) { handOver() }
    }

    /// Hands over all appended events.
    package func handOver() {
        due = .distantFuture
        guard !turn.isEmpty else { return }
        thread.post(turn)
        turn = []
        turn.reserveCapacity(128)
    }

    /// Lets the consumers finish after the last event, without waiting for them.
    package func beginToFinish() {
        handOver()
        thread.beginToFinish()
    }

    /// Waits for the consumers after the last event and returns the first error that any of them threw.
    package func finish() -> (any Error)? {
        handOver()
        return thread.finish()
    }
}

/// The thread on which consumers run.
private final class EventThread: Sendable {
    private let events = Mutex<[[Event]]>([])
    private let thread = WorkThread()
    private let failure = Mutex<(any Error)?>(nil)

    init(_ consumers: [any EventConsumer]) throws(SystemError) {
        let box = ConsumerBox(consumers)
        try thread.start(named: "events") { [self] in run(box.consumers) }
    }

    /// Unchecked: consumers are built by one thread, used by this one until it is joined, and then by the first again.
    private struct ConsumerBox: @unchecked Sendable {
        let consumers: [any EventConsumer]
        init(_ consumers: [any EventConsumer]) { self.consumers = consumers }
    }

    func post(_ batch: [Event]) {
        let wasEmpty = events.withLock { batches in
            batches.append(batch)
            return batches.count == 1
        }
        if wasEmpty { thread.wake.signal() }
    }

    func beginToFinish() { thread.beginToFinish() }

    func finish() -> (any Error)? {
        thread.finish()
        return failure.withLock { $0 }
    }

    private func run(_ consumers: [any EventConsumer]) {
        while true {
            let isEnding = thread.isEnding
            let batches = events.withLock { batches in
                let taken = batches
                batches = []
                return taken
            }
            for batch in batches { consume(batch, consumers) }
            if isEnding, batches.isEmpty { return }
            if batches.isEmpty { wait(consumers) }
        }
    }

    /// Waits until events are posted or a consumer's `tick` is due.
    private func wait(_ consumers: [any EventConsumer]) {
        guard let due = consumers.compactMap(\.nextTick).min() else { return thread.wake.wait() }
        let now = Clocks.wall()
        let left = due - now
        if left > .zero {
            _ = thread.wake.wait(nanoseconds: left.nanoseconds)
            return
        }
        for consumer in consumers where consumer.nextTick.map({ $0 <= now }) == true {
            do { try consumer.tick(now) } catch { recordFailure(error) }
        }
    }

    /// Passes the batch to each consumer: one consumer's error does not keep the others from the events.
    private func consume(_ batch: [Event], _ consumers: [any EventConsumer]) {
        for consumer in consumers {
            do {
                try consumer.consume(batch[...])
            } catch {
                recordFailure(error)
            }
        }
    }

    private func recordFailure(_ error: any Error) { failure.withLock { if $0 == nil { $0 = error } } }
}
