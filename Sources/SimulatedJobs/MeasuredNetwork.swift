package import Exports
import TransferModel

/// Measures hosts from the requests of an earlier run's report.
package struct MeasuredNetwork: Sendable {
    /// The parts of a report that must be read.
    package static let parts: ReportParts = [.transactions]

    /// Sums of what happened at one host.
    fileprivate struct Tally {
        var latencies = Sum()
        var connects = Sum()
        var requests = 0
        var statuses: [Int: Int] = [:]
        var cuts = 0
        var hangUps = 0
        var timeouts = 0
        var sizes = Sum()
        var isShared = false
        var rates = MeasuredRates()
    }

    fileprivate struct Sum {
        var total = 0.0
        var count = 0
        var mean: Double? { count > 0 ? total / Double(count) : nil }
        mutating func add(_ value: Double) {
            total += value
            count += 1
        }
    }

    private var hosts: [Origin: Tally] = [:]
    private var sizes: [String: Int64] = [:]
    private var deliveries = Sum()

    package init() {}

    /// Adds one task of the report.
    package mutating func add(_ task: ReportedTask) {
        for attempt in task.attempts { add(attempt) }
        guard task.outcome == .succeeded, let last = task.attempts.last else { return }
        let moved = last.transactions.last.map { max($0.responseBodyBytesReceived, $0.requestBodyBytesSent) } ?? 0
        let size = task.source == .unchanged || task.source == .cache ? 0 : max(moved, task.file?.bytes ?? 0)
        sizes[task.id] = size
        if let url = last.transactions.last?.url, let origin = Self.origin(url) {
            hosts[origin, default: Tally()].sizes.add(Double(size))
        }
        if task.group == nil, let end = last.transactions.last?.responseEnd, let file = task.finishedAt, file >= end {
            deliveries.add((file - end).seconds)
        }
    }

    private mutating func add(_ attempt: ReportedAttempt) {
        for (place, request) in attempt.transactions.enumerated() {
            guard request.fetchType != .localCache, let origin = Self.origin(request.url) else { continue }
            let isLast = place == attempt.transactions.count - 1
            hosts[origin, default: Tally()].add(request, failed: isLast ? attempt.error?.name : nil)
        }
    }

    private static func origin(_ url: String) -> Origin? {
        guard let url = try? ResourceURL.parse(url), url.needsConnection else { return nil }
        return url.origin
    }

    /// Returns the network as it was measured. A host without measurements is like the mean of the others.
    package func model(source: String) -> NetworkModel {
        var model = NetworkModel(source: source)
        model.sizes = sizes
        model.delivery = Self.span(deliveries.mean ?? 0)
        for (origin, tally) in hosts.sorted(by: { $0.key.description < $1.key.description }) {
            guard let pattern = HostPattern("\(origin.host):\(origin.port)") else { continue }
            model.rules.append(NetworkModel.Rule(pattern, tally.host))
        }
        if let any = HostPattern("*"), let usual = hosts.values.max(by: { $0.requests < $1.requests }) {
            model.rules.append(NetworkModel.Rule(any, usual.host))
        }
        return model
    }

    fileprivate static func span(_ seconds: Double) -> TimeSpan {
        TimeSpan(nanoseconds: Int64((min(max(0, seconds), 1e9) * 1e9).rounded()))
    }
}

extension MeasuredNetwork.Tally {
    fileprivate mutating func add(_ request: TransactionMetrics, failed error: String?) {
        requests += 1
        if request.networkProtocolName == "h2" { isShared = true }
        if let sent = request.requestStart, let came = request.responseStart, came >= sent {
            latencies.add((came - sent).seconds)
        }
        if !request.isReusedConnection, let begun = request.domainLookupStart ?? request.connectStart,
            let made = request.connectEnd, made >= begun
        {
            connects.add((made - begun).seconds)
        }
        if let status = request.status, (400...599).contains(status), status != 401, status != 407 {
            statuses[status, default: 0] += 1
        } else if let error {
            count(error, status: request.status)
        }
        let bytes = max(request.responseBodyBytesReceived, request.requestBodyBytesSent)
        let start = request.requestBodyBytesSent > 0 ? request.requestStart : request.responseStart
        guard let start, let end = request.responseEnd else { return }
        rates.add(from: start.nanoseconds, to: end.nanoseconds, bytes: bytes)
    }

    private mutating func count(_ error: String, status: Int?) {
        switch ErrorName(rawValue: error) {
        case .timedOut: timeouts += 1
        case .networkConnectionLost where status != nil: cuts += 1
        case .networkConnectionLost, .cannotConnectToHost, .secureConnectionFailed: hangUps += 1
        default: break
        }
    }

    fileprivate var host: NetworkModel.Host {
        var host = NetworkModel.Host()
        host.spread = 0
        host.latency = MeasuredNetwork.span(latencies.mean ?? 0.05)
        host.connect = MeasuredNetwork.span(connects.mean ?? 0)
        host.isShared = isShared
        let size = Int64(min(max(0, sizes.mean ?? 0), 1e18))
        host.size = size...size
        func share(_ count: Int) -> Int { requests > 0 ? (1000 * count + requests / 2) / requests : 0 }
        host.statuses = statuses.mapValues { share($0) }.filter { $0.value > 0 }
        (host.cuts, host.hangUps, host.timeouts) = (share(cuts), share(hangUps), share(timeouts))
        if let rates = rates.rates {
            (host.connectionBandwidth, host.bandwidth, host.mostSeen) = (rates.connection, rates.all, rates.requests)
        }
        return host
    }
}
