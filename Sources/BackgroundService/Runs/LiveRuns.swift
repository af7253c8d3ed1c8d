import JobRunner
import Scheduling
import Stores
import SystemIO
import TransferModel

/// The runs under way, and the look at the journal for more. Belongs to one thread at a time.
///
/// Unchecked: `BackgroundHost.resumeRuns` makes it, reads the journal, and passes it to a new thread; starting a thread
/// orders what was written before. The first thread does not use it again.
final class LiveRuns: @unchecked Sendable {
    private let tools: HostTools
    private let board: NewsBoard
    private let ended: @Sendable (RunID, CarriedRun.Outcome) -> Void
    private let turn: @Sendable (RunID, TurnNews) -> Void
    private let mark: UnfinishedMark
    private var journal: Journal?
    private var live: [RunID: CarriedRun] = [:]
    private var places: RunPlaces
    /// Runs that no thread carries because their turn has not come.
    private var waiting: [RunID: JournalRun] = [:]
    /// Waiting runs whose followers have not been told.
    private var newlyWaiting: [JournalRun] = []
    private var resting = RestingRuns()
    /// What was asked of runs that are about to rest: it waits for that.
    private var held: [RunID: [Asked]] = [:]
    /// Runs that could not be carried: the number of failures in a row, and when they are tried again.
    private var failures: [RunID: Failure] = [:]
    private var nextReading = Instant.distantFuture
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

    private typealias Asked = (control: ServiceControl, reply: @Sendable (ControlReply) -> Void)

    private struct Failure {
        let run: AcceptedRun
        var hasBegun = false
        var count = 0
        var due = Instant(nanoseconds: 0)
        var why = ""
    }

    init(
        _ tools: HostTools, _ board: NewsBoard, hasCrashed: Bool,
        ended: @escaping @Sendable (RunID, CarriedRun.Outcome) -> Void,
        turn: @escaping @Sendable (RunID, TurnNews) -> Void
    ) {
        self.tools = tools
        self.turn = turn
        // Runs that all hold some descriptors and wait for more would wait for each other.
        places = RunPlaces(limit: min(tools.runsAtOnce, DescriptorLimit.runs))
        self.board = board
        self.hasCrashed = hasCrashed
        self.ended = ended
        mark = UnfinishedMark(folder: tools.folder.state)
    }

    /// Runs that are to be carried on by this process, now or later.
    var count: Int {
        live.count + waiting.count + resting.count + failures.keys.count { live[$0] == nil && waiting[$0] == nil }
    }

    // MARK: The journal

