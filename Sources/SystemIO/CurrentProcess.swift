internal import CLinuxShims
import Glibc
package import TransferModel

/// Reads this process's arguments, environment and identity.
package enum CurrentProcess {
    /// Returns the words after the program's name.
    package static func arguments() -> [RawName] {
        // Swift looks for them below the environment and finds none if a preloaded library has moved that.
        let words = unsafe tr_arguments()
        return (1..<max(1, Int(tr_argument_count()))).compactMap { index in
            unsafe words?[index].map { unsafe RawName(bytes: bytes(of: $0)) }
        }
    }

    /// Returns `NAME=value` of each variable, byte for byte, for programs that are started.
    package static func variables() -> [RawName] {
        var lines: [RawName] = []
        guard var entry = unsafe tr_environment() else { return lines }
        while let text = unsafe entry.pointee {
            lines.append(unsafe RawName(bytes: bytes(of: text)))
            unsafe entry += 1
        }
        return lines
    }

    /// Returns the environment without variables whose value is not UTF-8, which are among `strayVariables`.
    package static func environment() -> [String: String] {
        values().compactMapValues { String(validating: $0, as: UTF8.self) }
    }

    /// Returns the variables whose value is not UTF-8.
    package static func strayVariables() -> [String: NotText] {
        values().filter { String(validating: $1, as: UTF8.self) == nil }.mapValues { NotText($0) }
    }

    /// Returns all values; of a name that is there twice the first counts, as for `getenv`.
    private static func values() -> [String: [UInt8]] {
        var found: [String: [UInt8]] = [:]
        for line in variables() {
            let bytes = Array(line.bytes)
            guard let equals = bytes.firstIndex(of: UInt8(ascii: "=")),
                let name = String(validating: bytes[..<equals], as: UTF8.self), found[name] == nil
            else { continue }
            found[name] = Array(bytes[(equals + 1)...])
        }
        return found
    }

    private static func bytes(of text: UnsafePointer<CChar>) -> UnsafeRawBufferPointer {
        unsafe UnsafeRawBufferPointer(start: text, count: strlen(text))
    }

    /// Returns the folder for unnamed temporary files: `TMPDIR` if that is an absolute path, else `/tmp`; of a confined
    /// process the folder that it keeps to.
    package static func temporaryFolder() -> String {
        if let room = Confinement.room { return room.path }
        guard let path = environment()["TMPDIR"], path.utf8.first == UInt8(ascii: "/") else { return "/tmp" }
        return path.utf8.count > 1 && path.utf8.last == UInt8(ascii: "/") ? String(path.dropLast()) : path
    }

    /// Keeps other processes of the user from looking into this one, which knows a secret, and the kernel from writing its
    /// memory into a file when it crashes. What this process reads of itself below `/proc` it reads all the same.
    package static func hideMemory() { _ = tr_hide_memory() }

    /// Returns this process's number.
    package static func processID() -> Int32 { getpid() }

    /// Returns the kernel's random name for this start of the system; `nil` where it has none.
    package static func bootID() -> String? {
        guard let bytes = try? WholeFile.read("/proc/sys/kernel/random/boot_id", limit: 64) else { return nil }
        let text = String(decoding: bytes, as: UTF8.self)
        return text.hasSuffix("\n") ? String(text.dropLast()) : text
    }

    /// Returns the name that /etc/passwd has for a user's number, or the number. Other directories of users are not asked:
    /// they may be on the network.
    package static func userName(_ number: UInt32) -> String {
        let bytes = (try? WholeFile.read("/etc/passwd", limit: 1 << 20)) ?? []
        for line in bytes.split(separator: UInt8(ascii: "\n")) {
            let fields = line.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
            if fields.count > 2, let name = fields.first, !name.isEmpty, fields[2].elementsEqual("\(number)".utf8) {
                return String(decoding: name, as: UTF8.self)
            }
        }
        return "\(number)"
    }

    /// Returns this process's effective user number.
    package static func userID() -> UInt32 { geteuid() }

    /// Returns whether a process of that number exists, be it another user's.
    package static func processExists(_ process: Int32) -> Bool { kill(process, 0) == 0 || errno != ESRCH }
}
