import BackgroundService
import JobRunner
import Stores
import Synchronization
import SystemIO
import TransferModel

/// Passes the ends that background tasks wait for to the background process, on a thread of its own, because each end
/// is made durable.
final class ReleaseForwarder: Sendable {
    private let ends: Mailbox<OutsideEnd>
    private let thread = WorkThread()
    private let trouble = Mutex<ServiceTrouble?>(nil)
    private let keepsFailures = Atomic<Bool>(false)
    /// Ids of tasks whose ends the accepted part waits for; the job file may differ by now.
    private let wanted: Set<String>
    /// Whether each failure here also ends the background part.
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

    /// Stops passing failures on, because tasks now end with this command: the tasks that wait for them wait for the
    /// next run, which begins them again.
    func keepFailures() { keepsFailures.store(true, ordering: .releasing) }

    /// Waits until all ends are passed on, and returns why one could not be; its task would wait for ever.
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
