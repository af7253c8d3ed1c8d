package import SystemIO
package import TransferModel

/// Identifies a transfer that was started; functions ignore the id of a transfer that is over.
package struct TransferID: Hashable, Sendable {
    let index: Int
    let generation: UInt32

    package init(index: Int, generation: UInt32) {
        self.index = index
        self.generation = generation
    }
}

/// Performs requests on one thread: `CurlLoop` over the network, a scripted one in tests.
package protocol TransferLoop: AnyObject {
    /// Ends a `turn`'s wait from any thread.
    var waker: LoopWaker { get }
    /// Time at the beginning of the turn.
    var now: Instant { get }
    /// Prepares the loop; call once, before the first transfer.
    func open() throws(TransferError)
    /// Starts a transfer at once: the caller has checked its limits. Bytes move at the next `turn`.
    func start(_ request: CurlRequest, receiver: any TransferReceiver) throws(TransferError) -> TransferID
    /// Ends a transfer without a completion, and its connection. Returns what was measured so far; `nil` when it is
    /// over.
    @discardableResult func stop(_ id: TransferID) -> CurlMetrics?
    /// Continues a transfer whose receiver said `pause`. The receiver may be called before this returns.
    func resume(_ id: TransferID)
    /// When a byte last moved in either direction; `nil` when the transfer is over.
    func lastActivity(of id: TransferID) -> Instant?
    /// When a byte last arrived on the transfer's own connection by the system's knowledge. Called where `lastActivity`
    /// is too long ago.
    func lastArrival(of id: TransferID) -> Instant?
    /// Whether everything was sent, and only the server's final reply is missing.
    func awaitsWord(_ id: TransferID) -> Bool
    /// Whether only interim answers (1xx) have come to the transfer's last request.
    func hasInterimAnswerOnly(_ id: TransferID) -> Bool
    /// The interface of the transfer's connection, where its connections were cut there; else `nil`.
    func lostNetwork(of id: TransferID) -> UInt32?
    /// Bytes of a body that were sent, including the framing of chunks; `nil` when the transfer is over.
    func uploadedBytes(of id: TransferID) -> Int64?
    /// Waits at most for `wait` until something can be done, does it, and returns the transfers that ended. `others`
    /// end the wait too.
    func turn(wait: TimeSpan, others: [PollEntry]) -> [CurlCompletion]
}

extension TransferLoop {
    /// Performs a turn that no other descriptor can end.
    package func turn(wait: TimeSpan) -> [CurlCompletion] { turn(wait: wait, others: []) }
}
