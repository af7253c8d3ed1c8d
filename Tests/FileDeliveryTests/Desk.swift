import FileDelivery
import Glibc
import SystemIO
import TestSupport
import Testing
import TransferModel

/// A delivery thread with somebody who waits for its answers.
final class Desk {
    let thread: Delivery
    private let wake: WakeSignal
    private let box: Mailbox<DeliveryReport>
    private var waiting: [DeliveryReport] = []
    private var stagings: UInt64 = 0
    private var isFinished = false

    init(
        lacksUnnamedFiles: Bool = false, lacksExchange: Bool = false, run: String = "test0000state", threads: Int = 1,
        groupPatience: TimeSpan = .seconds(60), groupHook: GroupHook? = nil
    ) throws {
        var lacking: FilesystemLack = lacksUnnamedFiles ? .unnamedFiles : []
        if lacksExchange { lacking.insert(.exchange) }
        let wake = WakeSignal()
        self.wake = wake
        box = Mailbox(wake: { wake.signal() })
        thread = try Delivery(
            run: run, reports: box, threads: threads, lacking: lacking, groupPatience: groupPatience,
            groupHook: groupHook)
    }

    deinit { finish() }

    func finish() {
        if !isFinished { thread.finish() }
        isFinished = true
    }

    func staging() -> StagingID {
        stagings += 1
        return StagingID(raw: stagings)
    }

    /// The bytes as a download of many pieces hands them over, or as a short one does.
    func piece(_ bytes: [UInt8], pooled: Bool) -> BodyPiece {
        guard pooled else { return .bytes(bytes) }
        let buffer = thread.pool.take()
        bytes.withUnsafeBytes { buffer.append($0) }
        return .buffer(buffer)
    }

    func submit(_ orders: DeliveryOrder...) {
        thread.submit(orders, bytes: orders.reduce(0) { $0 + $1.byteCount })
    }

    /// The next answer, in order.
    func next() throws -> DeliveryReport {
        while waiting.isEmpty {
            waiting = box.takeAll()
            if waiting.isEmpty, !wake.wait(nanoseconds: 20_000_000_000) { throw Silence() }
        }
        return waiting.removeFirst()
    }

    struct Silence: Error {}

    /// Publishes `pieces` and gives back what came of it.
    func publish(
        _ pieces: [[UInt8]], to path: String, _ change: (inout Destination) -> Void = { _ in }
    ) throws -> Result<FileRecord, TransferError> {
        var destination = Destination(path: path)
        change(&destination)
        let id = staging()
        for piece in pieces.dropLast() {
            submit(
                .append(
                    .init(
                        id,
                        BodyPlacement(
                            destination.folder, written: destination.checksum?.algorithm,
                            sent: destination.sent?.checksum.algorithm), .bytes(piece))))
        }
        submit(
            .publish(
                .init(TaskIndex(raw: 7), id, destination, rest: .bytes(pieces.last ?? []), lengthUnverified: false)))
        return try outcome()
    }

    func outcome() throws -> Result<FileRecord, TransferError> {
        switch try next() {
        case .published(_, let record, _): return .success(record)
        case .failed(_, let error): return .failure(error)
        default: throw Silence()
        }
    }

    func failure(_ pieces: [[UInt8]], to path: String, _ change: (inout Destination) -> Void = { _ in }) throws
        -> ErrorName?
    {
        if case .failure(let error) = try publish(pieces, to: path, change) { error.name } else { nil }
    }
}

func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }
