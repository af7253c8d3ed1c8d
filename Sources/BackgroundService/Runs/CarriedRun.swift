import CurlCore
import Exports
import JobRunner
import Reporting
import RunControl
import Scheduling
import Stores
import Synchronization
import SystemIO
import TransferModel

/// One run of the journal, carried by a thread of its own to its end or until it is left to the next process.
final class CarriedRun: Sendable {
    enum Outcome: Hashable, Sendable {
        /// The journal has the run's end.
        case finished
        case left
        /// The run failed and stays in the journal, to be tried again; `hasBegun` tells whether its transfers had
        /// begun.
        case failed(String, hasBegun: Bool)
    }

    let id: RunID
    let identifiers: [String]
    let accepted: AcceptedRun
    private let tools: HostTools
    /// Whether the process that carried the run before crashed.
    private let hasCrashed: Bool
    /// Whether this process carried the run before and could not write its events.
    private let wasHeldUp: Bool
    private let turn: TurnSettings
    private let hasBegun = Atomic<Bool>(false)
    private let board: NewsBoard
    private let inbox = Inbox()
    private let notes = RunNotes()
    private let receipts = Receipts()
    /// Callbacks of requests that must not be sent twice, run once the journal has recorded that they begin. Unlike
    /// `receipts` they are not given up when writing is held up.
    private let beginnings = Receipts()
    private let writing = WritingTrouble()
    /// Ids of tasks whose requests must not be sent twice and have begun.
    private let begun = Mutex<Set<String>>([])
    private let cancellation: Command.Cancellation
    private let thread = WorkThread()

    /// `ended` is called on the run's own thread.
    init(
        _ run: JournalRun, _ tools: HostTools, _ board: NewsBoard, hasCrashed: Bool, wasHeldUp: Bool,
        turn: TurnSettings, ended: @escaping @Sendable (RunID, Outcome) -> Void
    ) throws(SystemError) {
        self.turn = turn
        id = run.id
        identifiers = run.accepted.identifiers
        accepted = run.accepted
        self.tools = tools
        self.hasCrashed = hasCrashed
        self.wasHeldUp = wasHeldUp
        self.board = board
        cancellation = try Command.Cancellation()
        try thread.start(named: "run \(run.id.raw)") { [self] in ended(id, CrashMark.watchingStack { carry() }) }
    }

    func join() { thread.finish() }

    /// Lets the run start tasks: it is its turn.
    func giveTurn() { inbox.post(.turnGiven) }

    /// Asks the run to leave its thread if it still has nothing to do; it says `TurnNews.stays` where it does not.
    func rest() { inbox.post(.rest) }
    /// The number of notes of other processes that the run was given.
    var noteCount: Int { notes.count }

    // MARK: From other threads

    func leave() {
        inbox.postLeave()
        cancellation.cancel()
        writing.leave()
    }

    /// Passes a control to the run; `reply` is called once the journal has the change.
    func control(_ control: ServiceControl, _ reply: @escaping @Sendable (ControlReply) -> Void) {
        ask(
            ControlRequest(
                action: control.action, keepPartial: control.keepPartial,
                patterns: control.patterns.map { TaskPattern($0) }, identifier: control.identifier,
                reply: { [receipts, writing] answer, sequence in
                    guard case .changed = answer else { return reply(answer) }
                    receipts.hold(upTo: sequence) { isWritten in
                        reply(isWritten ? answer : .refused(Self.unwritten(writing.why)))
                    }
                }))
    }

    private static func unwritten(_ why: String?) -> String {
        guard let why else { return "what was done \(SessionControl.unwrittenWords); ask again" }
        return
            "it is done, and \(SessionControl.unwrittenWords) yet, so that it is forgotten if the process ends before: "
            + why
    }

    func ask(_ request: ControlRequest) { if !inbox.post(.control(request)) { refuse(request) } }

    private func refuse(_ request: ControlRequest) {
        let ended = "the session `\(request.identifier ?? "")` has ended"
        let why = writing.why.map { "\(ended), and that \(SessionControl.unwrittenWords) yet: \($0)" }
        request.reply(.refused(why ?? ended), 0)
    }

