internal import TransferModel

/// The state of a task between its first and last event: the payloads themselves, nothing copied.
struct TaskFold {
    var createdAt: WallTime?
    var startedAt: WallTime?
    var becameDownload = false
    /// The first URL tried, after captured values were inserted.
    var firstURL: String?
    /// Start of the current or last attempt.
    var start: AttemptStart?
    /// The last redirect followed in that attempt.
    var hop: RedirectRecord?
    var response: ResponseRecord?
    var file: FileRecord?
    /// The pages of a task with `next`.
    var pages: [PageRecord] = []
    var attempts: [AttemptRecord] = []
    var redirects: [RedirectRecord] = []
    var challenges: [ChallengeRecord] = []

    mutating func apply(_ event: Event) {
        switch event.kind {
        case .taskCreated: createdAt = event.time
        case .attemptStarted(let record): begin(record, at: event.time)
        case .challenge(let record): challenges.append(record)
        case .redirect(let record):
            redirects.append(record)
            if record.action == .followed { hop = record }
        case .response(let record): response = record
        case .becameDownload: becameDownload = true
        case .fileFinished(let record): file = record
        case .pageFinished(let record):
            // Another process begins with the first page again.
            pages.removeAll { $0.number >= record.number }
            pages.append(record)
        case .attemptFinished(let record): attempts.append(record)
        case .sessionStarted, .expanded, .taskResumed, .waiting, .resumedAtOffset, .needNewBodyStream, .sentBodyData,
            .receivedData, .cacheStored, .taskFinished, .hookFinished, .groupPublished, .connectionsChanged,
            .sessionFinishedEvents,
            .sessionInvalidated,
            .runFinished:
            break
        }
    }

    /// Forgets the previous attempt's answer: only the last one is the task's.
    private mutating func begin(_ record: AttemptStart, at time: WallTime) {
        if startedAt == nil {
            startedAt = time
            firstURL = record.url
        }
        start = record
        hop = nil
        response = nil
        file = nil
    }

    /// Empties the fold; its arrays keep their memory for the next task.
    mutating func reset() {
        createdAt = nil
        startedAt = nil
        becameDownload = false
        firstURL = nil
        start = nil
        hop = nil
        response = nil
        file = nil
        attempts.removeAll(keepingCapacity: true)
        pages = []
        redirects.removeAll(keepingCapacity: true)
        challenges.removeAll(keepingCapacity: true)
    }
}

/// The folds of running tasks. A task that was only created costs its date; it gets a fold with its next event, which
/// is reused when it ends.
struct TaskFolds {
    private static let none = UInt32.max

    private var created: [WallTime?]
    private var places: [UInt32]
    private(set) var folds: [TaskFold] = []
    private var free: [UInt32] = []

    init(count: Int) {
        created = [WallTime?](repeating: nil, count: count)
        places = [UInt32](repeating: Self.none, count: count)
    }

    mutating func grow(by more: Int) {
        created += [WallTime?](repeating: nil, count: more)
        places += [UInt32](repeating: Self.none, count: more)
    }

    mutating func apply(_ event: Event, to task: Int) {
        switch event.kind {
        case .taskCreated: created[task] = event.time
        case .taskResumed, .waiting, .receivedData, .sentBodyData: break
        default: folds[place(of: task)].apply(event)
        }
    }

    /// Returns the index of the task's fold, and assigns one if it has none.
    mutating func place(of task: Int) -> Int {
        if places[task] != Self.none { return Int(places[task]) }
        let place = free.popLast() ?? UInt32(folds.count)
        if Int(place) == folds.count { folds.append(TaskFold()) }
        places[task] = place
        folds[Int(place)].createdAt = created[task]
        return Int(place)
    }

    /// Frees the task's fold.
    mutating func close(_ task: Int) {
        let place = places[task]
        guard place != Self.none else { return }
        folds[Int(place)].reset()
        free.append(place)
        places[task] = Self.none
    }
}
