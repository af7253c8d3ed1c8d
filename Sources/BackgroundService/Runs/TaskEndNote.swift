package import JobRunner
import Records
package import Stores
import TransferModel

/// The end of a task that one process carried and another needs to know, with the captured values. Stored among a run's
/// inputs, which are sealed, because it may hold secrets.
package enum TaskEndNote {
    private static let version: UInt8 = 1
    /// Marks a failure that ends the rest of the run; the format is the same as `version`.
    private static let failure: UInt8 = 2

    /// Returns the note for an end, named by the task's id.
    package static func input(_ end: OutsideEnd, kind: String) -> JournalInput {
        var writer = RecordWriter(capacity: 64)
        writer.put(byte: end.hasFailed ? failure : version)
        writer.put(end.succeeded)
        writer.put(end.deferral?.rawValue)
        writer.put(end.captures)
        return JournalInput(kind: kind, name: end.id, bytes: writer.bytes)
    }

    /// Reads the end from a note.
    package static func end(_ input: JournalInput) throws(ServiceTrouble) -> OutsideEnd {
        do throws(RecordProblem) {
            var reader = RecordReader(input.bytes)
            let kind = try reader.byte()
            guard kind == version || kind == failure else { throw reader.problem(.unknown, "its format is unknown") }
            let succeeded = try reader.flag()
            let deferral = try reader.optionalText().flatMap { Deferral(rawValue: $0) }
            let captures = try reader.captures()
            try reader.finish()
            return OutsideEnd(
                id: input.name, succeeded: succeeded, hasFailed: kind == failure, deferral: deferral,
                captures: captures)
        } catch {
            throw ServiceTrouble("what was noted of the task `\(input.name)` cannot be read: \(error)")
        }
    }
}
