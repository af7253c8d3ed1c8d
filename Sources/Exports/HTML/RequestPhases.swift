package import TransferModel

/// The phases of one request and the nanoseconds spent in each. They follow each other without gaps from `start` to
/// `end`.
package struct RequestPhases: Sendable {
    /// The phases in their order, from waiting for a connection to receiving the response.
    package enum Phase: Int, CaseIterable, Sendable { case queued, lookup, connect, tls, send, wait, receive }

    /// When the request was begun, in nanoseconds since 1970.
    package let start: Int64
    /// When the request ended, in nanoseconds since 1970.
    package let end: Int64
    /// Length of each phase in nanoseconds; 0 for a phase that the request did not have.
    package private(set) var lengths: InlineLengths

    /// A number for each phase, stored without an allocation.
    package struct InlineLengths: Sendable {
        private var numbers: (Int64, Int64, Int64, Int64, Int64, Int64, Int64) = (0, 0, 0, 0, 0, 0, 0)

        /// The number of a phase.
        package subscript(phase: Phase) -> Int64 {
            get {
                switch phase {
                case .queued: numbers.0
                case .lookup: numbers.1
                case .connect: numbers.2
                case .tls: numbers.3
                case .send: numbers.4
                case .wait: numbers.5
                case .receive: numbers.6
                }
            }
            set {
                switch phase {
                case .queued: numbers.0 = newValue
                case .lookup: numbers.1 = newValue
                case .connect: numbers.2 = newValue
                case .tls: numbers.3 = newValue
                case .send: numbers.4 = newValue
                case .wait: numbers.5 = newValue
                case .receive: numbers.6 = newValue
                }
            }
        }
    }

    /// Divides the time of a request. A request that did not end stays in its last phase until `lastMoment`: the next
    /// request's begin, or the attempt's end.
    package init(_ request: TransactionMetrics, end lastMoment: WallTime) {
        start = request.fetchStart.nanoseconds
        end = max(request.responseEnd ?? max(lastMoment, Self.latest(of: request)), request.fetchStart).nanoseconds
        lengths = InlineLengths()
        var at = start
        let hasBody = request.requestBodyBytesSent > 0
        take(.lookup, request.domainLookupStart, request.domainLookupEnd, &at)
        take(.connect, request.connectStart, request.secureConnectionStart ?? request.connectEnd, &at)
        take(.tls, request.secureConnectionStart, request.secureConnectionEnd, &at)
        let sendsUntil = request.requestEnd ?? (hasBody ? nil : request.requestStart)
        take(.send, request.requestStart, sendsUntil, &at)
        take(.wait, request.requestEnd ?? (hasBody ? nil : request.requestStart), request.responseStart, &at)
        take(.receive, request.responseStart, request.responseEnd, &at)
        if end > at { lengths[.queued] += end - at }
    }

    private static func latest(of request: TransactionMetrics) -> WallTime {
        let dates = [
            request.domainLookupStart, request.domainLookupEnd, request.connectStart, request.secureConnectionStart,
            request.secureConnectionEnd, request.connectEnd, request.requestStart, request.requestEnd,
            request.responseStart,
        ]
        return dates.reduce(request.fetchStart) { max($0, $1 ?? $0) }
    }

    /// Adds the time of a phase and advances `at` to its end. Time before the phase counts as `queued` up to sending,
    /// later as the phase itself.
    private mutating func take(_ phase: Phase, _ from: WallTime?, _ to: WallTime?, _ at: inout Int64) {
        guard let from = from?.nanoseconds else { return }
        let begin = min(from, end)
        if begin > at {
            lengths[phase.rawValue <= Phase.send.rawValue ? .queued : phase] += begin - at
            at = begin
        }
        let stop = min(to?.nanoseconds ?? end, end)
        if stop > at {
            lengths[phase] += stop - at
            at = stop
        }
    }
}
