import SystemIO
package import TransferModel

/// What a user's runs remember from one to the next.
///
/// What stands in it is never trusted blindly: a resume record is a hint that the partial file and the server must
/// confirm, and a validator counts only with its seal.
package final class Store: PrivateDatabase {
    /// Half-done files that nobody will go on with, as was found at this opening: they can go.
    package private(set) var forgotten: Set<String> = []
    let openedAt: WallTime

    private init(_ opened: consuming OpenedDatabase, _ now: WallTime) {
        openedAt = now
        super.init(opened)
    }

    private static func kind(_ steps: [Migration]) -> DatabaseKind {
        // "TRun" in ASCII.
        DatabaseKind(name: "store", applicationID: 0x5452_756E, steps: steps)
    }

    /// Opens the folder's store, making what is missing and bringing an older one up to date. A damaged file or one
    /// of another program is put aside and a new one made; one of a newer version of this program is an error. For
    /// tests: `steps` makes it what another version would have made; `patience` is for others that open it.
    package static func open(
        folder: String, now: WallTime = Clocks.wall(), steps: [Migration] = Migration.all,
        patience: TimeSpan = OpenedDatabase.patience
    ) throws(StoreError) -> Store {
        let store = Store(try OpenedDatabase.open(folder: folder, kind(steps), patience: patience), now)
        store.forgetOld()
        return store
    }

    /// Opens one that is there and as it should be, and waits for nobody. It has forgotten nothing yet.
    static func connect(folder: String) throws(StoreError) -> Store {
        let opened = try OpenedDatabase.open(folder: folder, kind(Migration.all), mends: false, patience: .zero)
        return Store(opened, Clocks.wall())
    }

    /// Whoever cannot forget now, for want of room or because others write, does so at another opening.
    func forgetOld() {
        forgotten = (try? forgetUnusedSessions(now: openedAt)) ?? []
        forgotten.formUnion((try? forgetOldParts(now: openedAt)) ?? [])
    }

    /// Whether there is anything to be opened that was not made just now.
    package static func isThere(folder: String) -> Bool { StoreFiles.isThere(folder: folder, kind([]).name) }

    /// Of the file that stands there; `nil` when there is none.
    static func identity(folder: String) -> StoreFiles.Identity? { StoreFiles.identity(folder: folder, kind([]).name) }

    /// What would keep the folder's store from being private, before anything is opened or made there.
    package static func privacyProblem(folder: String) -> StoreError? {
        do throws(StoreError) {
            try StoreFiles.checkPrivate(folder, kind([]).name)
            return nil
        } catch {
            return error.kind == .notPrivate ? error : nil
        }
    }
}
