package import TransferModel

/// How the attempts of a real run went: a script that the same tasks can be sent through again.
package struct RecordedRun: Sendable {
    package struct Attempt: Hashable, Sendable {
        package var duration: TimeSpan
        package var outcome: TaskOutcome
        package var error: ErrorName?
        package var status: Int?
        /// What the server asked for.
        package var retryAfter: TimeSpan?
        /// The origins it was redirected to, one after the other.
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

    /// By task, in order. An attempt beyond the last goes as the last did.
    package let attempts: [[Attempt]]
    package init(attempts: [[Attempt]]) { self.attempts = attempts }

    func attempt(_ number: Int, of task: TaskIndex) -> Attempt? {
        let attempts = attempts[Int(task.raw)]
        return attempts.isEmpty ? nil : attempts[min(number, attempts.count) - 1]
    }
}

extension SimulatedWorld {
    /// Each hop takes an even part of what the attempt took.
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
