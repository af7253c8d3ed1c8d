import SystemIO

/// A store that is opened while the job is still being read. The `MemoryKeeper` that takes it over continues on its
/// thread.
///
/// Nothing is created, put aside or deleted here, for the job may turn out to be invalid: a store that is not as it
/// should be is opened again by the `MemoryKeeper`, and reported there.
package final class StoreAhead: Sendable {
    /// State folder of the store.
    package let folder: String
    let thread = WorkThread()
    private let next = Mailbox<Work>(wake: {})

    /// What the thread continues with, given the store if it could be opened.
    struct Work: Sendable {
        let body: @Sendable (consuming Store?) -> Void
    }

    /// Starts opening; `nil` where there is no store, or one that is not private to the user.
    package init?(folder: String) {
        guard Store.isThere(folder: folder), Store.privacyProblem(folder: folder) == nil else { return nil }
        self.folder = folder
        do throws(SystemError) {
            try Signals.holding { () throws(SystemError) in
                try thread.start(named: "store") { [self] in open() }
            }
        } catch {
            return nil
        }
    }

    private func open() {
        let file = Store.identity(folder: folder)
        var store = try? Store.connect(folder: folder)
        var work: Work?
        while true {
            let isEnding = thread.isEnding
            work = next.takeAll().first
            if work != nil || isEnding { break }
            thread.wake.wait()
        }
        // While this process waited for another run, the file may have been put aside.
        if work == nil || file == nil || file != Store.identity(folder: folder) {
            store?.leaveJournal()
            store = nil
        }
        // The work closes the store.
        work?.body(consume store)
    }

    /// Hands over the work, once; the caller ends the thread.
    func goOn(_ work: Work) {
        next.post([work])
        thread.wake.signal()
    }

    /// Closes an unused store without waiting for it. Has no effect once the `MemoryKeeper` that took it over has
    /// finished.
    package func abandon() { thread.leave() }
}
