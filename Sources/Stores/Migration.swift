import Digests
import TransferModel

/// One step of a database's format. The list only grows: a step that was released is never changed.
package struct Migration: Sendable {
    let sql: String
    /// The SHA-256 of what a file defines that took the steps up to this one: whoever opens it compares that, for making
    /// such a file anew in memory takes longer than all else at an opening. `nil`: it is made.
    package let fingerprint: String?

    package init(sql: String, fingerprint: String? = nil) {
        self.sql = sql
        self.fingerprint = fingerprint
    }

    /// The store's. The version of a file is the number of steps taken, kept in `user_version`.
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
                """,
            fingerprint: "sha256:19711a3fbf32da23b01aeb253a96eb7fd5e68583d35c121ef1c555964ad6c275"),
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
            fingerprint: "sha256:bf5edc47cf0b120a2b572eb50309641fa491383a4577cdab92603abf89e5a427"),
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
            fingerprint: "sha256:aa0d4ebff48d79d13cef43a9f9a91f33d6389dc0bf2ca8afa351ae28230c1b4f"),
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
                """,
            fingerprint: "sha256:e495f02400b393e6481702a1c0cecf4b252fba04bbbbd95de0d33e040f311e0e"),
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
                """,
            fingerprint: "sha256:ee2a21e2c0f591d0e3940a5e68ab0698936ed4629d8f7c9a52defc74476dc362"),
        // Where bodies of a session were put: who forgets the session need not have its job to find them.
        Migration(
            sql: """
                CREATE TABLE cacheFolders (
                    session INTEGER NOT NULL REFERENCES caches (session) ON DELETE CASCADE,
                    path TEXT NOT NULL,
                    PRIMARY KEY (session, path)
                ) STRICT, WITHOUT ROWID;
                """,
            fingerprint: "sha256:a49db6e36098031a3140bacae61799a3ac4a132ce22cb855c8f5b5d249105a57"),
        // Who asked, and what the first answer said of a file of which only a part is there.
        Migration(
            sql: """
                ALTER TABLE validators ADD COLUMN asked TEXT;
                ALTER TABLE resumeRecords ADD COLUMN asked TEXT;
                ALTER TABLE resumeRecords ADD COLUMN headers BLOB;
                """,
            fingerprint: "sha256:58e14e9858643e35678e5488ed63b87388f9c63df641793fc6e1c85a0459dadd"),
        // What tells the file from another of its size and time.
        Migration(
            sql: "ALTER TABLE validators ADD COLUMN identity INTEGER;",
            fingerprint: "sha256:f8ad1e94017af6be25387b796205014179db824507218ebd2281ea79ee9b402c"),
        // Whose an upload was, and how it was answered. What was begun without that is not gone on with.
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
            fingerprint: "sha256:90fba2eee04bd07423fe7f1ed76dca04cdb0d67dbfd3e0b3b7c03322c7558961"),
        // How often the rest was asked for in vain.
        Migration(
            sql: "ALTER TABLE resumeRecords ADD COLUMN unanswered INTEGER;",
            fingerprint: "sha256:0a765e66b436d1e094a856ab522e54c52ef35cedc49d088e155f1e9bcb24a8ec"),
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
        try take(steps[found...], database)
    }

    private static func take(
        _ migrations: ArraySlice<Migration>, _ database: borrowing Database
    ) throws(StoreError) {
        for (index, migration) in zip(migrations.indices, migrations) {
            try database.execute("BEGIN IMMEDIATE; \(migration.sql) PRAGMA user_version = \(index + 1); COMMIT")
        }
    }

    private static func expected(_ steps: ArraySlice<Migration>) throws(StoreError) -> String {
        if let known = steps.last?.fingerprint { return known }
        return try fingerprint(of: steps)
    }

    /// Of a file that took these steps and no others.
    package static func fingerprint(of steps: ArraySlice<Migration>) throws(StoreError) -> String {
        let model = try Database(path: ":memory:", title: "a model in memory")
        try take(steps, model)
        return try fingerprint(model)
    }

    private static func fingerprint(_ database: borrowing Database) throws(StoreError) -> String {
        let query = try database.prepare("SELECT name, tbl_name, sql FROM sqlite_schema ORDER BY name")
        var text: [UInt8] = []
        while try query.step() {
            for column: Int32 in 0..<3 {
                // No text holds these bytes: what ends here cannot go on there.
                if let part = query.text(column) { text += part.utf8 } else { text.append(0xFE) }
                text.append(0xFF)
            }
        }
        do throws(TransferError) {
            return try Checksum.of(text, .sha256).description
        } catch {
            throw StoreError(.other, "\(database.title) cannot be checked: \(error.message)")
        }
    }
}