    /// Begins every run of the journal that is not under way and should be.
    func readJournal() throws(ServiceTrouble) {
        nextReading = .distantFuture
        do throws(StoreError) {
            let journal = try opened()
            let all = try journal.undelivered()
            try scrubIfDelivered(all, journal)
            if hasCrashed { learnFromCrash(all, journal) }
            forgetOthers(than: all)
            for run in all {
                if let carried = live[run.id] {
                    // One that is about to rest might not read it.
                    if run.state != .finished, !resting.has(run.id) { try carried.readAdditions(journal, run) }
                } else if run.state != .finished, try !isResting(run.id, journal) {
                    requestTurn(for: run)
                }
            }
            takeTurns()
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

    /// Looks at the journal for a command that has come to this session: what failed of it is tried again at once.
    func journalChanged(for identifier: String?) {
        for (id, failure) in failures where failure.run.identifiers.contains(where: { $0 == identifier }) {
            failures[id]?.due = Clocks.instant()
        }
        readJournalOrRetry()
    }

    /// Looks at the journal; a failure is logged and tried again, since no caller could handle it.
    func readJournalOrRetry() {
        do throws(ServiceTrouble) {
            try readJournal()
            trouble = nil
        } catch {
            if trouble != error { tools.log("the journal cannot be read: \(error)") }
            trouble = error
            nextReading = Clocks.instant() + .seconds(5)
        }
    }

    func readJournalIfDue() { if Clocks.instant() >= nextReading { readJournalOrRetry() } }

    func wait(on wake: WakeSignal) {
        guard nextReading < .distantFuture else { return wake.wait() }
        let left = nextReading - Clocks.instant()
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

    /// Carries the run when its turn has come.
    private func requestTurn(for run: JournalRun) {
        if let first = suspected.first, first != run.id { return }
        if let failure = failures[run.id], failure.due > Clocks.instant() {
            nextReading = min(nextReading, failure.due)
            return
        }
        guard waiting.updateValue(run, forKey: run.id) == nil else { return }
        newlyWaiting.append(run)
        places.ask(run.id.raw)
    }

    private func carry(_ run: JournalRun, hasTurn: Bool) {
        waiting[run.id] = nil
        for name in run.accepted.identifiers { board.trouble(of: name, failures[run.id]?.why) }
        do throws(SystemError) {
            live[run.id] = try CarriedRun(
                run, tools, board, hasCrashed: crashed.contains(run.id),
                wasHeldUp: failures[run.id]?.hasBegun ?? false,
                turn: TurnSettings(isGiven: hasTurn) { [turn] in turn(run.id, $0) }, ended: ended)
            crashed.remove(run.id)
        } catch {
            places.leave(run.id.raw)
            let why = "it cannot be begun: \(error)"
            for name in run.accepted.identifiers { board.trouble(of: name, why) }
            tools.log("run \(run.id.raw): \(why)")
            nextReading = min(nextReading, Clocks.instant() + .seconds(5))
        }
    }

    // MARK: Turns

    /// Handles what a carried run says of its turn.
    func turn(of id: RunID, _ news: TurnNews) {
        guard live[id] != nil else { return }
        switch news {
        case .wanted: places.ask(id.raw)
        case .stays:
            resting.remove(id)
            answerHeld(id)
            // What others told it meanwhile.
            readJournalOrRetry()
        case .givenUp(let rest):
            places.leave(id.raw)
            letRest(id, rest)
        }
        takeTurns()
    }

    /// Lets runs go on as far as there is room for them. Their followers are told that the others wait.
    private func takeTurns() {
        for number in places.fill() {
            let id = RunID(raw: number)
            if let carried = live[id] {
                carried.giveTurn()
            } else if let run = waiting[id] {
                carry(run, hasTurn: true)
            } else {
                places.leave(number)
            }
        }
        for run in newlyWaiting where waiting[run.id] != nil {
            for name in run.accepted.identifiers { board.trouble(of: name, "\(ServiceTrouble.turnWords): \(bound)") }
        }
        newlyWaiting = []
    }

    /// Forgets runs that wait, rest or failed and are not to be begun any more.
    private func forgetOthers(than undelivered: [JournalRun]) {
        let unfinished = Set(undelivered.lazy.filter { $0.state != .finished }.map(\.id))
        resting.keep(only: unfinished)
        failures = failures.filter { unfinished.contains($0.key) }
        for (id, run) in waiting where !unfinished.contains(id) {
            waiting[id] = nil
            places.leave(id.raw)
            for name in run.accepted.identifiers { board.trouble(of: name, nil) }
        }
    }

    private var bound: String {
        places.limit == 1 ? "one run is carried at a time" : "no more than \(places.limit) runs are carried at a time"
    }

    /// Says that the run waits for its turn; `nil` if it does not.
    private func turnWords(_ id: RunID) -> String? {
        places.runsBefore(id.raw).map {
            "\(ServiceTrouble.turnWords) behind \($0) \($0 == 1 ? "other" : "others"): \(bound)"
        }
    }

    // MARK: Rests

    /// Lets a run leave its threads that has nothing to do for long. One that is followed stays, and one whose events are
    /// written to a file: its next beginning would write that file anew.
    private func letRest(_ id: RunID, _ rest: RunRest) {
        guard let run = live[id], run.accepted.events == nil, !run.identifiers.contains(where: board.isFollowed),
            RestingRuns.mayRest(rest), case .plain(let span) = rest, let row = try? opened().run(id)
        else { return }
        resting.add(row, for: span, notes: run.noteCount, now: Clocks.instant(), wall: Clocks.wall())
        run.rest()
    }

    private func isResting(_ id: RunID, _ journal: Journal) throws(StoreError) -> Bool {
        guard resting.has(id) else { return false }
        let notes = try notes(of: id, journal)
        guard let look = resting.nextLook(id, notes: notes, now: Clocks.instant(), wall: Clocks.wall()) else {
            resting.remove(id)
            return false
        }
        nextReading = min(nextReading, look)
        return true
    }

    /// How many notes other processes have written for the run: tasks and credentials, and ends that it waits for.
    private func notes(of id: RunID, _ journal: Journal) throws(StoreError) -> Int {
        try journal.inputCount(of: id, kind: InputKind.recipe) + journal.inputCount(of: id, kind: InputKind.outside)
    }

    // MARK: Ends

    func ended(_ id: RunID, _ outcome: CarriedRun.Outcome) {
        let run = live.removeValue(forKey: id)
        run?.join()
        places.leave(id.raw)
        // The ended run's threads leave free memory behind that would otherwise stay allocated.
        if live.isEmpty || live.count % 16 == 0 { Memory.giveBack() }
        suspected.removeAll { $0 == id }
        if outcome != .left { resting.remove(id) }
        switch outcome {
        case .finished, .left: failures[id] = nil
        case .failed(let why, let hasBegun):
            guard let run else { break }
            // Wait longer each time, up to a minute: the fault may be mended meanwhile, a full disk for example.
            var failure = failures[id] ?? Failure(run: run.accepted)
            failure.hasBegun = hasBegun
            failure.count += 1
            failure.due = Clocks.instant() + .seconds(Int64(min(60, 1 << min(failure.count, 6))))
            nextReading = min(nextReading, failure.due)
            // The failure may come from a damaged journal, which is put aside when it is opened next.
            journal = nil
            // Log once for each reason: it may stay for days.
            if why != failure.why { tools.log("run \(id.raw) is to be tried again: \(why)") }
            failure.why = why
            failures[id] = failure
        }
        readJournalOrRetry()
        answerHeld(id)
    }

    private func answerHeld(_ id: RunID) {
        for asked in held.removeValue(forKey: id) ?? [] { control(asked.control, asked.reply) }
    }

    /// Leaves all runs to the next process, and waits for their threads.
    func leave() {
        for run in live.values { run.leave() }
        for run in live.values { run.join() }
        live = [:]
        waiting = [:]
        resting = RestingRuns()
        for asked in held.values.joined() {
            asked.reply(.refused("the background process is about to end; ask again"))
        }
        held = [:]
        journal = nil
    }

    // MARK: Questions

    private func carrying(_ identifier: String) -> CarriedRun? {
        live.values.first { $0.identifiers.contains(identifier) }
    }

    func control(_ control: ServiceControl, _ reply: @escaping @Sendable (ControlReply) -> Void) {
        if carrying(control.identifier) == nil { readJournalOrRetry() }
        // What is asked of a run need not wait for its turn: only its tasks do.
        let idle = waiting.values.first { $0.accepted.identifiers.contains(control.identifier) }
        if carrying(control.identifier) == nil, let run = idle ?? resting.run(with: control.identifier) {
            places.leave(run.id.raw)
            resting.remove(run.id)
            carry(run, hasTurn: false)
        }
        guard let run = carrying(control.identifier) else {
            return reply(.refused(absence(of: control.identifier)))
        }
        if resting.has(run.id) { return held[run.id, default: []].append((control, reply)) }
        run.control(control, reply)
    }

    private func absence(of identifier: String) -> String {
        let failure = failures.values.first { $0.run.identifiers.contains(identifier) }
        guard let failure else { return "the session `\(identifier)` has no task under way" }
        return "the session `\(identifier)` \(SessionControl.uncarriedWords) until it is tried again: \(failure.why)"
    }

    func status(_ identifier: String?, _ reply: @escaping @Sendable ([SessionStatus]) -> Void) {
        // Of a run that rests only the run itself can say more than the journal.
        if let identifier, let run = resting.run(with: identifier), live[run.id] == nil {
            resting.remove(run.id)
            carry(run, hasTurn: false)
        }
        let gathering = StatusGathering(board, reply)
        for run in live.values {
            for name in run.identifiers where identifier == nil || name == identifier {
                gathering.ask(run, name, turn: turnWords(run.id))
            }
        }
        for run in waiting.values {
            for name in run.accepted.identifiers where identifier == nil || name == identifier {
                gathering.add(name, of: run.accepted, turn: turnWords(run.id))
            }
        }
        for (id, failure) in failures where live[id] == nil && waiting[id] == nil {
            for name in failure.run.identifiers where identifier == nil || name == identifier {
                gathering.add(name, of: failure.run)
            }
        }
        gathering.askRuns()
    }
}
