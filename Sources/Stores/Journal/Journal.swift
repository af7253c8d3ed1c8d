import HTTPRules
import TransferModel

/// All runs accepted in the background, with every event: a process that takes over a run continues from them, and
/// followers read them. One SQLite file beside the store.
///
/// Any number of processes read it while one writes. Accepted runs and outcomes survive a power cut when the call
/// returns; other events survive the end of the process.
package final class Journal: PrivateDatabase {
    static func kind(_ steps: [Migration]) -> DatabaseKind {
        // "TRuJ" in ASCII.
        DatabaseKind(
            name: "journal", applicationID: 0x5452_754A, steps: steps, longLog: 2_000, givesRoomBack: true,
            prove: { database throws(StoreError) in try JournalProof.prove(database) })
    }

    /// Opens the folder's journal, creating what is missing. One that is damaged or another program's is put aside
    /// (`quarantined`), with all its runs; one of a newer version of this program is an error. Without `mends` each of
    /// these is an error: for callers that cannot report what was put aside. `steps` is for tests.
    package static func open(
        folder: String, mends: Bool = true, steps: [Migration] = Migration.journal
    ) throws(StoreError) -> Journal {
        let journal = Journal(try OpenedDatabase.open(folder: folder, kind(steps), mends: mends))
        // Deleted inputs are overwritten, also where SQLite moves them.
        _ = try journal.database.pragma("secure_delete = ON")
        return journal
    }

    /// Whether the folder has a journal to open. `true` also where that cannot be found out: opening it then says why.
    package static func isThere(folder: String) -> Bool { StoreFiles.mayBeThere(folder: folder, kind([]).name) }

    /// Path of the journal that was put aside last, or `nil`.
    package static func putAside(folder: String) -> String? { StoreFiles.putAside(folder: folder, kind([]).name) }

    /// Runs a transaction. It throws if the file was put aside, where nothing written would ever be read.
    func write<Result>(durably: Bool, _ body: () throws(StoreError) -> Result) throws(StoreError) -> Result {
        try checkPlace()
        return try batch(durably: durably, body)
    }

    /// Throws if nothing can be written just now, as on a full disk: writes some pages and takes them out again in one
    /// transaction. Less would fit into what is left of a page.
    package func tryWriting(for id: RunID) throws(StoreError) {
        try write(durably: false) { () throws(StoreError) in
            let insert = try database.prepare(
                "INSERT INTO inputs (run, kind, name, bytes, seal) VALUES (?, '', '', zeroblob(16384), 0)")
            insert.bind(1, id.raw)
            try insert.run()
            let delete = try database.prepare("DELETE FROM inputs WHERE id = ?")
            delete.bind(1, database.lastInserted)
            try delete.run()
        }
    }

    /// Throws if the open file is no longer the folder's journal, because it was put aside or removed.
    package func checkPlace() throws(StoreError) {
        guard database.hasMoved else { return }
        let isAside = Self.putAside(folder: files.path) != nil
        throw StoreError(
            .putAside,
            "\(database.title) was \(isAside ? "put aside while it was open, because it is damaged" : "removed while it was open")"
        )
    }

    func damage(_ what: String) -> StoreError { Journal.damage(database, what) }

    static func damage(_ database: borrowing Database, _ what: String) -> StoreError {
        StoreError(.damaged, "\(database.title): \(what) is not as it was written")
    }
}

/// Key of an event's row: its run and its number in one integer.
struct EventPlace: Hashable, Sendable {
    /// Enough for 69 thousand million events of each of 134 million runs.
    private static let bits: Int64 = 36
    let raw: Int64

    /// `nil` if the run's or the event's number is too large.
    init?(_ run: RunID, _ sequence: UInt64) {
        guard sequence < 1 << UInt64(Self.bits), (0..<1 << (62 - Self.bits)).contains(run.raw) else { return nil }
        raw = run.raw << Self.bits | Int64(sequence)
    }

    /// From a file, where the number may be anything.
    init(raw: Int64) { self.raw = raw }

    var run: RunID { RunID(raw: raw >> Self.bits) }
    var sequence: UInt64 { UInt64(raw & (1 << Self.bits - 1)) }

    /// Bounds of the keys of a run's events: they are greater than the first and at most the last.
    static func first(_ run: RunID) -> Int64 { run.raw << bits }
    static func last(_ run: RunID) -> Int64 { run.raw << bits | (1 << bits - 1) }
}

/// Checksums over the content and place of each row: SQLite would not notice a changed letter.
enum JournalSeal {
    /// Seal that precedes a run's first event.
    static func start(of run: RunID) -> Int64 {
        var seal = Fingerprint()
        seal.add("events")
        seal.add(run.raw)
        return seal.value
    }

    static func event(after chain: Int64, _ place: EventPlace, _ payload: [UInt8]) -> Int64 {
        var seal = Fingerprint()
        seal.add(chain)
        seal.add(place.raw)
        seal.add(payload)
        return seal.value
    }

    static func input(_ input: SealedInput, of run: RunID) -> Int64 {
        var seal = Fingerprint()
        seal.add("input")
        seal.add(run.raw)
        seal.add(input.kind)
        seal.add(input.name)
        seal.add(input.sealed)
        return seal.value
    }

    static func run(_ run: JournalRun) -> Int64 {
        var seal = Fingerprint()
        seal.add("run")
        seal.add(run.id.raw)
        seal.add(run.name)
        let accepted = run.accepted
        seal.add(accepted.identifiers)
        for text in [accepted.job, accepted.file, accepted.folder, accepted.boot, run.state.rawValue] { seal.add(text) }
        seal.add(accepted.arguments)
        for text in [accepted.report, accepted.events, run.end?.outcome.rawValue] { seal.add(text) }
        seal.add(accepted.createdAt.nanoseconds)
        seal.add(Int64(run.taskCount))
        seal.add(run.end?.at.nanoseconds)
        seal.add(run.end.map { Int64($0.exitStatus) })
        if let hooks = run.end?.hooks, !hooks.isEmpty { seal.add(RunRow.texts(of: hooks)) }
        seal.add(run.deliveredAt?.nanoseconds)
        seal.add(Int64(bitPattern: run.lastSequence))
        seal.add(run.chain)
        seal.add(run.isWhole ? 1 : 0)
        return seal.value
    }

    static func tasks(_ ids: [UInt8], from first: Int, of run: RunID) -> Int64 {
        var seal = Fingerprint()
        seal.add("tasks")
        seal.add(run.raw)
        seal.add(Int64(first))
        seal.add(ids)
        return seal.value
    }
}

extension Fingerprint {
    fileprivate mutating func add(_ number: Int64?) {
        add(number == nil ? 0 : 1)
        if let number { add(number) }
    }

    fileprivate mutating func add(_ text: String?) {
        add(text == nil ? 0 : 1)
        if let text { add(text) }
    }

    fileprivate mutating func add(_ texts: [String]) {
        add(Int64(texts.count))
        for text in texts { add(text) }
    }
}
