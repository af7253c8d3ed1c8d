import Synchronization
package import SystemIO
package import TransferModel

/// What tests take away from the filesystems of this machine, so that the ways round it are walked.
package struct FilesystemLack: OptionSet, Sendable {
    package let rawValue: Int
    package init(rawValue: Int) { self.rawValue = rawValue }
    /// O_TMPFILE.
    package static let unnamedFiles = FilesystemLack(rawValue: 1)
    /// RENAME_EXCHANGE.
    package static let exchange = FilesystemLack(rawValue: 2)
}

/// Carries out orders for files, in batches, and answers into a mailbox: threads do, or a model of files in tests.
package protocol FileDeliverer: AnyObject, Sendable {
    /// Where full buffers come back to once they are written.
    var pool: BufferPool { get }
    /// Hands over what a turn of the loop produced. Waits while the disk is too far behind.
    func submit(_ batch: [DeliveryOrder], bytes: Int)
    /// The folder in which half-done members of a group wait for the next run; `nil` where they do not.
    func keptFolder(of group: GroupPlace) -> String?
    /// Carries out what was submitted, flushes, and ends.
    func finish()
}

/// The threads that touch files, so that the loop never waits for a disk: they get whole buffers, never single chunks, in
/// batches, and answer in batches. A body belongs to one of them, so that what is ordered for it is carried out as it was
/// given; whoever asks what stands somewhere waits for the answer before anything else is ordered.
package final class Delivery: FileDeliverer {
    /// Where full buffers come back to once they are written.
    package let pool = BufferPool()
    private let threads: [DeliveryThread]
    private let backlog: Backlog
    private let keptMembers: KeptMembers

    /// At most so many bytes wait for the disk, over all threads; then the loop waits. Of several threads each is to have
    /// enough while another's bodies are many, so that the loop waits for none alone.
    package let maximumOutstanding: Int

    /// `reports` gets the answers; `run` goes into temporary names; with `makesSums` a file's record tells a sum of it;
    /// errors call a task by its `taskName`; no file takes one of the `reserved` places.
    /// For tests: what the filesystems lack, how long a group waits for another run at its place, and a hook that is
    /// called at each step of a group's publication, on the first thread.
    package init(
        run: String, reports: Mailbox<DeliveryReport>, threads: Int = 1,
        makesSums: Bool = false, reserved: ReservedPlaces = ReservedPlaces([]),
        taskName: @escaping @Sendable (TaskIndex) -> String = { "\($0.raw)" }, lacking: FilesystemLack = [],
        groupPatience: TimeSpan = .seconds(60), groupHook: GroupHook? = nil
    ) throws(SystemError) {
        let commons = PublishersCommons(
            names: TemporaryNames(run: run), leftovers: Leftovers(run: run), reserved: reserved, taskName: taskName,
            makesSums: makesSums, lacking: lacking, groupPatience: groupPatience)
        keptMembers = commons.keptMembers
        maximumOutstanding = threads == 1 ? 1 << 20 : threads << 22
        backlog = Backlog(maximumOutstanding)
        var started: [DeliveryThread] = []
        for number in 0..<threads {
            do throws(SystemError) {
                let hook = number == 0 ? groupHook : nil
                started.append(try DeliveryThread(number, commons, reports, pool, backlog, groupHook: hook))
            } catch {
                // The first can do all of it.
                guard number > 0 else { throw error }
            }
        }
        self.threads = started
    }

    /// The folder in which half-done members of a group wait for the next run; `nil` where they do not.
    package func keptFolder(of group: GroupPlace) -> String? { keptMembers.path(of: group) }

    /// Hands over what a turn of the loop produced, in one piece. Waits while the disk is too far behind.
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

    /// Carries out what was submitted, flushes, and ends. The first thread comes last: it sweeps the folders that the
    /// others met.
    package func finish() {
        for thread in threads.reversed() { thread.finish() }
        keptMembers.close()
    }
}

/// Bytes handed over and not yet written: what bounds the memory of a loop that is faster than its disk.
final class Backlog: Sendable {
    private let outstanding = Atomic<Int>(0)
    private let drained = WakeSignal()
    private let isAwaited = Atomic<Bool>(false)
    private let maximum: Int

    init(_ maximum: Int) { self.maximum = maximum }

    /// Whether that is too much now.
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
