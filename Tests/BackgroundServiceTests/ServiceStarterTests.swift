import BackgroundService
import Glibc
import SystemIO
import TestSupport
import Testing
import TransferModel

/// Real processes: found, started, killed, and started again.
@Suite struct ServiceStarterTests {
    private let tree: TemporaryTree
    private let directory: String
    private let place: ServicePlace

    init() throws {
        tree = try TemporaryTree("starter")
        directory = try tree.makeFolder("state", mode: 0o700)
        place = try ServiceStage.place(directory)
    }

    /// Built beside this very program.
    static let program: String = {
        let folder = Folders.split(Folders.resolved("/proc/self/exe")?.text ?? "").folder
        let beside = "\(folder)/service-check"
        return access(beside, X_OK) == 0 ? beside : "\(Binary.packageRoot)/.build/debug/service-check"
    }()

    private func starter(_ command: [String] = ["daemon", "--idle", "300"]) -> ServiceStarter {
        var starter = ServiceStarter(
            place, version: "0.0.1", stateDirectory: directory, environment: CurrentProcess.environment())
        starter.program = Self.program
        starter.command = command
        return starter
    }

    private func run(_ words: [String], in folder: TemporaryTree? = nil, program: String? = nil) throws
        -> RunningProgram
    {
        try Binary(in: folder ?? tree, program: program ?? Self.program).start(words)
    }

    private func lines(_ name: String) -> [String] {
        ((try? tree.text("state/\(name)")) ?? "").split(separator: "\n").map { String($0) }
    }

    /// Waits until the process of that number is no more.
    private func waitForEnd(_ process: Int32) throws { try waitUntil { !CurrentProcess.processExists(process) } }

    /// Its number may be another's by now.
    private func end(_ process: Int32, _ signal: Int32) {
        let words = try? WholeFile.read("/proc/\(process)/cmdline", limit: 1 << 20)
        guard let words, String(decoding: words, as: UTF8.self).contains(directory) else { return }
        kill(process, signal)
    }

    // MARK: Starting

    @Test func findsOrStarts() throws {
        let starter = starter()
        #expect(try starter.find() == nil)
        let process: Int32
        do {
            let link = try starter.connect()
            process = link.other.process
            #expect(try link.ask(.ring("a")) == .done)
            #expect(try starter.connect().other.process == process)
            #expect(try starter.find()?.other.process == process)
            try isApart(process)
        }
        try waitForEnd(process)
        #expect(lines("rings") == ["\(process) a"] && lines("left") == ["\(process)"])
        #expect(tree.list("state/runtime").isEmpty)
        #expect(try starter.connect().other.process != process)
    }

    /// Its own session, nothing of ours open, `/` as its folder, and an environment that is nobody's in particular.
    private func isApart(_ process: Int32) throws {
        #expect(getsid(process) == process)
        #expect(Folders.resolved("/proc/\(process)/cwd")?.text == "/")
        for number in ["0", "1"] {
            #expect(Folders.resolved("/proc/\(process)/fd/\(number)")?.text == "/dev/null")
        }
        #expect(Folders.resolved("/proc/\(process)/fd/2")?.text == place.log)
        #expect(tree.mode("state/background.log") == 0o600)
        // All others were made by itself; one of `/dev/null` is kept to load a library with.
        let mine = Set(Folders.names(in: "/proc/\(process)/fd")).subtracting(["0", "1", "2"]).compactMap {
            Folders.resolved("/proc/\(process)/fd/\($0)")?.text
        }.filter { $0 != "/dev/null" }
        #expect(mine.allSatisfy { $0.hasPrefix(directory) || $0.hasPrefix("/proc") }, "\(mine)")
        let environment = String(
            decoding: try WholeFile.read("/proc/\(process)/environ", limit: 1 << 20), as: UTF8.self)
        let names = Set(
            environment.split(separator: "\0").compactMap { $0.split(separator: "=").first }.map { String($0) })
        #expect(names.contains("PATH"))
        #expect(names.allSatisfy { name in ServiceStarter.kept([name: ""]).count == 1 }, "\(names)")
    }

