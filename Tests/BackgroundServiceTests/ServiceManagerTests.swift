import BackgroundService
import Glibc
import SystemIO
import TestSupport
import Testing
import TransferModel

/// Under a service manager: its socket, and what it wants to hear. The process is real, the manager is this test.
@Suite struct ServiceManagerTests {
    private let tree: TemporaryTree
    private let directory: String
    private let place: ServicePlace

    init() throws {
        tree = try TemporaryTree("manager")
        directory = try tree.makeFolder("state", mode: 0o700)
        place = try ServiceStage.place(directory)
    }

    private func start(_ words: [String], _ environment: [String: String] = [:]) throws -> RunningProgram {
        try Binary(in: tree, program: ServiceStarterTests.program).start(words, environment: environment)
    }

    /// Once it is there.
    private func link() throws -> ServiceLink {
        var link: ServiceLink?
        try waitUntil {
            link = try? ServiceLink.connect(place, version: "0.0.1", patience: .seconds(20))
            return link != nil
        }
        return try #require(link)
    }

    // MARK: Its socket

    @Test func theSocketThatIsHandedOverIsUsedAndStays() throws {
        let process = try start(["activate", directory, "daemon", "--idle", "200", "--state-dir", directory])
        try waitUntil { tree.exists("state/runtime/background.sock") }
        let before = try FileFacts.of(place.socket)
        do {
            let link = try link()
            #expect(try link.ask(.ring("a")) == .done)
            #expect(link.other.process == process.processID)
            let elsewhere = try ServiceStage.place(directory, runtime: tree.path("elsewhere"))
            let found = try ServiceLink.connect(elsewhere, version: "0.0.1", patience: .seconds(20))
            #expect(found.other.process == process.processID)
            let descriptor = "/proc/\(process.processID)/fdinfo/3"
            let flags = String(decoding: try WholeFile.read(descriptor, limit: 4096), as: UTF8.self)
            // O_CLOEXEC and O_NONBLOCK: nothing that a run starts inherits it.
            #expect(flags.contains("flags:\t02004002"), "\(flags)")
        }
        #expect(process.wait().exitStatus == 0)
        // Its name is the manager's to remove.
        #expect(try FileFacts.of(place.socket).isSameFile(as: before))
    }

    @Test func whatIsNoListeningSocketIsRefused() throws {
        // Descriptor 3 is nothing at all here, and belongs to nobody where the number is another process's.
        let words = ["daemon", "--idle", "1000", "--state-dir", directory]
        let wrong = "export LISTEN_PID=$$ LISTEN_FDS=1; exec \"$0\" \"$@\""
        let shell = try Binary(in: tree, program: "/bin/sh")
        let refused = try shell.run(arguments: ["-c", wrong, ServiceStarterTests.program] + words)
        #expect(refused.exitStatus == 4)
        #expect(refused.errorText.contains("exactly one listening Unix stream socket is wanted"))
        let others = try start(words, ["LISTEN_PID": "1", "LISTEN_FDS": "1"])
        #expect(try link().ask(.ring(nil)) == .done)
        #expect(others.wait().exitStatus == 0)
    }

    // MARK: What it hears

    @Test(arguments: ["path", "abstract"]) func theManagerHearsHowItIs(_ kind: String) throws {
        let name = kind == "path" ? tree.path("notify") : "transfer-run-test-\(getpid())"
        let manager = try Binary(in: tree, program: "/usr/bin/socat").start([
            "-u", kind == "path" ? "UNIX-RECV:\(name)" : "ABSTRACT-RECV:\(name)", "STDOUT",
        ])
        defer {
            manager.send(signal: SIGKILL)
            _ = manager.wait()
        }
        try waitUntil { kind == "path" ? tree.exists("notify") : try isBound(name) }
        let process = try start(
            ["daemon", "--idle", "100000", "--state-dir", directory],
            ["NOTIFY_SOCKET": kind == "path" ? name : "@\(name)", "WATCHDOG_USEC": "100000"])
        let link = try link()
        #expect(manager.waitForOutput("READY=1"))
        #expect(manager.waitForOutput("STATUS=0 runs, 1 connected"))
        func words() -> Int { manager.outputSoFar.components(of: "WATCHDOG=1") }
        let before = words()
        try waitUntil { words() > before + 3 }
        // Stopped in its tracks, it says nothing, and the manager would know.
        #expect(process.freeze())
        Polling.sleep(milliseconds: 100)
        let frozen = words()
        Polling.sleep(milliseconds: 300)
        #expect(words() == frozen)
        process.send(signal: SIGCONT)
        #expect(try link.ask(.ring(nil)) == .done)
        process.send(signal: SIGTERM)
        #expect(manager.waitForOutput("STOPPING=1\nSTATUS=signal 15"))
        #expect(process.wait().exitStatus == 0)
    }

    private func isBound(_ name: String) throws -> Bool {
        String(decoding: try WholeFile.read("/proc/net/unix", limit: 16 << 20), as: UTF8.self).contains("@\(name)")
    }

    @Test func aWatchdogOfAnotherProcessIsNotOurs() {
        let environment = ["WATCHDOG_USEC": "2000000", "NOTIFY_SOCKET": "/x"]
        #expect(ServiceManager(environment, process: 7).watchdog == .seconds(1))
        #expect(ServiceManager(environment.merging(["WATCHDOG_PID": "7"]) { $1 }, process: 7).watchdog == .seconds(1))
        #expect(ServiceManager(environment.merging(["WATCHDOG_PID": "8"]) { $1 }, process: 7).watchdog == nil)
        for wrong in ["0", "-5", "x", ""] { #expect(ServiceManager(["WATCHDOG_USEC": wrong]).watchdog == nil) }
        // Nobody there, or nothing that could be spoken to, is no failure.
        for place in ["/nowhere/notify", "vsock:1:2", "", "/" + String(repeating: "x", count: 200)] {
            ServiceManager(["NOTIFY_SOCKET": place]).tell("READY=1")
        }
    }
}

extension String {
    fileprivate func components(of word: String) -> Int {
        split(separator: word, omittingEmptySubsequences: false).count - 1
    }
}
