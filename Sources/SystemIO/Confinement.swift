internal import CLinuxShims
internal import Glibc
import Synchronization

/// Shuts this process into a room, for a job that somebody else wrote: once, before the first thread begins, and for
/// good. The kernel holds every part of the process to it, libraries with faults included; besides, each path that
/// this program opens is opened beneath the room's folder.
package enum Confinement {
    /// What holds a process in its room. A kernel, or a container around the process, may lack each of them.
    package enum Means: String, CaseIterable, Sendable {
        case privileges = "noNewPrivileges", files = "landlock", calls = "seccomp", paths = "openat2"

        /// The means for people, and what brings it.
        package var words: String {
            switch self {
            case .privileges: "no_new_privs (Linux 3.5)"
            case .files: "Landlock (Linux 5.13, switched on)"
            case .calls: "a seccomp filter"
            case .paths: "openat2 (Linux 5.6)"
            }
        }
    }

    /// Why the room could not be entered.
    package enum Problem: Error, Hashable, Sendable {
        case noFolder(SystemError)
        /// The kernel lacks these, and the process is not to go on without.
        case lacks([Means])
        /// A means is there and does not work.
        case failed(Means, SystemError)
    }

    private static let entered = Mutex<EnteredRoom?>(nil)

    /// The room that this process is in; `nil` for a process that goes where it wants.
    package static var room: EnteredRoom? { entered.withLock { $0 } }

    /// Enters the room. Without `goesOnWithout`, a process whose kernel lacks a means is left as it was. `leavingOut` are
    /// means that a test leaves out, to see that the others hold.
    package static func enter(
        _ room: Room, goesOnWithout: Bool, leavingOut: Set<Means> = []
    ) throws(Problem) {
        let version = leavingOut.contains(.files) ? 0 : Int(tr_landlock_version())
        let refusesCalls = !leavingOut.contains(.calls) && tr_can_refuse_calls() != 0
        let isResolving = !leavingOut.contains(.paths) && canResolve()
        let missing = Means.allCases.filter { means in
            switch means {
            case .privileges: false
            case .files: version < 1
            case .calls: !refusesCalls
            case .paths: !isResolving
            }
        }
        guard missing.allSatisfy({ leavingOut.contains($0) }) || goesOnWithout else { throw .lacks(missing) }
        let place: EnteredRoom
        do throws(SystemError) { place = try EnteredRoom(room, missing: missing) } catch {
            throw .noFolder(error)
        }
        try attempt(.privileges) { tr_no_new_privileges() }
        if version > 0 { try holdFiles(room, version) }
        if refusesCalls { try attempt(.calls) { tr_refuse_calls() } }
        if !leavingOut.contains(.paths) { entered.withLock { $0 = place } }
    }

    /// Whether the kernel can refuse calls, in a process that may ask for that.
    package static var refusesCalls: Bool { tr_can_refuse_calls() != 0 }

    /// Whether the kernel can hold connections to ports (Landlock 4, Linux 6.7).
    package static var holdsPorts: Bool { tr_landlock_version() >= 4 }

    /// Returns whether the kernel, and what stands around this process, knows openat2.
    private static func canResolve() -> Bool {
        let opened = unsafe tr_open_beneath(AT_FDCWD, ".", tr_O_PATH | O_CLOEXEC, 0, 0)
        if opened >= 0 { close(opened) }
        return opened >= 0 || ![ENOSYS, EPERM].contains(errno)
    }

    private static func holdFiles(_ room: Room, _ version: Int) throws(Problem) {
        let rules = try made { tr_landlock_for_files(Int32(version)) }
        let written = [room.folder] + Room.devices
        for path in written { try allow(path, tr_landlock_writes, rules, version) }
        // The state has a folder for the socket by which a run is controlled.
        for path in room.writes { try allow(path, tr_landlock_listens, rules, version) }
        for path in room.reads + Room.system { try allow(path, tr_landlock_reads, rules, version) }
        let raw = rules.raw
        try attempt(.files) { tr_landlock_enter(raw) }
    }

    private static func allow(
        _ path: String, _ leave: tr_landlock_leave, _ rules: borrowing Descriptor, _ version: Int
    ) throws(Problem) {
        // What is not there, or not to be seen, is not to be read either.
        guard let place = try? Descriptor.openOutside(RawName(path), tr_O_PATH) else { return }
        let (rules, raw) = (rules.raw, place.raw)
        do throws(SystemError) {
            try Syscall.check("landlock") { tr_landlock_allow(rules, Int32(version), raw, leave) }
        } catch {
            // A pipe that a shell gave has no place among the files, and needs none.
            guard error.errno == EBADFD else { throw .failed(.files, error) }
        }
        // Of the kernel's own folders an entry is made anew when nobody has it open, and is then another one.
        if FilesystemKind.of(place) == .proc { ProcessLifetime.keep(KeptDescriptor(place)) }
    }

    /// Lets this process connect to these TCP ports and listen at none. Threads that run already keep what they could.
    package static func hold(toPorts ports: Set<UInt16>) throws(Problem) {
        let rules = try made { tr_landlock_for_ports() }
        let raw = rules.raw
        for port in ports { try attempt(.files) { tr_landlock_allow_port(raw, port) } }
        try attempt(.files) { tr_landlock_enter(raw) }
    }

    /// Makes no further Unix socket possible, in any thread: what has one open keeps it.
    package static func refuseLocalSockets() throws(Problem) { try attempt(.calls) { tr_refuse_local_sockets() } }

    private static func made(_ body: () -> Int32) throws(Problem) -> Descriptor {
        do throws(SystemError) { return Descriptor(owning: try Syscall.check("landlock", body)) } catch {
            throw .failed(.files, error)
        }
    }

    private static func attempt(_ means: Means, _ body: () -> Int32) throws(Problem) {
        do throws(SystemError) { try Syscall.check(means.rawValue, body) } catch { throw .failed(means, error) }
    }
}

/// A descriptor that stays open as long as the process.
private final class KeptDescriptor: Sendable {
    private let descriptor: Descriptor
    init(_ descriptor: consuming Descriptor) { self.descriptor = descriptor }
}
