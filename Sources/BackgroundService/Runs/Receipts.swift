import Stores
import Synchronization
package import TransferModel

/// Answers that are held back until the journal has the events that tell what was done: whoever heard that a task is
/// suspended finds it suspended, whatever dies in between.
package final class Receipts: EventConsumer, Sendable {
    /// Told whether what was done was written.
    package typealias Give = @Sendable (_ isWritten: Bool) -> Void

    private struct State {
        /// Not covered by a batch yet; each with the number of the last event before it was given.
        var new: [(upTo: UInt64, give: Give)] = []
        /// The journal must have this event.
        var waiting: [(event: UInt64, give: Give)] = []
        /// Of the last event that came by, of the last of those that are journalled, and of the last that is written.
        var seen: UInt64 = 0
        var lastJournalled: UInt64 = 0
        var written: UInt64 = 0
        /// Nothing can be written just now.
        var isHeldUp = false
        /// Nothing more will be written; whether all is.
        var isWritten: Bool?
    }
    private let state = Mutex(State())

    package init() {}

    /// Events up to this number are in the journal already.
    package func begin(after sequence: UInt64) {
        state.withLock { ($0.seen, $0.lastJournalled, $0.written) = (sequence, sequence, sequence) }
    }

    /// On the loop, before the events up to that number are handed over.
    package func hold(upTo sequence: UInt64, _ give: @escaping Give) {
        let due = state.withLock { (state) -> [Give] in
            if let isWritten = state.isWritten { return [{ _ in give(isWritten) }] }
            if state.isHeldUp { return [{ _ in give(false) }] }
            if sequence > state.seen {
                state.new.append((sequence, give))
            } else {
                // It changed nothing: there is nothing to be told.
                state.waiting.append((state.lastJournalled, give))
            }
            return Self.due(&state)
        }
        for give in due { give(true) }
    }

    /// Progress is numbered too, and never written.
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

    package func written(upTo sequence: UInt64) {
        let due = state.withLock { (state) -> [Give] in
            state.written = max(state.written, sequence)
            state.isHeldUp = false
            return Self.due(&state)
        }
        for give in due { give(true) }
    }

    /// Nothing can be written, for nobody knows how long: who waits is told so, and who comes before something is written.
    package func holdUp() {
        let left = state.withLock { state in
            state.isHeldUp = true
            return Self.takeAll(&state)
        }
        for give in left { give(false) }
    }

    /// Nothing more will be written; with `isWritten` all is.
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
