import HTTPRules
import TransferModel

/// What a session's cache has to do with one request of an attempt.
struct CacheTurn {
    enum State {
        /// The store is asked what it holds, or for a body.
        case asking
        /// The body of this one is on its way.
        case reading(CacheUse)
        /// The request goes out, with the question or without one.
        case sent(CacheValidation?)
        /// What came is no answer for the task: this is.
        case answered(CacheUse)
        /// What came is of no use, and the request goes out once more.
        case askAgain
    }
    /// As it is about to be sent.
    let request: CacheRequest
    var state = State.asking
    /// After a question: whether what it confirmed is still kept.
    var keeps: Bool?
    /// When the headers of the answer came.
    var answeredAt: WallTime?
    /// Of a body that is not kept as it came, or not at all: the bytes as they came.
    var copy: [UInt8]?
}
