import SystemIO
import TransferModel

/// What one of our SQLite files is.
struct DatabaseKind: Sendable {
    /// `store`: its files are `store.sqlite`, `store.lock` and `store.suspect`, and sentences call it `the store`.
    let name: String
    /// By this number in the file's header it is known as ours.
    let applicationID: Int64
    let steps: [Migration]
    /// So many pages of the log are taken into the file, with two waits for the disk, by whoever commits then: mostly
    /// while the run goes on. Who opens the database reads the log first, 1 ms for 500.
    var longLog = 500
    /// What is deleted makes the file shorter, when asked for.
    var givesRoomBack = false
    /// Reads all that SQLite's own check says nothing of. Only where somebody met damage.
    var prove: @Sendable (borrowing Database) throws(StoreError) -> Void = { _ in }
}

/// An SQLite file of ours in a private folder. Any number of processes may have it open; an object belongs to one thread
/// at a time.
package class PrivateDatabase {
    /// The file that was put aside at this opening, if one was: tell the user.
    package final let quarantined: Quarantine?
    final let database: Database
    final let files: StoreFiles

    init(_ opened: consuming OpenedDatabase) {
        quarantined = opened.quarantined
        database = opened.database
        files = opened.files
    }

    /// One transaction around all that `body` writes: all of it or, when it throws, none. Inside another it is part
    /// of that. With `durably` it is on the disk, and not only in the system's memory, when this returns.
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

    /// Closing will not wait for the disk; what was committed stays in the log beside the file.
    final func leaveJournal() { database.setKeepsJournal(true) }

    /// Until `endReading` questions are about one moment, and lock the file once together.
    final func beginReading() { try? database.execute("BEGIN") }
    final func endReading() { if database.isInTransaction { try? database.execute("COMMIT") } }

    /// Reading, with damage remembered for the next to open.
    final func read<Result>(_ body: () throws(StoreError) -> Result) throws(StoreError) -> Result {
        do throws(StoreError) { return try body() } catch { throw noted(error) }
    }

    /// The next to open reads every page.
    final func suspect() { files.suspect() }

    private func noted(_ error: StoreError) -> StoreError {
        if error.kind == .damaged { suspect() }
        return error
    }
}
