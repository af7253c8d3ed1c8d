package import TransferModel

/// Progress on a terminal: the lines of `PlainProgress` scroll, and below them a live part is redrawn.
package final class TerminalProgress: EventConsumer {
    /// A run that ends sooner gets no live part.
    private static let delay = TimeSpan.milliseconds(200)
    /// Shortest time between two drawings.
    private static let interval = TimeSpan.milliseconds(100)
    /// Time between two drawings while nothing happens: elapsed times still count on.
    private static let idleInterval = TimeSpan.seconds(1)

    /// Collects the lines that scroll with the next drawing.
    private final class Collected: ByteSink {
        var bytes: [UInt8] = []
        func write(_ bytes: [UInt8]) { self.bytes += bytes }
    }

    private let output: any LiveOutput
    private let scrolled = Collected()
    private let plain: PlainProgress
    private let color: Bool
    private let isUnicode: Bool
    private let redactor: Redactor
    private var job: Job
    private var run: LiveRun
    private var due: WallTime?
    private var hasEnded = false
    private var isDrawn = false
    private var nameWidth = 0
    private var lastDrawn = WallTime(nanoseconds: 0)

    package init(job: Job, output: any LiveOutput, style: PlainProgress.Style, isUnicode: Bool) {
        self.job = job
        self.output = output
        color = style.color
        self.isUnicode = isUnicode
        redactor = job.redactor
        run = LiveRun(job: job)
        plain = PlainProgress(job: job, sink: scrolled, style: style)
    }

    /// Time of the next `tick`; `nil` before the first event and after the end of the run.
    package var nextTick: WallTime? { hasEnded ? nil : due }

    /// Applies events, and draws when that is due.
    package func consume(_ events: ArraySlice<Event>) {
        guard let first = events.first, let last = events.last else { return }
        if run.beganAt == nil { due = first.time + Self.delay }
        plain.consume(events)
        for event in events { consume(event) }
        if hasEnded { return output.show([], above: take()) }
        // Something changed: draw before the idle interval is over.
        if isDrawn, let due { self.due = min(due, max(last.time, lastDrawn + Self.interval)) }
        // Without a live part the lines need not wait for a drawing.
        if !isDrawn, !scrolled.bytes.isEmpty { output.show([], above: take()) }
        if let due, last.time >= due { draw(last.time) }
    }

    private func consume(_ event: Event) {
        run.consume(event)
        switch event.kind {
        case .expanded(let expansion): job.tasks += expansion.tasks
        case .runFinished: hasEnded = true
        default: break
        }
    }

    /// Prints the summary that `style.holdsSummary` held back.
    package func conclude(reportIsWritten: Bool) {
        plain.conclude(reportIsWritten: reportIsWritten)
        output.show([], above: take())
    }

    /// Draws if `nextTick` has come.
    package func tick(_ now: WallTime) {
        guard let due, !hasEnded, now >= due else { return }
        draw(now)
    }

    private func draw(_ now: WallTime) {
        due = now + Self.idleInterval
        lastDrawn = now
        run.look(at: now)
        guard let size = output.size else {
            isDrawn = false
            return output.show([], above: take())
        }
        isDrawn = true
        let frame = LiveFrame(
            LiveFrame.Style(columns: size.columns, height: size.rows, color: color, isUnicode: isUnicode))
        output.show(frame.lines(run, at: now, nameWidth: &nameWidth) { id($0) }, above: take())
    }

    private func take() -> [UInt8] {
        defer { scrolled.bytes.removeAll(keepingCapacity: true) }
        return scrolled.bytes
    }

    private func id(_ task: TaskIndex) -> String { redactor.redacted(name: job.tasks[Int(task.raw)].id) }
}
