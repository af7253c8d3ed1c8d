internal import TransferModel

/// What ended a whole run before its tasks were done, through no fault of theirs.
enum RunStop: Hashable {
    case signal, finishBy, maximumBytes

    /// The stop that ended the task; `nil` where it ended for a reason of its own.
    init?(_ record: TaskRecord) {
        switch record.outcome {
        case .cancelled where record.error?.saysTheSame(as: .stoppedBySignal) == true: self = .signal
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
        }
    }
}
