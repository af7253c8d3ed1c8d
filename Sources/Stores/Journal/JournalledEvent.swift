package import TransferModel

extension Event {
    /// Whether the journal records the event. Progress comes five times a second and is of no use later.
    package var isJournalled: Bool {
        switch kind {
        case .sentBodyData, .receivedData: false
        default: true
        }
    }

    /// Whether the event must survive a power cut: a task that ended must not begin again after one.
    var isOutcome: Bool {
        switch kind {
        case .taskFinished, .hookFinished, .sessionFinishedEvents, .runFinished: true
        default: false
        }
    }
}
