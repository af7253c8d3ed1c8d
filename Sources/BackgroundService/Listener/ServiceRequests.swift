import Synchronization
import SystemIO
import TransferModel

/// Why the process ends.
package enum ServiceEnd: Hashable, Sendable, CustomStringConvertible {
    /// There is neither a run nor a connection.
    case idle
    /// A command asked for it (`stop`).
    case asked
    case signal(Int32)
    /// The state folder was removed or replaced by another.
    case displaced
    case failed(String)

    /// A sentence for the log, the service manager and the followers.
    package var description: String {
        switch self {
        case .idle: "nothing to do"
        case .asked: "a command asked for it"
        case .signal(let number): "signal \(number)"
        case .displaced: "the state folder was taken away"
        case .failed(let why): why
        }
    }
}

/// What the listener's thread shares with other threads.
final class ServiceRequests: Sendable {
    struct Answer: Sendable {
        let connection: UInt64
        let request: UInt32
        let answer: ServiceAnswer
    }

    let host: any ServiceHost
    let hello: ServiceHello
    let limits: ServiceLimits
    let manager: ServiceManager
    let board: NewsBoard
    let answers: Mailbox<Answer>
    let wake: PollWake
    /// Called once, from the listener's thread, when it finds that the process should end.
    let end: @Sendable (ServiceEnd) -> Void
    /// The lock that this process holds.
    let lock: ServiceLock
    let place: ServicePlace
    let log: @Sendable (String) -> Void
    /// Set once no connection is accepted any more: the reason.
    let leaving = Mutex<ServiceEnd?>(nil)
    private let closing = Atomic<Bool>(false)

    init(
        _ host: any ServiceHost, _ hello: ServiceHello, _ limits: ServiceLimits, _ manager: ServiceManager,
        _ place: ServicePlace, _ lock: ServiceLock, log: @escaping @Sendable (String) -> Void,
        end: @escaping @Sendable (ServiceEnd) -> Void
    ) throws(SystemError) {
        let wake = try PollWake()
        self.host = host
        self.hello = hello
        self.limits = limits
        self.manager = manager
        self.place = place
        self.lock = lock
        self.log = log
        self.end = end
        self.wake = wake
        board = NewsBoard { wake.signal() }
        answers = Mailbox { wake.signal() }
    }

    var isClosing: Bool { closing.load(ordering: .acquiring) }

    func close() {
        closing.store(true, ordering: .releasing)
        wake.signal()
    }

    func leave(_ why: ServiceEnd) {
        leaving.withLock { $0 = $0 ?? why }
        wake.signal()
    }

    /// The body of the listener's thread.
    func work(_ listening: ServiceSocket) {
        do throws(SystemError) {
            let room = try ServiceEventLoop(self, listening)
            while !isClosing { room.turn() }
            room.empty()
        } catch {
            end(.failed(error.description))
        }
    }
}