    @Test func whatBelongsToOneCommandStaysWithIt() {
        let kept = ServiceStarter.kept([
            "HOME": "/h", "PATH": "/bin", "XDG_STATE_HOME": "/s", "LC_ALL": "C", "TZ": "UTC", "https_proxy": "p",
            "HTTP_PROXY": "p", "AWS_SECRET_ACCESS_KEY": "s", "TRANSFER_RUN_REPORT": "r", "NOTIFY_SOCKET": "/n",
            "LISTEN_FDS": "1", "LD_PRELOAD": "x",
        ])
        #expect(kept == ["HOME=/h", "LC_ALL=C", "PATH=/bin", "TZ=UTC", "XDG_STATE_HOME=/s"])
    }

    @Test func commandsThatStartAtOnceGetOneProcess() throws {
        for round in 0..<Rounds.scaled(3) {
            let commands = try (0..<8).map { try run(["ring", directory, "c\($0)", "300"]) }
            let results = commands.map { $0.wait() }
            #expect(results.allSatisfy { $0.exitStatus == 0 }, "\(results.map { $0.errorText })")
            #expect(Set(results.map { $0.outputText }).count == 1)
            #expect(lines("rings").count == 8 * (round + 1))
            let process = try #require(Int32(results[0].outputText.dropLast()))
            try waitForEnd(process)
        }
        #expect(!tree.exists("state/two-at-once"))
    }

    // MARK: What goes wrong

    @Test func aProcessThatDiesAtOnceIsTold() throws {
        let trouble = #expect(throws: ServiceTrouble.self) { try starter(["daemon", "--die"]).connect() }
        let text = trouble?.description ?? ""
        #expect(text.contains("ended with status 3 when it began, 3 times in a row: see \(place.log)"))
        #expect(text.contains("it was told to die"))
        #expect(lines("background.log").count == 3)
        var missing = starter()
        missing.program = "/nowhere/transfer-run"
        let reason = #expect(throws: ServiceTrouble.self) { try missing.connect() }
        #expect(reason?.description.contains("/nowhere/transfer-run: No such file") == true)
    }

