internal import CLinuxShims
import Glibc

/// What the process was started with, captured once.
package enum Surroundings {
    /// The environment; of a name that is there twice, the first counts, as for `getenv`.
    package static func environment() -> [String: String] {
        var result: [String: String] = [:]
        guard var entry = unsafe tr_environment() else { return result }
        while let text = unsafe entry.pointee {
            let line = unsafe String(cString: text)
            if let equals = line.utf8.firstIndex(of: UInt8(ascii: "=")) {
                let name = String(line[..<equals])
                if result[name] == nil { result[name] = String(line[line.utf8.index(after: equals)...]) }
            }
            unsafe entry += 1
        }
        return result
    }

    package static func processID() -> Int32 { getpid() }

    /// This start of the system, as the kernel names it; `nil` where it does not.
    package static func bootID() -> String? {
        guard let bytes = try? WholeFile.read("/proc/sys/kernel/random/boot_id", limit: 64) else { return nil }
        let text = String(decoding: bytes, as: UTF8.self)
        return text.hasSuffix("\n") ? String(text.dropLast()) : text
    }

    package static func userID() -> UInt32 { geteuid() }

    /// Whether a process of that number is there, be it another user's.
    package static func isRunning(_ process: Int32) -> Bool { kill(process, 0) == 0 || errno != ESRCH }
}
