import Glibc

/// Finds the rules of a time zone by its IANA name in the machine's own files.
package enum TimeZoneFile {
    private static let folder = "/usr/share/zoneinfo/"
    private static let largestFile = 1 << 20

    /// Returns the zone's rules; `nil` for a name that no zone has, or that could lead out of the folder.
    package static func load(_ name: String) -> TimeZoneRules? {
        guard isSafe(name), let bytes = read(folder + name) else { return nil }
        return TimeZoneRules(bytes)
    }

    /// Returns the machine's zone: `$TZ` if it is a zone's name, else that of `/etc/localtime`; `nil` without either.
    package static func local() -> TimeZoneRules? {
        if let zone = getenv("TZ").map({ String(cString: $0) }), let rules = load(zone) { return rules }
        return read("/etc/localtime").flatMap { TimeZoneRules($0) }
    }

    private static func isSafe(_ name: String) -> Bool {
        guard name.utf8.count <= 128 else { return false }
        return name.split(separator: "/", omittingEmptySubsequences: false).allSatisfy { part in
            guard let first = part.utf8.first, isLetter(first) else { return false }
            return part.utf8.allSatisfy { isLetter($0) || "0123456789_+-".utf8.contains($0) }
        }
    }

    private static func isLetter(_ byte: UInt8) -> Bool { (0x61...0x7A).contains(byte | 0x20) }

    private static func read(_ path: String) -> [UInt8]? {
        let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var status = stat()
        guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_size <= largestFile else {
            return nil
        }
        var bytes = [UInt8](repeating: 0, count: Int(status.st_size))
        var filled = 0
        while filled < bytes.count {
            let count = bytes.withUnsafeMutableBytes { Glibc.read(file, $0.baseAddress! + filled, $0.count - filled) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return nil }
            filled += count
        }
        return bytes
    }
}
