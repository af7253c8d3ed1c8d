internal import TransferModel

/// What ended a whole run before its tasks were done, through no fault of theirs.
enum RunStop: Hashable {
    case signal, finishBy, maximumBytes, timeout
    /// Too many tasks failed; the message says how many.
    case failures(String)

    /// The stop that ended the task; `nil` where it ended for a reason of its own.
    init?(_ record: TaskRecord) {
        switch record.outcome {
        case .cancelled where record.error?.saysTheSame(as: .stoppedBySignal) == true: self = .signal
        case .cancelled where record.error?.isByRunTimeout == true: self = .timeout
        case .cancelled where record.error?.isByStopWhen == true: self = .failures(record.error?.message ?? "")
        case .deferred:
            switch record.deferral {
            case .finishBy: self = .finishBy
            case .maximumBytes: self = .maximumBytes
            case .suspended, .network, .power, .window, .earliestBegin, nil: return nil
            }
        case .cancelled, .succeeded, .failed, .skipped: return nil
        }
    }

    var words: String {
        switch self {
        case .signal: "Stopped by a signal"
        case .finishBy: "`limits.finishBy` has come"
        case .maximumBytes: "`limits.maximumBytes` is reached"
        case .timeout: "`limits.timeout` is over"
        case .failures(let message): message
        }
    }

    /// Returns in words what ended the run before the task was done; `nil` where the task ended for a reason of its own.
    static func words(_ record: TaskRecord) -> String? {
        if let stop = RunStop(record) { return stop.words }
        guard record.error?.saysTheSame(as: .cancelledByFailFast) == true else { return nil }
        return "`failFast` ended the run at the first failure"
    }
}
