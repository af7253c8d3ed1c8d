package import TransferModel

/// Passes events on to what people watch, dated as if the date had never been set since this began: times that are shown
/// as passed do not jump with it.
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

    /// By how much the date was set forth since the beginning; negative if it was set back.
    private var jump: TimeSpan {
        let now = clock()
        let jump = now.wall - (start.wall + (now.instant - start.instant))
        return max(jump, .zero - jump) < Self.drift ? .zero : jump
    }

    package func consume(_ events: ArraySlice<Event>) throws {
        let jump = jump
        if jump == .zero { return try shown.consume(events) }
        let dated = events.map { event in
            var event = event
            event.time = event.time + (.zero - jump)
            return event
        }
        try shown.consume(dated[...])
    }

    package var nextTick: WallTime? { shown.nextTick.map { $0 + jump } }

    package func tick(_ now: WallTime) throws { try shown.tick(now + (.zero - jump)) }
}
