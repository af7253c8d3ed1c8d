import JobRunner
import Stores
import SystemIO
import TransferModel

/// The runs under way, and the look at the journal for more. Belongs to one thread at a time.
///
/// Unchecked: `BackgroundHost.begin` makes it, looks once, and passes it to the thread that it starts; starting a thread
/// orders what was written before. The first thread does not use it again.
final class LiveRuns: @unchecked Sendable {
    private let tools: HostTools
    private let board: NewsBoard
    private let ended: @Sendable (RunID, CarriedRun.Outcome) -> Void
    private let mark: UnfinishedMark
    private var journal: Journal?
    private var live: [RunID: CarriedRun] = [:]
    /// Runs that could not be carried: the number of failures in a row, and when they are tried again.
    private var failures: [RunID: Failure] = [:]
    private var nextLook = Instant.distantFuture
    /// Why the journal could not be read at the last look; logged once.
    private var trouble: ServiceTrouble?
    /// Runs without a delivered end at the last look.
    private var known: Set<RunID> = []
    private var nextForgetting = Clocks.instant() + LiveRuns.forgettingPause
    private static let forgettingPause = TimeSpan.seconds(60)
    /// Whether the process before this one crashed; reset at the first look, which handles it.
    private var hasCrashed: Bool
    /// The runs that the crashed process may have carried, until they are begun.
    private var crashed: Set<RunID> = []
    /// Runs with a task that may be the cause of crashes: each is carried alone until it has ended.
    private var suspected: [RunID] = []

    private struct Failure {
        let run: AcceptedRun
        var hasBegun = false
        var count = 0
        var due = Instant(nanoseconds: 0)
        var why = ""
    }

    init(
        _ tools: HostTools, _ board: NewsBoard, hasCrashed: Bool,
        ended: @escaping @Sendable (RunID, CarriedRun.Outcome) -> Void
    ) {
        self.tools = tools
        self.board = board
        self.hasCrashed = hasCrashed
        self.ended = ended
        mark = UnfinishedMark(folder: tools.folder.state)
    }

    var count: Int { live.count }

    // MARK: The journal

    /// Begins every run of the journal that is not under way and should be.
    func look() throws(ServiceTrouble) {
        nextLook = .distantFuture
        do throws(StoreError) {
            let journal = try opened()
            let all = try journal.undelivered()
            try scrubIfDelivered(all, journal)
            if hasCrashed { learnFromCrash(all, journal) }
            for run in all {
                if let carried = live[run.id] {
                    if run.state != .finished { try carried.look(journal, run) }
                } else if run.state != .finished {
                    begin(run)
                }
            }
            try forgetIfDue(journal)
            if live.isEmpty { try removeMark(journal) }
        } catch {
            journal = nil
            throw ServiceTrouble(error.description)
        }
    }

    /// Removes old runs when no run is under way, and every `forgettingPause` otherwise.
    private func forgetIfDue(_ journal: Journal) throws(StoreError) {
        let now = Clocks.instant()
        guard live.isEmpty || now >= nextForgetting else { return }
        nextForgetting = now + Self.forgettingPause
        try journal.forget(now: Clocks.wall())
    }

    /// Removes the mark if no run is unfinished, so that commands no longer look for a process.
    private func removeMark(_ journal: Journal) throws(StoreError) {
        try mark.remove { () throws(StoreError) in try !journal.undelivered().contains { $0.state != .finished } }
    }

    /// Looks at the journal; a failure is logged and tried again, since no caller could handle it.
    func lookOrTell() {
        do throws(ServiceTrouble) {
            try look()
            trouble = nil
        } catch {
            if trouble != error { tools.log("the journal cannot be read: \(error)") }
            trouble = error
            nextLook = Clocks.instant() + .seconds(5)
        }
    }

    func lookAgainIfDue() { if Clocks.instant() >= nextLook { lookOrTell() } }

    func wait(on wake: WakeSignal) {
        guard nextLook < .distantFuture else { return wake.wait() }
        let left = nextLook - Clocks.instant()
        if left > .zero { _ = wake.wait(nanoseconds: left.nanoseconds) }
    }

    private func opened() throws(StoreError) -> Journal {
        if let journal {
            do throws(StoreError) {
                try journal.checkPlace()
                return journal
            } catch {
                tools.log(error.description)
            }
        }
        let opened = try Journal.open(folder: tools.folder.state)
        if let quarantined = opened.quarantined { tools.log(quarantined.sentence) }
        journal = opened
        return opened
    }

