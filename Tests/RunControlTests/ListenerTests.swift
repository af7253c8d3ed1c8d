import Glibc
import JobRunner
import RunControl
import Synchronization
import SystemIO
import TestSupport
import Testing
import TextFormats
import TransferModel

/// A listener with a made-up run behind it, and callers of every kind before it.
struct ListenerTests {
    private static let process: Int32 = 4242
    private let tree: TemporaryTree
    init() throws { tree = try TemporaryTree() }

    private var folder: String { tree.path("run/time") }
    private var client: ControlClient { ControlClient(folder: folder) }

    /// Answers with the patterns it was asked for.
    private static let echo: @Sendable (ControlRequest) -> Void = { request in
        let words = ["\(request.action)", "\(request.keepPartial)"] + request.patterns.map { $0.description }
        request.reply(.changed(words), 0)
    }

    private func listen(
        _ limits: ControlListener.Limits = .init(), leavesNothing: Bool = false, in folder: String? = nil,
        _ deliver: @escaping @Sendable (ControlRequest) -> Void = echo
    ) throws -> ControlListener {
        try ControlListener(
            folder: folder ?? self.folder, process: Self.process, limits: limits, leavesNothing: leavesNothing,
            deliver: deliver)
    }

    private func asks(_ message: ControlMessage = ControlMessage(.suspend)) throws -> ControlReply {
        try client.ask(message, of: Self.process)
    }

    @Test func asksAndAnswers() throws {
        let listener = try listen()
        defer { listener.close() }
        #expect(tree.mode("run/time") == 0o700)
        #expect(tree.mode("run/time/run-4242.socket") == 0o600)
        #expect(try asks() == .changed(["suspend", "false"]))
        let message = ControlMessage(.cancel, patterns: ["a", "b-*"], keepPartial: true)
        #expect(try asks(message) == .changed(["cancel", "true", "a", "b-*"]))
    }

    @Test func nothingIsLeftBehind() throws {
        try listen(leavesNothing: true).close()
        #expect(tree.list().isEmpty)
        try listen().close()
        #expect(tree.list() == ["run/", "run/time/"])
        try listen(leavesNothing: true).close()
        #expect(tree.list() == ["run/"])
        let listener = try listen()
        listener.hide()
        #expect(tree.list("run/time").isEmpty)
        listener.close()
    }

    /// Ephemeral runs come and go, each with the folder.
    @Test func runsThatTakeTheFolderAwayHinderNobody() throws {
        try tree.makeFolder("run")
        let folder = folder
        let threads = try (1...4).map { number in
            try Thread(named: "runs") {
                for _ in 0..<Rounds.scaled(25) {
                    do {
                        let process = Int32(number) + 5000
                        let listener = try ControlListener(
                            folder: folder, process: process, leavesNothing: true, deliver: Self.echo)
                        let reply = try ControlClient(folder: folder).ask(ControlMessage(.resume), of: process)
                        #expect(reply == .changed(["resume", "false"]))
                        listener.close()
                    } catch { Issue.record("\(error)") }
                }
            }
        }
        for thread in threads { thread.join() }
        #expect(tree.list() == ["run/"])
    }

    @Test func worksUnderALongPath() throws {
        let folder = tree.path(String(repeating: "long/", count: 40))
        let listener = try listen(in: folder)
        defer { listener.close() }
        let reply = try ControlClient(folder: folder).ask(ControlMessage(.resume), of: Self.process)
        #expect(reply == .changed(["resume", "false"]))
    }

    @Test func aFolderOfOthersIsRefused() throws {
        try tree.makeFolder("run/time")
        try tree.setMode("run/time", 0o777)
        let problem = #expect(throws: ControlProblem.self) { try listen() }
        #expect(problem?.description.contains("can be written by others") == true)
        #expect(throws: ControlFailure.noRun("\(folder) can be written by others: `chmod go-w` it")) { try asks() }
        #expect(tree.list("run/time").isEmpty)
        try tree.setMode("run/time", 0o700)
        try tree.makeFolder("run/time/run-4242.socket/full")
        let taken = #expect(throws: ControlProblem.self) { try listen() }
        #expect(taken?.description.contains("run-4242.socket: ") == true)
    }

    @Test func onlyTheUserAndRootAreHeard() {
        #expect(Admission.admits(1000, own: 1000) && Admission.admits(0, own: 1000))
        #expect(!Admission.admits(1001, own: 1000) && !Admission.admits(1000, own: 0))
    }

    // MARK: Without a run

