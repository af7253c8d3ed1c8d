import Glibc

/// What this process is given to read. It stays open: somebody else may ask for the rest.
package enum StandardInput {
    /// Reads to the end, piece by piece; `take` says whether more is wanted. `false`: it was ended before.
    package static func read(
        until cancellation: PollWake, take: (UnsafeRawBufferPointer) -> Bool
    ) throws(SystemError) -> Bool {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 16)
        defer { unsafe buffer.deallocate() }
        while true {
            var entries = [PollEntry(STDIN_FILENO), cancellation.entry]
            Polling.wait(&entries, milliseconds: 3_600_000)
            if entries[1].isReady { return false }
            guard entries[0].isReady else { continue }
            let count: Int
            do throws(SystemError) {
                count = try Syscall.count("read") { unsafe Glibc.read(STDIN_FILENO, buffer.baseAddress, buffer.count) }
            } catch {
                // Somebody who shares it may have made it non-blocking, and been faster.
                if error.errno == EAGAIN { continue }
                throw error
            }
            if count == 0 { return true }
            guard unsafe take(UnsafeRawBufferPointer(rebasing: buffer[..<count])) else { return false }
        }
    }
}
