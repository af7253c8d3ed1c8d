package import TransferModel

/// The state of a run as its live part shows it: a fold of its events, from which a frame can be drawn at any moment.
/// Pure.
package struct LiveRun {
    /// Numbers of the last line of the live part.
    package struct Totals {
        var tasks = 0
        var done = 0
        var failed = 0
        var running = 0
        var moved: Int64 = 0
        /// Bytes per second; `nil` while none was measured.
        package var rate: Int64?
        /// Estimated remaining time in seconds; `nil` while it cannot be estimated.
        package var left: Double?
        /// Bytes of all tasks together; `nil` unless every task has a known length.
        package var expected: Int64?
        /// Main reason why unfinished tasks wait, if none runs.
        var pause: LiveTask.Pause?

        var waiting: Int { max(0, tasks - done - running) }
    }

    /// Tasks that have begun and not ended.
    package private(set) var tasks: [TaskIndex: LiveTask] = [:]
    /// Tasks that have begun and not ended, in the order of their beginnings.
    private(set) var order: [TaskIndex] = []
    /// Totals as of the last `look(at:)`; the counts of tasks are always current.
    package private(set) var totals = Totals()
    private(set) var beganAt: WallTime?
    private var job: Job
    /// Bytes moved by tasks that have ended.
    private var movedBefore: Int64 = 0
    /// Bytes of the tasks that have not begun, and the number of tasks whose length is unknown.
    private var waitingBytes: Int64 = 0
    private var unknownCount = 0
    private var waits: [WaitReason: Int] = [:]
    private var waitOf: [TaskIndex: WaitReason] = [:]
    /// What tasks lack that wait for a reason, as it was last told.
    private var lacks: [WaitReason: String] = [:]
    private var meter = RateMeter()
    private var countdown = Countdown()
    private var figuresAt: WallTime?

    package init(job: Job) {
        self.job = job
        totals.tasks = job.tasks.count
        for index in job.tasks.indices { expect(TaskIndex(raw: UInt32(index)), 1) }
    }

    /// Length of the task's body from the job file, in bytes; `nil` if it gives none.
    private func hint(_ task: TaskIndex) -> Int64? {
        let values = job.tasks[Int(task.raw)].options.values
        return (values.expect.size ?? values.sizeHint).map { LiveTask.bounded($0) }
    }

    /// Adds a task to those that have not begun (1), or removes it (-1).
    private mutating func expect(_ task: TaskIndex, _ count: Int) {
        guard let hint = hint(task) else {
            unknownCount += count
            return
        }
        waitingBytes = waitingBytes.addingReportingOverflow(Int64(count) * hint).partialValue
    }

    /// Applies one event; events must come in the order of the run.
    package mutating func consume(_ event: Event) {
        if beganAt == nil {
            beganAt = event.time
            meter.begin(at: 0, event.time)
        }
        guard let task = event.task, Int(task.raw) < job.tasks.count else { return }
        let time = event.time
        switch event.kind {
        case .attemptStarted: begin(task, time)
        case .response(let record):
            if let length = record.expectedLength { tasks[task]?.learn(length: length) }
        case .resumedAtOffset(let progress): tasks[task]?.resume(progress, time)
        case .receivedData(let progress), .sentBodyData(let progress): tasks[task]?.advance(progress, time)
        case .attemptFinished(let record):
            stopRunning(task)
            tasks[task]?.end(record, time)
        case .waiting(let reason, let lacks): wait(task, reason, lacks)
        case .taskFinished(let record): finish(task, record)
        case .expanded(let expansion): expand(task, expansion)
        default: break
        }
    }

    private mutating func begin(_ task: TaskIndex, _ time: WallTime) {
        forgetWait(task)
        if tasks[task] == nil {
            expect(task, -1)
            tasks[task] = LiveTask(beganAt: time, expected: hint(task))
            order.append(task)
            totals.running += 1
        } else if tasks[task]?.isRunning == false {
            totals.running += 1
        }
        tasks[task]?.begin(time)
    }

    private mutating func stopRunning(_ task: TaskIndex) {
        if tasks[task]?.isRunning == true { totals.running -= 1 }
    }

    private mutating func wait(_ task: TaskIndex, _ reason: WaitReason, _ lacks: String?) {
        forgetWait(task)
        waitOf[task] = reason
        waits[reason, default: 0] += 1
        if let lacks { self.lacks[reason] = lacks }
        tasks[task]?.wait(reason, lacks)
    }

    private mutating func forgetWait(_ task: TaskIndex) {
        guard let reason = waitOf.removeValue(forKey: task) else { return }
        waits[reason, default: 1] -= 1
    }

    private mutating func finish(_ task: TaskIndex, _ record: TaskRecord) {
        forgetWait(task)
        stopRunning(task)
        if let ended = tasks.removeValue(forKey: task) {
            movedBefore += ended.moved
            if let place = order.firstIndex(of: task) { order.remove(at: place) }
        } else {
            expect(task, -1)
        }
        totals.done += 1
        if record.outcome == .failed, !record.tolerated { totals.failed += 1 }
    }

    /// Replaces a template by the tasks that it became.
    private mutating func expand(_ template: TaskIndex, _ expansion: Expansion) {
        forgetWait(template)
        expect(template, -1)
        let first = job.tasks.count
        job.tasks += expansion.tasks
        totals.tasks += expansion.tasks.count - 1
        for index in first..<job.tasks.count { expect(TaskIndex(raw: UInt32(index)), 1) }
    }

    // MARK: The picture

    /// Figures change twice a second at most, so that they can be read.
    private static let figureInterval = TimeSpan.milliseconds(500)

    /// Brings the totals up to date. Rate, length and remaining time change at most every `figureInterval`.
    package mutating func look(at now: WallTime) {
        totals.moved = tasks.values.reduce(movedBefore) { $0 + $1.moved }
        totals.pause = mainPause
        if let last = figuresAt, now >= last, now - last < Self.figureInterval { return }
        figuresAt = now
        meter.advance(to: totals.moved, now)
        totals.rate = meter.bytesPerSecond(at: now)
        totals.expected = expected
        totals.left = timeLeft(now)
    }

    /// Bytes that are still to come; `nil` unless every task's length is known.
    private var toCome: Int64? {
        guard unknownCount == 0 else { return nil }
        var sum = waitingBytes
        for task in tasks.values {
            guard let left = task.left else { return nil }
            sum = sum.addingReportingOverflow(left).partialValue
        }
        return sum
    }

    private var expected: Int64? {
        toCome.map { totals.moved + $0 + tasks.values.reduce(0) { $0 + $1.resumedFrom } }
    }

    private mutating func timeLeft(_ now: WallTime) -> Double? {
        guard totals.running > 0, let rate = totals.rate, rate > 0, let toCome = toCome ?? guess else {
            countdown.clear()
            return nil
        }
        let left = countdown.show(Double(toCome) / Double(rate), at: now)
        return left < 100 * 3600 ? left : nil
    }

    /// Estimated bytes still to come: once a tenth of the tasks, and ten, are done, their mean length stands for
    /// unknown ones.
    private var guess: Int64? {
        let unknown = unknownCount + tasks.values.count { $0.left == nil }
        guard totals.done >= 10, totals.done * 10 >= totals.tasks, totals.tasks - totals.done > 0 else { return nil }
        let mean = movedBefore / Int64(totals.done)
        return tasks.values.reduce(waitingBytes) { $0 + ($1.left ?? 0) } + mean * Int64(unknown)
    }

    private var mainPause: LiveTask.Pause? {
        guard totals.running == 0, totals.done < totals.tasks else { return nil }
        // A task that waits for a time says more than the tasks that wait for it.
        if let task = order.first, let pause = tasks[task]?.pause { return pause }
        let most = WaitReason.allCases.filter { $0 != .dependency && waits[$0, default: 0] > 0 }
            .max { waits[$0, default: 0] < waits[$1, default: 0] }
        return most.map { LiveTask.Pause(reason: $0, lacks: lacks[$0], until: nil, failure: nil) }
    }
}
