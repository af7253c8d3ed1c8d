import BackgroundService
import Glibc
import JobRunner
import Stores
import Synchronization
import SystemIO
import TestSupport
import Testing
import TransferModel

final class Counter: Sendable {
    private let count = Atomic<Int>(0)
    func add() { count.add(1, ordering: .relaxed) }
    var value: Int { count.load(ordering: .relaxed) }
}

/// Runs nothing, and says what it is told to say.
final class FakeHost: ServiceHost {
    struct Script: Sendable {
        var rings: [String?] = []
        var status: [SessionStatus] = []
        /// `nil` keeps the answer back.
        var control: ControlReply? = .changed(["a"])
        var controls: [ServiceControl] = []
        var held: [@Sendable (ControlReply) -> Void] = []
        var isBusy = false
        var hasLeft = false
        var board: NewsBoard?
        var trouble: ServiceTrouble?
        /// It does not begin until this is signalled.
        var gate: WakeSignal?
    }
    let script = Mutex(Script())
    var board: NewsBoard { script.withLock { $0.board }! }

    func resumeRuns(reportingTo board: NewsBoard) throws(ServiceTrouble) {
        let (gate, trouble) = script.withLock { script in
            script.board = board
            return (script.gate, script.trouble)
        }
        gate?.wait()
        if let trouble { throw trouble }
    }
    func ring(_ identifier: String?) { script.withLock { $0.rings.append(identifier) } }
    func status(_ identifier: String?, reply: @escaping @Sendable ([SessionStatus]) -> Void) {
        reply(script.withLock { $0.status.filter { identifier == nil || $0.identifier == identifier } })
    }
    func control(_ control: ServiceControl, reply: @escaping @Sendable (ControlReply) -> Void) {
        let answer = script.withLock { script in
            script.controls.append(control)
            if script.control == nil { script.held.append(reply) }
            return script.control
        }
        if let answer { reply(answer) }
    }
    var liveRuns: Int { script.withLock { $0.isBusy ? 1 : 0 } }
    var isIdle: Bool { liveRuns == 0 }
    func leave() { script.withLock { $0.hasLeft = true } }
}

/// A process of this test's own, on a thread of it.
final class ServiceStage {
    let tree: TemporaryTree
    let place: ServicePlace
    let host = FakeHost()
    private var thread: Thread?
    private let result = Mutex<Result<ServiceProcess.Outcome, ServiceTrouble>?>(nil)

    init(_ tree: TemporaryTree? = nil, runtime: String? = nil) throws {
        self.tree = try tree ?? TemporaryTree("service")
        let state = self.tree.path("state")
        place = try runtime.map { try Self.place(state, runtime: $0) } ?? Self.place(state)
    }

    deinit { thread?.detach() }

    static func place(_ directory: String) throws -> ServicePlace {
        ServicePlace(try StateFolder(directory: directory, workingDirectory: "/") { _ in nil })
    }

    /// The place of a command in whose environment the runtime folder is another one.
    static func place(_ state: String, runtime: String) throws -> ServicePlace {
        var folder = try StateFolder(directory: state, workingDirectory: "/") { _ in nil }
        folder.runtime = runtime
        return ServicePlace(folder)
    }

    /// Returns when it listens.
    @discardableResult
    func start(
        awaiting: Bool = true, lockPatience: TimeSpan = .seconds(8), _ adjust: (inout ServiceLimits) -> Void = { _ in }
    ) throws -> ServiceStage {
        var process = ServiceProcess(place, version: "0.0.1", environment: [:])
        adjust(&process.limits)
        process.takesSignals = false
        process.log = { _ in }
        process.lockPatience = lockPatience
        let (host, ready) = (host, process)
        thread = try Thread(named: "process") { [self] in
            let outcome: Result<ServiceProcess.Outcome, ServiceTrouble>
            do throws(ServiceTrouble) { outcome = .success(try ready.run(host)) } catch { outcome = .failure(error) }
            result.withLock { $0 = outcome }
        }
        if awaiting { try waitUntil { (try? self.link()) != nil } }
        return self
    }

    func link(patience: TimeSpan = .seconds(20)) throws(ServiceFailure) -> ServiceLink {
        try ServiceLink.connect(place, version: "0.0.1", patience: patience)
    }

    /// How it ended, once it has.
    func wait() throws -> ServiceProcess.Outcome {
        thread?.join()
        thread = nil
        return try result.withLock { $0 }!.get()
    }

    @discardableResult
    func stop() throws -> ServiceProcess.Outcome {
        _ = try? link().ask(.stop)
        return try wait()
    }

    /// A caller of bytes.
    func call() throws -> Socket { try Socket(place) }
}

extension ServiceStage: @unchecked Sendable {
    // `thread` is touched by the test's thread alone; the rest is constant or under a lock.
}

/// Waits for something to come about, and fails the test when it has not for 20 seconds.
func waitUntil(_ condition: () throws -> Bool) throws {
    let deadline = Clocks.instant() + .seconds(20)
    while try !condition() {
        guard Clocks.instant() < deadline else { throw ServiceTrouble("nothing happened for 20 seconds") }
        Polling.sleep(milliseconds: 2)
    }
}

/// The raw end of a connection.
final class Socket: Sendable {
    let descriptor: Descriptor

    init(_ place: ServicePlace) throws {
        let folder = try PrivateFolder.open(place.runtime)
        while true {
            do throws(SystemError) {
                descriptor = try LocalSocket.connect("background.sock", in: folder, at: place.runtime)
                return
            } catch {
                guard error.errno == EAGAIN else { throw error }
                Polling.sleep(milliseconds: 5)
            }
        }
    }

    /// `false` when the other side has left.
    @discardableResult
    func say(_ bytes: [UInt8]) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            guard let count = try? LocalSocket.send(rest, descriptor) else { return false }
            rest = rest.dropFirst(count)
            if count == 0 { wait(PollEntry(descriptor.raw, .writing)) }
        }
        return true
    }

    /// All that comes until the other side leaves.
    func hear() throws -> [ServiceMessage] {
        var reader = FrameReader()
        var frames: [[UInt8]] = []
        while true {
            do throws(SystemError) {
                guard let bytes = try LocalSocket.receive(descriptor) else {
                    wait(PollEntry(descriptor.raw))
                    continue
                }
                if bytes.isEmpty { break }
                frames += reader.receive(bytes).frames
            } catch { break }
        }
        return try frames.dropFirst().map { try ServiceMessage.parse($0) }
    }

    func refusal() throws -> String? {
        guard case .refused(let reason)? = try hear().last else { return nil }
        return reason
    }

    private func wait(_ entry: PollEntry) {
        var entries = [entry]
        Polling.wait(&entries, milliseconds: 20_000)
        #expect(entries[0].isReady, "nothing happened for 20 seconds")
    }
}
