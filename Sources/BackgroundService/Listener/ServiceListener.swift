import SystemIO
import TransferModel

/// Hears commands and tells those who follow: a thread of its own, so that nobody who is slow, silent or hostile is
/// ever waited for by a run.
package final class ServiceListener: Sendable {
    private let desk: ServiceDesk
    private let thread: Thread

    init(_ desk: ServiceDesk, _ door: ServiceDoor) throws(SystemError) {
        self.desk = desk
        thread = try Thread(named: "service") { desk.work(door) }
    }

    /// Nobody finds the process any more and whoever asks is left; those who follow still hear what happens.
    func leave(_ why: ServiceEnd) { desk.leave(why) }

    /// What was said still goes out.
    func close() {
        desk.close()
        thread.join()
    }
}
