import SystemIO
import TransferModel

/// Serves commands and followers on a thread of its own, so that a slow, silent or hostile connection never delays a
/// run.
package final class ServiceListener: Sendable {
    private let desk: ServiceDesk
    private let thread: Thread

    init(_ desk: ServiceDesk, _ door: ServiceDoor) throws(SystemError) {
        self.desk = desk
        thread = try Thread(named: "service") { desk.work(door) }
    }

    /// Stops accepting connections and requests; followers still receive news.
    func leave(_ why: ServiceEnd) { desk.leave(why) }

    /// Sends what is left of the output, and ends the thread.
    func close() {
        desk.close()
        thread.join()
    }
}
