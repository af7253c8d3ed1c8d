/// One step of the store's format. The list only grows: a step that was released is never changed.
struct Migration {
    let sql: String

    /// The version of a file is the number of steps taken, kept in `user_version`.
    static let all: [Migration] = [
        Migration(
            sql: """
                CREATE TABLE sessions (
                    id INTEGER PRIMARY KEY,
                    job TEXT NOT NULL,
                    name TEXT NOT NULL,
                    created INTEGER NOT NULL,
                    UNIQUE (job, name)
                ) STRICT;
                CREATE TABLE resumeRecords (
                    session INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
                    destination TEXT NOT NULL,
                    start TEXT NOT NULL,
                    url TEXT NOT NULL,
                    validator TEXT NOT NULL,
                    total INTEGER,
                    sentHeader TEXT,
                    sentAlgorithm TEXT,
                    sentDigest BLOB,
                    shape INTEGER NOT NULL,
                    name TEXT NOT NULL,
                    size INTEGER NOT NULL,
                    sum BLOB NOT NULL,
                    time INTEGER NOT NULL,
                    PRIMARY KEY (session, destination)
                ) STRICT, WITHOUT ROWID;
                CREATE INDEX resumeRecordsByTime ON resumeRecords (time);
                """),
        Migration(
            sql: """
                CREATE TABLE validators (
                    session INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
                    destination TEXT NOT NULL,
                    url TEXT NOT NULL,
                    etag TEXT,
                    lastModified TEXT,
                    shape INTEGER NOT NULL,
                    size INTEGER NOT NULL,
                    modified INTEGER NOT NULL,
                    time INTEGER NOT NULL,
                    PRIMARY KEY (session, destination)
                ) STRICT, WITHOUT ROWID;
                """),
    ]

    /// `format` is an earlier version's in tests.
    static func bringUpToDate(
        _ database: borrowing Database, format: Int = Migration.all.count
    ) throws(StoreError) {
        let found = Int(try database.number("PRAGMA user_version"))
        guard found <= format, found >= 0 else {
            throw StoreError(
                .newerVersion(found: found, known: format),
                "the store \(database.path) has format \(found), and this version of transfer-run knows up to \(format)"
            )
        }
        // The definitions are text in the file and no check reads them: a changed letter renames a column.
        let model = try Database(path: ":memory:")
        try take(all.prefix(found), model)
        guard try definitions(model) == definitions(database) else {
            throw StoreError(.damaged, "the store \(database.path) does not hold what its format \(found) holds")
        }
        try take(all[found..<format], database)
    }

    private static func take(
        _ migrations: ArraySlice<Migration>, _ database: borrowing Database
    ) throws(StoreError) {
        for (index, migration) in zip(migrations.indices, migrations) {
            try database.execute("BEGIN IMMEDIATE; \(migration.sql) PRAGMA user_version = \(index + 1); COMMIT")
        }
    }

    private static func definitions(_ database: borrowing Database) throws(StoreError) -> [String?] {
        let query = try database.prepare("SELECT name, tbl_name, sql FROM sqlite_schema ORDER BY name")
        var texts: [String?] = []
        while try query.step() { texts += [query.text(0), query.text(1), query.text(2)] }
        return texts
    }
}
