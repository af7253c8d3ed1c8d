import HTTPRules
import Stores
import SystemIO
import TransferModel

/// The loop's end of what is kept from run to run: collects over a turn what the store is asked and told.
final class ValidatorDesk {
    /// By the session's number, whether anything of it is kept.
    private let isKept: [Bool]
    private let reports: Mailbox<ValidatorReport>
    private let keeper: ValidatorKeeper
    private var orders: [ValidatorOrder] = []
    /// When what lies here is to be handed over at the latest: the thread is not woken for each file.
    private(set) var due = Instant.distantFuture
    private static let patience = TimeSpan.milliseconds(100)
    private static let many = 256
    /// The sessions of which something is kept; `nil` until the store is open.
    private var known: Set<SessionIndex>?
    private var last: (options: TaskOptions, applies: Bool, shape: Int64)?

    /// `nil` when no task of the job would keep anything: then no file is opened.
    init?(_ place: ValidatorPlace?, _ job: Job, wake: @escaping @Sendable () -> Void) {
        guard let place else { return nil }
        let isKept = place.sessions.map { $0 != nil }
        self.isKept = isKept
        // Making a store takes longer than opening one, and nobody need wait for it.
        if !Store.isThere(folder: place.folder) { known = [] }
        reports = Mailbox(wake: wake)
        let isWanted = job.tasks.contains { task in
            Self.isEligible(task, isKept) && Revalidation.applies(to: task.options.values)
        }
        // Without the thread the run is as one of which nothing is kept.
        guard isWanted, let keeper = try? ValidatorKeeper(place, reports: reports) else { return nil }
        self.keeper = keeper
    }

    /// A file whose name is known, from a server, in a session of which something is kept.
    private static func isEligible(_ task: borrowing TaskSpecification, _ isKept: [Bool]) -> Bool {
        guard task.type == .download, isKept[Int(task.session.raw)], let destination = task.destination else {
            return false
        }
        return destination.utf8.last != UInt8(ascii: "/") && task.location.url?.isHTTP != false
    }

    /// Whether a task's file is to be known again.
    func keeps(_ task: TaskSpecification) -> Bool {
        Self.isEligible(task, isKept) && rules(of: task).applies
    }

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
        guard known?.contains(specification.session) != false else { return false }
        orders.append(.find(task, specification.session, destination: specification.destination ?? ""))
        due = Instant(nanoseconds: 0)
        return true
    }

    func file(_ answer: FiledAnswer, _ task: TaskSpecification, at now: Instant) {
        orders.append(.file(task.session, destination: task.destination ?? "", answer))
        due = orders.count >= Self.many ? Instant(nanoseconds: 0) : min(due, now + Self.patience)
    }

    func handOver(at now: Instant) {
        guard due <= now else { return }
        due = .distantFuture
        keeper.submit(orders)
        orders = []
    }

    /// What the store answered to `find`.
    func takeAll() -> [(task: TaskIndex, kept: KeptValidators?)] {
        reports.takeAll().compactMap { report in
            switch report {
            case .opened(let sessions):
                known = sessions
                return nil
            case .found(let task, let kept): return (task, kept)
            }
        }
    }

    func finish() -> [String] {
        keeper.submit(orders)
        return keeper.finish()
    }
}
