import Digests
import FileDelivery
import SystemIO
import TransferModel

/// Files in memory, and an answer to each order at once.
///
/// Unchecked: a rig is one thread's alone.
final class ModelDelivery: FileDeliverer, @unchecked Sendable {
    struct File: Equatable {
        var bytes: [UInt8]
        var stamp: FileStamp
    }

    let pool = BufferPool()
    private let reports: Mailbox<DeliveryReport>
    /// By path.
    var files: [String: File] = [:]
    /// Bodies under way.
    private(set) var bodies: [StagingID: [UInt8]] = [:]
    /// Where the pieces end that came one after the other; others are put where they belong.
    private var ends: [StagingID: Int] = [:]
    /// Verified members of groups, by path, until the group is published.
    private(set) var staged: [String: [UInt8]] = [:]
    private(set) var orders: [DeliveryOrder] = []
    /// Orders are kept and not carried out until the test says so.
    var isHeld = false {
        didSet { if !isHeld { release() } }
    }
    private var held: [DeliveryOrder] = []
    /// What the next file that is to be published meets.
    var failure: TransferError?
    /// What the next piece of a body meets.
    var writeFailure: TransferError?
    private var stamps: Int64 = 0

    init(_ reports: Mailbox<DeliveryReport>) { self.reports = reports }

    func keptFolder(of group: GroupPlace) -> String? { nil }
    func finish() {}

    func submit(_ batch: [DeliveryOrder], bytes: Int) {
        for order in batch {
            orders.append(order)
            if isHeld { held.append(order) } else { carryOut(order) }
        }
    }

    private func release() {
        let waiting = held
        held = []
        for order in waiting { carryOut(order) }
    }

    func put(_ path: String, _ text: String) {
        files[path] = File(bytes: Array(text.utf8), stamp: newStamp(text.utf8.count))
    }

    func text(_ path: String) -> String? { files[path].map { String(decoding: $0.bytes, as: UTF8.self) } }

    private func newStamp(_ size: Int) -> FileStamp {
        stamps += 1
        return FileStamp(size: Int64(size), modifiedNanoseconds: stamps * 1_000_000_000)
    }

    private func answer(_ report: DeliveryReport) { reports.post([report]) }

    private func answer(_ task: TaskIndex, _ work: () throws(TransferError) -> DeliveryReport) {
        do throws(TransferError) { answer(try work()) } catch { answer(.failed(task, error)) }
    }

    private func carryOut(_ order: DeliveryOrder) {
        switch order {
        case .append(let order):
            if let failure = writeFailure, let task = order.task {
                writeFailure = nil
                return answer(.failed(task, failure))
            }
            write(order.piece, at: order.offset.map(Int.init), of: order.id)
        case .publish(let order):
            let (task, destination) = (order.task, order.destination)
            write(order.rest, at: nil, of: order.id)
            let bytes = bodies.removeValue(forKey: order.id) ?? []
            answer(task) { () throws(TransferError) in try publish(task, bytes, destination, order.lengthUnverified) }
            if destination.flush, destination.group == nil { answer(.flushed(task)) }
        case .discard(let id): (bodies[id], ends[id]) = (nil, nil)
        case .leave(let id, let task, _):
            bodies[id] = nil
            if let task { answer(.part(id, task, nil)) }
        case .adopt(let order): answer(.adopted(order.task, .useless("the half-done file is gone")))
        case .adoptForeign(let id, let task, let foreign):
            let file = files[foreign.path]
            let objection = file.flatMap { foreign.objection($0.bytes) }
            if let file, file.stamp == foreign.stamp, objection == nil {
                (bodies[id], ends[id]) = (file.bytes, file.bytes.count)
                answer(.adopted(task, .taken(size: foreign.stamp.size, beyond: [])))
            } else {
                answer(.adopted(task, .useless(objection ?? "\(foreign.path) is being changed")))
            }
        case .inspect(let order):
            let file = files[order.path]
            answer(
                .inspected(
                    order.task, path: order.path, size: file?.stamp.size,
                    matches: order.checksum.flatMap { sum in file.map { Self.meets($0.bytes, sum) } }))
        case .readStamp(let order): answer(.stampRead(order.task, files[order.path]?.stamp, nil))
        case .digest(let task, let pieces, let algorithm):
            answer(task) { () throws(TransferError) in
                let bytes = pieces.flatMap { piece -> [UInt8] in
                    if case .bytes(let bytes) = piece { bytes } else { [] }
                }
                return .digested(task, try Checksum.of(bytes, algorithm))
            }
        case .fetch(let task, _, _): answer(.fetched(task))
        case .copy(let order):
            answer(order.task) { () throws(TransferError) in
                guard let file = files[order.source] else {
                    throw TransferError(.fileDoesNotExist, "\(order.source) does not exist")
                }
                return try publish(order.task, file.bytes, order.destination, false)
            }
        case .read(let order):
            answer(order.task) { () throws(TransferError) in
                guard let bytes = staged[order.path] ?? files[order.path]?.bytes else {
                    throw TransferError(.fileDoesNotExist, "\(order.path) does not exist")
                }
                return .contents(order.task, bytes)
            }
        // The rig has no real files.
        case .open(let listed, let opened):
            opened(listed.map { .failure(TransferError(.fileDoesNotExist, "\($0.path) does not exist")) })
        case .examine(let task, let look):
            look()
            answer(.examined(task))
        case .keepFile(let task, let record, _): answer(.published(task, record, isKept: true))
        case .keep(let order):
            let size = files[order.path]?.stamp.size ?? 0
            answer(
                .staged(order.task, record(order.path, size, order.checksum, changed: false, unverified: false)))
        case .publishGroup(let group, _):
            for (path, bytes) in staged { files[path] = File(bytes: bytes, stamp: newStamp(bytes.count)) }
            staged = [:]
            answer(.groupPublished(group.index, nil, removed: nil))
        case .discardGroup: staged = [:]
        case .giveUpGroup, .settle, .announce, .decode, .conceal, .keepPart, .notePart, .removePart, .sweep, .hurry:
            break
        }
    }

