import Synchronization
import SystemIO
package import TransferModel

/// A store that another thread opens while its run's job is still read, which takes as long. Nothing in it is
/// forgotten, and a damaged one is not put aside, before somebody takes it: the job may turn out to be none.
package final class StoreOpening: Sendable {
    /// Unchecked: the store is made by the thread that opens it, which has nothing of it left when somebody takes it.
    private enum Opened: @unchecked Sendable {
        case store(Store)
        /// It was waited for, and would be again.
        case busy(StoreError)
        /// What is wrong with it is found again, and told, by whoever opens it in earnest.
        case unusable
    }

    private let folder: String
    private let patience: TimeSpan
    private let opened = Mutex(Opened.unusable)
    private let isOpened = WakeSignal()
    private let isTaken = Atomic(false)

    /// `nil` where no store is. `patience` is for others that open it.
    package init?(folder: String, patience: TimeSpan? = nil) {
        guard Store.isThere(folder: folder) else { return nil }
        self.folder = folder
        self.patience = patience ?? OpenedDatabase.patience
    }

    /// Once, on whatever thread: who takes it waits for that.
    package func open() {
        let result = Self.open(folder, patience)
        opened.withLock { $0 = result }
        isOpened.signal()
    }

    private static func open(_ folder: String, _ patience: TimeSpan) -> Opened {
        do throws(StoreError) {
            return .store(try Store.connected(folder: folder, now: Clocks.wall(), mends: false, patience: patience))
        } catch {
            return error.kind == .busy ? .busy(error) : .unusable
        }
    }

    /// Once, by whoever will use it; `nil` for the next, and when it could not be opened as it is. Throws when others keep it
    /// to themselves: all the time there is for that has been waited.
    package func take() throws(StoreError) -> Store? {
        guard !isTaken.exchange(true, ordering: .relaxed) else { return nil }
        isOpened.wait()
        let result = opened.withLock { opened in
            defer { opened = .unusable }
            return opened
        }
        switch result {
        case .store(let store): return store
        case .busy(let error): throw error
        case .unusable: return nil
        }
    }
}
