import HTTPRules
import TransferModel

/// The cache's part in one request of an attempt.
struct CacheTurn {
    enum State {
        /// The store was asked for the entries.
        case asking
        /// The store was asked for the body of this entry.
        case reading(CacheUse)
        /// The request is sent, with the cache's condition or without one.
        case sent(CacheValidation?)
        /// The server's answer is not the task's: this entry is used instead, confirmed or in place of a failure.
        case answered(CacheUse)
        /// The server's answer is useless, and the request is sent again without the cache.
        case askAgain
    }
    /// The request as the cache compares it.
    let request: CacheRequest
    var state = State.asking
    /// After a condition: whether the confirmed entry may stay cached.
    var keeps: Bool?
    /// Time at which the answer's headers came.
    var answeredAt: WallTime?
    /// Received bytes of a body that the task does not keep in that form.
    var copy: [UInt8]?
}
