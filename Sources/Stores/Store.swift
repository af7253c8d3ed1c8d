import SystemIO
package import TransferModel

/// What a user's runs remember from one to the next.
///
/// Its content is never trusted blindly: a resume record is a hint that the partial file and the server must confirm,
/// and a validator counts only with its seal.
///
/// It holds a database and nothing else; each table has a file of this type.
package final class Store: PrivateDatabase {
    /// Paths of partial files that no run will resume, as found at this opening: they can be deleted.
    package private(set) var forgotten: Set<String> = []
    /// Time of the opening.
    let openedAt: WallTime

    private init(_ opened: consuming OpenedDatabase, _ now: WallTime) {
        openedAt = now
        super.init(opened)
    }

    private static func kind(_ steps: [Migration]) -> DatabaseKind {
        // "TRun" in ASCII.
        DatabaseKind(name: "store", applicationID: 0x5452_756E, steps: steps)
    }

    /// Opens the folder's store, creating what is missing and migrating an older one. A damaged file or one of another
    /// program is put aside and a new one made; one of a newer version of this program is an error. For tests: `steps`
    /// makes it what another version would have made; `patience` limits the wait for other processes that open it.
    package static func open(
        folder: String, now: WallTime = Clocks.wall(), steps: [Migration] = Migration.all,
        patience: TimeSpan = OpenedDatabase.patience
    ) throws(StoreError) -> Store {
        let store = Store(try OpenedDatabase.open(folder: folder, kind(steps), patience: patience), now)
        store.takeNotebooks()
        store.forgetOld()
        return store
    }

    /// Opens an existing, sound store without waiting for other processes, and without deleting old records.
    static func connect(folder: String) throws(StoreError) -> Store {
        let opened = try OpenedDatabase.open(folder: folder, kind(Migration.all), mends: false, patience: .zero)
        return Store(opened, Clocks.wall())
    }

    /// Opens an existing store only to read it; nothing in its folder changes. Throws where `open` would have to mend or
    /// migrate it.
    static func openToRead(folder: String) throws(StoreError) -> Store {
        Store(try OpenedDatabase.openToRead(folder: folder, kind(Migration.all)), Clocks.wall())
    }

    /// Deletes old records. A failure, for want of space or because another process writes, is ignored: a later opening
    /// tries again.
    func forgetOld() {
        forgotten = (try? forgetUnusedSessions(now: openedAt)) ?? []
        forgotten.formUnion((try? forgetOldParts(now: openedAt)) ?? [])
    }

    /// Whether the folder has a store file.
    package static func isThere(folder: String) -> Bool { StoreFiles.isThere(folder: folder, kind([]).name) }

    /// Device and inode of the store's file; `nil` when there is none.
    static func identity(folder: String) -> StoreFiles.Identity? { StoreFiles.identity(folder: folder, kind([]).name) }

    /// Why the folder or its store is not private to the user; `nil` if it is. Opens no database and creates nothing.
    package static func privacyProblem(folder: String) -> StoreError? {
        do throws(StoreError) {
            try StoreFiles.checkPrivate(folder, kind([]).name)
            return nil
        } catch {
            return error.kind == .notPrivate ? error : nil
        }
    }
}
