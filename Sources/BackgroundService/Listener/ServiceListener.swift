import SystemIO
import TransferModel

/// Serves commands and followers on a thread of its own, so that a slow, silent or hostile connection never delays a
/// run.
package final class ServiceListener: Sendable {
    private let requests: ServiceRequests
    private let thread: Thread

    init(_ requests: ServiceRequests, _ listening: ServiceSocket) throws(SystemError) {
        self.requests = requests
        thread = try Thread(named: "service") { requests.work(listening) }
    }

    /// Stops accepting connections and requests; followers still receive news.
    func leave(_ why: ServiceEnd) { requests.leave(why) }

    /// Sends what is left of the output, and ends the thread.
    func close() {
        requests.close()
        thread.join()
    }
}
