package import TransferModel

/// Limits a session's connections to a host across its pools. libcurl counts those of each pool by itself, and lets a
/// request that needs a new connection ignore an idle one: this class ends an idle one where another would exceed the
/// limit.
///
/// Used only on the thread of its pools' loop.
package final class HostLimits {
    private struct Member { weak var pool: ConnectionPool? }
    private let mostPerHost: Int
    private var narrower: [Substring: Int] = [:]
    private var members: [Member] = []

    package init(mostPerHost: Int) { self.mostPerHost = mostPerHost }

    /// Lowers the limit for one origin.
    package func narrow(_ origin: Origin, to most: Int) {
        let usual = origin.scheme == "https" ? 443 : 80
        narrower["\(origin.scheme)://\(origin.host):\(origin.port)"] = most
        if origin.port == usual { narrower["\(origin.scheme)://\(origin.host)"] = most }
    }

    func add(_ pool: ConnectionPool) {
        members.removeAll { $0.pool == nil }
        members.append(Member(pool: pool))
    }

    /// Ends idle connections for a new one to `host`, which is scheme and authority of a URL.
    func makeRoom(at host: Substring) {
        let most = narrower.isEmpty ? mostPerHost : min(narrower[host] ?? mostPerHost, mostPerHost)
        var count = members.reduce(0) { $0 + ($1.pool?.sockets.count(to: host) ?? 0) }
        while count > most, members.contains(where: { $0.pool?.sockets.endIdle(to: host) == true }) { count -= 1 }
    }
}

@available(*, unavailable)
extension HostLimits: Sendable {}
