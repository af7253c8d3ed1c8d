/// What a user's runs remember from one to the next, in one SQLite file of a private folder.
///
/// Any number of processes may have it open. A `Store` belongs to one thread at a time. What stands in it is never
/// trusted blindly: a resume record is a hint that the partial file and the server must confirm.
package final class Store {
    /// The file that was put aside when this store was opened, if one was: tell the user.
    package let quarantined: Quarantine?
    let database: Database
    private let files: StoreFiles

    private init(_ database: consuming Database, _ files: StoreFiles, _ quarantined: Quarantine?) {
        self.database = database
        self.files = files
        self.quarantined = quarantined
    }

    /// Opens the folder's store, making what is missing and bringing an older one up to date. A damaged file or one
    /// of another program is put aside and a new one made; one of a newer version of this program is an error. For
    /// tests: `format` makes it what an earlier version would have made.
    package static func open(folder: String, format: Int? = nil) throws(StoreError) -> Store {
        try PrivateFiles.prepareFolder(folder)
        let files = StoreFiles(folder: folder)
        // Two processes must not both make, change or put aside the same file.
        let lock = try FolderLock(files.lock, patience: 20_000)
        defer { lock.release() }
        do throws(StoreError) {
            return Store(try connect(files, format), files, nil)
        } catch {
            guard error.kind == .damaged || error.kind == .foreign else { throw error }
            let quarantine = try files.putAside(error.description)
            return Store(try connect(files, format), files, quarantine)
        }
    }

    /// Whether there is anything to be opened that was not made just now.
    package static func isThere(folder: String) -> Bool { PrivateFiles.exists(StoreFiles(folder: folder).database) }

    /// What would keep the folder's store from being private, before anything is opened or made there.
    package static func privacyProblem(folder: String) -> StoreError? {
        do throws(StoreError) {
            try PrivateFiles.checkPrivate(folder: folder, file: StoreFiles(folder: folder).database)
            return nil
        } catch {
            return error.kind == .notPrivate ? error : nil
        }
    }

    private static func connect(_ files: StoreFiles, _ format: Int?) throws(StoreError) -> Database {
        try PrivateFiles.prepareFile(files.database)
        let database = try Database(path: files.database)
        try refuseForeign(database)
        try refuseReadOnly(database)
        try check(database, files)
        try configure(database)
        try Migration.bringUpToDate(database, format: format ?? Migration.all.count)
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
    private static func refuseReadOnly(_ database: borrowing Database) throws(StoreError) {
        guard database.isReadOnly else { return }
        throw PrivateFiles.isWritable(database.path)
            ? StoreError(.damaged, "the store \(database.path) says in its header that it may not be written")
            : StoreError(.other, "the store \(database.path) cannot be written")
    }

    /// Reads every page of a small file; of a large one only when somebody met damage, because it takes time.
    private static func check(_ database: borrowing Database, _ files: StoreFiles) throws(StoreError) {
        let isSuspect = PrivateFiles.exists(files.suspicion)
        guard isSuspect || PrivateFiles.size(files.database) ?? 0 <= 1 << 20 else { return }
        let verdict = try database.pragma("quick_check(1)")
        guard verdict == "ok" else {
            throw StoreError(.damaged, "the store \(files.database): \(verdict)")
        }
        PrivateFiles.remove(files.suspicion)
    }

    private static func configure(_ database: borrowing Database) throws(StoreError) {
        // Readers and one writer at once. Where the filesystem cannot (no shared memory, as on NFS) SQLite says so
        // and stays with its rollback journal, which is as safe and only slower.
        _ = try database.pragma("journal_mode = WAL")
        // A commit survives the process's death at once and a power cut once it was checkpointed; the file is whole
        // after either. What must survive a power cut says so in its transaction (`durably`).
        try database.execute("PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON; PRAGMA cell_size_check = ON")
    }

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

    /// Reading, with damage remembered for the next to open.
    func read<Result>(_ body: () throws(StoreError) -> Result) throws(StoreError) -> Result {
        do throws(StoreError) { return try body() } catch { throw noted(error) }
    }

    private func noted(_ error: StoreError) -> StoreError {
        if error.kind == .damaged { PrivateFiles.touch(files.suspicion) }
        return error
    }
}
