package import JobRunner
import Stores
import Synchronization
import SystemIO
import TransferModel

/// Carries every unfinished run of the journal, each on threads of its own, as a command would carry it.
package final class BackgroundHost: ServiceHost {
    /// Work for the thread that owns `LiveRuns`.
    private enum Order: Sendable {
        case journalChanged(String?)
        case control(ServiceControl, @Sendable (ControlReply) -> Void)
        case status(String?, @Sendable ([SessionStatus]) -> Void)
        case ended(RunID, CarriedRun.Outcome)
        case turn(RunID, TurnNews)
    }

    private let tools: HostTools
    private let thread = WorkThread()
    private let orders: Mailbox<Order>
    private let mark = Mutex<CrashMark?>(nil)
    private let live = Atomic<Int>(0)
    private let waiting = Atomic<Int>(0)

    package init(_ tools: HostTools) {
        self.tools = tools
        let wake = thread.wake
        orders = Mailbox { wake.signal() }
    }

    package func resumeRuns(reportingTo board: NewsBoard) throws(ServiceTrouble) {
        let hasCrashed = try watchCrashes()
        let runs = LiveRuns(
            tools, board, hasCrashed: hasCrashed, ended: { [self] in post(.ended($0, $1)) },
            turn: { [self] in post(.turn($0, $1)) })
        try runs.readJournal()
        live.store(runs.count, ordering: .releasing)
        do throws(SystemError) {
            try thread.start(named: "runs") { [self] in work(runs) }
        } catch {
            runs.leave()
            throw ServiceTrouble(error.description)
        }
    }

    /// Returns whether the process before this one crashed, and installs this process's own crash mark.
    private func watchCrashes() throws(ServiceTrouble) -> Bool {
        let state = tools.folder.state
        let made: CrashMark
        do {
            made = try CrashMark(
                try PrivateFolder.file(ServicePlace.crashName, in: try PrivateFolder.open(state), at: state))
        } catch {
            throw ServiceTrouble("\(error)")
        }
        let hasCrashed = made.isThere()
        if hasCrashed { tools.log("the process before this one crashed") }
        made.erase()
        mark.withLock { $0 = made }
        return hasCrashed
    }

    package func ring(_ identifier: String?) { post(.journalChanged(identifier)) }

    package func status(_ identifier: String?, reply: @escaping @Sendable ([SessionStatus]) -> Void) {
        post(.status(identifier, reply))
    }

    package func control(_ control: ServiceControl, reply: @escaping @Sendable (ControlReply) -> Void) {
        post(.control(control, reply))
    }

    package var liveRuns: Int { live.load(ordering: .acquiring) }
    package var isIdle: Bool { waiting.load(ordering: .acquiring) == 0 && liveRuns == 0 }

    package func leave() { thread.finish() }

    // MARK: The thread

    private func post(_ order: Order) {
        waiting.add(1, ordering: .acquiringAndReleasing)
        orders.post(order)
    }

    private func work(_ runs: LiveRuns) {
        while true {
            let isEnding = thread.isEnding
            let batch = orders.takeAll()
            for order in batch { perform(order, runs) }
            if isEnding { break }
            runs.readJournalIfDue()
            live.store(runs.count, ordering: .releasing)
            waiting.subtract(batch.count, ordering: .acquiringAndReleasing)
            if batch.isEmpty { runs.wait(on: thread.wake) }
        }
        runs.leave()
        for order in orders.takeAll() { refuse(order) }
    }

    private func perform(_ order: Order, _ runs: LiveRuns) {
        switch order {
        case .journalChanged(let identifier): runs.journalChanged(for: identifier)
        case .ended(let id, let outcome): runs.ended(id, outcome)
        case .turn(let id, let news): runs.turn(of: id, news)
        case .control(let control, let reply): runs.control(control, reply)
        case .status(let identifier, let reply): runs.status(identifier, reply)
        }
    }

    private func refuse(_ order: Order) {
        switch order {
        case .journalChanged, .ended, .turn: break
        case .control(_, let reply): reply(.refused("the background process is about to end; ask again"))
        case .status(_, let reply): reply([])
        }
    }
}
