/// One step of the store's format. The list only grows: a step that was released is never changed.
package struct Migration: Sendable {
    let sql: String

    package init(sql: String) { self.sql = sql }

    /// The version of a file is the number of steps taken, kept in `user_version`.
    ///
    /// Most files of a job share their folder and the beginning of their URL, and were asked for alike: `folders` says
    /// that once, and `validators` only what differs. In the order of their names the pages of a run's files lie side by
    /// side, so that a run writes each page once.
    package static let all: [Migration] = [
        Migration(
            sql: """
                CREATE TABLE sessions (
                    id INTEGER PRIMARY KEY,
                    job TEXT NOT NULL,
                    name TEXT NOT NULL,
                    used INTEGER NOT NULL,
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
                    folder TEXT NOT NULL,
                    name TEXT NOT NULL,
                    size INTEGER NOT NULL,
                    sum BLOB NOT NULL,
                    time INTEGER NOT NULL,
                    PRIMARY KEY (session, destination)
                ) STRICT, WITHOUT ROWID;
                CREATE TABLE folders (
                    id INTEGER PRIMARY KEY,
                    session INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
                    path TEXT NOT NULL,
                    source TEXT NOT NULL,
                    shape INTEGER NOT NULL,
                    UNIQUE (session, path)
                ) STRICT;
                CREATE TABLE validators (
                    folder INTEGER NOT NULL REFERENCES folders (id) ON DELETE CASCADE,
                    name TEXT NOT NULL,
                    url TEXT,
                    etag TEXT,
                    lastModified TEXT,
                    shape INTEGER,
                    size INTEGER NOT NULL,
                    modified INTEGER NOT NULL,
                    seal INTEGER NOT NULL,
                    file TEXT,
                    boot INTEGER,
                    sum INTEGER,
                    PRIMARY KEY (folder, name)
                ) STRICT, WITHOUT ROWID;
                """),
        Migration(
            sql: """
                CREATE TABLE cookies (
                    session INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
                    domain TEXT NOT NULL,
                    hostOnly INTEGER NOT NULL,
                    path TEXT NOT NULL,
                    name TEXT NOT NULL,
                    value TEXT NOT NULL,
                    expires INTEGER NOT NULL,
                    created INTEGER NOT NULL,
                    used INTEGER NOT NULL,
                    secure INTEGER NOT NULL,
                    httpOnly INTEGER NOT NULL,
                    sameSite TEXT NOT NULL,
                    PRIMARY KEY (session, domain, hostOnly, path, name)
                ) STRICT, WITHOUT ROWID;
                CREATE TABLE secureHosts (
                    session INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
                    host TEXT NOT NULL,
                    expires INTEGER NOT NULL,
                    coversSubdomains INTEGER NOT NULL,
                    PRIMARY KEY (session, host)
                ) STRICT, WITHOUT ROWID;
                """),
        Migration(
            sql: """
                CREATE TABLE credentials (
                    session INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
                    scheme TEXT NOT NULL,
                    host TEXT NOT NULL,
                    port INTEGER NOT NULL,
                    isProxy INTEGER NOT NULL,
                    method TEXT NOT NULL,
                    hasRealm INTEGER NOT NULL,
                    realm TEXT NOT NULL,
                    user TEXT NOT NULL,
                    secret TEXT NOT NULL,
                    folders TEXT NOT NULL,
                    PRIMARY KEY (session, scheme, host, port, isProxy, method, hasRealm, realm, user)
                ) STRICT, WITHOUT ROWID;
                """),
        // What answers of a session were kept, by a fingerprint of their URL (`place`). `size` is of all its entries
        // together, `used` the order in which they go. A body that is not in its row lies in a file of the row's name.
        Migration(
            sql: """
                CREATE TABLE caches (
                    session INTEGER PRIMARY KEY REFERENCES sessions (id) ON DELETE CASCADE,
                    marks BLOB NOT NULL,
                    size INTEGER NOT NULL,
                    swept INTEGER NOT NULL
                ) STRICT;
                CREATE TABLE cacheEntries (
                    id INTEGER PRIMARY KEY,
                    session INTEGER NOT NULL REFERENCES caches (session) ON DELETE CASCADE,
                    place INTEGER NOT NULL,
                    used INTEGER NOT NULL,
                    size INTEGER NOT NULL,
                    url TEXT NOT NULL,
                    status INTEGER NOT NULL,
                    headers BLOB NOT NULL,
                    selecting TEXT NOT NULL,
                    credentials TEXT,
                    requested INTEGER NOT NULL,
                    answered INTEGER NOT NULL,
                    mustAsk INTEGER NOT NULL,
                    length INTEGER NOT NULL,
                    first INTEGER,
                    last INTEGER,
                    total INTEGER,
                    digest BLOB NOT NULL,
                    seal INTEGER NOT NULL,
                    body BLOB
                ) STRICT;
                CREATE INDEX cachePlaces ON cacheEntries (session, place);
                CREATE INDEX cacheUses ON cacheEntries (session, used);
                """),
        // What servers hold of files that were not sent to their end.
        Migration(
            sql: """
                CREATE TABLE uploads (
                    session INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
                    url TEXT NOT NULL,
                    file TEXT NOT NULL,
                    identity BLOB NOT NULL,
                    shape INTEGER NOT NULL,
                    place TEXT NOT NULL,
                    dialect INTEGER NOT NULL,
                    length INTEGER NOT NULL,
                    sent INTEGER,
                    maximumAppend INTEGER,
                    expires INTEGER,
                    time INTEGER NOT NULL,
                    PRIMARY KEY (session, url, file)
                ) STRICT, WITHOUT ROWID;
                """),
        // Where bodies of a session were put: who forgets the session need not have its job to find them.
        Migration(
            sql: """
                CREATE TABLE cacheFolders (
                    session INTEGER NOT NULL REFERENCES caches (session) ON DELETE CASCADE,
                    path TEXT NOT NULL,
                    PRIMARY KEY (session, path)
                ) STRICT, WITHOUT ROWID;
                """),
    ]

    static func bringUpToDate(_ database: borrowing Database, _ steps: [Migration]) throws(StoreError) {
        let found = Int(try database.number("PRAGMA user_version"))
        guard found <= steps.count, found >= 0 else {
            throw StoreError(
                .newerVersion(found: found, known: steps.count),
                "the store \(database.path) has format \(found), and this version of transfer-run knows up to "
                    + "\(steps.count)")
        }
        // The definitions are text in the file and no check reads them: a changed letter renames a column.
        let model = try Database(path: ":memory:")
        try take(steps.prefix(found), model)
        guard try definitions(model) == definitions(database) else {
            throw StoreError(.damaged, "the store \(database.path) does not hold what its format \(found) holds")
        }
        try take(steps[found...], database)
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
