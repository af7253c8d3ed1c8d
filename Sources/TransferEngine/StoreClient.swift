import FileDelivery
import HTTPRules
import Stores
import SystemIO
import TransferModel

/// Speaks to the store for the loop thread: collects the questions and changes of a turn and submits them in batches.
final class StoreClient {
    /// Whether anything of each session is kept.
    private let isKept: [Bool]
    /// Whether the members of each group are kept when it is not published.
    private let keeping: [Bool]
    private let caches: [CachePlace?]
    /// Tells one start of the system from another.
    let boot: Int64
    private let reports: Mailbox<MemoryReport>
    private let keeper: MemoryKeeper
    private var orders: [MemoryOrder] = []
    /// When what lies here is to be handed over at the latest: at once, for a kill would cost it, but the thread is not woken
    /// for each of many files.
    private(set) var due = Instant.distantFuture
    private var notBefore = Instant(nanoseconds: 0)
    private static let pause = TimeSpan.milliseconds(10)
    private static let many = 256
    /// There was no store when the run began.
    let isEmpty: Bool
    /// The sessions of which something is kept, and where; `nil` until the store is open.
    private var known: [SessionIndex: KnownPlaces]?
    /// What the sessions learned in earlier runs was read, or there is nothing.
    private var isRecalled = false
    /// Earlier runs kept something of files that servers took whole, as far as is known; and this run did.
    private var earlierKeptSent: Bool
    private var keptSent = false
    private var mayKnowSent: Bool { earlierKeptSent || keptSent }
    private var last: (options: TaskOptions, applies: Bool, shape: Int64)?
    private let place: MemoryPlace
    /// What contains one of these is not noted.
    private var secrets: Redactor
    /// The run's notes of unfinished files; `nil` before the first.
    private var notebook: Notebook?
    private var notebookTries = 100

    /// `nil` when no task of the job would keep anything: then no file is opened.
    init?(_ place: MemoryPlace?, _ job: Job, keeping: [Bool], wake: @escaping @Sendable () -> Void) {
        guard let place else { return nil }
        self.place = place
        secrets = place.secrets
        let isKept = place.sessions.map { $0 != nil }
        self.isKept = isKept
        self.keeping = keeping
        caches = place.caches
        boot = SystemStart.number
        // Making a store takes longer than opening one, and nobody need wait for it.
        isEmpty = !Store.isThere(folder: place.folder) && !NotebookFolder.isThere(place.folder)
        earlierKeptSent = !isEmpty
        if isEmpty { (known, isRecalled) = ([:], true) }
        reports = Mailbox(wake: wake)
        let isWanted = job.tasks.contains { task in
            Self.mayLearn(task, isKept)
                || Self.isEligible(task, isKept)
                    && (Revalidation.applies(to: task.options.values) || Self.mayOutliveRun(task, keeping)
                        || Self.isNamedByServer(task))
        }
        // Without the thread the run is as one of which nothing is kept.
        guard isWanted, let keeper = try? MemoryKeeper(place, reports: reports) else {
            place.ahead?.abandon()
            return nil
        }
        self.keeper = keeper
    }

    /// Whoever lets go of it may go on as if it were all kept, or end the process.
    deinit { _ = problems() }

    /// Where the session's disk cache lies; `nil` without one.
    func cachePlace(_ session: Int) -> CachePlace? { session < caches.count ? caches[session] : nil }

    /// A file from a server, in a session of which something is kept.
    private static func isEligible(_ task: borrowing TaskSpecification, _ isKept: [Bool]) -> Bool {
        guard task.type == .download, isKept[Int(task.session.raw)], let destination = task.destination else {
            return false
        }
        // The name that a folder's file gets is known by its URL only.
        guard let url = task.location.url else { return destination.utf8.last != UInt8(ascii: "/") }
        return url.needsConnection
    }

    /// A name that a server chose replaces only the task's own file: the next run has to know which that is.
    private static func isNamedByServer(_ task: borrowing TaskSpecification) -> Bool {
        task.options.values.existing == .revalidate && task.destination?.utf8.last == UInt8(ascii: "/")
    }

