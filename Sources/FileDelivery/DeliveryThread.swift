import Digests
import Glibc
import SystemIO
import TransferModel

/// One of the threads that touch files.
final class DeliveryThread: Sendable {
    private let orders: Mailbox<DeliveryOrder>
    private let thread = WorkThread()
    private let backlog: Backlog

    /// Bytes after which a long batch's reports are posted, so that they do not wait for the rest of the batch.
    private static let answeredAfter = 256 << 10
    static let flushCount = 1_000
    static let flushAfter = TimeSpan.milliseconds(200)

    /// The first thread sweeps the folders that all threads use.
    init(
        _ number: Int, _ commons: PublishersCommons, _ reports: Mailbox<DeliveryReport>, _ pool: BufferPool,
        _ backlog: Backlog, groupHook: GroupHook?
    ) throws(SystemError) {
        self.backlog = backlog
        let wake = thread.wake
        orders = Mailbox(wake: { wake.signal() })
        let name = number == 0 ? "delivery" : "delivery \(number + 1)"
        try thread.start(named: name) { [self] in
            var worker = DeliveryWorker(commons, reports, pool, sweeps: number == 0, groupHook: groupHook)
            work(&worker)
        }
    }

    func post(_ batch: [DeliveryOrder]) { orders.post(batch) }

    /// Carries out posted orders, flushes, and ends. A group that still waits for another run is given up.
    func finish() { thread.finish() }

    private func work(_ worker: inout DeliveryWorker) {
        while true {
            let isEnding = thread.isEnding
            let batch = orders.takeAll()
            worker.beginBatch()
            var written = 0
            for order in batch {
                let bytes = order.byteCount
                worker.perform(order)
                backlog.noteWritten(bytes)
                written += bytes
                if written >= Self.answeredAfter {
                    worker.handOver()
                    written = 0
                }
            }
            worker.flushIfDue(isLast: isEnding)
            worker.tellPartsIfDue()
            worker.publishWaitingIfDue()
            let isBusy = worker.adoptSome()
            worker.handOver()
            if isEnding, batch.isEmpty {
                while worker.sweepOne() {}
                return
            }
            if batch.isEmpty, !isBusy, !worker.sweepOne() { worker.wait(on: thread.wake) }
        }
    }
}

extension DeliveryOrder {
    /// The number of body bytes in the order, which count towards the backlog.
    package var byteCount: Int {
        switch self {
        case .append(let order): order.piece.count
        case .publish(let order): order.rest.count
        default: 0
        }
    }
}

/// A delivery thread's own state.
struct DeliveryWorker {
    private let publisher: Publisher
    private let pool: BufferPool
    private let reports: Mailbox<DeliveryReport>
    private var answers: [DeliveryReport] = []
    private var unflushed: [(task: TaskIndex, folder: ExactText)] = []
    private var flushDue: Instant?
    /// The number of the last copy; copies count from `1 << 31`, above the numbers of attempts.
    private var copies: UInt32 = 1 << 31
    private let sweeps: Bool
    private struct WaitingGroup {
        let group: GroupPlace
        let absent: [String?]
        let until: Instant
    }
    /// Groups at whose places other runs are publishing. Other orders are carried out meanwhile.
    private var waitingGroups: [WaitingGroup] = []
    private var nextTry: Instant?
    private let groupPatience: TimeSpan
    private static let triedAfter = TimeSpan.milliseconds(20)

    init(
        _ commons: PublishersCommons, _ reports: Mailbox<DeliveryReport>, _ pool: BufferPool, sweeps: Bool,
        groupHook: GroupHook?
    ) {
        self.pool = pool
        self.sweeps = sweeps
        groupPatience = commons.groupPatience
        publisher = Publisher(commons, groupHook: groupHook)
        self.reports = reports
    }

    func beginBatch() { publisher.beginBatch() }

