import CurlCore
import SystemIO
import TestSupport
import TransferModel

/// The clock of a rig: its engine, loop and test share it.
final class RigTime {
    var clock: ManualClock
    init(_ clock: ManualClock = ManualClock()) { self.clock = clock }
}

/// A request that the engine handed to the loop. The test plays the server's part.
final class ScriptedTransfer {
    let id: TransferID
    let request: CurlRequest
    let receiver: any TransferReceiver
    fileprivate(set) var isOver = false
    /// The engine ended it, and no completion follows.
    fileprivate(set) var isStopped = false
    fileprivate(set) var resumes = 0
    var lastActivity: Instant
    /// When a byte came that libcurl has not told of; `nil` where all was told.
    var lastArrival: Instant?
    var hasInterimAnswerOnly = false
    var uploadedBytes: Int64 = 0
    /// What the server read of the request's body.
    var sentBody: [UInt8] = []

    fileprivate init(_ id: TransferID, _ request: CurlRequest, _ receiver: any TransferReceiver, at now: Instant) {
        self.id = id
        self.request = request
        self.receiver = receiver
        lastActivity = now
    }

    /// The value of a header line that the request has.
    func header(_ name: String) -> String? {
        let start = "\(name.lowercased()):"
        guard let line = request.headers.first(where: { $0.lowercased().hasPrefix(start) }) else { return nil }
        return String(line.dropFirst(start.count).drop { $0 == " " })
    }
}

extension ScriptedTransfer: CustomReflectable {
    var customMirror: Mirror { Mirror(self, children: []) }
}

/// A loop without a network.
final class ScriptedLoop: TransferLoop {
    let waker = LoopWaker()
    private let time: RigTime
    private(set) var transfers: [ScriptedTransfer] = []
    private var completions: [CurlCompletion] = []
    /// The next `start` fails so.
    var refusal: TransferError?

    init(_ time: RigTime) { self.time = time }

    var now: Instant { time.clock.instant }
    func open() throws(TransferError) {}

    func start(_ request: CurlRequest, receiver: any TransferReceiver) throws(TransferError) -> TransferID {
        if let refusal {
            self.refusal = nil
            throw refusal
        }
        let id = TransferID(index: transfers.count, generation: 1)
        transfers.append(ScriptedTransfer(id, request, receiver, at: now))
        return id
    }

    func stop(_ id: TransferID) -> CurlMetrics? {
        guard let transfer = transfer(id) else { return nil }
        (transfer.isOver, transfer.isStopped) = (true, true)
        return CurlMetrics()
    }

    func resume(_ id: TransferID) { transfer(id)?.resumes += 1 }
    func lastActivity(of id: TransferID) -> Instant? { transfer(id)?.lastActivity }
    func lastArrival(of id: TransferID) -> Instant? { transfer(id).map { $0.lastArrival ?? $0.lastActivity } }
    func awaitsWord(_ id: TransferID) -> Bool { false }
    func hasInterimAnswerOnly(_ id: TransferID) -> Bool { transfer(id)?.hasInterimAnswerOnly ?? false }
    func lostNetwork(of id: TransferID) -> UInt32? { nil }
    func uploadedBytes(of id: TransferID) -> Int64? { transfer(id)?.uploadedBytes }

    func turn(wait: TimeSpan, others: [PollEntry]) -> [CurlCompletion] {
        defer { completions = [] }
        return completions
    }

    private func transfer(_ id: TransferID) -> ScriptedTransfer? {
        let transfer = transfers[Int(rigIndex(of: id))]
        return transfer.isOver ? nil : transfer
    }

    private func rigIndex(of id: TransferID) -> Int { transfers.firstIndex { $0.id == id } ?? 0 }

    // MARK: The server's part

    /// Whether a request ended since the last turn.
    var hasUnheardEnd: Bool { !completions.isEmpty }

    /// The requests that are under way.
    var underWay: [ScriptedTransfer] { transfers.filter { !$0.isOver } }

    /// Ends a transfer as libcurl would.
    func complete(
        _ transfer: ScriptedTransfer, _ code: CurlCode = .ok, message: String = "", systemError: Int32 = 0,
        sawCloseNotify: Bool = false, proxyHead: ResponseHead? = nil, objection: AddressObjection? = nil
    ) {
        transfer.isOver = true
        var metrics = Self.metrics()
        metrics.uploadedBytes = transfer.uploadedBytes
        completions.append(
            CurlCompletion(
                receiver: transfer.receiver, code: code, message: message, systemError: systemError,
                proxyHead: proxyHead, sawCloseNotify: sawCloseNotify, objection: objection, metrics: metrics))
    }

    /// Of a request that went out on a connection of its own.
    static func metrics() -> CurlMetrics {
        var metrics = CurlMetrics()
        (metrics.connect, metrics.preTransfer, metrics.startTransfer, metrics.total) = (1_000, 1_500, 2_000, 3_000)
        (metrics.openedConnections, metrics.requestBytes) = (1, 100)
        return metrics
    }
}

extension CurlCode {
    static let cannotConnect = CurlCode(rawValue: 7)
    static let writeError = CurlCode(rawValue: 23)
    static let timedOut = CurlCode(rawValue: 28)
    static let emptyReply = CurlCode(rawValue: 52)
    static let recvError = CurlCode(rawValue: 56)
}
