import Stores
import Synchronization
package import TransferModel

/// Holds answers back until the journal has the events of what was done: a command that learned that a task is
/// suspended finds it suspended, even if the process dies in between.
package final class Receipts: EventConsumer, Sendable {
    /// Delivers an answer; `isWritten` tells whether the journal has what was done.
    package typealias Give = @Sendable (_ isWritten: Bool) -> Void

    private struct State {
        /// Answers whose last event has not been consumed; each with the number of the last event before it was given.
        var new: [(upTo: UInt64, give: Give)] = []
        /// Answers that wait until the journal has this event.
        var waiting: [(event: UInt64, give: Give)] = []
        /// The numbers of the last consumed event, of the last consumed event that goes into the journal, and of the
        /// last written one.
        var seen: UInt64 = 0
        var lastJournalled: UInt64 = 0
        var written: UInt64 = 0
        /// Whether nothing can be written just now.
        var isHeldUp = false
        /// Set once nothing more will be written: whether everything was.
        var isWritten: Bool?
    }
    private let state = Mutex(State())

    package init() {}

    /// Sets the number up to which events are in the journal already.
    package func resume(after sequence: UInt64) {
        state.withLock { ($0.seen, $0.lastJournalled, $0.written) = (sequence, sequence, sequence) }
    }

    /// Holds an answer back until the journal has the events up to this number. Called on the loop, before those events
    /// are handed over.
    package func hold(upTo sequence: UInt64, _ give: @escaping Give) {
        let due = state.withLock { (state) -> [Give] in
            if let isWritten = state.isWritten { return [{ _ in give(isWritten) }] }
            if state.isHeldUp { return [{ _ in give(false) }] }
            if sequence > state.seen {
                state.new.append((sequence, give))
            } else {
                // The request caused no event, so that only earlier ones have to be written.
                state.waiting.append((state.lastJournalled, give))
            }
            return Self.due(&state)
        }
        for give in due { give(true) }
    }

    /// Finds the journalled event for which each new answer waits: progress is numbered too, and never written.
    package func consume(_ events: ArraySlice<Event>) {
        guard let last = events.last?.sequence else { return }
        let due = state.withLock { (state) -> [Give] in
            for (upTo, give) in state.new where upTo <= last {
                let event = events.last { $0.sequence <= upTo && $0.isJournalled }?.sequence
                state.waiting.append((event ?? state.lastJournalled, give))
            }
            state.new.removeAll { $0.upTo <= last }
            if let event = events.last(where: \.isJournalled) { state.lastJournalled = event.sequence }
            state.seen = last
            return Self.due(&state)
        }
        for give in due { give(true) }
    }

    /// Notes that the journal has the events up to this number, and delivers what waited for them.
    package func written(upTo sequence: UInt64) {
        let due = state.withLock { (state) -> [Give] in
            state.written = max(state.written, sequence)
            state.isHeldUp = false
            return Self.due(&state)
        }
        for give in due { give(true) }
    }

    /// Notes that nothing can be written for an unknown time: held answers, and new ones until something is written,
    /// are delivered as unwritten.
    package func holdUp() {
        let left = state.withLock { state in
            state.isHeldUp = true
            return Self.takeAll(&state)
        }
        for give in left { give(false) }
    }

    /// Notes that nothing more will be written; `isWritten` tells whether everything was.
    package func close(isWritten: Bool) {
        let left = state.withLock { (state) -> [Give] in
            state.isWritten = state.isWritten ?? isWritten
            return Self.takeAll(&state)
        }
        for give in left { give(isWritten) }
    }

    private static func takeAll(_ state: inout State) -> [Give] {
        defer { (state.new, state.waiting) = ([], []) }
        return state.new.map { $0.give } + state.waiting.map { $0.give }
    }

    private static func due(_ state: inout State) -> [Give] {
        guard !state.waiting.isEmpty else { return [] }
        let written = state.written
        let due = state.waiting.filter { $0.event <= written }.map { $0.give }
        state.waiting.removeAll { $0.event <= written }
        return due
    }
}