    /// The run's input. What comes before the run exists waits for it, and what comes after its end is refused.
    private final class Inbox: Sendable {
        private enum Place {
            case none([RunInput])
            case open(Mailbox<RunInput>)
            case closed
        }
        private let place = Mutex(Place.none([]))

        @discardableResult
        func post(_ input: RunInput) -> Bool {
            place.withLock { place in
                switch place {
                case .none(let waiting): place = .none(waiting + [input])
                case .open(let mailbox): mailbox.post(input)
                case .closed: return false
                }
                return true
            }
        }

        func postLeave() { post(.command(.leave)) }
        /// Asks the run to end as soon as that costs nothing, so that this process begins it anew.
        func postMakeWay() { post(.makeWay) }

        func open(_ mailbox: Mailbox<RunInput>) {
            place.withLock { place in
                if case .none(let waiting) = place { mailbox.post(waiting) }
                place = .open(mailbox)
            }
        }

        /// Closes the inbox and returns the input that the run has not read.
        func close() -> [RunInput] {
            place.withLock { place in
                defer { place = .closed }
                switch place {
                case .none(let waiting): return waiting
                case .open(let mailbox): return mailbox.takeAll()
                case .closed: return []
                }
            }
        }
    }

    /// Reads what was added to the run in the journal: ends of tasks that it waits for, or tasks.
    func readAdditions(_ journal: Journal, _ run: JournalRun) throws(StoreError) {
        if try notes.isOutgrown(by: run, journal) { return inbox.postMakeWay() }
        for end in try notes.new(journal, id) { inbox.post(.outside(end)) }
    }

    // MARK: The run's thread

    private func carry() -> Outcome {
        let outcome: Outcome
        do {
            outcome = try carryOn()
        } catch {
            let why = (error as? TransferError)?.message ?? "\(error)"
            outcome = .failed(why, hasBegun: hasBegun.load(ordering: .relaxed))
        }
        if case .failed(let why, _) = outcome { tell(trouble: why) } else { tell(trouble: nil) }
        closeInbox()
        receipts.close(isWritten: true)
        beginnings.close(isWritten: false)
        for identifier in identifiers { board.forget(identifier) }
        return outcome
    }

    /// Refuses the controls that the run has not read.
    private func closeInbox() {
        for case .control(let request) in inbox.close() { refuse(request) }
    }

    private func carryOn() throws -> Outcome {
        let journal = try Journal.open(folder: tools.folder.state, mends: false)
        let handed: HandedJob
        do throws(ServiceTrouble) {
            handed = try HandedJob(of: id, journal)
        } catch {
            return error.mayPass ? .failed(error.description, hasBegun: false) : try giveUp(error, journal)
        }
        notes.took(handed)
        // Recipes that were added before this line reached a run that could not compare their number.
        if let run = try journal.run(id), try notes.isOutgrown(by: run, journal) { return .left }
        OwnPlace.take(folder: accepted.folder, mask: handed.recipe.mask)
        let job = handed.part.job
        let past = try JournalledPast(of: id, handed, journal)
        var ending = RunEnding(
            id: id, accepted: accepted, job: job, recipe: handed.recipe, tools: tools, cancellation: cancellation)
        var report: JSONReport?
        for task in past.lost.sorted() {
            tools.log("run \(id.raw): \(job.tasks[Int(task.raw)].id): \(TransferError.lostFromJournal.message)")
        }
        if !past.isOver {
            // What cannot be written down must not begin.
            try journal.tryWriting(for: id)
            for end in try notes.new(journal, id) { inbox.post(.outside(end)) }
            report = try ending.beginReport(journal)
            guard let grown = try transfer(handed, past, report) else { return .left }
            ending.job = grown
        }
        // What is left, a report and commands, takes no other run's turn.
        turn.tell(.givenUp(.watching))
        closeInbox()
        do {
            try ending.perform(journal, report, isReported: identifiers.contains { board.isReported($0) })
        } catch is RunEnding.Left {
            return .left
        }
        // Followers wait for nothing else.
        for identifier in identifiers { board.ended(identifier) }
        return .finished
    }

