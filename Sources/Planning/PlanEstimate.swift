import Reporting
import TransferModel

extension JobPlan {
    /// Rate that is assumed where nothing limits it, in bytes a second: 100 Mbit/s.
    private static let usualRate: Int64 = 12_500_000

    /// Least time that the run takes by what the servers said: its requests one after the other at each free
    /// connection, or its bytes at the highest rate, whichever is longer.
    package mutating func estimate() {
        let latencies = words.compactMap(\.latency)
        let asking = outlooks.count { $0.asksServer }
        let connections = max(
            1, min(job.limits.maximumConcurrentTasks, hosts.reduce(0) { $0 + ($1.tasks > 0 ? $1.connections : 0) }))
        let mean = latencies.isEmpty ? 0 : latencies.reduce(0) { $0 + $1.seconds } / Double(latencies.count)
        let asked = mean * (Double(asking) / Double(connections)).rounded(.up)
        let limit = job.limits.bandwidth.map(\.lowest)
        let moving = Double(totals.bytes) / Double(limit ?? Self.usualRate)
        let rate = limit.map { "\(HumanText.size($0))/s (`limits.bandwidth`)" } ?? "100 Mbit/s, since nothing limits it"
        let unknown =
            totals.unknownSizes == 0 ? "" : ", and \(HumanText.count(totals.unknownSizes, "task")) of unknown size"
        let basis =
            asked > moving
            ? "\(HumanText.count(asking, "request")) over \(HumanText.count(connections, "connection"))"
            : "\(HumanText.size(totals.bytes)) at \(rate)\(unknown)"
        duration = (TimeSpan(nanoseconds: Int64(min(max(asked, moving), 1e9) * 1e9)), basis)
    }
}