    @Test func whoIsNotThereIsNamed() throws {
        #expect(throws: ControlFailure.noRun("there is no \(folder)")) { try asks() }
        try tree.makeFolder("run/time", mode: 0o700)
        #expect(throws: ControlFailure.noRun("there is no \(folder)/run-4242.socket")) { try asks() }
        try leave("run-4242.socket")
        #expect(throws: ControlFailure.noRun("\(folder)/run-4242.socket was left by a run that is gone")) {
            try asks()
        }
        #expect(tree.list("run/time").isEmpty)
        try tree.write("run/time/run-4242.socket", "", mode: 0o000)
        #expect(throws: ControlFailure.self) { try asks() }
    }

    /// What a killed run leaves: a socket on which nobody listens.
    private func leave(_ name: String) throws {
        let place = try PrivateFolder.make(folder)
        _ = try LocalSocket.listen(name, in: place, at: folder)
    }

    @Test func leftOversOfTheDeadGo() throws {
        let dead = Int32.max
        for name in ["run-\(dead).socket", ".run-\(dead).socket", "run-4242.socket", "run-\(getpid()).socket"] {
            try leave(name)
        }
        for name in ["other", "run-x.socket"] { try tree.write("run/time/\(name)", "") }
        let listener = try listen()
        defer { listener.close() }
        // The sweep is done before the first caller is heard.
        #expect(try asks() == .changed(["suspend", "false"]))
        let left = ["other", "run-4242.socket", "run-\(getpid()).socket", "run-x.socket"]
        #expect(Set(tree.list("run/time")) == Set(left))
    }

    @Test func aSocketOfAnotherContainerStays() throws {
        // Its number says nothing here, but somebody listens.
        let place = try PrivateFolder.make(folder)
        let name = "run-\(Int32.max).socket"
        let theirs = try LocalSocket.listen(name, in: place, at: folder)
        let listener = try listen()
        defer { listener.close() }
        #expect(try asks() == .changed(["suspend", "false"]))
        #expect(tree.exists("run/time/\(name)"))
        _ = consume theirs
    }

    // MARK: Odd callers

    /// Bytes as they are, and all that comes back.
    private func say(_ pieces: [[UInt8]], hangUp: Bool = false) throws -> [UInt8] {
        let place = try PrivateFolder.open(folder)
        let socket = try LocalSocket.connect("run-\(Self.process).socket", in: place, at: folder)
        do throws(SystemError) {
            for piece in pieces {
                var rest = piece[...]
                while !rest.isEmpty {
                    let count = try LocalSocket.send(rest, socket)
                    rest = rest.dropFirst(count)
                    if count == 0 { waitFor(PollEntry(socket.raw, .writing)) }
                }
            }
            if hangUp { return [] }
            shutdown(socket.raw, Int32(SHUT_WR))
            var answer: [UInt8] = []
            while true {
                guard let piece = try LocalSocket.receive(socket) else {
                    waitFor(PollEntry(socket.raw))
                    continue
                }
                if piece.isEmpty { return answer }
                answer += piece
            }
        } catch {
            // The listener is free to hang up in the middle.
            return []
        }
    }

    private func waitFor(_ entry: PollEntry) {
        var entries = [entry]
        Polling.wait(&entries, milliseconds: 20_000)
        #expect(entries[0].isReady, "nothing happened for 20 seconds")
    }

    private func error(_ bytes: [UInt8]) throws -> String? {
        guard case .refused(let reason)? = ControlReply(line: bytes) else { return nil }
        return reason
    }

    @Test func whatIsNoRequestIsAnsweredInWords() throws {
        let listener = try listen()
        defer { listener.close() }
        #expect(try error(say([Array("GET / HTTP/1.1\n".utf8)]))?.contains("not JSON") == true)
        #expect(try error(say([[0xFF, 0x00, 0x0A]]))?.contains("not JSON") == true)
        #expect(try error(say([[0x0A]]))?.contains("not JSON") == true)
        #expect(try say([]).isEmpty)
        let endless = [UInt8](repeating: UInt8(ascii: "a"), count: 70 << 10)
        #expect(try error(say([endless]))?.contains("65536 bytes at most") == true)
        // A last line needs no end, and pieces may be as small as they like.
        let line = ControlMessage(.resume, patterns: ["x"]).line
        #expect(try ControlReply(line: say(line.dropLast().map { [$0] })) == .changed(["resume", "false", "x"]))
        #expect(try asks() == .changed(["suspend", "false"]))
    }

    @Test func randomBytesHarmNobody() throws {
        let asked = Atomic<Int>(0)
        let listener = try listen { request in
            asked.add(1, ordering: .relaxed)
            Self.echo(request)
        }
        defer { listener.close() }
        var random = Seeded("randomBytesHarmNobody")
        // A request needs no end of its line, and blanks may follow it: so one byte more is left out.
        let whole = ControlMessage(.suspend, patterns: ["a"]).line.dropLast()
        for _ in 0..<Rounds.scaled(150) {
            let noise = random.bytes(random.below(2000))
            let bytes = random.oneIn(3) ? Array(whole.prefix(random.below(whole.count))) + noise : noise
            _ = try say([bytes], hangUp: random.oneIn(2))
        }
        #expect(try asks() == .changed(["suspend", "false"]))
        #expect(asked.load(ordering: .relaxed) == 1)
    }

    @Test func silentCallersAreSentAway() throws {
        var limits = ControlListener.Limits()
        limits.patience = .milliseconds(300)
        limits.connections = 3
        let listener = try listen(limits)
        defer { listener.close() }
        let place = try PrivateFolder.open(folder)
        let before = Clocks.instant()
        var waiting: [JobFile] = []
        // More of them than are let in; each holds its place for as long as it may.
        for _ in 0..<5 {
            let caller = try LocalSocket.connect("run-\(Self.process).socket", in: place, at: folder)
            _ = try LocalSocket.send(Array("{\"version\"".utf8)[...], caller)
            waiting.append(JobFile(caller))
        }
        #expect(try asks() == .changed(["suspend", "false"]))
        // Only when the first had been sent away was there a place.
        #expect(Clocks.instant() - before >= limits.patience)
        // The answer says why they were.
        let answer = try LocalSocket.receive(waiting[0].descriptor)
        #expect(try error(answer ?? [])?.contains("no whole request came in time") == true)
    }

    @Test func callersWhoLeaveAreForgotten() throws {
        let held = Mutex<[@Sendable (ControlReply) -> Void]>([])
        var limits = ControlListener.Limits()
        limits.connections = 2
        let listener = try listen(limits) { request in
            if request.action == .resume {
                held.withLock { $0.append { request.reply($0, 0) } }
            } else {
                Self.echo(request)
            }
        }
        defer { listener.close() }
        for _ in 0..<6 { _ = try say([ControlMessage(.resume).line], hangUp: true) }
        #expect(try asks() == .changed(["suspend", "false"]))
        // Late answers to those who have gone reach nobody, least of all who came after them.
        for reply in held.withLock({ $0 }) { reply(.changed(["wrong"])) }
        #expect(try asks() == .changed(["suspend", "false"]))
    }

    @Test func largeAnswersArriveWhole() throws {
        let ids = (0..<60_000).map { "a-task-with-a-long-name-\($0)" }
        let listener = try listen { $0.reply(.changed(ids), 0) }
        #expect(try asks() == .changed(ids))
        listener.close()
    }

    @Test func whoNeverTakesTheAnswerIsLeft() throws {
        var limits = ControlListener.Limits()
        limits.patience = .milliseconds(200)
        limits.connections = 1
        let ids = (0..<60_000).map { "a-task-with-a-long-name-\($0)" }
        let listener = try listen(limits) { request in
            if request.action == .resume { request.reply(.changed(ids), 0) } else { Self.echo(request) }
        }
        defer { listener.close() }
        let place = try PrivateFolder.open(folder)
        let deaf = try LocalSocket.connect("run-\(Self.process).socket", in: place, at: folder)
        _ = try LocalSocket.send(ControlMessage(.resume).line[...], deaf)
        #expect(try asks() == .changed(["suspend", "false"]))
        _ = consume deaf
    }

    // MARK: The end of a run

    @Test func whoWaitsAtTheEndIsLetGo() throws {
        let asked = WakeSignal()
        let listener = try listen { _ in asked.signal() }
        let client = client
        let outcome = Mutex<ControlFailure?>(nil)
        let thread = try Thread(named: "caller") {
            do throws(ControlFailure) {
                _ = try client.ask(ControlMessage(.suspend), of: Self.process)
            } catch { outcome.withLock { $0 = error } }
        }
        asked.wait()
        listener.close()
        thread.join()
        #expect(outcome.withLock { $0 } == .ended)
    }

    @Test func anAnswerGivenAtTheEndStillArrives() throws {
        let asked = WakeSignal()
        let held = Mutex<(@Sendable (ControlReply) -> Void)?>(nil)
        let listener = try listen { request in
            held.withLock { $0 = { request.reply($0, 0) } }
            asked.signal()
        }
        let client = client
        let answer = Mutex<ControlReply?>(nil)
        let thread = try Thread(named: "caller") {
            let reply = try? client.ask(ControlMessage(.cancel), of: Self.process)
            answer.withLock { $0 = reply }
        }
        asked.wait()
        held.withLock { $0 }?(.changed(["a"]))
        listener.close()
        thread.join()
        #expect(answer.withLock { $0 } == .changed(["a"]))
    }

    @Test func aRunThatSaysNothingIsNotWaitedForForEver() throws {
        let listener = try listen { _ in }
        defer { listener.close() }
        var client = client
        client.patience = .milliseconds(50)
        #expect(throws: ControlFailure.silent(.milliseconds(50))) {
            _ = try client.ask(ControlMessage(.suspend), of: Self.process)
        }
    }
}
