package import JobRunner
package import Stores
import TransferModel

/// What the journal has for an identifier that the user typed.
package enum NamedSession: Sendable {
    /// A run whose end has not been delivered.
    case run(JournalRun)
    /// A run that ended and whose end was delivered.
    case over(JournalRun)
    /// No run has the identifier; these identifiers have one.
    case unknown([String])

    /// Looks the identifier up in the journal.
    package static func find(_ identifier: String, _ folder: StateFolder) throws(StoreError) -> NamedSession {
        guard Journal.isThere(folder: folder.state) else { return .unknown([]) }
        let journal = try Journal.open(folder: folder.state)
        if let holder = try journal.holder(of: identifier), let run = try journal.run(holder.run) { return .run(run) }
        let runs = try journal.runs()
        if let run = runs.last(where: { $0.accepted.identifiers.contains(identifier) }) { return .over(run) }
        return .unknown(runs.filter { $0.deliveredAt == nil }.flatMap(\.accepted.identifiers))
    }
}

/// Asks the background process to change tasks of a session, starting the process if there is none.
package struct SessionControl {
    /// Connects to the process.
    package let starter: ServiceStarter
    /// The number of attempts: the process may end between being found and being asked.
    private static let tries = 3
    /// Parts of replies that tell of trouble in the process, not of a wrong request.
    static let unwrittenWords = "cannot be written down"
    static let uncarriedWords = "is held up, and nobody carries it"

    package init(_ starter: ServiceStarter) { self.starter = starter }

    /// Sends the request and returns the reply; tries again when the process goes away.
    package func perform(_ control: ServiceControl) throws(ServiceTrouble) -> ControlReply {
        for _ in 0..<Self.tries {
            let link = try starter.connect()
            do throws(ServiceFailure) {
                switch try link.ask(.control(control)) {
                case .changed(let ids): return .changed(ids)
                case .refused(let reason):
                    if reason.contains(Self.unwrittenWords) || reason.contains(Self.uncarriedWords) {
                        throw ServiceFailure.refused(reason)
                    }
                    return .refused(reason)
                case .done, .status, .following: throw ServiceFailure.refused("the answer to another question")
                }
            } catch {
                if case .gone = error { continue }
                if case .refused(let reason) = error { throw ServiceTrouble(reason) }
                throw ServiceTrouble("the background process does not answer: \(error)")
            }
        }
        throw ServiceTrouble("the background process went away \(Self.tries) times in a row: see \(starter.place.log)")
    }
}
