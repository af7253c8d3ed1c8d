import Synchronization
package import SystemIO
package import TransferModel

/// Features that tests disable for all filesystems, so that the substitutes are tested.
package struct FilesystemLack: OptionSet, Sendable {
    /// The features as bits.
    package let rawValue: Int
    package init(rawValue: Int) { self.rawValue = rawValue }
    /// Files without a name (`O_TMPFILE`).
    package static let unnamedFiles = FilesystemLack(rawValue: 1)
    /// Exchanging two names in one step (`RENAME_EXCHANGE`).
    package static let exchange = FilesystemLack(rawValue: 2)
}

/// Carries out orders for files in batches and answers into a mailbox: delivery threads, or in tests a model of files.
package protocol FileDeliverer: AnyObject, Sendable {
    /// The pool to which full buffers return once they are written.
    var pool: BufferPool { get }
    /// Takes the orders of one turn of the loop, with the number of body bytes in them. Waits while the disk is too far
    /// behind.
    func submit(_ batch: [DeliveryOrder], bytes: Int)
    /// Returns the folder in which partial members of a group wait for the next run; `nil` where they are not kept.
    func keptFolder(of group: GroupPlace) -> String?
    /// Carries out the submitted orders, flushes, and ends.
    func finish()
}

/// The threads that access files, so that the loop never waits for a disk: they get whole buffers, never single chunks,
/// in batches, and answer in batches. A body belongs to one thread, so that its orders are carried out in order. After
/// asking about a path, the caller waits for the answer before it orders anything else for it.
package final class Delivery: FileDeliverer {
    /// The pool to which full buffers return once they are written.
    package let pool = BufferPool()
    private let threads: [DeliveryThread]
    private let backlog: Backlog
    private let keptMembers: KeptMembers

    /// Greatest number of bytes that wait for the disk, over all threads, before the loop waits. It grows with the
    /// threads, so that each has enough to do while another has many bodies.
    package let maximumOutstanding: Int

    /// `reports` gets the answers; `run` is part of temporary names; errors name a task by its `taskName`; no file gets
    /// one of the `reserved` places.
    /// For tests: `lacking` disables features of the filesystems, `groupPatience` is how long a group waits for another
    /// run at its place, and `groupHook` is called at each step of a group's publication, on the first thread.
    package init(
        run: String, reports: Mailbox<DeliveryReport>, threads: Int = 1,
        reserved: ReservedPlaces = ReservedPlaces([]),
        taskName: @escaping @Sendable (TaskIndex) -> String = { "\($0.raw)" }, lacking: FilesystemLack = [],
        groupPatience: TimeSpan = .seconds(60), groupHook: GroupHook? = nil
    ) throws(SystemError) {
        let commons = PublishersCommons(
            names: TemporaryNames(run: run), leftovers: Leftovers(run: run), reserved: reserved, taskName: taskName,
            lacking: lacking, groupPatience: groupPatience)
        keptMembers = commons.keptMembers
        maximumOutstanding = threads == 1 ? 1 << 20 : threads << 22
        backlog = Backlog(maximumOutstanding)
        var started: [DeliveryThread] = []
        for number in 0..<threads {
            do throws(SystemError) {
                let hook = number == 0 ? groupHook : nil
                started.append(try DeliveryThread(number, commons, reports, pool, backlog, groupHook: hook))
            } catch {
                // The first thread can do everything.
                guard number > 0 else { throw error }
            }
        }
        self.threads = started
    }

    /// Returns the folder in which partial members of a group wait for the next run; `nil` where they are not kept.
    package func keptFolder(of group: GroupPlace) -> String? { keptMembers.path(of: group) }

    /// Distributes the orders of one turn of the loop to the threads. Waits while the disk is too far behind.
    package func submit(_ batch: [DeliveryOrder], bytes: Int) {
        guard !batch.isEmpty else { return }
        let isTooMuch = backlog.add(bytes)
        if threads.count == 1 { threads[0].post(batch) } else { share(batch) }
        if isTooMuch { backlog.waitForHalf() }
    }

    private func share(_ batch: [DeliveryOrder]) {
        var shares = [[DeliveryOrder]](repeating: [], count: threads.count)
        for order in batch {
            if let thread = order.thread(of: threads.count) {
                shares[thread].append(order)
            } else {
                for thread in shares.indices { shares[thread].append(order) }
            }
        }
        for (thread, share) in zip(threads, shares) { thread.post(share) }
    }

    /// Carries out the submitted orders, flushes, and ends. The first thread ends last: it sweeps the folders that the
    /// others have used.
    package func finish() {
        for thread in threads.reversed() { thread.finish() }
        keptMembers.close()
    }
}

/// The number of bytes handed over and not yet written, which bounds the memory of a loop that is faster than its disk.
final class Backlog: Sendable {
    private let outstanding = Atomic<Int>(0)
    private let drained = WakeSignal()
    private let isAwaited = Atomic<Bool>(false)
    private let maximum: Int

    init(_ maximum: Int) { self.maximum = maximum }

    /// Adds bytes; returns whether too many wait now.
    func add(_ bytes: Int) -> Bool {
        outstanding.add(bytes, ordering: .acquiringAndReleasing).newValue > maximum
    }

    func waitForHalf() {
        isAwaited.store(true, ordering: .sequentiallyConsistent)
        while outstanding.load(ordering: .sequentiallyConsistent) > maximum / 2 {
            _ = drained.wait(nanoseconds: 100_000_000)
        }
        isAwaited.store(false, ordering: .sequentiallyConsistent)
    }

    func noteWritten(_ bytes: Int) {
        guard bytes > 0 else { return }
        let left = outstanding.subtract(bytes, ordering: .sequentiallyConsistent).newValue
        if isAwaited.load(ordering: .sequentiallyConsistent), left <= maximum / 2 {
            drained.signal()
        }
    }
}
