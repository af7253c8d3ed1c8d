import AttemptLife
import Codecs
import CurlCore
import HTTPRules
import TransferModel

/// The present request of an attempt and what its answer has brought so far. It is made anew for each request, so that
/// nothing of one answer is taken for part of the next.
struct Exchange {
    /// When the request began.
    let startedAt: WallTime
    /// The method that was sent; the cache may ask with another than the task's.
    var sentMethod: String?
    /// The head of the answer, once it is there.
    var head: ResponseHead?
    /// The answer of a proxy that opened no tunnel.
    var refusedTunnel: ResponseHead?
    /// Whether the head has not been reported yet.
    var hasNewHead = false
    /// The type that a file's name or a `data:` URL gives, where no server sends headers.
    var sourceHeaders: HeaderBlock?

    /// What happens to the body.
    var decision = HeadDecision.discard
    /// Bytes of the body that were received.
    var received: Int64 = 0
    /// Bytes of the body that came over the wire; none of an answer from the cache did.
    var arrived: Int64 = 0
    /// Bytes that came with the body and are none of its own: chunk sizes, extensions and trailers.
    var framing: Int64 = 0
    /// The body of an answer that is kept in memory, decoded.
    var body: [UInt8] = []
    /// Decodes an answer that came encoded and is kept in memory.
    var decoder: Decoder?
    /// The parts of a `multipart/x-mixed-replace` answer.
    var mixed: MixedAnswer?
    /// Digests an answer that continues a file, where its server announced the digest of the part.
    var partDigest: PartDigest?
    /// Whether the transfer was stopped from here: what libcurl says of its end is no error of the network.
    var endedByUs = false
    /// Why the rest of the body was not read.
    var bodyFailure: TransferError?
    /// Whether libcurl lost the answer of an earlier request on the connection; set when the request has ended.
    var lostAnswer = false

    /// Where the answer comes from, if not from the network alone.
    var source: ResultSource?
    /// Whether the answer comes from the cache.
    var isFromCache = false
    /// Length of the body that the cache holds.
    var heldLength: Int64?

    init(startedAt: WallTime) { self.startedAt = startedAt }
}
