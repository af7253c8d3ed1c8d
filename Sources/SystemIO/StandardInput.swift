import Glibc

/// The process's standard input. It stays open: another program may read the rest.
package enum StandardInput {
    /// Reads to the end, piece by piece; `take` returns whether more is wanted. Returns `false` if reading was ended
    /// before the end.
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
                // Another program that shares the descriptor may have made it non-blocking, and read first.
                if error.errno == EAGAIN { continue }
                throw error
            }
            if count == 0 { return true }
            guard unsafe take(UnsafeRawBufferPointer(rebasing: buffer[..<count])) else { return false }
        }
    }
}
