import BackgroundService
import JobRunner
import Stores
import Synchronization
import SystemIO
import TransferModel

/// Notes the ends for which background tasks wait, apart from the loop: each is to be durable.
final class ReleaseTeller: Sendable {
    private let ends: Mailbox<OutsideEnd>
    private let thread = WorkThread()
    private let trouble = Mutex<ServiceTrouble?>(nil)
    private let keepsFailures = Atomic<Bool>(false)
    /// By what was accepted: the job's file may say something else by now.
    private let wanted: Set<String>
    /// Each failure ends what is left there, too.
    private let failsFast: Bool

    init(_ background: HandedPart, failsFast: Bool) throws(SystemError) {
        self.failsFast = failsFast
        wanted = Set(background.part.outside.values.joined())
        let wake = thread.wake
        ends = Mailbox { wake.signal() }
        if wanted.isEmpty, !failsFast { return }
        try thread.start(named: "releases") { [self] in
            while true {
                let isEnding = thread.isEnding
                let batch = ends.takeAll()
                if !batch.isEmpty { release(batch, background) }
                if isEnding, batch.isEmpty { return }
                if batch.isEmpty { thread.wake.wait() }
            }
        }
    }

    func tell(_ end: OutsideEnd) {
        var end = end
        end.hasFailed = end.hasFailed && failsFast
        guard wanted.contains(end.id) || end.hasFailed, end.succeeded || !keepsFailures.load(ordering: .acquiring)
        else { return }
        ends.post(end)
    }

    /// From now on a task ends because this command does. Whoever waits for it there waits for the next run, which begins
    /// it again.
    func keepFailures() { keepsFailures.store(true, ordering: .releasing) }

    /// Why something could not be told: whoever waits for it would wait for ever.
    func finish() -> ServiceTrouble? {
        thread.finish()
        return trouble.withLock { $0 }
    }

    private func release(_ ends: [OutsideEnd], _ background: HandedPart) {
        do throws(ServiceTrouble) {
            try Handover.release(
                ends, of: background.run, background.identifier, background.folder, background.starter)
        } catch {
            trouble.withLock { $0 = error }
        }
    }
}
