import AttemptLife
import CurlCore
import HTTPRules
import TransferModel

/// What the requests of a run have in common in the use of connections.
struct ConnectionPolicy {
    /// Whether some transfers are under a `bandwidth`.
    let isMetered: Bool
    /// The size of each transfer's receive buffer. What came is copied from there at once: a small one stays in the
    /// processor's cache, while one or two transfers alone are better served by few long reads.
    private let receiveBuffer: Int
    /// The version that each origin answered in last.
    private var versions: [OriginID: HTTPProtocol] = [:]
    /// Origins that may have only so many connections over all sessions, where an idle one would be one too many.
    private var originsWithoutKeepAlive: Set<OriginID> = []

    init(_ job: Job) {
        isMetered =
            job.limits.bandwidth != nil || job.sessions.contains { $0.bandwidth != nil }
            || job.tasks.contains { $0.options.values.bandwidth != nil }
        receiveBuffer = min(job.limits.maximumConcurrentTasks, job.tasks.count) > 2 ? 64 << 10 : 512 << 10
    }

    /// Records the version of an answer. Returns whether the origin answered in another one before, or not at all.
    mutating func recordVersion(_ version: HTTPProtocol, of origin: OriginID) -> Bool {
        versions.updateValue(version, forKey: origin) != version
    }

    /// Whether a request goes over HTTP/1.1 where slots are streams of one connection: it needs a connection more.
    func standsAlone(_ request: OutgoingRequest, _ origin: OriginID) -> Bool {
        versions[origin] == .http2 && !request.mayUseHTTP2
    }

    /// Whether a request over HTTP/1.1 must keep away from connections that may be HTTP/2.
    func isApart(_ request: OutgoingRequest, _ origin: OriginID?) -> Bool {
        request.url.isSecure && !request.mayUseHTTP2 && origin.flatMap { versions[$0] } != .http1
    }

    /// From now on no idle connection to the origin is kept.
    mutating func dropConnections(to origin: OriginID) { originsWithoutKeepAlive.insert(origin) }

    /// Whether a connection to the origin stays open after a request.
    func keepsConnection(to origin: OriginID?) -> Bool {
        origin.map { !originsWithoutKeepAlive.contains($0) } ?? true
    }

    /// The receive buffer of a transfer at that rate: small enough that what is read at once is no burst.
    func receiveBuffer(at rate: Int64?) -> Int {
        rate.map { Int(min(Int64(receiveBuffer), max(1 << 10, $0 / 100))) } ?? receiveBuffer
    }
}
