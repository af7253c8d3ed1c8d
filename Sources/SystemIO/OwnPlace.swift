internal import CLinuxShims

/// A working folder and umask per thread, so that several runs in one process each have those of their command.
package enum OwnPlace {
    /// Sets the working folder and umask of the calling thread and all threads that it will make. A folder that is gone
    /// is no failure: `/` takes its place.
    package static func take(folder: String, mask: UInt16) {
        if unsafe tr_own_place(folder, UInt32(mask)) != 0 { _ = unsafe tr_own_place("/", UInt32(mask)) }
    }

    /// Returns the calling thread's umask, as `/proc` states it: the system call that returns it also changes it, for
    /// all threads.
    package static func mask() -> UInt16 {
        let status = (try? WholeFile.read("/proc/thread-self/status", limit: 64 << 10)) ?? []
        for line in status.split(separator: 0x0A) {
            let words = String(decoding: line, as: UTF8.self).split(whereSeparator: { $0 == "\t" || $0 == " " })
            if words.count == 2, words[0] == "Umask:", let mask = UInt16(words[1], radix: 8) { return mask & 0o777 }
        }
        return 0o022
    }
}
