/// One step of the store's format. The list only grows: a step that was released is never changed.
struct Migration {
    let sql: String
    /// The names of all that the file holds after it, sorted: a file that holds other things is not what it says.
    let objects: [String]

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
                    url TEXT NOT NULL,
                    etag TEXT,
                    lastModified TEXT,
                    totalLength INTEGER,
                    temporaryPath TEXT NOT NULL,
                    checkpoint INTEGER NOT NULL,
                    digestAlgorithm TEXT,
                    digest BLOB,
                    time INTEGER NOT NULL,
                    PRIMARY KEY (session, destination)
                ) STRICT, WITHOUT ROWID;
                CREATE INDEX resumeRecordsByTime ON resumeRecords (time);
                """,
            objects: ["resumeRecords", "resumeRecordsByTime", "sessions"])
    ]

    static func bringUpToDate(_ database: borrowing Database) throws(StoreError) {
        let found = Int(try database.number("PRAGMA user_version"))
        guard found <= all.count, found >= 0 else {
            throw StoreError(
                .newerVersion(found: found, known: all.count),
                "the store \(database.path) has format \(found), and this version of transfer-run knows up to \(all.count)"
            )
        }
        let objects = try self.objects(database)
        guard objects == (found == 0 ? [] : all[found - 1].objects) else {
            throw StoreError(
                .damaged,
                "the store \(database.path) says format \(found) but holds \(objects.joined(separator: ", "))")
        }
        for (index, migration) in all.enumerated().dropFirst(found) {
            try database.execute(
                "BEGIN IMMEDIATE; \(migration.sql) PRAGMA user_version = \(index + 1); COMMIT")
        }
    }

    private static func objects(_ database: borrowing Database) throws(StoreError) -> [String] {
        let query = try database.prepare("SELECT name FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name")
        var names: [String] = []
        while try query.step() { names.append(query.text(0) ?? "") }
        return names
    }
}
