import BackgroundService
import Glibc
import Reporting
import Stores
import SystemIO
import TransferModel

// The background process with a made-up host, or with the real one, and commands that speak to it: what the tests start,
// kill and measure. Nothing of it ships.
//
//   service-check daemon [--idle MILLISECONDS] [--slow MILLISECONDS] [--flood EVENTS-A-SECOND] [--die] --state-dir DIR
//   service-check daemon --carry [--runs MOST] --state-dir DIR
//                                                carries the journal's runs, at most so many at a time
//   service-check ring DIR IDENTIFIER [IDLE]     finds or starts the process, rings, prints its number
//   service-check activate DIR WORD…             runs itself with these words as a service manager would: with a socket
//   service-check load DIR FOLLOWERS IDLERS SECONDS
//                                                connects so many and prints what the process costs meanwhile

Signals.ignoreFailedWrites()
var words = Array(CommandLine.arguments.dropFirst())
let mode = words.isEmpty ? "" : words.removeFirst()

func option(_ name: String, _ words: [String]) -> String? {
    guard let index = words.firstIndex(of: "--\(name)"), index + 1 < words.count else { return nil }
    return words[index + 1]
}

func place(_ directory: String) throws -> ServicePlace {
    ServicePlace(try StateFolder(directory: directory, workingDirectory: try Folders.working() ?? "/") { _ in nil })
}

func daemon(_ words: [String]) throws -> Int32 {
    guard let directory = option("state-dir", words) else { return 2 }
    if words.contains("--die") {
        ServiceLog.write("it was told to die")
        return 3
    }
    Signals.hold()
    var process = ServiceProcess(
        try place(directory), version: "0.0.1", environment: CurrentProcess.environment())
    if let idle = option("idle", words).flatMap({ Int64($0) }) { process.limits.idle = .milliseconds(idle) }
    let host: any ServiceHost =
        words.contains("--carry")
        ? try carrier(directory, option("runs", words).flatMap { Int($0) })
        : MadeUpHost(
            directory, flood: option("flood", words).flatMap { Int($0) } ?? 0,
            slowness: option("slow", words).flatMap { UInt32($0) } ?? 0)
    switch try process.run(host) {
    case .ended(.failed): return 4
    case .ended: return 0
    case .alreadyThere(let holder):
        ServiceLog.write("another is there: \(holder.map { "\($0)" } ?? "unknown")")
        return 0
    }
}

func carrier(_ directory: String, _ runsAtOnce: Int?) throws -> BackgroundHost {
    let folder = try StateFolder(directory: directory, workingDirectory: "/") { _ in nil }
    var tools = HostTools(
        folder: folder, version: "0.0.1",
        runner: RunnerFacts(version: "0.0.1", libcurl: LateText("0"), pid: getpid(), host: "check"),
        dictate: { _ in nil })
    if let runsAtOnce { tools.runsAtOnce = runsAtOnce }
    return BackgroundHost(tools)
}

func starter(_ directory: String, idle: String?) throws -> ServiceStarter {
    var starter = ServiceStarter(
        try place(directory), version: "0.0.1", stateDirectory: directory, environment: CurrentProcess.environment())
    if let idle { starter.command += ["--idle", idle] }
    return starter
}

/// A link that goes away before it answers is one to a process that was about to end.
func ring(_ starter: ServiceStarter, _ identifier: String) throws -> Int32 {
    for _ in 0..<50 {
        let link = try starter.connect()
        do throws(ServiceFailure) {
            if case .done = try link.ask(.ring(identifier)) { return link.other.process }
        } catch {
            guard error == .gone else { throw error }
        }
    }
    throw ServiceTrouble("every process went away")
}

/// Becomes `service-check WORD…` with the socket as its descriptor 3, as systemd would start it.
func activate(_ directory: String, _ words: [String]) throws {
    let place = try place(directory)
    let folder = try PrivateFolder.make(place.runtime)
    let socket = try LocalSocket.listen("background.sock", in: folder, at: place.runtime)
    if socket.raw == 3 { _ = fcntl(3, F_SETFD, 0) } else { dup2(socket.raw, 3) }
    setenv("LISTEN_FDS", "1", 1)
    setenv("LISTEN_PID", "\(getpid())", 1)
    var strings: [UnsafeMutablePointer<CChar>?] = (["service-check"] + words).map { strdup($0) } + [nil]
    execv(DetachedProcess.ownProgram(), &strings)
    throw ServiceTrouble("it could not be started")
}

do {
    switch mode {
    case "daemon": exit(try daemon(words))
    case "ring" where words.count >= 2:
        // Stopped here until it is told: a test exchanges the binary meanwhile.
        if words.last == "wait" { while access("\(words[0])/go", F_OK) != 0 { usleep(1000) } }
        let idle = words.count > 2 && words[2] != "wait" ? words[2] : nil
        print(try ring(try starter(words[0], idle: idle), words[1]))
    case "activate" where words.count > 1: try activate(words[0], Array(words.dropFirst()))
    case "load" where words.count == 4:
        try Load(place(words[0]), words.dropFirst().map { Int($0) ?? 0 }).run()
    default:
        print("usage: service-check daemon | ring | activate | load")
        exit(2)
    }
} catch {
    ServiceLog.write("\(error)")
    exit(4)
}
