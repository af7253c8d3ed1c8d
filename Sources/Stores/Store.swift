import SystemIO
package import TransferModel

/// What a user's runs remember from one to the next, in one SQLite file of a private folder.
///
/// Any number of processes may have it open. A `Store` belongs to one thread at a time. What stands in it is never
/// trusted blindly: a resume record is a hint that the partial file and the server must confirm, and a validator counts
/// only with its seal.
package final class Store {
    /// The file that was put aside when this store was opened, if one was: tell the user.
    package let quarantined: Quarantine?
    /// Half-done files that nobody will go on with, as was found at this opening: they can go.
    package private(set) var forgotten: Set<String> = []
    let openedAt: WallTime
    let database: Database
    private let files: StoreFiles

    private init(
        _ database: consuming Database, _ files: consuming StoreFiles, _ quarantined: Quarantine?, _ now: WallTime
    ) {
        self.database = database
        self.files = files
        self.quarantined = quarantined
        openedAt = now
    }

    /// Opens the folder's store, making what is missing and bringing an older one up to date. A damaged file or one
    /// of another program is put aside and a new one made; one of a newer version of this program is an error. For
    /// tests: `steps` makes it what another version would have made.
    package static func open(
        folder: String, now: WallTime = Clocks.wall(), steps: [Migration] = Migration.all
    ) throws(StoreError) -> Store {
        let store = try connected(folder: folder, now: now, steps: steps)
        store.forgetOld()
        return store
    }

    /// Open, with all that is out of date still in it.
    static func connected(
        folder: String, now: WallTime, steps: [Migration] = Migration.all
    ) throws(StoreError) -> Store {
        let files = try StoreFiles(folder)
        // Two processes must not both make, change or put aside the same file.
        let lock = try files.takeLock(patience: .seconds(20))
        var quarantined: Quarantine?
        let database = try connectAnyhow(files, steps, &quarantined)
        _ = consume lock
        return Store(database, files, quarantined, now)
    }

    /// Whoever cannot forget now, for want of room or because others write, does so at another opening.
    func forgetOld() {
        forgotten = (try? forgetUnusedSessions(now: openedAt)) ?? []
        forgotten.formUnion((try? forgetOldParts(now: openedAt)) ?? [])
    }

    /// Whether there is anything to be opened that was not made just now.
    package static func isThere(folder: String) -> Bool { StoreFiles.isThere(folder: folder) }

    /// What would keep the folder's store from being private, before anything is opened or made there.
    package static func privacyProblem(folder: String) -> StoreError? {
        do throws(StoreError) {
            try StoreFiles.checkPrivate(folder)
            return nil
        } catch {
            return error.kind == .notPrivate ? error : nil
        }
    }

    // MARK: Opening

    private static func connectAnyhow(
        _ files: borrowing StoreFiles, _ steps: [Migration], _ quarantined: inout Quarantine?
    ) throws(StoreError) -> Database {
        do throws(StoreError) {
            return try connect(files, steps)
        } catch {
            guard error.kind == .damaged || error.kind == .foreign else { throw error }
            quarantined = try files.putAside(error.description)
            return try connect(files, steps)
        }
    }

    private static func connect(
        _ files: borrowing StoreFiles, _ steps: [Migration]
    ) throws(StoreError) -> Database {
        let isNew = try files.prepareDatabase()
        let database = try Database(path: files.database)
        // A new file has nothing to lose: it is on the disk once, when it is whole.
        if isNew { try database.execute("PRAGMA synchronous = OFF") }
        try refuseForeign(database)
        try refuseReadOnly(database, files)
        try check(database, files)
        try configure(database)
        try Migration.bringUpToDate(database, steps)
        try database.execute("PRAGMA synchronous = NORMAL")
        if isNew {
            _ = try database.pragma("wal_checkpoint(PASSIVE)")
            files.flushNames()
        }
        database.setKeepsJournal(false)
        return database
    }

    /// "TRun" in ASCII.
    private static let applicationID: Int64 = 0x5452_756E

    private static func refuseForeign(_ database: borrowing Database) throws(StoreError) {
        let owner = try database.number("PRAGMA application_id")
        if owner == applicationID { return }
        // A file that was made and never filled has neither.
        let tables = try database.number("SELECT count(*) FROM sqlite_schema")
        guard owner == 0, tables == 0 else {
            throw StoreError(.foreign, "the store \(database.path) is another program's SQLite file")
        }
        try database.execute("PRAGMA application_id = \(applicationID)")
    }

    /// SQLite reads on without a word where it may not write, be it the folder or the file's own header that says so.
    private static func refuseReadOnly(
        _ database: borrowing Database, _ files: borrowing StoreFiles
    ) throws(StoreError) {
        guard database.isReadOnly else { return }
        throw files.mayWriteDatabase
            ? StoreError(.damaged, "the store \(database.path) says in its header that it may not be written")
            : StoreError(.other, "the store \(database.path) cannot be written")
    }

    /// How many pages are read whole at each opening: a quarter of a megabyte, in a third of a millisecond.
    private static let fewPages: Int64 = 64

    /// Reads every page of a small file; of a larger one only when somebody met damage, because it takes time. What is
    /// believed of it proves itself, and SQLite notices what it cannot read whenever it comes to it.
    private static func check(
        _ database: borrowing Database, _ files: borrowing StoreFiles
    ) throws(StoreError) {
        let isSuspect = files.isSuspect
        let pages = try database.number("PRAGMA page_count")
        guard isSuspect || pages <= fewPages else { return }
        let verdict = try database.pragma("quick_check(1)")
        guard verdict == "ok" else {
            throw StoreError(.damaged, "the store \(files.database): \(verdict)")
        }
        if isSuspect { files.trust() }
    }

    /// So many pages of the log are taken into the file, with two waits for the disk, by whoever commits then: mostly
    /// while the run goes on. Who opens the store reads the log first, 1 ms for so many.
    private static let longLog = 500

    private static func configure(_ database: borrowing Database) throws(StoreError) {
        // Readers and one writer at once. Where the filesystem cannot (no shared memory, as on NFS) SQLite says so
        // and stays with its rollback journal, which is as safe and only slower.
        _ = try database.pragma("journal_mode = WAL")
        // A commit survives the process's death at once and a power cut once it was checkpointed (`NORMAL`); the file is
        // whole after either. What must survive a power cut says so in its transaction (`durably`).
        try database.execute(
            "PRAGMA wal_autocheckpoint = \(longLog); PRAGMA foreign_keys = ON; PRAGMA cell_size_check = ON")
    }

    // MARK: Using

    /// One transaction around all that `body` writes: all of it or, when it throws, none. Inside another it is part
    /// of that. With `durably` it is on the disk, and not only in the system's memory, when this returns.
    package func batch<Result>(durably: Bool = false, _ body: () throws(StoreError) -> Result) throws(StoreError)
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
    func leaveJournal() { database.setKeepsJournal(true) }

    /// Until `endReading` questions are about one moment, and lock the file once together.
    func beginReading() { try? database.execute("BEGIN") }
    func endReading() { if database.isInTransaction { try? database.execute("COMMIT") } }

    /// Reading, with damage remembered for the next to open.
    func read<Result>(_ body: () throws(StoreError) -> Result) throws(StoreError) -> Result {
        do throws(StoreError) { return try body() } catch { throw noted(error) }
    }

    /// The next to open reads every page.
    func suspect() { files.suspect() }

    private func noted(_ error: StoreError) -> StoreError {
        if error.kind == .damaged { suspect() }
        return error
    }
}
