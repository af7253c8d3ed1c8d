extension Migration {
    /// The journal's tables.
    ///
    /// `runs.last` is the number of a run's last event and `chain` its seal: each seal is over the event and the seal
    /// before it, so that events are what was written, whole and in order, or damage. `identifiers` has the held
    /// identifiers; the run's own row has the same, sealed. All that may be secret is in `inputs`, which cannot be read
    /// without the key of its run, which is not here (`RunKeys`).
    ///
    /// An event's `id` is made of its run and its number (`EventPlace`): one tree in the order of writing, with a run's
    /// events side by side.
    package static let journal: [Migration] = [
        Migration(
            sql: """
                CREATE TABLE runs (
                    id INTEGER PRIMARY KEY AUTOINCREMENT,
                    name TEXT NOT NULL,
                    identifiers BLOB NOT NULL,
                    job TEXT NOT NULL,
                    file TEXT NOT NULL,
                    folder TEXT NOT NULL,
                    arguments BLOB NOT NULL,
                    report TEXT,
                    events TEXT,
                    created INTEGER NOT NULL,
                    boot TEXT NOT NULL,
                    tasks INTEGER NOT NULL,
                    state TEXT NOT NULL,
                    ended INTEGER,
                    outcome TEXT,
                    exitStatus INTEGER,
                    delivered INTEGER,
                    last INTEGER NOT NULL,
                    chain INTEGER NOT NULL,
                    isWhole INTEGER NOT NULL,
                    seal INTEGER NOT NULL
                ) STRICT;
                CREATE INDEX undeliveredRuns ON runs (id) WHERE delivered IS NULL;
                CREATE INDEX deliveredRuns ON runs (isWhole, delivered);
                CREATE TABLE identifiers (
                    identifier TEXT PRIMARY KEY,
                    run INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE
                ) STRICT, WITHOUT ROWID;
                CREATE INDEX identifiersOfRuns ON identifiers (run);
                CREATE TABLE inputs (
                    id INTEGER PRIMARY KEY,
                    run INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
                    kind TEXT NOT NULL,
                    name TEXT NOT NULL,
                    bytes BLOB NOT NULL,
                    seal INTEGER NOT NULL
                ) STRICT;
                CREATE INDEX inputsOfRuns ON inputs (run);
                CREATE TABLE tasks (
                    id INTEGER PRIMARY KEY,
                    run INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
                    ids BLOB NOT NULL,
                    seal INTEGER NOT NULL
                ) STRICT;
                CREATE INDEX tasksOfRuns ON tasks (run);
                CREATE TABLE events (
                    id INTEGER PRIMARY KEY,
                    seal INTEGER NOT NULL,
                    payload BLOB NOT NULL
                ) STRICT;
                """,
            fingerprint: 0xA604_F26B_63CF_F0C7),
        // Results of the commands that ran at a run's end; NULL where there were none.
        Migration(
            sql: "ALTER TABLE runs ADD COLUMN hooks BLOB;",
            fingerprint: 0x3856_EFFB_F9C8_6EE6),
    ]
}
