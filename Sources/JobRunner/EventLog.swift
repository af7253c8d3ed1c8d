import Synchronization
package import SystemIO
import TransferEngine
package import TransferModel

/// The river: numbers and dates every event, takes secrets out, and hands them over in batches to whoever folds them.
///
/// The loop only appends to an array; consumers run on a thread of their own, so that rendering a report never delays
/// a transfer. `append` is the only door out of a run.
package final class EventLog: EventSink {
    private var turn: [Event] = []
    /// Of the last event.
    private(set) var sequence: UInt64
    /// `nil` where there is nothing to take out, as in most jobs.
    private var redactor: Redactor?
    private let thread: EventThread
    package var wall: WallTime
    private let patience: TimeSpan
    /// When what lies here is to be handed over at the latest.
    package private(set) var due = Instant.distantFuture
    /// So many are handed over however short they lie here: fewer towards the end, which has to wait for the consumers.
    private static let many = 512
    private static let manyAtEnd = 32

    /// `patience`: how long an event may lie here until there are many, for waking the consumers' thread costs as much as
    /// several events. None where somebody follows the run by them. `after`: the last event of the process that carried
    /// the run before.
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

    package func append(_ kind: Event.Kind, task: TaskIndex, session: SessionIndex) {
        add(kind, task: task, session: session)
    }

    package func learn(_ secrets: [KnownSecret]) { redactor = (redactor ?? .none).adding(secrets) }

    package var hiding: Redactor { redactor ?? .none }

    package func append(_ kind: Event.Kind, session: SessionIndex) { add(kind, task: nil, session: session) }
    package func append(_ kind: Event.Kind) { add(kind, task: nil, session: nil) }

    private func add(_ kind: Event.Kind, task: TaskIndex?, session: SessionIndex?) {
        sequence += 1
        let event = Event(time: wall, sequence: sequence, session: session, task: task, kind: kind)
        turn.append(redactor.map { event.redacted(by: $0) } ?? event)
    }

    /// After a turn of the loop.
    package func handOver(at now: Instant, nearsEnd: Bool = false) {
        guard !turn.isEmpty else { return }
        due = min(due, now + patience)
        if due <= now || turn.count >= (nearsEnd ? Self.manyAtEnd : Self.many) { handOver() }
    }

    /// Hands over whatever was appended.
    package func handOver() {
        due = .distantFuture
        guard !turn.isEmpty else { return }
        thread.post(turn)
        turn = []
        turn.reserveCapacity(128)
    }

    /// After the last event: the consumers go on to their end, and nobody waits for them yet.
    package func beginToFinish() {
        handOver()
        thread.beginToFinish()
    }

    /// After the last event: waits for the consumers and gives back the first error any of them met.
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

    /// Until something was posted, or a consumer has something to say though nothing happened.
    private func wait(_ consumers: [any EventConsumer]) {
        guard let due = consumers.compactMap(\.nextTick).min() else { return thread.wake.wait() }
        let now = Clocks.wall()
        let left = due - now
        if left > .zero {
            _ = thread.wake.wait(nanoseconds: left.nanoseconds)
            return
        }
        for consumer in consumers where consumer.nextTick.map({ $0 <= now }) == true {
            do { try consumer.tick(now) } catch { note(error) }
        }
    }

    /// One consumer's error never keeps the others from the events.
    private func consume(_ batch: [Event], _ consumers: [any EventConsumer]) {
        for consumer in consumers {
            do {
                try consumer.consume(batch[...])
            } catch {
                note(error)
            }
        }
    }

    private func note(_ error: any Error) { failure.withLock { if $0 == nil { $0 = error } } }
}
