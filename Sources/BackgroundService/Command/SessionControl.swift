package import JobRunner
package import Stores
import TransferModel

/// An identifier as somebody typed it.
package enum NamedSession: Sendable {
    /// A run whose end nobody knows of yet.
    case run(JournalRun)
    /// It ended, and its end is known.
    case over(JournalRun)
    /// There are these.
    case unknown([String])

    package static func find(_ identifier: String, _ folder: StateFolder) throws(StoreError) -> NamedSession {
        guard Journal.isThere(folder: folder.state) else { return .unknown([]) }
        let journal = try Journal.open(folder: folder.state)
        if let holder = try journal.holder(of: identifier), let run = try journal.run(holder.run) { return .run(run) }
        let runs = try journal.runs()
        if let run = runs.last(where: { $0.accepted.identifiers.contains(identifier) }) { return .over(run) }
        return .unknown(runs.filter { $0.deliveredAt == nil }.flatMap(\.accepted.identifiers))
    }
}

/// Asks the background process to change something, starting it if there is none.
package struct SessionControl {
    package let starter: ServiceStarter
    /// It may end between being found and being asked.
    private static let tries = 3

    package init(_ starter: ServiceStarter) { self.starter = starter }

    package func perform(_ control: ServiceControl) throws(ServiceTrouble) -> ControlReply {
        for _ in 0..<Self.tries {
            let link = try starter.connect()
            do throws(ServiceFailure) {
                switch try link.ask(.control(control)) {
                case .changed(let ids): return .changed(ids)
                case .refused(let reason): return .refused(reason)
                case .done, .status, .following: throw ServiceFailure.refused("the answer to another question")
                }
            } catch {
                if case .gone = error { continue }
                throw ServiceTrouble("the background process does not answer: \(error)")
            }
        }
        throw ServiceTrouble("the background process went away \(Self.tries) times in a row: see \(starter.place.log)")
    }
}
