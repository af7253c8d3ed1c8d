internal import CLinuxShims
internal import Glibc

/// The folders and files that a process may use which carries out a stranger's job. Each path is absolute; one that is not
/// there allows nothing.
package struct Room: Hashable, Sendable {
    /// The folder that the job keeps to.
    package var folder: String
    /// Where the process itself writes: its state, its cache, files that a service gave it to write.
    package var writes: [String]
    /// What the process reads for whoever started it, and of the system.
    package var reads: [String]

    package init(folder: String, writes: [String] = [], reads: [String] = []) {
        self.folder = folder
        self.writes = writes
        self.reads = reads
    }

    /// What every process reads of its system: libraries that are loaded late, certificate authorities, how names are
    /// resolved, time zones, and what the kernel says of networks and of this process.
    package static let system = [
        "/usr", "/lib", "/lib32", "/lib64", "/nix/store", "/gnu/store", "/opt/swift/usr/lib",
        "/etc/ld.so.cache", "/etc/ld.so.preload", "/etc/ssl", "/etc/pki", "/etc/ca-certificates",
        "/etc/crypto-policies",
        "/etc/hosts", "/etc/host.conf", "/etc/hostname", "/etc/resolv.conf", "/etc/nsswitch.conf", "/etc/gai.conf",
        "/etc/services", "/etc/protocols", "/etc/networks", "/etc/passwd", "/etc/group", "/etc/localtime",
        "/etc/timezone", "/etc/os-release", "/run/systemd/resolve", "/run/resolvconf",
        "/run/NetworkManager/resolv.conf",
        "/proc/self", "/proc/sys", "/proc/locks", "/proc/meminfo", "/proc/cpuinfo",
        "/proc/stat", "/proc/filesystems", "/sys/class/net", "/sys/class/power_supply", "/sys/devices",
        "/sys/fs/cgroup",
        "/dev/urandom", "/dev/random", "/dev/zero",
    ]
    /// What leads to descriptors that the process was given open.
    static let given = ["/dev/fd", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/proc/thread-self"]
    /// Devices that every process writes.
    package static let devices = ["/dev/null", "/dev/full", "/dev/tty"]
}

/// A room that was entered: it says which way a path is opened.
package final class EnteredRoom: Sendable {
    /// How a path is opened.
    enum Way: Hashable {
        /// Below the folder, so that no link and no `..` leads out of it.
        case beneath(RawName)
        /// As every path is: it lies where the process itself reads or writes.
        case plain
        case refused
    }

    /// Path of the folder, without links.
    package let path: String
    private let folder: Descriptor
    /// The folder's paths: as it was named, and without links.
    private let names: [[UInt8]]
    private let others: [[UInt8]]
    /// Folders that are opened to name one of their files, which the process may write: whatever else has a name there the
    /// kernel holds.
    private let places: Set<[UInt8]>
    /// What the kernel lacks to hold the process here.
    package let missing: [Confinement.Means]
    /// Whether the kernel opens paths beneath a folder.
    private var isResolving: Bool { !missing.contains(.paths) }

    /// Opens the room's folder.
    init(_ room: Room, missing: [Confinement.Means]) throws(SystemError) {
        folder = try Descriptor.openOutside(RawName(room.folder), tr_O_PATH | O_DIRECTORY)
        path = try folder.path().description
        names = [room.folder, path].map(Self.trimmed)
        others = (room.writes + room.reads + Room.system + Room.devices + Room.given).map(Self.trimmed)
        places = Set(["/dev"].map(Self.trimmed) + room.writes.map { Self.trimmed(Folders.split($0).folder) })
        self.missing = missing
    }

    private static let slash = UInt8(ascii: "/")

    private static func trimmed(_ path: String) -> [UInt8] {
        let bytes = Array(path.utf8)
        return Array(bytes.prefix((bytes.lastIndex { $0 != slash } ?? -1) + 1))
    }

    /// Returns how the path is opened; a relative one begins in the working folder.
    func way(to path: RawName) -> Way {
        guard let whole = Self.absolute(path) else { return .refused }
        for name in names {
            guard let rest = Self.rest(of: whole, below: name) else { continue }
            return .beneath(rest.isEmpty ? .this : RawName(bytes: rest))
        }
        let plain = Self.withoutDots(whole)
        if places.contains(plain) { return .plain }
        if others.contains(where: { Self.rest(of: plain, below: $0) != nil }) { return .plain }
        // A path that leads back into the folder, such as `lists/../../here/file`.
        for name in names {
            if let rest = Self.rest(of: plain, below: name) { return .beneath(RawName(bytes: rest)) }
        }
        return .refused
    }

    private static func absolute(_ path: RawName) -> [UInt8]? {
        let bytes = Array(path.bytes)
        if bytes.first == slash { return bytes }
        guard let working = try? Folders.working() else { return nil }
        return Array(working.utf8) + [slash] + bytes
    }

    /// Returns what follows `folder` and its slashes; `nil` for a path that is not at or below it.
    private static func rest(of path: [UInt8], below folder: [UInt8]) -> [UInt8]? {
        guard path.starts(with: folder) else { return nil }
        let rest = path[folder.count...]
        guard let first = rest.first else { return [] }
        return first == slash ? Array(rest.drop { $0 == slash }) : nil
    }

    private static func withoutDots(_ path: [UInt8]) -> [UInt8] {
        var parts: [ArraySlice<UInt8>] = []
        for part in path.split(separator: slash) where !part.elementsEqual(".".utf8) {
            if part.elementsEqual("..".utf8) { _ = parts.popLast() } else { parts.append(part) }
        }
        return parts.flatMap { [slash] + $0 }
    }

    /// Opens a path; throws an error with `leadsOut` for one that is not in the room, and with `ofJob` for one that only the
    /// process itself may open.
    func open(
        _ path: RawName, _ flags: Int32, mode: mode_t = 0, ofJob: Bool = false
    ) throws(SystemError) -> Descriptor {
        switch way(to: path) {
        case .plain where ofJob: throw Self.leadsOut(path)
        case .plain: return try Descriptor.openOutside(path, flags, mode: mode)
        case .refused: throw Self.leadsOut(path)
        case .beneath(let rest):
            guard isResolving else { return try Descriptor.openOutside(path, flags, mode: mode) }
            return try openBeneath(rest, path, flags, mode: mode)
        }
    }

    /// Opens a folder in which files are written, as `TrustedPath` opens one, by a path that leads out of the room
    /// neither by `..` nor by a link.
    func openFolder(_ path: RawName, _ flags: Int32) throws(SystemError) -> Descriptor {
        switch way(to: path) {
        case .plain: return try TrustedPath.openOutside(path, flags)
        case .refused: throw Self.leadsOut(path)
        case .beneath(let rest):
            guard isResolving else { return try TrustedPath.openOutside(path, flags) }
            do throws(SystemError) {
                return try openBeneath(rest, path, flags | O_DIRECTORY, withoutLinks: true)
            } catch {
                guard error.errno == ELOOP else { throw error }
            }
            // There are links: those of strangers are found name by name, those that lead out by the kernel.
            let trusted = try TrustedPath.openOutside(path, tr_O_PATH)
            let found = try openBeneath(rest, path, flags | O_DIRECTORY)
            guard try found.facts().isSameFile(as: trusted.facts()) else { throw Self.leadsOut(path) }
            return found
        }
    }

    private func openBeneath(
        _ rest: RawName, _ path: RawName, _ flags: Int32, mode: mode_t = 0, withoutLinks: Bool = false
    ) throws(SystemError) -> Descriptor {
        let folder = folder.raw
        do throws(SystemError) {
            return Descriptor(
                owning: try Syscall.check("open") {
                    unsafe tr_open_beneath(
                        folder, rest.characters, flags | O_CLOEXEC, UInt32(mode), withoutLinks ? 1 : 0)
                })
        } catch {
            throw error.errno == EXDEV ? Self.leadsOut(path) : error
        }
    }

    private static func leadsOut(_ path: RawName) -> SystemError {
        SystemError(call: "open", errno: EXDEV, leadsOut: path.description)
    }
}
