import Glibc
import SystemIO

// Shuts itself into a room and tries its doors, for tests: what is entered once cannot be left by the process that runs
// many of them. Nothing of it ships.
//
//   room-check DIR [--without MEANS]… [--port NUMBER]… DOOR VALUE…
//
// Doors: `open` and `write` a path as the program does, `make` a folder and a file in it, `list` a folder, open a `source` that a job names; `read` and
// `create` as a fault of a library would, by the system call; `run` a program, `connect` to a port of this machine, make a
// `socket` of a family, `signal` a process, `cut` a file by its path, `move` a file into a new folder beside it. Each gets a line: the
// door, its value, and `open` or the reason why not.

/// What is left of the command line.
var words = Array(CommandLine.arguments.dropFirst())
/// The room's folder.
let folder = words.isEmpty ? "." : words.removeFirst()
/// Means that are left out.
var without: Set<Confinement.Means> = []
/// Ports that may be connected to; none for all.
var ports: Set<UInt16> = []
while let flag = words.first, flag.hasPrefix("--"), words.count > 1 {
    if flag == "--without", let means = Confinement.Means(rawValue: words[1]) { without.insert(means) }
    if flag == "--port", let port = UInt16(words[1]) { ports.insert(port) }
    words.removeFirst(2)
}

/// Why a call failed, as the system has it.
struct Refused: Error { let reason: String }

/// Throws why a system call failed.
func call(_ result: Int32) throws(Refused) {
    if result < 0 { throw Refused(reason: SystemError(call: "", errno: errno).reason) }
}

/// Throws why the program's own function failed.
func opened(_ body: () throws(SystemError) -> Void) throws(Refused) {
    do throws(SystemError) { try body() } catch { throw Refused(reason: error.reason) }
}

/// Connects to this machine.
func connect(to port: UInt16) throws(Refused) {
    let made = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    try call(made)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    let size = socklen_t(MemoryLayout<sockaddr_in>.size)
    try call(
        withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { Glibc.connect(made, $0, size) }
        })
}

/// Tries one door.
func attempt(_ door: String, _ value: String) throws(Refused) {
    switch door {
    case "open": try opened { () throws(SystemError) in _ = try Descriptor.open(value, O_RDONLY) }
    case "source": try opened { () throws(SystemError) in _ = try Descriptor.openOfJob(value, O_RDONLY) }
    case "write":
        try opened { () throws(SystemError) in _ = try Descriptor.open(value, O_WRONLY | O_CREAT, mode: 0o600) }
    case "make":
        try opened { () throws(SystemError) in
            let made = try Descriptor.makeFolder(value)
            _ = try made.open("file", O_WRONLY | O_CREAT, mode: 0o600)
        }
    case "list":
        do throws(WholeFile.Problem) { _ = try WholeFile.list(value, depth: 1) } catch {
            guard case .system(let error) = error else { throw Refused(reason: "\(error)") }
            throw Refused(reason: error.reason)
        }
    case "read": try call(Glibc.open(value, O_RDONLY))
    case "create": try call(Glibc.open(value, O_WRONLY | O_CREAT, 0o600))
    case "cut": try call(truncate(value, 0))
    case "move":
        try call(mkdir("\(value).d", 0o700))
        try call(rename(value, "\(value).d/moved"))
    case "run":
        try opened { () throws(SystemError) in _ = try RunningCommand(Command([value])) }
    case "connect": try connect(to: UInt16(value) ?? 0)
    case "socket": try call(socket(Int32(value) ?? 0, Int32(SOCK_DGRAM.rawValue), 0))
    case "signal": try call(kill(Int32(value) ?? 0, SIGURG))
    default: throw Refused(reason: "there is no such door")
    }
}

do throws(Confinement.Problem) {
    try Confinement.enter(Room(folder: folder), goesOnWithout: false, leavingOut: without)
    if !ports.isEmpty { try Confinement.hold(toPorts: ports) }
    if words.first == "local" {
        words.removeFirst()
        try Confinement.refuseLocalSockets()
    }
} catch {
    print("not entered: \(error)")
    exit(2)
}
while words.count > 1 {
    let (door, value) = (words[0], words[1])
    words.removeFirst(2)
    do throws(Refused) {
        try attempt(door, value)
        print("\(door) \(value): open")
    } catch {
        print("\(door) \(value): \(error.reason)")
    }
}
