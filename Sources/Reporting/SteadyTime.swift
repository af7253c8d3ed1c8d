package import TransferModel

/// Passes events on to what people watch, dated as if the date had never been set since this began: times that are shown
/// as passed do not jump with it. How long a window or a date was still to come is left out of earlier events.
package final class SteadyTime: EventConsumer {
    private let shown: any EventConsumer
    private let clock: () -> Now
    private let start: Now
    /// The date and the even clock drift apart by less than this while nobody sets the date.
    private static let drift = TimeSpan.seconds(1)

    /// `clock` tells the present date and the monotonic time.
    package init(_ shown: any EventConsumer, clock: @escaping () -> Now) {
        self.shown = shown
        self.clock = clock
        start = clock()
    }

    /// Returns how far the date was set forward since the beginning; negative if it was set back.
    private func jump(at now: Now) -> TimeSpan {
        let jump = now.wall - (start.wall + (now.instant - start.instant))
        return max(jump, .zero - jump) < Self.drift ? .zero : jump
    }

    package func consume(_ events: ArraySlice<Event>) throws {
        let now = clock()
        let jump = jump(at: now)
        guard jump != .zero || events.contains(where: { Self.dated($0, now) != nil }) else {
            return try shown.consume(events)
        }
        let dated = events.map { event in
            var event = event
            if let (reason, lacks) = Self.dated(event, now) { event.kind = .waiting(reason, lacks: lacks) }
            event.time = event.time + (.zero - jump)
            return event
        }
        try shown.consume(dated[...])
    }

    /// Until when an earlier event waits for a window or for its time, without how long that was from then; `nil` for other
    /// events.
    private static func dated(_ event: Event, _ now: Now) -> (WaitReason, String)? {
        guard case .waiting(let reason, let lacks?) = event.kind, reason == .window || reason == .earliestBegin,
            now.wall - event.time > .seconds(60), let span = lacks.firstRange(of: " (")
        else { return nil }
        return (reason, String(lacks[..<span.lowerBound]))
    }

    package var nextTick: WallTime? { shown.nextTick.map { $0 + jump(at: clock()) } }

    package func tick(_ now: WallTime) throws { try shown.tick(now + (.zero - jump(at: clock()))) }
}
