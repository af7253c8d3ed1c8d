import BackgroundService
import JobRunner
package import TransferModel

/// Measures how fast what `status --watch` shows moves: bytes a second over the last seconds.
package struct WatchedRates {
    package enum Key: Hashable, Sendable {
        case session(String)
        case run(Int32)
    }

    /// How far a task is.
    package struct Progress: Sendable {
        package var id: String
        package var attempts: Int
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

    /// The rates at `now`. A session or a run that was not seen before has none yet.
    package mutating func take(_ seen: [Key: [Progress]], at now: Instant) -> [Key: Int64] {
        var meters: [Key: Meter] = [:]
        for (key, tasks) in seen { meters[key] = Self.advanced(self.meters[key] ?? Meter(), tasks, now) }
        self.meters = meters
        return meters.compactMapValues { $0.rate }
    }

    private static func advanced(_ meter: Meter, _ tasks: [Progress], _ now: Instant) -> Meter {
        var meter = meter
        var latest: [String: Progress] = [:]
        for task in tasks {
            // Where an attempt begins at an offset, that much has not moved.
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
    /// How far the tasks are that it shows.
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
