package import HTTPRules
import TransferModel

extension Engine {
    /// The ids of the run's spans, for sessions that tell them to servers.
    package func trace(_ ids: TraceIDs) {
        for session in sessions where !session.configuration.propagatesTraceTo.isEmpty { session.traceIDs = ids }
    }
}