    /// Whoever asks a server hears of cookies.
    private static func mayLearn(_ task: borrowing TaskSpecification, _ isKept: [Bool]) -> Bool {
        isKept[Int(task.session.raw)] && task.location.url?.isHTTP != false
    }

    /// Whether it is known of which files something may be kept.
    var isOpen: Bool { known != nil }

    /// Whether what the session learned in earlier runs was not read yet.
    func mustAwaitSessionState(of session: SessionIndex) -> Bool { !isRecalled && isKept[Int(session.raw)] }

    /// Stores what a session learned.
    func learned(_ session: SessionIndex, _ changes: [SessionState.Change], at now: Instant) {
        guard isKept[Int(session.raw)] else { return }
        add(.learned(session, changes), at: now)
    }

    /// Whatever is told from now on may hold them. Nobody need be woken for that.
    func captured(_ secrets: [KnownSecret]) {
        self.secrets = self.secrets.adding(secrets)
        orders.append(.captured(secrets))
    }

    private static func key(_ task: borrowing TaskSpecification) -> String {
        StoreKey.of(destination: task.destination, task.location)
    }

    private static func mayOutliveRun(_ task: borrowing TaskSpecification, _ keeping: [Bool]) -> Bool {
        let options = task.options
        return options.values.resume != .no && options.values.decompress == .no
            && task.group.map { keeping[Int($0.raw)] } != false
    }

    /// What is kept of a task for the next run: its file's validators, and its partial file. Of a task that keeps neither, an
    /// earlier run may have left something under other rules.
    func keeps(_ task: TaskSpecification) -> (file: Bool, part: Bool, isEligible: Bool) {
        guard Self.isEligible(task, isKept) else { return (false, false, false) }
        return (rules(of: task).applies || Self.isNamedByServer(task), Self.mayOutliveRun(task, keeping), true)
    }

    /// A fingerprint of what a file is asked for with: another one is another file.
    func shape(of task: TaskSpecification) -> Int64 { rules(of: task).shape }

    /// Tasks that say nothing of their own share their options.
    private func rules(of task: TaskSpecification) -> (options: TaskOptions, applies: Bool, shape: Int64) {
        if let last, last.options === task.options { return last }
        let values = task.options.values
        let made = (task.options, Revalidation.applies(to: values), Revalidation.shape(of: values))
        last = made
        return made
    }

    /// Asks what is kept for a task's file; `false` when that is surely nothing.
    func find(_ task: TaskIndex, _ specification: TaskSpecification) -> Bool {
        let key = Self.key(specification)
        if let known {
            guard let places = known[specification.session], places.mayHold(key) else { return false }
        }
        orders.append(.find(task, specification.session, destination: key))
        due = Instant(nanoseconds: 0)
        return true
    }

    /// Asks whether something is kept of the file at `path`, by whichever session. `false` when surely nothing is.
    func asksWhetherKnown(_ task: TaskIndex, _ path: String) -> Bool {
        if isEmpty { return false }
        orders.append(.isKnown(task, path: path))
        due = Instant(nanoseconds: 0)
        return true
    }

    /// Stores what the answer to a file is known by.
    func file(_ answer: FiledAnswer, _ task: TaskSpecification, at now: Instant) {
        add(.file(task.session, destination: Self.key(task), answer), at: now)
    }

    /// A kill from now on is not to cost what was told.
    func writeAtOnce() {
        orders.append(.write)
        due = Instant(nanoseconds: 0)
    }

    /// Stores that a file was found as it was kept.
    func confirm(_ kept: KeptValidators, _ task: TaskSpecification, at now: Instant) {
        add(.confirm(task.session, destination: Self.key(task), kept), at: now)
    }

    /// `nil`: nothing is there any more.
    func part(_ record: ResumeRecord?, _ task: TaskSpecification, at now: Instant) {
        add(.part(task.session, destination: Self.key(task), record), at: now)
    }

