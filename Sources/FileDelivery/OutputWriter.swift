import Glibc
import Synchronization
package import SystemIO
package import TransferModel

/// A verified body that waits to be written to standard output: a file without a name, which is gone with its last
/// owner.
package final class StagedBody: Sendable {
    fileprivate let file: Descriptor
    fileprivate let size: Int64

    init(_ staging: Staging) throws(SystemError) {
        file = try staging.file.duplicate()
        size = staging.size
    }
}

/// The thread that writes bodies to standard output. Its reader may be slow or stop reading: only this thread waits for
/// it.
///
/// After a body that could not be written completely nothing follows: the reader would take it for the rest of that
/// body.
package final class OutputWriter: Sendable {
    private struct Order: Sendable {
        let task: TaskIndex
        let body: StagedBody
    }

    private let orders: Mailbox<Order>
    private let thread = WorkThread()
    private let output: OutputDescriptor
    private let reports: Mailbox<DeliveryReport>
    private let isStopped = Atomic<Bool>(false)
    private static let pieceSize = 64 << 10

    /// `reports` gets a `written` for each body.
    package init(_ output: OutputDescriptor, reports: Mailbox<DeliveryReport>) throws(SystemError) {
        self.output = output
        self.reports = reports
        let wake = thread.wake
        orders = Mailbox(wake: { wake.signal() })
        try thread.start(named: "output") { [self] in work() }
    }

    /// Writes the body of a task after those given before.
    package func write(_ body: StagedBody, of task: TaskIndex) { orders.post(Order(task: task, body: body)) }

    /// Stops writing; what the system has taken already stays written.
    package func stop() { isStopped.store(true, ordering: .releasing) }

    /// Ends the thread without waiting for it, since its output may never be read.
    package func leave() {
        stop()
        thread.leave()
    }

    private func work() {
        while true {
            let isEnding = thread.isEnding
            let batch = orders.takeAll()
            for order in batch { reports.post(.written(order.task, write(order.body))) }
            if batch.isEmpty {
                if isEnding { return }
                thread.wake.wait()
            }
        }
    }

    /// Writes a body; returns why not all of it was written, or `nil`.
    private func write(_ body: StagedBody) -> TransferError? {
        var buffer = [UInt8](repeating: 0, count: Int(min(Int64(Self.pieceSize), body.size)))
        var place: Int64 = 0
        do throws(SystemError) {
            while place < body.size {
                let count = try LocalFiles.readPiece(body.file, &buffer, place)
                // The file was truncated meanwhile.
                guard count > 0 else { throw SystemError(call: "read", errno: EIO) }
                let wanted = Int(min(Int64(count), body.size - place))
                guard try pass(on: buffer, first: wanted) else { return .outputStopped }
                place += Int64(wanted)
            }
            try output.confirmWrites()
            return nil
        } catch {
            return .output(error)
        }
    }

    /// Writes `count` bytes; returns `false` when writing was stopped before.
    private func pass(on bytes: [UInt8], first count: Int) throws(SystemError) -> Bool {
        var done = 0
        while done < count {
            if isStopped.load(ordering: .acquiring) { return false }
            let from = done
            let written = bytes.withUnsafeBytes { buffer in
                Result { () throws(SystemError) in
                    try output.write(some: UnsafeRawBufferPointer(rebasing: buffer[from..<count]))
                }
            }
            done += try written.get()
        }
        return true
    }
}

extension TransferError {
    /// The task or the run ended before all of the body was written.
    package static let outputStopped = TransferError(
        .cannotWriteOutput, "standard output ends in the middle of a file: the task that wrote it was stopped")

    static func output(_ error: SystemError) -> TransferError {
        if error.call == "read" {
            return TransferError(
                .cannotOpenFile, "reading back what goes to standard output failed: \(error.reason)",
                errno: error.errno)
        }
        let why =
            switch error.errno {
            case EPIPE: "the program that read it has closed it"
            case EBADF: "it is closed"
            default: error.reason
            }
        return TransferError(.cannotWriteOutput, "standard output cannot be written: \(why)", errno: error.errno)
    }
}