    @Test func aProcessThatSaysNothingIsNamed() throws {
        let process = try starter().connect().other.process
        kill(process, SIGSTOP)
        // Each of its threads stops at a moment of its own.
        try waitUntil {
            try Folders.names(in: "/proc/\(process)/task").allSatisfy { thread in
                let words = try WholeFile.read("/proc/\(process)/task/\(thread)/stat", limit: 4096)
                return String(decoding: words, as: UTF8.self).contains(") T ")
            }
        }
        defer { kill(process, SIGKILL) }
        var starter = starter()
        starter.patience = .milliseconds(200)
        let trouble = #expect(throws: ServiceTrouble.self) { try starter.connect() }
        #expect(
            trouble?.description
                == "the background process (pid \(process)) has not answered for 1 s: its runs go on when it does; "
                + "see \(place.log)"
        )
    }

    /// As one whose runtime folder another mount hides.
    @Test func aProcessThatCannotBeReachedIsNamedWithTheReason() throws {
        let held = try ServiceStage(tree).heldLock(naming: "/nowhere/transfer-run/background.sock")
        var starter = starter([])
        (starter.patience, starter.program) = (.milliseconds(200), "/bin/true")
        let trouble = #expect(throws: ServiceTrouble.self) { try starter.connect() }
        #expect(
            trouble?.description
                == "the background process (pid \(getpid())) cannot be reached: there is no /nowhere/transfer-run; its runs "
                + "go on; once it is ended with `kill`, the next command starts one that can be")
        _ = consume held
    }

    @Test func aLogThatCannotBeWrittenIsNamed() throws {
        try tree.makeFolder("state/background.log")
        let trouble = #expect(throws: ServiceTrouble.self) { try starter().connect() }
        #expect(trouble?.description.contains(place.log) == true)
    }

    /// The command's own file is gone while it runs: it starts what it is itself.
    @Test func anExchangedBinaryStartsItself() throws {
        let folder = try TemporaryTree("bin")
        let own = try folder.write("service-check", TemporaryTree.bytes(at: Self.program), mode: 0o755)
        let command = try run(["ring", directory, "a", "wait"], in: folder, program: own)
        folder.remove("service-check")
        try folder.write("service-check", "#!/bin/false\n", mode: 0o755)
        try tree.write("state/go", "")
        let result = command.wait()
        #expect(result.exitStatus == 0, "\(result.errorText)")
        let process = try #require(Int32(result.outputText.dropLast()))
        kill(process, SIGTERM)
        try waitForEnd(process)
        #expect(lines("left") == ["\(process)"])
    }

    // MARK: Signals

    @Test(arguments: [SIGTERM, SIGINT]) func leavesItsRunsWhenAsked(_ signal: Int32) throws {
        try tree.write("state/busy", "")
        let link = try starter().connect()
        _ = try link.ask(.follow("a", after: 0))
        // A terminal's end is nothing to it.
        kill(link.other.process, SIGHUP)
        #expect(try link.ask(.ring(nil)) == .done)
        kill(link.other.process, signal)
        #expect(try link.nextNews(within: .seconds(20)) == .leaving("signal \(signal)"))
        try waitForEnd(link.other.process)
        #expect(lines("left") == ["\(link.other.process)"])
        let next = try starter().connect()
        #expect(next.other.process != link.other.process)
        kill(next.other.process, SIGKILL)
    }

    /// Its runs may all be left before the listener has looked up from what it was at: it still says so.
    @Test func whoeverFollowsHearsOfTheEndHoweverLateTheListenerIs() throws {
        try tree.write("state/busy", "")
        for _ in 0..<Rounds.scaled(3) {
            let link = try starter(["daemon", "--idle", "40", "--slow", "60"]).connect()
            _ = try link.ask(.follow("a", after: 0))
            // It looks after itself by now, every ten milliseconds for sixty.
            Polling.sleep(milliseconds: 30)
            kill(link.other.process, SIGTERM)
            #expect(try link.nextNews(within: .seconds(20)) == .leaving("signal 15"))
            try waitForEnd(link.other.process)
        }
    }

    // MARK: Kills

    /// Processes and commands die at any moment: the next command always gets a process, and there are never two.
    @Test func killedAtAnyMomentTheNextCommandGetsOne() throws {
        var random = Seeded("killedAtAnyMomentTheNextCommandGetsOne")
        try tree.write("state/busy", "")
        var last: Int32 = 0
        for round in 0..<Rounds.scaled(20) {
            let commands = try (0..<3).map { try run(["ring", directory, "r\(round)-\($0)", "300"]) }
            let victim = commands[0]
            usleep(UInt32(random.below(30_000)))
            if random.oneIn(2) { victim.send(signal: SIGKILL) }
            if last > 0, random.oneIn(2) { end(last, random.oneIn(3) ? SIGTERM : SIGKILL) }
            for command in commands.dropFirst() {
                let result = command.wait()
                #expect(result.exitStatus == 0, "\(result.errorText)\(lines("background.log").suffix(5))")
                last = Int32(result.outputText.dropLast()) ?? 0
            }
            _ = victim.wait()
            if random.oneIn(4) { end(last, SIGKILL) }
        }
        #expect(!tree.exists("state/two-at-once"))
        tree.remove("state/busy")
        let link = try starter().connect()
        let process = link.other.process
        // One that a command started before has nothing to do any more, and may leave by itself just now.
        let answer = try? link.ask(.stop)
        #expect(answer == nil || answer == .done)
        try waitForEnd(process)
        #expect(tree.list("state/runtime").isEmpty)
    }
}
