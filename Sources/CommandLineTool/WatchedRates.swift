import BackgroundService
import JobRunner
package import TransferModel

/// Measures the rates that `status --watch` shows: bytes a second over the last seconds.
package struct WatchedRates {
    /// A session or run, by identifier or process id.
    package enum Key: Hashable, Sendable {
        /// A background session's identifier.
        case session(String)
        /// A run's process id.
        case run(Int32)
    }

    /// The progress of one task.
    package struct Progress: Sendable {
        /// Id of the task.
        package var id: String
        /// Number of attempts that have begun.
        package var attempts: Int
        /// Bytes of the present attempt's body, in either direction.
        package var bytes: Int64

        package init(id: String, attempts: Int, bytes: Int64) {
            self.id = id
            self.attempts = attempts
            self.bytes = bytes
        }
    }

    private struct Meter {
        var tasks: [String: Progress] = [:]
        var moved: Int64 = 0
        var samples: [(time: Instant, moved: Int64)] = []

        var rate: Int64? {
            guard let first = samples.first, let last = samples.last, last.time > first.time else { return nil }
            return Int64(Double(last.moved - first.moved) / (last.time - first.time).seconds)
        }
    }

    private static let window = TimeSpan.seconds(5)
    private var meters: [Key: Meter] = [:]

    package init() {}

    /// Adds the progress at `now` and returns the rates in bytes a second. A session or run seen for the first time has
    /// none yet.
    package mutating func update(_ seen: [Key: [Progress]], at now: Instant) -> [Key: Int64] {
        var meters: [Key: Meter] = [:]
        for (key, tasks) in seen { meters[key] = Self.advanced(self.meters[key] ?? Meter(), tasks, now) }
        self.meters = meters
        return meters.compactMapValues { $0.rate }
    }

    private static func advanced(_ meter: Meter, _ tasks: [Progress], _ now: Instant) -> Meter {
        var meter = meter
        var latest: [String: Progress] = [:]
        for task in tasks {
            // The offset at which an attempt begins was not moved by it.
            if let before = meter.tasks[task.id], before.attempts == task.attempts {
                meter.moved += max(0, task.bytes - before.bytes)
            }
            latest[task.id] = task
        }
        meter.tasks = latest
        meter.samples.append((now, meter.moved))
        while meter.samples.count > 2, now - meter.samples[1].time >= window { meter.samples.removeFirst() }
        return meter
    }
}

extension StatusView {
    /// The progress of the tasks in the view.
    var progress: [WatchedRates.Key: [WatchedRates.Progress]] {
        var progress: [WatchedRates.Key: [WatchedRates.Progress]] = [:]
        for session in sessions {
            progress[.session(session.identifier)] = session.tasks.map {
                WatchedRates.Progress(id: $0.id, attempts: $0.attempts, bytes: max($0.bytesReceived, $0.bytesSent))
            }
        }
        for run in runs {
            progress[.run(run.process)] = (run.status?.tasks ?? []).map {
                WatchedRates.Progress(id: $0.id, attempts: $0.attempts, bytes: max($0.bytesReceived, $0.bytesSent))
            }
        }
        return progress
    }
}