    mutating func perform(_ order: DeliveryOrder) {
        let publisher = publisher
        switch order {
        case .append(let order):
            let body = publisher.body(order.id)
            if let task = order.task { body.reportFailures(to: task) }
            if let report = publisher.append(order.piece, to: body, order.placement, at: order.offset) {
                answers.append(report)
            }
            recycle(order.piece)
        case .announce(let order):
            answer(order.task) { () throws(TransferError) in
                try publisher.announce(order)
                return nil
            }
        case .decode(let id, let task, let decoding): publisher.decode(id, task, decoding)
        case .publish(let order):
            publish(order)
            recycle(order.rest)
        case .settle(let id): publisher.settle(id)
        case .discard(let id): publisher.discard(id)
        case .conceal(let id): publisher.conceal(id)
        case .keepPart(let id, let task): publisher.keepPart(id, task)
        case .notePart(let id, let note): publisher.notePart(id, note)
        case .leave(let id, let task, let atAnySize):
            if let report = publisher.leave(id, task, atAnySize: atAnySize) { answers.append(report) }
        case .adopt(let order):
            if let report = publisher.adopt(order) { answers.append(report) }
        case .adoptForeign(let id, let task, let foreign):
            if let report = publisher.adopt(id, task, foreign) { answers.append(report) }
        case .removePart(let path): publisher.removePart(path)
        case .sweep(let kept): publisher.sweep(keeping: kept)
        case .inspect(let order): inspect(order)
        case .digest(let task, let pieces, let algorithm):
            answer(task) { () throws(TransferError) in .digested(task, try LocalFiles.digest(pieces, algorithm)) }
        case .fetch(let task, let path, let range):
            LocalFiles.fetch(path, range)
            answers.append(.fetched(task))
        case .keepFile(let task, let record, let mode):
            answer(task) { () throws(TransferError) in
                try LocalFiles.setMode(record.path, mode)
                return .published(task, record, isKept: true)
            }
        case .readStamp(let order): readStamp(order)
        case .copy(let order): copy(order)
        case .read(let order): read(order)
        case .open(let files, let opened): opened(files.map { open($0) })
        case .examine(let task, let look):
            look()
            answers.append(.examined(task))
        case .keep(let order): keep(order)
        case .publishGroup(let group, let absent):
            publish(WaitingGroup(group: group, absent: absent, until: Clocks.instant() + groupPatience))
        case .giveUpGroup(let group): giveUp(group)
        case .discardGroup(let group, let keepingMembers):
            publisher.groups.discard(group, keepingMembers: keepingMembers)
        case .hurry: flushDue = flushDue.map { _ in Instant(nanoseconds: 0) }
        }
        if answers.count >= 256 { handOver() }
    }

    private func recycle(_ piece: BodyPiece) {
        if case .buffer(let buffer) = piece { pool.give(buffer) }
    }

    private mutating func publish(_ order: DeliveryOrder.Publication) {
        let (task, destination) = (order.task, order.destination)
        do throws(TransferError) {
            guard let done = try publisher.publish(order) else { return }
            if let body = done.body { return answers.append(.readyForOutput(task, done.record, body)) }
            if destination.group != nil { return answers.append(.staged(task, done.record)) }
            answers.append(.published(task, done.record, isKept: done.isKept))
            guard destination.flush, !done.isKept else { return }
            if flushDue == nil { flushDue = Clocks.instant() + DeliveryThread.flushAfter }
            unflushed.append((task, ExactText(destination.folder)))
            if unflushed.count >= DeliveryThread.flushCount { flush() }
        } catch {
            answers.append(.failed(task, error))
        }
    }

    private mutating func publish(_ waiting: WaitingGroup) {
        let group = waiting.group
        do throws(TransferError) {
            switch try publisher.groups.publish(group, absent: waiting.absent) {
            case .done(let removed): answers.append(.groupPublished(group.index, nil, removed: removed))
            case .stopped: break
            case .held:
                let now = Clocks.instant()
                guard now < waiting.until else {
                    publisher.groups.discard(group)
                    throw TransferError(
                        .groupNotPublished,
                        "another run is publishing at \(group.folder), or another program has locked that folder, "
                            + "for \(groupPatience.nanoseconds / 1_000_000_000) seconds by now", errno: EWOULDBLOCK)
                }
                waitingGroups.append(waiting)
                nextTry = now + Self.triedAfter
            }
        } catch {
            answers.append(.groupPublished(group.index, error, removed: nil))
        }
    }

    /// Gives up a group that still waits; a publication that is done stays done.
    private mutating func giveUp(_ group: GroupPlace) {
        guard let place = waitingGroups.firstIndex(where: { $0.group.index == group.index }) else { return }
        waitingGroups.remove(at: place)
        publisher.groups.discard(group)
        let error = TransferError(.cancelled, "another run was still publishing at \(group.folder)")
        answers.append(.groupPublished(group.index, error, removed: nil))
    }

    mutating func publishWaitingIfDue() {
        guard let due = nextTry, due <= Clocks.instant() else { return }
        nextTry = nil
        let waiting = waitingGroups
        waitingGroups.removeAll()
        for group in waiting { publish(group) }
    }

    /// Reports what `work` returns, or its failure.
    private mutating func answer(_ task: TaskIndex, _ work: () throws(TransferError) -> DeliveryReport?) {
        do throws(TransferError) {
            if let report = try work() { answers.append(report) }
        } catch {
            answers.append(.failed(task, error))
        }
    }

    private mutating func inspect(_ order: DeliveryOrder.Inspection) {
        let publisher = publisher
        answer(order.task) { () throws(TransferError) in
            // A file that a group may remove is not reported as existing.
            if order.member == nil { try publisher.checkGroups(order.path) }
            let path = publisher.keptMembers.path(order.path, order.member)
            let found = try LocalFiles.inspect(path, order.checksum, exceptSince: order.exceptSince)
            return .inspected(order.task, path: order.path, size: found.size, matches: found.matches)
        }
    }

    private mutating func readStamp(_ order: DeliveryOrder.StampReading) {
        // A file in another group's folder counts as absent: writing it anew is refused with a message.
        let isOurs = order.isSource || order.member != nil || !publisher.isInGroup(order.path)
        let path = publisher.keptMembers.path(order.path, order.member)
        guard isOurs else { return answers.append(.stampRead(order.task, nil, nil)) }
        let digest = order.digest.flatMap { try? LocalFiles.digest([.file(path: path)], $0) }
        answers.append(.stampRead(order.task, LocalFiles.stamp(path), digest))
    }

