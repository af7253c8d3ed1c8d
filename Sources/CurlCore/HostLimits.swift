package import TransferModel

/// How many connections a session may have to a host. libcurl counts those of each pool by itself, and lets the request that
/// needs a new connection pass by an idle one: what lies idle here ends where another would be one too many.
///
/// Only the thread of its pools' loop may touch it.
package final class HostLimits {
    private struct Member { weak var pool: ConnectionPool? }
    private let mostPerHost: Int
    private var narrower: [Substring: Int] = [:]
    private var members: [Member] = []

    package init(mostPerHost: Int) { self.mostPerHost = mostPerHost }

    package func narrow(_ origin: Origin, to most: Int) {
        let usual = origin.scheme == "https" ? 443 : 80
        narrower["\(origin.scheme)://\(origin.host):\(origin.port)"] = most
        if origin.port == usual { narrower["\(origin.scheme)://\(origin.host)"] = most }
    }

    func add(_ pool: ConnectionPool) {
        members.removeAll { $0.pool == nil }
        members.append(Member(pool: pool))
    }

    /// One more is made to `host`, which is scheme and authority of a URL.
    func makeRoom(at host: Substring) {
        let most = narrower.isEmpty ? mostPerHost : min(narrower[host] ?? mostPerHost, mostPerHost)
        var count = members.reduce(0) { $0 + ($1.pool?.sockets.count(to: host) ?? 0) }
        while count > most, members.contains(where: { $0.pool?.sockets.endIdle(to: host) == true }) { count -= 1 }
    }
}

@available(*, unavailable)
extension HostLimits: Sendable {}
