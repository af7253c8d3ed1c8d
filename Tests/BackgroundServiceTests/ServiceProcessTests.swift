import BackgroundService
import Glibc
import Synchronization
import SystemIO
import TestSupport
import Testing
import TransferModel

/// The process within this one: its lock, its socket's fate, its idleness and its end.
@Suite struct ServiceProcessTests {
    private let stage: ServiceStage
    init() throws { stage = try ServiceStage() }

    // MARK: One of them

    @Test func aSecondFindsTheFirst() throws {
        try stage.start()
        let second = try ServiceStage(stage.tree)
        try second.start(awaiting: false)
        #expect(try second.wait() == .alreadyThere(getpid()))
        #expect(try stage.link().ask(.ring(nil)) == .done)
        #expect(second.host.script.withLock { $0.board } == nil, "its host never began")
        try stage.stop()
    }

    /// It can be called before it has looked at the journal.
    @Test func oneThatThenCannotBeginWasNotThere() throws {
        let gate = WakeSignal()
        stage.host.script.withLock { ($0.gate, $0.trouble) = (gate, ServiceTrouble("the journal is another's")) }
        try stage.start(awaiting: false)
        try waitUntil { stage.host.script.withLock { $0.board } != nil }
        let second = try ServiceStage(stage.tree)
        try second.start(awaiting: false)
        Polling.sleep(milliseconds: 50)
        #expect(second.host.script.withLock { $0.board } == nil)
        gate.signal()
        #expect(throws: ServiceTrouble.self) { try stage.wait() }
        try waitUntil { (try? second.link()) != nil }
        #expect(second.host.script.withLock { $0.board } != nil)
        try second.stop()
    }

    @Test func whatTheDeadLeftIsNoObstacle() throws {
        // A lock file with a number that is somebody's, a socket on which nobody listens, and one half made.
        try stage.tree.makeFolder("state", mode: 0o700)
        try stage.tree.write("state/background.lock", "{\"pid\":1}\n", mode: 0o600)
        let folder = try PrivateFolder.make(stage.place.runtime)
        for name in ["background.sock", ".background.sock"] {
            _ = try LocalSocket.listen(name, in: folder, at: stage.place.runtime)
        }
        #expect(try ServiceLink.absence(stage.place)?.contains("nobody listens") == true)
        try stage.start()
        #expect(try stage.link().ask(.ring(nil)) == .done)
        #expect(stage.tree.list("state/runtime") == ["background.sock"])
        try stage.stop()
    }

    @Test func oneThatHoldsTheLockAndDoesNotListenIsNamed() throws {
        let folder = try PrivateFolder.make(stage.place.state)
        let lock = try PrivateFolder.file("background.lock", in: folder, at: stage.place.state)
        #expect(try lock.tryLock())
        try stage.start(awaiting: false, lockPatience: .milliseconds(100))
        let trouble = #expect(throws: ServiceTrouble.self) { try stage.wait() }
        #expect(trouble?.description.contains("is held by process \(getpid()), which does not listen") == true)
    }

    /// Whoever is about to end lets go of the lock a moment after its socket is gone.
    @Test func oneThatIsAboutToEndIsWaitedFor() throws {
        let folder = try PrivateFolder.make(stage.place.state)
        var lock: HeldFile? = HeldFile(try PrivateFolder.file("background.lock", in: folder, at: stage.place.state))
        #expect(try lock?.file.tryLock() == true)
        try stage.start(awaiting: false)
        Polling.sleep(milliseconds: 100)
        #expect(throws: ServiceFailure.self) { _ = try stage.link() }
        lock = nil
        try waitUntil { (try? stage.link()) != nil }
        try stage.stop()
    }

    private final class HeldFile {
        let file: Descriptor
        init(_ file: consuming Descriptor) { self.file = file }
    }

    @Test func foldersOfOthersAreRefused() throws {
        try stage.tree.makeFolder("state/runtime", mode: 0o777)
        try stage.tree.setMode("state", 0o700)
        try stage.tree.setMode("state/runtime", 0o777)
        try stage.start(awaiting: false)
        let trouble = #expect(throws: ServiceTrouble.self) { try stage.wait() }
        #expect(trouble?.description.contains("can be written by others") == true)
        let refusal = #expect(throws: ServiceFailure.self) { _ = try stage.link() }
        #expect(refusal == .refused("\(stage.place.runtime) can be written by others: `chmod go-w` it"))
    }

    @Test func aHostThatCannotBeginLeavesNothing() throws {
        stage.host.script.withLock { $0.trouble = ServiceTrouble("the journal is of a newer version") }
        try stage.start(awaiting: false)
        let trouble = #expect(throws: ServiceTrouble.self) { try stage.wait() }
        #expect(trouble?.description == "the journal is of a newer version")
        #expect(stage.tree.list("state/runtime").isEmpty)
    }

