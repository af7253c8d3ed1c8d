package import TransferModel

/// How the attempts of a real run went: a script that a simulated world replays for the same tasks.
package struct RecordedRun: Sendable {
    /// How one recorded attempt went.
    package struct Attempt: Hashable, Sendable {
        /// Time from the attempt's beginning to its end, all hops included.
        package var duration: TimeSpan
        /// The outcome of the attempt.
        package var outcome: TaskOutcome
        /// The error of an attempt that failed; `nil` for one that succeeded.
        package var error: ErrorName?
        /// The status of the last response before the attempt ended; `nil` if none was recorded.
        package var status: Int?
        /// The pause that the server asked for, if it did.
        package var retryAfter: TimeSpan?
        /// The origins the attempt was redirected to, in order.
        package var hops: [OriginID]

        package init(
            duration: TimeSpan, outcome: TaskOutcome, error: ErrorName?, status: Int?, retryAfter: TimeSpan? = nil,
            hops: [OriginID] = []
        ) {
            self.duration = duration
            self.outcome = outcome
            self.error = error
            self.status = status
            self.retryAfter = retryAfter
            self.hops = hops
        }
    }

    /// The recorded attempts of each task, in order, by task index. A replayed attempt beyond the last one goes as the
    /// last did.
    package let attempts: [[Attempt]]
    package init(attempts: [[Attempt]]) { self.attempts = attempts }

    func attempt(_ number: Int, of task: TaskIndex) -> Attempt? {
        let attempts = attempts[Int(task.raw)]
        return attempts.isEmpty ? nil : attempts[min(number, attempts.count) - 1]
    }
}

extension SimulatedWorld {
    /// Schedules the next recorded response of a flight. Each hop takes an even part of the attempt's duration.
    mutating func replay(_ place: Int) {
        guard let flight = flights[place] else { return }
        let attempt = script?.attempt(flight.attempt, of: flight.task)
        let parts = Int64(1 + (attempt?.hops.count ?? 0))
        let duration = TimeSpan(nanoseconds: (attempt?.duration ?? .zero).nanoseconds / parts)
        flights[place]?.phase = .asking
        generations[place] &+= 1
        calendar.put(.answer, place, generations[place], at: now + duration)
    }

    mutating func replayed(_ place: Int) {
        guard let flight = flights[place] else { return }
        guard let attempt = script?.attempt(flight.attempt, of: flight.task) else { return deliver(place) }
        if flight.hop < attempt.hops.count {
            let next = attempt.hops[flight.hop]
            reports.append(.answered(flight.task, Answer(status: 302)))
            release(place)
            flights[place]?.hop += 1
            flights[place]?.phase = .awaitingGrant
            flights[place]?.origin = next
            return reports.append(.needsGrant(flight.task, next))
        }
        flights[place]?.status = attempt.status
        if let status = attempt.status { reports.append(.answered(flight.task, Answer(status: status))) }
        switch attempt.outcome {
        case .failed, .skipped, .deferred:
            let error = TransferError(attempt.error ?? .unknown, "as recorded")
            end(
                place,
                Verdict(
                    .failed(error), status: attempt.status, retryAfter: attempt.retryAfter,
                    sentSomething: attempt.status != nil))
        case .succeeded, .cancelled: deliver(place)
        }
    }
}