    /// Ends a run that can never be carried, with the reason for its followers.
    private func giveUp(_ why: ServiceTrouble, _ journal: Journal) throws -> Outcome {
        tools.log("run \(id.raw) is given up: \(why)")
        // Where the key is gone no input can be kept; the reader of the trouble finds that out.
        try? journal.keep(JournalInput(kind: InputKind.trouble, bytes: Array(why.description.utf8)), of: id)
        try journal.recordEnd(
            of: id, RunEnd(at: Clocks.wall(), outcome: .failed, exitStatus: Int(ExitStatus.runnerFailed.code)))
        for identifier in identifiers { board.ended(identifier) }
        return .finished
    }

    /// Transfers the run's tasks; returns the job with the tasks that its templates became, or `nil` when it was left.
    private func transfer(_ handed: HandedJob, _ past: JournalledPast, _ report: JSONReport?) throws -> Job? {
        try CurlLibrary.prepare()
        let suspects = Suspects(past.history.suspects(hasCrashed: hasCrashed))
        let recipe = handed.recipe
        var fitting = suspects.alone(in: handed.part.job)
        if let words = OpenFiles.fit(&fitting) { tools.log("run \(id.raw): \(words)") }
        let job = fitting
        let writer = try JournalWriter(
            folder: tools.folder.state, run: id, after: past.history.lastSequence,
            writeAfter: hasCrashed ? .zero : JournalWriter.writeAfter
        ) { [self] in journalReported($0) }
        let lines: EventLines?
        let log: EventLog
        do {
            let last = past.history.lastSequence
            receipts.resume(after: last)
            beginnings.resume(after: last)
            lines = recipe.isDetached ? try eventLines(job) : nil
            var consumers: [any EventConsumer] = [
                writer, receipts, beginnings, ProgressReporter(job, board, after: last),
            ]
            if let report { consumers.append(report) }
            if let lines { consumers.append(lines) }
            log = try EventLog(
                consumers: consumers, redactor: job.redactor, now: Clocks.now(),
                patience: hasCrashed ? .zero : .milliseconds(20), after: last)
        } catch {
            _ = writer.finish()
            throw error
        }
        let run: JobRun
        do {
            var settings = settings(recipe)
            settings.outside = OutsideNeeds(handed.part.outside)
            expand(handed, writer, &settings)
            settings.acceptedAt = accepted.createdAt
            settings.turn = turn
            settings.keep = { [self] last, requests, isKept in
                begun.withLock { $0.formUnion(requests.map(\.task)) }
                writer.hurry(upTo: last, beginning: requests)
                beginnings.hold(upTo: last) { if $0 { isKept() } }
            }
            // Before the event of the task's end: a process that resumes from that event must find its captures.
            settings.heard = { [self] end in
                if !end.captures.isEmpty { writer.keep(TaskEndNote.input(end, kind: InputKind.captures)) }
                if end.succeeded, begun.withLock({ $0.remove(end.id) }) != nil { writer.noteSuccess(of: end.id) }
                // After the last suspect all tasks may run at a time again.
                if suspects.cleared(end.id, in: job) { inbox.postMakeWay() }
            }
            run = try JobRun(
                job: reserving(job, recipe), settings: settings, log: log,
                memory: try MemoryPlace.of(job, in: tools.folder),
                resuming: past.resumption(hasCrashed: hasCrashed)
            ) { [self] wake in
                let mailbox = Mailbox<RunInput>(wake: wake)
                inbox.open(mailbox)
                return mailbox
            }
        } catch {
            _ = log.finish()
            _ = writer.finish()
            throw error
        }
        hasBegun.store(true, ordering: .relaxed)
        // What kept the run from beginning is over; trouble with writing is over once events are written.
        if !wasHeldUp { tell(trouble: nil) }
        let status = run.run()
        // Read before any follower learns of the end and begins another run.
        let problems = run.storeProblems() + run.problems
        // From here on things may take long: a report's reader, commands.
        closeInbox()
        if let failure = log.finish() { tools.log("run \(id.raw): \(failure)") }
        lines?.finish()
        if let problem = lines?.problem { tools.log("run \(id.raw): \(problem)") }
        writer.writeNow()
        beginnings.hold(upTo: 0) { [writing] _ in writing.allWritten() }
        writing.waitForEnd()
        if let failure = writer.finish() {
            receipts.close(isWritten: false)
            throw failure
        }
        for problem in problems { tools.log("run \(id.raw): \(problem)") }
        return status.map { _ in run.job }
    }