    private mutating func keep(_ order: DeliveryOrder.KeptMember) {
        let publisher = publisher
        let path = publisher.keptMembers.path(order.path, order.member)
        if let anew = order.anew, !LocalFiles.hasMode(path, anew.mode) {
            return copy(DeliveryOrder.Copy(order.task, from: path, anew, maximum: nil))
        }
        answer(order.task) { () throws(TransferError) in
            .staged(order.task, try publisher.groups.keep(order.task, order.path, order.member, order.checksum))
        }
    }

    private mutating func copy(_ order: DeliveryOrder.Copy) {
        copies += 1
        let (task, id) = (order.task, StagingID(copies, of: order.task, isGrouped: false))
        do throws(TransferError) {
            let file = try LocalFiles.open(order.source)
            var destination = order.destination
            if destination.modificationTime != nil {
                destination.modificationTime = WallTime(nanoseconds: file.facts.modifiedNanoseconds)
            }
            if destination.mode != nil { publisher.conceal(id) }
            if let decoding = destination.decoding { publisher.decode(id, task, decoding) }
            try transcribe(file, order, id, destination)
            publish(DeliveryOrder.Publication(task, id, destination, rest: .none, lengthUnverified: false))
        } catch {
            publisher.discard(id)
            answers.append(.failed(task, error))
        }
    }

    /// Copies a local file into a staging; a file for which there is no room fails before it is read.
    private func transcribe(
        _ file: borrowing LocalFiles.OpenFile, _ order: DeliveryOrder.Copy, _ id: StagingID, _ destination: Destination
    ) throws(TransferError) {
        let placement = BodyPlacement(destination)
        if destination.decoding == nil, destination.check == nil, file.facts.size <= order.maximum ?? .max,
            try publisher.clone(file.descriptor, size: file.facts.size, to: publisher.body(id), placement)
        {
            return
        }
        if file.facts.size >= DiskSpace.smallest || placement.reserve > 0 {
            try publisher.announce(
                DeliveryOrder.Announcement(
                    id, order.task, folder: placement.folder, length: file.facts.size, reserve: placement.reserve))
        }
        let body = publisher.body(id)
        var failure: TransferError?
        var start: [UInt8] = []
        var size: Int64 = 0
        try LocalFiles.read(file, order.source, maximum: order.maximum) { piece in
            if size == 0 { start = Array(piece.prefix(4096)) }
            size += Int64(piece.count)
            if case .failed(_, let error) = publisher.append(.bytes(Array(piece)), to: body, placement) {
                failure = failure ?? error
            }
        }
        if let failure = failure ?? destination.check?(start, size) { throw failure }
    }

    private mutating func read(_ order: DeliveryOrder.Reading) {
        let groups = publisher.groups
        answer(order.task) { () throws(TransferError) in
            let file = try groups.open(order.path, order.group)
            var bytes: [UInt8] = []
            bytes.reserveCapacity(Int(min(file.facts.size, order.maximum)))
            try LocalFiles.read(file, order.path, maximum: order.maximum) { bytes.append(contentsOf: $0) }
            return .contents(order.task, bytes)
        }
    }

    private func open(_ listed: DeliveryOrder.ListedFile) -> Result<OpenedFile, TransferError> {
        let groups = publisher.groups
        return Result { () throws(TransferError) in
            OpenedFile(try groups.open(listed.path, listed.group), path: listed.path)
        }
    }

    mutating func tellPartsIfDue() { answers += publisher.partsIfDue() }

    /// Reads the next slice of a file that is being adopted; `false` when there is none.
    mutating func adoptSome() -> Bool {
        guard publisher.isAdopting else { return false }
        if let report = publisher.adoptSome() { answers.append(report) }
        return true
    }

    /// Sweeps one folder; `false` when none is left.
    func sweepOne() -> Bool { sweeps && publisher.sweepOne() }

    // MARK: Flushing in batches

    mutating func flushIfDue(isLast: Bool) {
        guard let due = flushDue, isLast || due <= Clocks.instant() else { return }
        flush()
    }

    private mutating func flush() {
        let failures = publisher.flush(Set(unflushed.map(\.folder)))
        answers += unflushed.map { task, folder in failures[folder].map { .failed(task, $0) } ?? .flushed(task) }
        unflushed.removeAll(keepingCapacity: true)
        flushDue = nil
    }

    mutating func handOver() {
        guard !answers.isEmpty else { return }
        reports.post(answers)
        answers.removeAll(keepingCapacity: true)
    }

    func wait(on wake: WakeSignal) {
        guard let due = [flushDue, publisher.partsDue, nextTry].compactMap({ $0 }).min() else { return wake.wait() }
        let left = due - Clocks.instant()
        if left > .zero { _ = wake.wait(nanoseconds: left.nanoseconds) }
    }
}
