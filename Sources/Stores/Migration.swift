import HTTPRules
import TransferModel

/// One step of a database's format. The list only grows: a step that was released is never changed.
package struct Migration: Sendable {
    let sql: String
    /// Fingerprint of the schema after this step: an opening compares a file's schema with it, because making the
    /// schema anew in memory takes longer than the rest of the opening. `nil`: it is made.
    package let fingerprint: UInt64?

    package init(sql: String, fingerprint: UInt64? = nil) {
        self.sql = sql
        self.fingerprint = fingerprint
    }

    /// The store's steps. The version of a file is the number of steps taken, kept in `user_version`.
    ///
    /// Most files of a job share their folder and the beginning of their URL, and were requested alike: `folders` has
    /// that once, and `validators` only the differences. In the order of their names the pages of a run's files are
    /// neighbours, so that a run writes each page once.
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
                """,
            fingerprint: 0x8E1F_9A1B_5BC1_54BC),
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
                """,
            fingerprint: 0xD6BB_0144_314D_EE36),
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
                """,
            fingerprint: 0xD913_5F37_D178_544F),
        // Cached answers of a session, found by a fingerprint of their URL (`place`). `size` is of all its entries
        // together, `used` the order in which they are deleted. A body that is not in its row is in a file named after
        // the row.
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
                """,
            fingerprint: 0x6A3A_59D5_9F87_CEBD),
        // Uploads of which servers hold a part.
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
                """,
            fingerprint: 0x3948_57CB_7BF9_7417),
        // Folders of a session's cached bodies, so that the session can be deleted without its job.
        Migration(
            sql: """
                CREATE TABLE cacheFolders (
                    session INTEGER NOT NULL REFERENCES caches (session) ON DELETE CASCADE,
                    path TEXT NOT NULL,
                    PRIMARY KEY (session, path)
                ) STRICT, WITHOUT ROWID;
                """,
            fingerprint: 0xD695_B20F_D22C_7CA1),
        // Identity of the request, and the first answer's headers for a partial file.
        Migration(
            sql: """
                ALTER TABLE validators ADD COLUMN asked TEXT;
                ALTER TABLE resumeRecords ADD COLUMN asked TEXT;
                ALTER TABLE resumeRecords ADD COLUMN headers BLOB;
                """,
            fingerprint: 0x89D0_F21E_CFE6_716E),
        // Identity of the file beyond its size and time.
        Migration(
            sql: "ALTER TABLE validators ADD COLUMN identity INTEGER;",
            fingerprint: 0x4E30_01AD_1477_9686),
        // Identity and answer of an upload's request. An upload recorded without them is not resumed.
        Migration(
            sql: """
                DROP TABLE uploads;
                CREATE TABLE uploads (
                    session INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
                    task TEXT NOT NULL,
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
                    refused INTEGER,
                    time INTEGER NOT NULL,
                    PRIMARY KEY (session, task, url, file)
                ) STRICT, WITHOUT ROWID;
                """,
            fingerprint: 0xF550_5815_993D_6601),
        // Number of requests for the rest that brought nothing.
        Migration(
            sql: "ALTER TABLE resumeRecords ADD COLUMN unanswered INTEGER;",
            fingerprint: 0x63A4_46B1_7042_5047),
        // Files that servers accepted whole, by the URL that they were sent to.
        Migration(
            sql: """
                CREATE TABLE sentUploads (
                    url TEXT NOT NULL PRIMARY KEY,
                    session INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
                    path TEXT NOT NULL,
                    boot INTEGER NOT NULL,
                    device INTEGER NOT NULL,
                    inode INTEGER NOT NULL,
                    size INTEGER NOT NULL,
                    modified INTEGER NOT NULL,
                    changed INTEGER NOT NULL,
                    read INTEGER NOT NULL,
                    digest BLOB NOT NULL,
                    shape INTEGER NOT NULL,
                    etag TEXT,
                    lastModified TEXT,
                    answered INTEGER,
                    asked TEXT,
                    seal INTEGER NOT NULL
                ) STRICT, WITHOUT ROWID;
                """,
            fingerprint: 0x8D2A_29EB_47CC_8B33),
        // Checksum of a file's bytes, in place of the short sum.
        Migration(
            sql: "ALTER TABLE validators ADD COLUMN checksum BLOB;",
            fingerprint: 0x477A_6800_0313_F059),
        // What else proves a partial file's bytes.
        Migration(
            sql: "ALTER TABLE resumeRecords ADD COLUMN proofs BLOB;",
            fingerprint: 0x11FC_378D_D49D_3A1B),
    ]

    static func bringUpToDate(_ database: borrowing Database, _ steps: [Migration]) throws(StoreError) {
        let found = Int(try database.number("PRAGMA user_version"))
        guard found <= steps.count, found >= 0 else {
            throw StoreError(
                .newerVersion(found: found, known: steps.count),
                "\(database.title) has format \(found), and this version of transfer-run knows up to "
                    + "\(steps.count)")
        }
        // The definitions are text in the file and no check reads them: a changed letter renames a column.
        guard try expected(steps.prefix(found)) == fingerprint(database) else {
            throw StoreError(.damaged, "\(database.title) does not hold what its format \(found) holds")
        }
        try apply(steps[found...], database)
    }

    private static func apply(
        _ migrations: ArraySlice<Migration>, _ database: borrowing Database
    ) throws(StoreError) {
        for (index, migration) in zip(migrations.indices, migrations) {
            try database.execute("BEGIN IMMEDIATE; \(migration.sql) PRAGMA user_version = \(index + 1); COMMIT")
        }
    }

    private static func expected(_ steps: ArraySlice<Migration>) throws(StoreError) -> UInt64 {
        if let known = steps.last?.fingerprint { return known }
        return try fingerprint(of: steps)
    }

    /// Returns the schema fingerprint of a file that took these steps and no others.
    package static func fingerprint(of steps: ArraySlice<Migration>) throws(StoreError) -> UInt64 {
        let model = try Database(path: ":memory:", title: "a model in memory")
        try apply(steps, model)
        return try fingerprint(model)
    }

    /// Computed without OpenSSL, whose initialization takes longer than the rest of an opening.
    private static func fingerprint(_ database: borrowing Database) throws(StoreError) -> UInt64 {
        let query = try database.prepare("SELECT name, tbl_name, sql FROM sqlite_schema ORDER BY name")
        var fingerprint = Fingerprint()
        while try query.step() {
            // An invalid text represents NULL.
            for column: Int32 in 0..<3 { fingerprint.add(query.text(column) ?? "\u{FFFF}") }
        }
        return UInt64(bitPattern: fingerprint.value)
    }
}
