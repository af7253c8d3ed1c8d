/// The names in a store's folder.
struct StoreFiles {
    let folder: String
    var database: String { folder + "/store.sqlite" }
    /// Held while the store is opened, never while it is used.
    var lock: String { folder + "/store.lock" }
    /// Left by who met damage: the next to open checks every page.
    var suspicion: String { folder + "/store.suspect" }

    /// Gives the file and its journals the first free name of a row, so that it can still be opened there.
    func putAside(_ reason: String) throws(StoreError) -> Quarantine {
        var number = 1
        while PrivateFiles.exists("\(database).quarantined-\(number)") { number += 1 }
        let name = "\(database).quarantined-\(number)"
        // The journals first: should we die in between, SQLite must not find them beside a new file.
        for suffix in ["-wal", "-shm", "-journal"] where PrivateFiles.exists(database + suffix) {
            try PrivateFiles.move(database + suffix, to: name + suffix)
        }
        try PrivateFiles.move(database, to: name)
        PrivateFiles.remove(suspicion)
        return Quarantine(path: name, reason: reason)
    }
}
