import SystemIO
import TransferModel

/// Properties of one of this program's SQLite files.
struct DatabaseKind: Sendable {
    /// For `store`, the files are `store.sqlite`, `store.lock` and `store.suspect`, and messages call it `the store`.
    let name: String
    /// Number in the file's header that identifies it as this program's.
    let applicationID: Int64
    let steps: [Migration]
    /// Pages of log at which a commit takes the log into the file, with two waits for the disk: mostly while the run
    /// goes on. The next opening reads the log first, 1 ms for 500 pages.
    var longLog = 500
    /// Whether deleted pages can be given back to the file system (`PRAGMA incremental_vacuum`).
    var givesRoomBack = false
    /// Verifies what SQLite's own check does not cover. Called only after damage was met.
    var prove: @Sendable (borrowing Database) throws(StoreError) -> Void = { _ in }
}

/// An SQLite file of this program in a private folder. Any number of processes may have it open; an object belongs to
/// one thread at a time.
package class PrivateDatabase {
    /// The file that was put aside at this opening, to be reported to the user; `nil` if none was.
    package final let quarantined: Quarantine?
    final let database: Database
    final let files: StoreFiles

    init(_ opened: consuming OpenedDatabase) {
        quarantined = opened.quarantined
        database = opened.database
        files = opened.files
    }

    /// Runs `body` in one transaction: all of its writes take effect or, when it throws, none. Inside another
    /// transaction it is part of that. With `durably` it is on the disk, and not only in the system's memory, when this
    /// returns.
    package final func batch<Result>(durably: Bool = false, _ body: () throws(StoreError) -> Result) throws(StoreError)
        -> Result
    {
        if database.isInTransaction { return try body() }
        do throws(StoreError) {
            if durably { try database.execute("PRAGMA synchronous = FULL") }
            // Taking the write lock at once waits for its turn; upgrading a read later could only fail.
            try database.execute("BEGIN IMMEDIATE")
            let result = try body()
            try database.execute("COMMIT")
            if durably { try database.execute("PRAGMA synchronous = NORMAL") }
            return result
        } catch {
            if database.isInTransaction { try? database.execute("ROLLBACK") }
            if durably { try? database.execute("PRAGMA synchronous = NORMAL") }
            throw noted(error)
        }
    }

    /// Makes closing skip the wait for the disk; what was committed stays in the log beside the file.
    final func leaveJournal() { database.setKeepsJournal(true) }

    /// Begins a read transaction that lasts until `endReading`: its queries see one moment and lock the file once.
    final func beginReading() { try? database.execute("BEGIN") }
    final func endReading() { if database.isInTransaction { try? database.execute("COMMIT") } }

    /// Runs queries; damage that they meet is remembered for the next opening.
    final func read<Result>(_ body: () throws(StoreError) -> Result) throws(StoreError) -> Result {
        do throws(StoreError) { return try body() } catch { throw noted(error) }
    }

    /// Makes the next opening read every page.
    final func suspect() { if !database.isReadOnly { files.suspect() } }

    private func noted(_ error: StoreError) -> StoreError {
        if error.kind == .damaged { suspect() }
        return error
    }
}
