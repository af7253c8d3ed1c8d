import Glibc
package import SystemIO
import TransferModel

/// Writes pieces of bodies for one delivery thread.
package final class BodyWriter {
    private var bypasses: [UInt64: CacheBypass] = [:]
    /// What is known of a disk that nobody has written to.
    private let first: CacheBypass

    package init(assuming first: CacheBypass = CacheBypass()) { self.first = first }

    /// The longer a write, the larger the pieces of memory that Linux keeps it in. Up to this size each processor has some
    /// at hand that were used before; larger ones may be those that a virtual machine's host had taken back, and each of
    /// their pages costs a fault of the host's.
    private static let keptAtOnce = 32 << 10

    /// `device` is the one that `file` lies on.
    package func write(
        _ bytes: UnsafeRawBufferPointer, at offset: Int64, of file: borrowing Descriptor, on device: UInt64
    ) throws(SystemError) {
        guard bytes.count >= CacheBypass.smallest else { return try keep(bytes, at: offset, of: file) }
        switch bypasses[device, default: first].way(bytes.count) {
        case .kept:
            let begun = Clocks.threadTime()
            try keep(bytes, at: offset, of: file)
            bypasses[device, default: first].wasKept(bytes.count, took: Clocks.threadTime() - begun)
        case .passing:
            guard try pass(bytes, at: offset, of: file, on: device) else { return }
            bypasses[device, default: first].passed(bytes.count)
        case .proving:
            let begun = Clocks.instant()
            guard try pass(bytes, at: offset, of: file, on: device) else { return }
            try file.writeOut(from: offset, count: Int64(bytes.count))
            bypasses[device, default: first].proved(bytes.count, took: Clocks.instant() - begun)
        }
    }

    /// What will be read again soon.
    package func keep(
        _ bytes: UnsafeRawBufferPointer, at offset: Int64, of file: borrowing Descriptor
    ) throws(SystemError) {
        try file.writeAll(bytes, at: offset, step: Self.keptAtOnce)
    }

    /// `false` when they had to be kept.
    private func pass(
        _ bytes: UnsafeRawBufferPointer, at offset: Int64, of file: borrowing Descriptor, on device: UInt64
    ) throws(SystemError) -> Bool {
        var done = 0
        while done < bytes.count {
            let rest = UnsafeRawBufferPointer(rebasing: bytes[done...])
            guard let count = try file.writeThrough(rest, at: offset + Int64(done)) else {
                bypasses[device, default: first].isUnknown()
                try keep(rest, at: offset + Int64(done), of: file)
                return false
            }
            done += count
        }
        return true
    }
}