    @Test func theProcessOfAnotherStateFolderIsNotOurs() throws {
        try stage.start()
        // The same runtime folder under another state folder.
        try stage.tree.makeFolder("other", mode: 0o700)
        try stage.tree.link("other/runtime", to: stage.place.runtime)
        let other = try ServiceStage.place(stage.tree.path("other"))
        do throws(ServiceFailure) {
            _ = try ServiceLink.connect(other, version: "0.0.1", patience: .seconds(5))
            Issue.record("it spoke to the wrong one")
        } catch {
            guard case .incompatible(let why) = error else { throw error }
            #expect(why.contains("of another state folder, \(stage.place.state)"))
        }
        let trouble = #expect(throws: ServiceTrouble.self) {
            var process = ServiceProcess(other, version: "0.0.1", environment: [:])
            process.takesSignals = false
            _ = try process.run(FakeHost())
        }
        #expect(trouble?.description.contains("belongs to the background process of another state folder") == true)
        #expect(try stage.link().ask(.ring(nil)) == .done)
        try stage.stop()
    }

    @Test func anotherPathToTheSameFolderIsOurs() throws {
        try stage.start()
        try stage.tree.link("link", to: stage.place.state)
        let place = try ServiceStage.place(stage.tree.path("link"))
        #expect(try ServiceLink.connect(place, version: "0.0.1", patience: .seconds(5)).ask(.ring(nil)) == .done)
        try stage.stop()
    }

    // MARK: Its socket

    /// A user who logs out takes the runtime folder along; the transfers go on, and the next login finds them.
    @Test func aSocketThatWasTakenAwayComesBack() throws {
        try stage.start { $0.tick = .milliseconds(20) }
        let follower = try stage.link()
        _ = try follower.ask(.follow("a", after: 0))
        for _ in 0..<3 {
            stage.tree.remove("state/runtime")
            try waitUntil { (try? stage.link().ask(.ring(nil))) == .done }
        }
        stage.host.board.events(of: "a", upTo: 1)
        #expect(try follower.nextNews(within: .seconds(20)) == .events("a", upTo: 1))
        try stage.stop()
        #expect(stage.tree.list("state/runtime").isEmpty)
    }

    /// Cron has no `XDG_RUNTIME_DIR`, a login shell has one: the lock file names the socket.
    @Test func aProcessWithAnotherRuntimeFolderIsFoundByItsLock() throws {
        try stage.start()
        let login = try ServiceStage(stage.tree, runtime: stage.tree.path("run/transfer-run"))
        #expect(try login.link().ask(.ring("a")) == .done)
        #expect(stage.host.script.withLock { $0.rings } == ["a"])
        try login.start(awaiting: false)
        #expect(try login.wait() == .alreadyThere(getpid()))
        try stage.stop()
        #expect(try ServiceLink.absence(login.place)?.contains("run/transfer-run") == true, "the lock is free")
    }

    /// A logout takes the runtime folder, and who may not make it anew listens beside the state until the end.
    @Test func aRuntimeFolderThatCannotBeMadeAgainIsReplaced() throws {
        let stage = try ServiceStage(stage.tree, runtime: stage.tree.path("run/transfer-run"))
        try stage.start { $0.tick = .milliseconds(20) }
        stage.tree.remove("run")
        try stage.tree.write("run", "no folder")
        try waitUntil { (try? stage.link().ask(.ring("cron"))) == .done }
        #expect(stage.tree.list("state/runtime") == ["background.sock"])
        stage.tree.remove("run")
        try stage.tree.makeFolder("run", mode: 0o700)
        #expect(try stage.link().ask(.ring("login")) == .done)
        try stage.stop()
        #expect(stage.tree.list("state/runtime").isEmpty)
    }

    /// What the lock file says leads nowhere that others could have made.
    @Test func aSocketNamedByTheLockIsTakenOnlyFromAPrivateFolder() throws {
        let held = try stage.heldLock(naming: "\(stage.tree.path("shared"))/background.sock")
        try stage.tree.makeFolder("shared", mode: 0o777)
        try stage.tree.setMode("shared", 0o777)
        let refusal = #expect(throws: ServiceFailure.self) { _ = try stage.link() }
        #expect(refusal == .refused("\(stage.tree.path("shared")) can be written by others: `chmod go-w` it"))
        // A state folder that others can write in says nothing.
        try stage.tree.setMode("state", 0o777)
        let own = #expect(throws: ServiceFailure.self) { _ = try stage.link() }
        #expect(own?.description.hasPrefix("\(stage.place.state) belongs to another user or can be written") == true)
        _ = consume held
    }

    @Test func whoseStateFolderIsGoneEnds() throws {
        try stage.start { $0.tick = .milliseconds(20) }
        stage.host.script.withLock { $0.isBusy = true }
        stage.tree.remove("state/background.lock")
        #expect(try stage.wait() == .ended(.displaced))
        #expect(stage.host.script.withLock { $0.hasLeft })
    }

    // MARK: Its end

    @Test func itEndsWhenThereIsNothingToDo() throws {
        stage.host.script.withLock { $0.isBusy = true }
        try stage.start { $0.idle = .milliseconds(150) }
        stage.host.script.withLock { $0.isBusy = false }
        let begin = Clocks.instant()
        #expect(try stage.wait() == .ended(.idle))
        #expect(Clocks.instant() - begin >= .milliseconds(100))
        #expect(stage.tree.list("state/runtime").isEmpty)
        #expect(stage.host.script.withLock { $0.hasLeft })
    }

    @Test func whoIsThereKeepsIt() throws {
        stage.host.script.withLock { $0.isBusy = true }
        try stage.start { $0.idle = .milliseconds(60) }
        Polling.sleep(milliseconds: 250)
        #expect(try stage.link().ask(.ring(nil)) == .done, "a run under way keeps it")
        do {
            let link = try stage.link()
            stage.host.script.withLock { $0.isBusy = false }
            Polling.sleep(milliseconds: 250)
            #expect(try link.ask(.ring(nil)) == .done, "a connection keeps it")
        }
        #expect(try stage.wait() == .ended(.idle))
    }

    /// Whatever the moment: whoever was greeted is heard, and whoever was not finds nobody.
    @Test func nobodyIsLostAtTheEnd() throws {
        var random = Seeded("nobodyIsLostAtTheEnd")
        for _ in 0..<Rounds.scaled(25) {
            let stage = try ServiceStage()
            try stage.start(awaiting: false) { $0.idle = .milliseconds(20) }
            Polling.sleep(milliseconds: Int64(random.below(50)))
            do throws(ServiceFailure) {
                let link = try stage.link()
                #expect(try link.ask(.ring("x")) == .done)
                // Heard by a host that was not told to leave before.
                #expect(stage.host.script.withLock { $0.rings == ["x"] })
            } catch {
                guard case .absent = error else { throw error }
                #expect(stage.host.script.withLock { $0.rings.isEmpty })
            }
            #expect(try stage.wait() == .ended(.idle))
        }
    }

    @Test func thoseWhoFollowAreToldOfTheEnd() throws {
        try stage.start()
        let link = try stage.link()
        _ = try link.ask(.follow("a", after: 0))
        stage.host.board.events(of: "a", upTo: 1)
        try stage.stop()
        #expect(try link.nextNews(within: .seconds(20)) == .events("a", upTo: 1))
        #expect(try link.nextNews(within: .seconds(20)) == .leaving("a command asked for it"))
        #expect(throws: ServiceFailure.gone) { _ = try link.nextNews(within: .seconds(20)) }
    }

    // MARK: Its log

    @Test func aLongLogIsCutWhenAProcessBegins() throws {
        let line = String(repeating: "x", count: 99) + "\n"
        let short = String(repeating: line, count: 5000)
        try stage.tree.makeFolder("state", mode: 0o700)
        try stage.tree.write("state/background.log", short, mode: 0o600)
        try stage.start()
        try stage.stop()
        #expect(try stage.tree.text("state/background.log") == short)
        let long = String(repeating: line, count: 20_000) + "the last\n"
        try stage.tree.write("state/background.log", long, mode: 0o600)
        let again = try ServiceStage(stage.tree).start()
        try again.stop()
        let kept = try stage.tree.text("state/background.log")
        #expect(kept.utf8.count < 300_000 && kept.utf8.count > 200_000)
        #expect(kept.hasPrefix(line) && kept.hasSuffix("the last\n"))
    }
}

extension ServiceStage {
    /// Takes the lock as a process would that says it listens at `socket`.
    func heldLock(naming socket: String) throws -> Descriptor {
        let folder = try PrivateFolder.make(place.state)
        let lock = try PrivateFolder.file("background.lock", in: folder, at: place.state)
        #expect(try lock.tryLock())
        try lock.writeAll(Array("{\"pid\":\(getpid()),\"socket\":\"\(socket)\"}\n".utf8))
        return lock
    }
}

extension ServiceLink {
    /// Why nobody is there; `nil` when somebody is.
    static func absence(_ place: ServicePlace) throws -> String? {
        do throws(ServiceFailure) {
            _ = try connect(place, version: "0.0.1", patience: .seconds(5))
            return nil
        } catch {
            guard case .absent(let why) = error else { throw error }
            return why
        }
    }
}