    /// Lets templates be expanded: tasks that are made in the middle of a run are in the journal before they begin.
    private func expand(_ handed: HandedJob, _ writer: JournalWriter, _ settings: inout RunSettings) {
        guard handed.hasTemplates else { return }
        settings.expand = { handed.expand($0) }
        settings.keepExpansion = { [inbox] expansion, isKept in
            writer.extend(
                RunExtension(
                    note: ExpansionNote(expansion).input, tasks: expansion.tasks, after: expansion.taskCount,
                    sequence: expansion.sequence
                ) { isAdded in
                    // A changed job file added tasks meanwhile: the run begins anew with both.
                    if isAdded { isKept() } else { inbox.postMakeWay() }
                })
        }
    }

    /// Handles the journal writer's messages, on its thread.
    private func journalReported(_ news: JournalNews) {
        switch news {
        case .written(let last):
            if writing.passed() { inbox.post(.command(.pauseStarts(.unrecorded, false))) }
            tell(trouble: nil)
            tell(last)
            receipts.written(upTo: last)
            beginnings.written(upTo: last)
        case .failed(let error):
            tools.log("run \(id.raw): events wait to be written: \(error)")
            writing.failed(error)
            inbox.post(.command(.pauseStarts(.unrecorded, true)))
            receipts.holdUp()
            tell(trouble: error.description)
        }
    }

    /// The job with the run's own files reserved, so that no server may choose the name of one.
    private func reserving(_ job: Job, _ recipe: RunRecipe) -> Job {
        var job = job
        let paths = [accepted.report, accepted.events].compactMap(\.self) + recipe.exports.map(\.path)
        job.reserved += paths.filter { $0 != "-" }.map { Job.Reserved(path: $0, what: "an output of the run") }
        return job
    }

    /// Opens the file for the event lines and writes the earlier events first: each process begins the file anew.
    private func eventLines(_ job: Job) throws -> EventLines? {
        guard let path = accepted.events else { return nil }
        let sink: DescriptorSink
        do throws(OutputProblem) {
            sink = try DescriptorSink(creating: path)
        } catch {
            // A follower writes the events there.
            guard error.isTaken else { throw error }
            return nil
        }
        let lines = EventLines(job: job, sink: sink)
        let journal = try Journal.open(folder: tools.folder.state, mends: false)
        try JournalledPast.read(id, journal) { lines.consume([$0][...]) }
        return lines
    }

    private func tell(_ last: UInt64) {
        for identifier in identifiers { board.events(of: identifier, upTo: last) }
    }

    private func tell(trouble: String?) { for identifier in identifiers { board.trouble(of: identifier, trouble) } }

    private func settings(_ recipe: RunRecipe) -> RunSettings {
        var settings = RunSettings(
            userAgent: "transfer-run/\(tools.version)", seed: UInt64.random(in: 1...UInt64.max))
        settings.failFast = recipe.changes.failsFast
        settings.reportsUnchanged = recipe.changes.reportsUnchanged
        settings.tellsLimitWaits = accepted.events != nil
        settings.waitsForResume = true
        settings.traceParent = recipe.traceParent
        settings.host = tools.runner.host
        settings.networks.map = tools.networks
        settings.networks.dictated = recipe.changes.network.flatMap { tools.dictate($0) }
        return settings
    }
}

/// The kinds of inputs that the journal keeps for a run (`JournalInput.kind`).
package enum InputKind {
    /// A `RunRecipe`; the first is what the run was accepted with.
    package static let recipe = "recipe"
    /// Why a run ended without having begun.
    package static let trouble = "trouble"
    /// What a succeeded task captured, by the task's id.
    package static let captures = "captures"
    /// The end of a task that another process carries, by the task's id.
    package static let outside = "outside"
    /// An `ExpansionNote`: a template became tasks.
    static let expansion = "expansion"
    /// How a session's `onFinish` command ended.
    static let hook = "hook"
}
