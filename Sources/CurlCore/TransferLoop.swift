package import SystemIO
package import TransferModel

/// A transfer that was started. Stale once it is over.
package struct TransferID: Hashable, Sendable {
    let index: Int
    let generation: UInt32

    package init(index: Int, generation: UInt32) {
        self.index = index
        self.generation = generation
    }
}

/// Carries out requests on one thread: `CurlLoop` over the network, a scripted one in tests.
package protocol TransferLoop: AnyObject {
    /// Ends a `turn`'s wait from any thread.
    var waker: LoopWaker { get }
    /// As read at the beginning of the turn.
    var now: Instant { get }
    func open() throws(TransferError)
    /// Starts at once: the caller holds a slot for it. Bytes move at the next `turn`.
    func start(_ request: CurlRequest, receiver: any TransferReceiver) throws(TransferError) -> TransferID
    /// Ends a transfer without a completion, and its connection. Returns what was measured so far; `nil` when it is over.
    @discardableResult func stop(_ id: TransferID) -> CurlMetrics?
    /// Continues a transfer whose receiver said `pause`. The receiver may be called before this returns.
    func resume(_ id: TransferID)
    /// When a byte last moved in either direction; `nil` when the transfer is over.
    func lastActivity(of id: TransferID) -> Instant?
    /// When a byte last came on its own connection, as the system knows it. Asked where `lastActivity` is too long ago.
    func lastArrival(of id: TransferID) -> Instant?
    /// Everything was sent, and only the server's word on it is missing.
    func awaitsWord(_ id: TransferID) -> Bool
    /// The interface that it went through, when its connections there were cut.
    func lostNetwork(of id: TransferID) -> UInt32?
    /// How much of a body was sent, with what surrounds its chunks; `nil` when the transfer is over.
    func uploadedBytes(of id: TransferID) -> Int64?
    /// Waits at most for `wait` until something can be done, does it, and returns what ended. `others` end the wait too.
    func turn(wait: TimeSpan, others: [PollEntry]) -> [CurlCompletion]
}

extension TransferLoop {
    package func turn(wait: TimeSpan) -> [CurlCompletion] { turn(wait: wait, others: []) }
}