    /// A file that stands there needs nothing of what an earlier run left of it.
    func dropPart(of task: TaskSpecification, at now: Instant) {
        guard Self.isEligible(task, isKept), task.group.map({ keeping[Int($0.raw)] }) != false else { return }
        let key = Self.key(task)
        if let known, known[task.session]?.mayHold(key) != true { return }
        add(.dropPart(task.session, destination: key), at: now)
    }

    /// Whether a file's notes have begun.
    enum Noting {
        case begun(NotebookEntry)
        /// Another process takes notebooks over: try again.
        case later
        case never
    }

    /// Begins the notes of a partial file that grows.
    func enter(_ record: ResumeRecord, _ task: TaskSpecification, askedAt: WallTime) -> Noting {
        guard let session = place.sessions[Int(task.session.raw)], notebook != nil || notebookTries > 0 else {
            return .never
        }
        let key = Self.key(task)
        let headers = String(decoding: record.point.headers.bytes, as: UTF8.self)
        guard !secrets.holds([key, record.start, record.point.url, record.point.validator, headers]) else {
            return .never
        }
        if notebook == nil {
            notebookTries -= 1
            notebook = Notebook(state: place.folder, clock: Clocks.instant())
        }
        guard let notebook else { return .later }
        let entry = notebook.enter(
            NotedPart(
                session: session, destination: key, isInFolder: task.destination?.utf8.last == UInt8(ascii: "/"),
                record: record, askedAt: askedAt, boot: boot))
        return entry.map { .begun($0) } ?? .never
    }

    /// Ends the notes of a file once all that was told before is written.
    func crossOut(_ entry: NotebookEntry, at now: Instant) { add(.crossOut(entry), at: now) }

    /// Whether uploads of the session are kept from run to run.
    func keeps(uploadsOf session: SessionIndex) -> Bool { isKept[Int(session.raw)] }

    /// Stores how far an upload is.
    func upload(_ change: UploadChange, _ session: SessionIndex, at now: Instant) {
        add(.upload(session, change), at: now)
    }

    /// Asks what the session sent to the URL; `false` when that is surely nothing.
    func findSent(_ task: TaskIndex, _ session: SessionIndex, url: String) -> Bool {
        guard mayKnowSent else { return false }
        orders.append(.findSent(task, session, url: url))
        due = Instant(nanoseconds: 0)
        return true
    }

    /// The server at the URL took this file whole; `nil` when what it holds is not known any more.
    func sent(_ sent: SentUpload?, to url: String, _ session: SessionIndex, at now: Instant) {
        if sent != nil { keptSent = true }
        guard mayKnowSent else { return }
        add(.sent(session, url: url, sent), at: now)
    }

    private func add(_ order: MemoryOrder, at now: Instant) {
        orders.append(order)
        due = orders.count >= Self.many ? Instant(nanoseconds: 0) : min(due, max(now, notBefore))
    }

    /// Somebody waits for what is looked up; the rest can wait.
    func add(_ orders: [CacheOrder], _ session: SessionIndex, at now: Instant) {
        for order in orders {
            add(.cache(session, order), at: now)
            switch order {
            case .find, .read: due = Instant(nanoseconds: 0)
            case .put, .change: break
            }
        }
    }

    /// Passes what is collected to the store's thread, when it is time.
    func handOver(at now: Instant) {
        guard due <= now else { return }
        (due, notBefore) = (.distantFuture, now + Self.pause)
        keeper.submit(orders)
        orders = []
    }

    /// Returns, once, what the store has answered.
    func takeAll() -> [MemoryReport] {
        let news = reports.takeAll()
        for case .opened(let opened) in news {
            (known, isRecalled, earlierKeptSent) = (opened.places, true, opened.hasSentUploads)
        }
        return news
    }

    /// Nothing more will be told or asked.
    func close() {
        keeper.submit(orders)
        orders = []
        keeper.beginToFinish()
    }

    /// After `close`: waits until all is kept, and says what went wrong.
    func problems() -> [String] {
        let problems = keeper.finish()
        for case .useless(let path) in reports.takeAll() { HalfDoneFile.remove(path) }
        notebook?.close()
        return problems
    }
}
