import Glibc
import SystemIO
import TransferModel

extension Staging {
    /// Checks all written bytes at once.
    func examine(_ examination: Destination.Examination) throws(TransferError) {
        guard size <= examination.most else {
            throw TransferError(
                .unexpectedResponse,
                "the file has \(size) bytes: `expect.body` and `capture` look into files of up to \(examination.most)")
        }
        var bytes = [UInt8](repeating: 0, count: Int(size))
        do throws(SystemError) {
            try bytes.withUnsafeMutableBytes { buffer in
                Result { () throws(SystemError) in try readBack(into: buffer) }
            }.get()
        } catch {
            throw TransferError(.cannotOpenFile, "reading the file back failed: \(error.reason)", errno: error.errno)
        }
        if let miss = examination.look(bytes) { throw miss }
    }

    private func readBack(into buffer: UnsafeMutableRawBufferPointer) throws(SystemError) {
        var place = 0
        while place < buffer.count {
            let count = try file.read(into: UnsafeMutableRawBufferPointer(rebasing: buffer[place...]), at: Int64(place))
            // The file was truncated meanwhile.
            guard count > 0 else { throw SystemError(call: "read", errno: EIO) }
            place += count
        }
    }
}
