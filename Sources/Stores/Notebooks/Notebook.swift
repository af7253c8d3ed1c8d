import Glibc
import Synchronization
import SystemIO
package import TransferModel

/// A run's notes of its unfinished files, in a file of its own in the state folder: one page for each file, written over
/// as the file grows. A killed run leaves it, locked no more, and the next opening of the store takes it over.
///
/// Its writes go to the system's memory and wait for no disk. A run that ends removes it.
package final class Notebook: Sendable {
    private struct Pages {
        /// Pages that hold no file.
        var free: [Int] = []
        var count = 0
        /// Number of files noted so far.
        var entries: UInt64 = 0
        var inUse = 0
    }
    private let file: Descriptor
    private let folder: String
    private let name: String
    private let pages = Mutex(Pages())
    /// Greatest number of files at a time. Those beyond are noted in the store, a second later.
    private static let most = 4096

    /// Makes a notebook in the state folder. `nil` where that cannot be, or while another process takes notebooks over.
    package init?(state: String, clock: Instant) {
        folder = NotebookFolder.path(state)
        name = "\(CurrentProcess.processID())-\(clock.nanoseconds)"
        guard (try? PrivateFolder.make(state)) != nil, let place = try? PrivateFolder.make(folder),
            // Whoever takes notebooks over holds this lock: a new one is locked before it is found.
            (try? place.tryLock()) == true,
            let made = try? place.open(name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o600),
            (try? made.tryLock()) == true
        else { return nil }
        file = made
    }

    deinit { close() }

    /// Removes the notebook if it holds no file any more.
    package func close() {
        guard pages.withLock({ $0.inUse == 0 }), let place = try? Descriptor.openFolder(folder) else { return }
        try? place.unlink(name)
        PrivateFolder.removeIfEmpty([folder])
    }

    /// Begins a page for a file; `nil` where there is no room for it.
    package func enter(_ noted: NotedPart) -> NotebookEntry? {
        let (page, number) = pages.withLock { pages -> (Int?, UInt64) in
            pages.entries += 1
            if let free = pages.free.popLast() { return (free, pages.entries) }
            guard pages.count < Self.most else { return (nil, 0) }
            pages.count += 1
            return (pages.count - 1, pages.entries)
        }
        guard let page else { return nil }
        guard let head = NotebookPage.head(noted, entry: number), write(head, page, NotebookPage.head) else {
            pages.withLock { $0.free.append(page) }
            return nil
        }
        pages.withLock { $0.inUse += 1 }
        return NotebookEntry(self, page: page, number: number)
    }

    fileprivate func write(_ bytes: [UInt8], _ page: Int, _ offset: Int) -> Bool {
        (try? file.writeAll(bytes[...], at: Int64(page * NotebookPage.size + offset))) != nil
    }

    fileprivate func giveBack(_ page: Int) {
        // Without its length nothing of the page counts.
        _ = write([0, 0, 0, 0], page, NotebookPage.head)
        pages.withLock { pages in
            pages.free.append(page)
            pages.inUse -= 1
        }
    }
}

/// One file's page in a run's notebook. Any thread may write to it.
package final class NotebookEntry: Sendable {
    private let notebook: Notebook
    private let page: Int
    private let number: UInt64
    private struct State {
        var notes: UInt64 = 0
        var isCrossedOut = false
    }
    private let state = Mutex(State())

    fileprivate init(_ notebook: Notebook, page: Int, number: UInt64) {
        self.notebook = notebook
        self.page = page
        self.number = number
    }

    /// Notes how far the file is. Has no effect once it is crossed out.
    package func record(_ note: PartNote) {
        state.withLock { state in
            guard !state.isCrossedOut else { return }
            state.notes += 1
            // What cannot be noted leaves the last note, which holds as well.
            guard let bytes = NotebookPage.bytes(of: note, number: state.notes, entry: number) else { return }
            _ = notebook.write(bytes, page, NotebookPage.place(ofNote: state.notes))
        }
    }

    /// Ends the page: nothing of the file need be noted any more.
    package func crossOut() {
        let isFirst = state.withLock { state in
            defer { state.isCrossedOut = true }
            return !state.isCrossedOut
        }
        if isFirst { notebook.giveBack(page) }
    }
}
