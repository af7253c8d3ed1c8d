internal import CSQLite

extension Store {
    /// Of the SQLite that runs, `3.40.1`.
    package static var libraryVersion: String { unsafe String(cString: sqlite3_libversion()) }
}
