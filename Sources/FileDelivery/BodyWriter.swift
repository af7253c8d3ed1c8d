import Glibc
package import SystemIO
import TransferModel

/// Writes pieces of bodies for one delivery thread.
package final class BodyWriter {
    /// What is known of one disk.
    private struct Disk {
        var bypass: CacheBypass
        var step = WriteStep()
    }
    private var disks: [UInt64: Disk] = [:]
    /// What is known of a disk that nobody has written to.
    private let first: Disk

    package init(assuming first: CacheBypass = CacheBypass()) { self.first = Disk(bypass: first) }

    /// `device` is the one that `file` lies on.
    package func write(
        _ bytes: UnsafeRawBufferPointer, at offset: Int64, of file: borrowing Descriptor, on device: UInt64
    ) throws(SystemError) {
        guard bytes.count >= CacheBypass.smallest else { return try keep(bytes, at: offset, of: file) }
        switch disks[device, default: first].bypass.way(bytes.count) {
        case .kept: try weigh(bytes, at: offset, of: file, on: device)
        case .passing:
            guard try pass(bytes, at: offset, of: file, on: device) else { return }
            disks[device, default: first].bypass.passed(bytes.count)
        case .proving:
            let begun = Clocks.instant()
            guard try pass(bytes, at: offset, of: file, on: device) else { return }
            try file.writeOut(from: offset, count: Int64(bytes.count))
            disks[device, default: first].bypass.proved(bytes.count, took: Clocks.instant() - begun)
        }
    }

    private func weigh(
        _ bytes: UnsafeRawBufferPointer, at offset: Int64, of file: borrowing Descriptor, on device: UInt64
    ) throws(SystemError) {
        let disk = disks[device, default: first]
        let begun = disk.bypass.isWeighing || disk.step.isWeighing ? Clocks.threadTime() : nil
        try file.writeAll(bytes, at: offset, step: disk.step.isLong ? .max : WriteStep.short)
        let time = begun.map { Clocks.threadTime() - $0 } ?? .zero
        disks[device, default: first].bypass.wasKept(bytes.count, took: time)
        disks[device, default: first].step.wrote(bytes.count, took: time)
    }

    /// What will be read again soon.
    package func keep(
        _ bytes: UnsafeRawBufferPointer, at offset: Int64, of file: borrowing Descriptor
    ) throws(SystemError) {
        try file.writeAll(bytes, at: offset, step: WriteStep.short)
    }

    /// `false` when they had to be kept.
    private func pass(
        _ bytes: UnsafeRawBufferPointer, at offset: Int64, of file: borrowing Descriptor, on device: UInt64
    ) throws(SystemError) -> Bool {
        var done = 0
        while done < bytes.count {
            let rest = UnsafeRawBufferPointer(rebasing: bytes[done...])
            guard let count = try file.writeThrough(rest, at: offset + Int64(done)) else {
                disks[device, default: first].bypass.isUnknown()
                try keep(rest, at: offset + Int64(done), of: file)
                return false
            }
            done += count
        }
        return true
    }
}
