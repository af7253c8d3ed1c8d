import SystemIO
import TransferModel

/// An open SQLite file of this program: created when missing, checked, migrated to the current format.
struct OpenedDatabase: ~Copyable {
    let database: Database
    let files: StoreFiles
    let quarantined: Quarantine?

    /// Longest wait for other processes that are opening the file.
    package static let patience = TimeSpan.seconds(20)

    /// Opens the database. A damaged file or one of another program is put aside and a new one made; one of a newer
    /// version of this program is an error. Without `mends` nothing is put aside, and a file that would have been is an
    /// error too.
    static func open(
        folder: String, _ kind: DatabaseKind, mends: Bool = true, patience: TimeSpan = Self.patience
    ) throws(StoreError) -> OpenedDatabase {
        let files = try StoreFiles(folder, kind.name)
        // Two processes must not both make, change or put aside the same file.
        let lock = try files.takeLock(patience: patience)
        var quarantined: Quarantine?
        let database = mends ? try connectAnyhow(files, kind, &quarantined) : try connect(files, kind)
        _ = consume lock
        return OpenedDatabase(database: database, files: files, quarantined: quarantined)
    }

    /// Opens an existing database only to read it: nothing is made, migrated or put aside, and no lock is taken. One of
    /// another version of this program is an error.
    static func openToRead(folder: String, _ kind: DatabaseKind) throws(StoreError) -> OpenedDatabase {
        let files = try StoreFiles(folder, kind.name)
        let database = try Database(toRead: files.database, isStill: !files.hasLog, title: files.title)
        guard try database.number("PRAGMA application_id") == kind.applicationID else {
            throw StoreError(.foreign, "\(database.title) is another program's SQLite file")
        }
        let version = Int(try database.number("PRAGMA user_version"))
        guard version <= kind.steps.count else {
            throw StoreError(
                .newerVersion(found: version, known: kind.steps.count), "a later version wrote \(database.title)")
        }
        guard version == kind.steps.count else {
            throw StoreError(.other, "an earlier version wrote \(database.title), and the next run migrates it")
        }
        return OpenedDatabase(database: database, files: files, quarantined: nil)
    }

    private static func connectAnyhow(
        _ files: borrowing StoreFiles, _ kind: DatabaseKind, _ quarantined: inout Quarantine?
    ) throws(StoreError) -> Database {
        do throws(StoreError) {
            return try connect(files, kind)
        } catch {
            guard error.kind == .damaged || error.kind == .foreign else { throw error }
            quarantined = try files.putAside(error.description)
            return try connect(files, kind)
        }
    }

    private static func connect(
        _ files: borrowing StoreFiles, _ kind: DatabaseKind
    ) throws(StoreError) -> Database {
        let isNew = try files.prepareDatabase()
        let database = try Database(path: files.database, title: files.title)
        // A new file has nothing to lose: it is written to the disk once, when it is whole.
        if isNew { try database.execute("PRAGMA synchronous = OFF") }
        if kind.givesRoomBack { try prepareGivingBack(database) }
        try refuseForeign(database, kind)
        try refuseReadOnly(database, files)
        let isSuspect = files.isSuspect
        try check(database, isSuspect: isSuspect)
        try configure(database, longLog: kind.longLog)
        try Migration.bringUpToDate(database, kind.steps)
        if isSuspect {
            try kind.prove(database)
            files.trust()
        }
        try database.execute("PRAGMA synchronous = NORMAL")
        if isNew {
            _ = try database.pragma("wal_checkpoint(PASSIVE)")
            files.flushNames()
        }
        database.setKeepsJournal(false)
        return database
    }

    /// Turns on incremental vacuum in a file without pages: SQLite ignores it after the first page, and would write
    /// each time.
    private static func prepareGivingBack(_ database: borrowing Database) throws(StoreError) {
        if try database.number("PRAGMA page_count") == 0 { try database.execute("PRAGMA auto_vacuum = INCREMENTAL") }
    }

    private static func refuseForeign(_ database: borrowing Database, _ kind: DatabaseKind) throws(StoreError) {
        let owner = try database.number("PRAGMA application_id")
        if owner == kind.applicationID { return }
        // A file that was created and never filled has neither.
        let tables = try database.number("SELECT count(*) FROM sqlite_schema")
        guard owner == 0, tables == 0 else {
            throw StoreError(.foreign, "\(database.title) is another program's SQLite file")
        }
        try database.execute("PRAGMA application_id = \(kind.applicationID)")
    }

    /// Throws if the file cannot be written: SQLite silently opens it read-only, whether the folder or the file's own
    /// header forbids writing.
    private static func refuseReadOnly(
        _ database: borrowing Database, _ files: borrowing StoreFiles
    ) throws(StoreError) {
        guard database.isReadOnly else { return }
        throw files.mayWriteDatabase
            ? StoreError(.damaged, "\(database.title) says in its header that it may not be written")
            : StoreError(.other, "\(database.title) cannot be written")
    }

    /// Number of pages up to which a file is read whole at each opening: a quarter of a megabyte, in a third of a
    /// millisecond.
    private static let fewPages: Int64 = 64

    /// Reads every page of a small file; of a larger one only when damage was met before, because it takes time. Rows
    /// are sealed, and SQLite notices what it cannot read when it comes to it.
    private static func check(_ database: borrowing Database, isSuspect: Bool) throws(StoreError) {
        let pages = try database.number("PRAGMA page_count")
        guard isSuspect || pages <= fewPages else { return }
        let verdict = try database.pragma("quick_check(1)")
        guard verdict == "ok" else {
            throw StoreError(.damaged, "\(database.title): \(verdict)")
        }
    }

    private static func configure(_ database: borrowing Database, longLog: Int) throws(StoreError) {
        // Readers and one writer at once. Where the filesystem cannot (no shared memory, as on NFS) SQLite says so
        // and stays with its rollback journal, which is as safe and only slower.
        _ = try database.pragma("journal_mode = WAL")
        // A commit survives the process's death at once, and a power cut once it was checkpointed (`NORMAL`); the file
        // is whole after either. What must survive a power cut says so in its transaction (`durably`).
        try database.execute("PRAGMA foreign_keys = ON; PRAGMA cell_size_check = ON")
        database.boundLog(pages: longLog)
    }
}
