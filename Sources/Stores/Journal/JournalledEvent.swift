package import TransferModel

extension Event {
    /// Progress comes five times a second and says nothing once it is past.
    package var isJournalled: Bool {
        switch kind {
        case .sentBodyData, .receivedData: false
        default: true
        }
    }

    /// What others rely on: a task that ended must not begin again after a power cut.
    var isOutcome: Bool {
        switch kind {
        case .taskFinished, .sessionFinishedEvents, .runFinished: true
        default: false
        }
    }
}
