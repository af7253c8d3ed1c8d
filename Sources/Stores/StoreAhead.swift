import SystemIO

/// A store that is opened while the job of whoever will use it is still being read. Its thread is then the one that
/// speaks to it (`MemoryKeeper`).
///
/// Nothing is made, put aside or forgotten here, for the job may turn out to be none: what is not as it should be is
/// opened again by whoever needs it, and told there.
package final class StoreAhead: Sendable {
    package let folder: String
    let thread = WorkThread()
    private let next = Mailbox<Work>(wake: {})

    /// What the thread goes on with, given the store if it could be opened.
    struct Work: Sendable {
        let body: @Sendable (consuming Store?) -> Void
    }

    /// `nil` where there is nothing to be opened, or nothing that is ours alone.
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
        // Whoever waited for another run may find that it was put aside meanwhile.
        if work == nil || file == nil || file != Store.identity(folder: folder) {
            store?.leaveJournal()
            store = nil
        }
        // To whom it is given closes it.
        work?.body(consume store)
    }

    /// Once; whoever gives it ends the thread.
    func goOn(_ work: Work) {
        next.post([work])
        thread.wake.signal()
    }

    /// Nobody will use it: it is closed, but not waited for. After its use nothing is left to be done.
    package func abandon() { thread.leave() }
}
