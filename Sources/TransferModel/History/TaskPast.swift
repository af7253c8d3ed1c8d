/// What was told of a task. Spans are the run's clock (`RunHistory`).
package struct TaskPast: Sendable {
    /// An attempt that began and whose end was not told.
    package struct OpenAttempt: Hashable, Sendable {
        package let number: Int
        package let url: String
        package let startedAt: WallTime
        package let beganAfter: TimeSpan
        package fileprivate(set) var resumedFrom: Int64 = 0
    }

    package struct Ending: Hashable, Sendable {
        package let outcome: TaskOutcome
        package let isTolerated: Bool
        package let changed: Bool?
        package let error: TransferError?
        /// Of a task that was put off.
        package let deferral: Deferral?
        /// What needs it may begin.
        package var isGood: Bool { outcome == .succeeded || isTolerated }
    }

    /// How an attempt ended after which neither another was planned nor the task's end told.
    package enum LastEnd: Hashable, Sendable {
        case succeeded
        case failed(TransferError)
        /// We ended it.
        case cancelled
    }

    /// `nil`: it was not.
    package private(set) var createdAfter: TimeSpan?
    /// `taskResumed` was told: what the job file suspended, somebody let go.
    package private(set) var wasResumed = false
    /// By a command, or by the job file once its turn came.
    package private(set) var isSuspended = false
    /// `nil`: it has not ended.
    package private(set) var ending: Ending?
    /// A template in whose place others came: it has no end of its own.
    package private(set) var isExpanded = false
    /// Nothing is left to be done for it.
    package var hasEnded: Bool { ending != nil || isExpanded }
    /// The number of its last attempt.
    package private(set) var attempts = 0
    package private(set) var open: OpenAttempt?
    package private(set) var lastEnd: LastEnd?
    /// Of the last attempt's answer.
    package private(set) var status: Int?
    /// Failures that were followed by a pause: what counts against `retry.attempts`, for a task with `urls` whole rounds
    /// (`rounds` has more of those).
    package private(set) var tries = 0
    /// Those of them that were the network's fault.
    package private(set) var networkTries = 0
    /// Those that came last, one after the other.
    package private(set) var networkTriesInARow = 0
    /// Attempts in a row that ended by a crash, as told.
    package private(set) var crashes = 0
    /// What it waited for until `explained`, each reason once.
    package private(set) var waits: [TaskRecord.Wait] = []
    /// Until then its time is in `waits` and in ended attempts.
    package private(set) var explained = TimeSpan.zero
    /// What it was last said to wait for, since then or since its attempt ended.
    package private(set) var waiting: WaitReason?
    /// The end of its last pause between attempts.
    package private(set) var retryAt: TimeSpan?
    /// That pause is its host's wish, and the host the one where the task begins.
    package private(set) var hostAskedForQuiet = false
    /// The clock of `timeoutForResource` has begun.
    package private(set) var hasBegun = false
    /// When the first attempt began whose end its process did not live to tell.
    private var lostSince: WallTime?
    /// Since then a file may have been put in place of which nothing was told.
    package var untoldSince: WallTime? { lostSince ?? open?.startedAt }
    /// Its file as it stands under its name.
    package private(set) var file: FileRecord?
    /// The files that it sends, as they were when it first began; empty where that was not told.
    package private(set) var bodyFiles: [BodyFileMark] = []
    /// Of a task that succeeded: where its file was put; `nil` where that was not told, as of one that stood there already.
    package private(set) var path: String?
    private var untold = UntoldRounds()
    /// The same, where failures for want of a network used up no place.
    private var untoldForSure = UntoldRounds()
    private var clock = TimeSpan.zero
    private var clockSince: TimeSpan?
    private var wasRedirected = false

    /// How much of `timeoutForResource` is used up at that time of the run. The clock runs on when nobody carries the
    /// run, and stands where the task was suspended, had its window closed or lacked power.
    package func resourceTime(at time: TimeSpan) -> TimeSpan { clock + (clockSince.map { time - $0 } ?? .zero) }

    /// Of a task with several `urls`, those that count against `retry.attempts`. The present one begins anew, so one is left.
    package func rounds(of attempts: Int, waitsForConnectivity: Bool) -> Int {
        let untold = waitsForConnectivity ? untoldForSure.count : untold.count
        return max(tries, min(tries + untold, attempts - 1))
    }

    /// Attempts in a row that ended by a crash, with the one that is to be told if there was another.
    package func crashes(hasCrashed: Bool) -> Int {
        guard open != nil else { return crashes }
        return hasCrashed ? crashes + 1 : crashes
    }

    /// Of a task of which nothing was told.
    package init() {}

    mutating func apply(_ kind: Event.Kind, at time: TimeSpan, date: WallTime) {
        switch kind {
        case .taskCreated:
            createdAfter = createdAfter ?? time
            explained = max(explained, time)
        case .taskResumed: resumed(time)
        case .waiting(let reason, _): waits(for: reason, time)
        case .attemptStarted(let record): begins(record, time, date)
        case .resumedAtOffset(let progress): open?.resumedFrom = progress.bytes
        case .redirect: wasRedirected = true
        case .response(let record): status = record.status ?? status
        case .fileFinished(let record): file = record
        case .attemptFinished(let record): ends(record, time)
        case .taskFinished(let record): finishes(record)
        case .expanded: expands()
        case .sessionStarted, .challenge, .becameDownload, .needNewBodyStream, .sentBodyData, .receivedData,
            .cacheStored, .sessionFinishedEvents, .sessionInvalidated, .runFinished:
            break
        }
    }

    private mutating func resumed(_ time: TimeSpan) {
        // The attempt that it was suspended in may not have ended yet. Else it waited for this, or for a credential.
        if open == nil, waiting != nil { explainWait(until: time) }
        wasResumed = true
        isSuspended = false
        waiting = nil
        if hasBegun { runClock(time) }
    }

    private mutating func waits(for reason: WaitReason, _ time: TimeSpan) {
        // One that is told in an attempt comes after it, but that for the others of its group.
        if open != nil, reason == .dependency { return }
        if open == nil { explainWait(until: time) }
        waiting = reason
        switch reason {
        case .suspended:
            isSuspended = true
            stopClock(time)
        case .window, .power: stopClock(time)
        case .network:
            hasBegun = true
            runClock(time)
        case .credential:
            // Whoever goes on with it may know more.
            lastEnd = nil
            stopClock(time)
        case .retryAfter: hostAskedForQuiet = !wasRedirected
        default: break
        }
    }

    private mutating func begins(_ record: AttemptStart, _ time: TimeSpan, _ date: WallTime) {
        explainWait(until: time)
        open = OpenAttempt(number: record.number, url: record.url, startedAt: date, beganAfter: time)
        attempts = record.number
        untold.begins(at: record.url)
        untoldForSure.begins(at: record.url)
        if bodyFiles.isEmpty { bodyFiles = record.bodyFiles }
        (waiting, lastEnd, status, retryAt, file) = (nil, nil, nil, nil, nil)
        (wasRedirected, hostAskedForQuiet) = (false, false)
        hasBegun = true
        runClock(time)
    }

    private mutating func ends(_ record: AttemptRecord, _ time: TimeSpan) {
        // What of it was no attempt's time was a wait for a slot, as far as anybody can tell now.
        let held = time - explained - record.duration
        if held > Self.noise { add(.hostLimit, held) }
        explained = time
        endsAtPlace(record)
        if record.error == .processEnded || record.error == .processCrashed {
            lostSince = lostSince ?? open?.startedAt
        }
        open = nil
        crashes = record.error == .processCrashed ? crashes + 1 : 0
        guard let backoff = record.backoff else {
            switch record.outcome {
            case .succeeded: lastEnd = .succeeded
            case .failed: lastEnd = record.error.map { .failed($0) } ?? .cancelled
            case .cancelled, .skipped, .deferred: lastEnd = .cancelled
            }
            return
        }
        tries += 1
        if record.error?.name.mayBeTheNetworks == true {
            networkTries += 1
            networkTriesInARow += 1
        } else {
            networkTriesInARow = 0
        }
        retryAt = time + backoff
        waiting = .backoff
    }

    private mutating func endsAtPlace(_ record: AttemptRecord) {
        if record.backoff != nil || record.error == .processEnded || record.error == .processCrashed {
            untold.ends()
            untoldForSure.ends()
        }
        guard record.backoff == nil, record.outcome == .failed, let url = open?.url, let name = record.error?.name
        else {
            return
        }
        untold.fails(at: url)
        if !name.mayBeTheNetworks, name != .noPermittedRoute { untoldForSure.fails(at: url) }
    }

    mutating func expands() {
        isExpanded = true
        waits = []
    }

    private mutating func finishes(_ record: TaskRecord) {
        ending = Ending(
            outcome: record.outcome, isTolerated: record.tolerated, changed: record.changed, error: record.error,
            deferral: record.deferral)
        waits = []
        path = record.outcome == .succeeded ? file?.path : nil
        (open, file) = (nil, nil)
        bodyFiles = []
    }

    // MARK: Clocks

    /// Two clocks that are read one after the other never agree.
    private static let noise = TimeSpan.microseconds(100)

    private mutating func explainWait(until time: TimeSpan) {
        add(waitReason, time - explained)
        explained = time
    }

    /// What it waits for while nothing runs. Limits are told only where somebody listens.
    package var waitReason: WaitReason { waiting ?? .runLimit }

    private mutating func add(_ reason: WaitReason, _ duration: TimeSpan) {
        guard duration > .zero else { return }
        if let place = waits.firstIndex(where: { $0.reason == reason }) {
            waits[place].duration += duration
        } else {
            waits.append(TaskRecord.Wait(reason: reason, duration: duration))
        }
    }

    private mutating func runClock(_ time: TimeSpan) { clockSince = clockSince ?? time }

    private mutating func stopClock(_ time: TimeSpan) {
        clock = resourceTime(at: time)
        clockSince = nil
    }
}

extension TaskRecord {
    /// Why it was put off.
    package var deferral: Deferral? { outcome == .deferred ? Explanation.deferral(explanation) : nil }
}