    private func write(_ piece: BodyPiece, at offset: Int?, of id: StagingID) {
        let bytes = piece.withBytes { Array($0) }
        var body = bodies[id] ?? []
        let start = offset ?? ends[id] ?? 0
        if offset == nil { ends[id] = start + bytes.count }
        if body.count < start + bytes.count { body += Array(repeating: 0, count: start + bytes.count - body.count) }
        body.replaceSubrange(start..<start + bytes.count, with: bytes)
        bodies[id] = body
        if case .buffer(let buffer) = piece { pool.give(buffer) }
    }

    private func publish(
        _ task: TaskIndex, _ bytes: [UInt8], _ destination: Destination, _ unverified: Bool
    ) throws(TransferError) -> DeliveryReport {
        if let failure {
            self.failure = nil
            throw failure
        }
        if let wanted = destination.checksum, !Self.meets(bytes, wanted) {
            throw TransferError(.checksumMismatch, "the file has another checksum")
        }
        if let sent = destination.sent, !Self.meets(bytes, sent.checksum) {
            throw TransferError(.checksumMismatch, "the server's digest is another")
        }
        if let miss = destination.check?(Array(bytes.prefix(4096)), Int64(bytes.count)) { throw miss }
        if let miss = destination.examine?.look(bytes) { throw miss }
        let isSame = files[destination.path]?.bytes == bytes
        let stamp = newStamp(bytes.count)
        let record = FileRecord(
            path: destination.path, bytes: Int64(bytes.count),
            checksum: destination.checksum ?? (try? Checksum.of(bytes, .xxh3)), changed: !isSame,
            lengthUnverified: unverified, stamp: stamp)
        if destination.group != nil {
            staged[destination.path] = bytes
            return .staged(task, record)
        }
        if destination.existing == .fail, files[destination.path] != nil {
            throw TransferError(.destinationExists, "\(destination.path) is there already")
        }
        files[destination.path] = File(bytes: bytes, stamp: stamp)
        return .published(task, record, isKept: false)
    }

    private func record(
        _ path: String, _ size: Int64, _ checksum: Checksum?, changed: Bool, unverified: Bool
    ) -> FileRecord {
        FileRecord(path: path, bytes: size, checksum: checksum, changed: changed, lengthUnverified: unverified)
    }

    private static func meets(_ bytes: [UInt8], _ checksum: Checksum) -> Bool {
        (try? Checksum.of(bytes, checksum.algorithm)) == checksum
    }
}