    private func learnFromCrash(_ all: [JournalRun], _ journal: Journal) {
        hasCrashed = false
        let unfinished = all.filter { $0.state != .finished }
        crashed = Set(unfinished.map(\.id))
        suspected = unfinished.filter { isSuspected($0, journal) }.map(\.id)
    }

    /// Cleans the log when ends were delivered since the last look. Commands leave that to this process: their users
    /// would have to wait for it.
    private func scrubIfDelivered(_ undelivered: [JournalRun], _ journal: Journal) throws(StoreError) {
        let now = Set(undelivered.map(\.id))
        defer { known = now }
        guard !known.isSubset(of: now) else { return }
        journal.scrub()
    }

    // MARK: Runs

    private func isSuspected(_ run: JournalRun, _ journal: Journal) -> Bool {
        guard let handed = try? HandedJob(of: run.id, journal),
            let past = try? JournalledPast(of: run.id, handed, journal)
        else { return false }
        return !past.history.suspects(hasCrashed: true).isEmpty
    }

    private func begin(_ run: JournalRun) {
        let now = Clocks.instant()
        if let first = suspected.first, first != run.id { return }
        if let failure = failures[run.id], failure.due > now {
            nextLook = min(nextLook, failure.due)
            return
        }
        do throws(SystemError) {
            live[run.id] = try CarriedRun(
                run, tools, board, hasCrashed: crashed.contains(run.id),
                wasHeldUp: failures[run.id]?.hasBegun ?? false, ended: ended)
            crashed.remove(run.id)
        } catch {
            tools.log("run \(run.id.raw) cannot be begun: \(error)")
            nextLook = min(nextLook, now + .seconds(5))
        }
    }

    func ended(_ id: RunID, _ outcome: CarriedRun.Outcome) {
        let run = live.removeValue(forKey: id)
        run?.join()
        // The ended run's threads leave free memory behind that would otherwise stay allocated.
        if live.isEmpty || live.count % 16 == 0 { Memory.giveBack() }
        suspected.removeAll { $0 == id }
        switch outcome {
        case .finished, .left: failures[id] = nil
        case .failed(let why, let hasBegun):
            guard let run else { break }
            // Wait longer each time, up to a minute: the fault may be mended meanwhile, a full disk for example.
            var failure = failures[id] ?? Failure(run: run.accepted)
            failure.hasBegun = hasBegun
            failure.count += 1
            failure.due = Clocks.instant() + .seconds(Int64(min(60, 1 << min(failure.count, 6))))
            nextLook = min(nextLook, failure.due)
            // The failure may come from a damaged journal, which is put aside when it is opened next.
            journal = nil
            // Log once for each reason: it may stay for days.
            if why != failure.why { tools.log("run \(id.raw) is to be tried again: \(why)") }
            failure.why = why
            failures[id] = failure
        }
        lookOrTell()
    }

    /// Leaves all runs to the next process, and waits for their threads.
    func leave() {
        for run in live.values { run.leave() }
        for run in live.values { run.join() }
        live = [:]
        journal = nil
    }

    // MARK: Questions

    private func carrying(_ identifier: String) -> CarriedRun? {
        live.values.first { $0.identifiers.contains(identifier) }
    }

    func control(_ control: ServiceControl, _ reply: @escaping @Sendable (ControlReply) -> Void) {
        if carrying(control.identifier) == nil { lookOrTell() }
        guard let run = carrying(control.identifier) else {
            return reply(.refused(absence(of: control.identifier)))
        }
        run.control(control, reply)
    }

    private func absence(of identifier: String) -> String {
        let failure = failures.values.first { $0.run.identifiers.contains(identifier) }
        guard let failure else { return "the session `\(identifier)` has no task under way" }
        return "the session `\(identifier)` is held up, and nobody carries it until it is tried again: \(failure.why)"
    }

    func status(_ identifier: String?, _ reply: @escaping @Sendable ([SessionStatus]) -> Void) {
        let gathering = StatusGathering(board, reply)
        for run in live.values {
            for name in run.identifiers where identifier == nil || name == identifier { gathering.ask(run, name) }
        }
        for (id, failure) in failures where live[id] == nil {
            for name in failure.run.identifiers where identifier == nil || name == identifier {
                gathering.add(name, of: failure.run)
            }
        }
        gathering.begin()
    }
}
