import BackgroundService
import Glibc
import JobRunner
import Synchronization
import SystemIO
import TestSupport
import Testing
import TransferModel

/// The process with a made-up host behind it, and callers of every kind before it.
@Suite struct ServiceListenerTests {
    private let stage: ServiceStage
    init() throws { stage = try ServiceStage() }

    private func news(_ link: ServiceLink) throws -> ServiceNews? { try link.nextNews(within: .seconds(20)) }

    // MARK: Requests

    @Test func greetsAndAnswers() throws {
        try stage.start()
        #expect(stage.tree.mode("state/runtime") == 0o700)
        #expect(stage.tree.mode("state/runtime/background.sock") == 0o600)
        #expect(stage.tree.mode("state/background.lock") == 0o600)
        let link = try stage.link()
        #expect(link.other.version == "0.0.1" && link.other.process == getpid())
        #expect(link.other.state == stage.place.state && link.other.started != nil)
        #expect(try link.ask(.ring("a")) == .done)
        #expect(try link.ask(.ring(nil)) == .done)
        #expect(stage.host.script.withLock { $0.rings } == ["a", nil])
        #expect(try link.ask(.status(nil)) == .status([]))
        let control = ServiceControl(.cancel, of: "a", patterns: ["x-*"], keepPartial: true)
        #expect(try link.ask(.control(control)) == .changed(["a"]))
        #expect(stage.host.script.withLock { $0.controls } == [control])
        stage.host.script.withLock { $0.control = .refused("no such task") }
        #expect(try link.ask(.control(control)) == .refused("no such task"))
        #expect(try stage.stop() == .ended(.asked))
        #expect(stage.host.script.withLock { $0.hasLeft })
        #expect(stage.tree.list("state/runtime").isEmpty)
    }

    /// A right request that meets trouble in the process is no wrong one: the command ends with 4 instead of 2.
    @Test func troubleInTheProcess_isNoRefusal() throws {
        try stage.start()
        let starter = ServiceStarter(
            stage.place, version: "0.0.1", stateDirectory: stage.place.state, environment: CurrentProcess.environment())
        let control = ServiceControl(.suspend, of: "a")
        func answer(_ reason: String) throws -> ControlReply {
            stage.host.script.withLock { $0.control = .refused(reason) }
            return try SessionControl(starter).perform(control)
        }
        #expect(try answer("no such task") == .refused("no such task"))
        for reason in [
            "it is done, and cannot be written down yet, so that it is forgotten if the process ends before: disk full",
            "the session `a` is held up, and nobody carries it until it is tried again: disk full",
        ] {
            let trouble = #expect(throws: ServiceTrouble.self) { try answer(reason) }
            #expect(trouble?.description == reason)
        }
        try stage.stop()
    }

    @Test func longAnswersArriveWhole() throws {
        let ids = (0..<60_000).map { "a-task-with-a-long-name-\($0)" }
        let runs = [
            ProtocolTests.status("a", "j", ids.map { RunStatus.Task(id: $0, state: .waiting, waitingFor: .runLimit) }),
            ProtocolTests.status("b", "k"),
        ]
        stage.host.script.withLock {
            $0.control = .changed(ids)
            $0.status = runs
        }
        try stage.start()
        let link = try stage.link()
        #expect(try link.ask(.control(ServiceControl(.suspend, of: "a"))) == .changed(ids))
        #expect(try link.ask(.status(nil)) == .status(runs))
        #expect(try link.ask(.status("b")) == .status([runs[1]]))
        try stage.stop()
    }

    @Test func aRequestThatCannotBeOneFrameIsNotSent() throws {
        try stage.start()
        let link = try stage.link()
        let patterns = Array(repeating: String(repeating: "x", count: 1000), count: 200)
        do throws(ServiceFailure) {
            _ = try link.ask(.control(ServiceControl(.cancel, of: "a", patterns: patterns)))
            Issue.record("it went")
        } catch {
            guard case .refused(let why) = error else { throw error }
            #expect(why.contains("patterns stand for many"))
        }
        #expect(try link.ask(.ring(nil)) == .done)
        try stage.stop()
    }

    @Test func lateAnswersReachNobodyElse() throws {
        stage.host.script.withLock { $0.control = nil }
        try stage.start()
        let wish = ServiceWish.control(ServiceControl(.suspend, of: "a"))
        do {
            let link = try stage.link()
            #expect(throws: ServiceFailure.silent(.milliseconds(30))) {
                _ = try link.ask(wish, patience: .milliseconds(30))
            }
            stage.host.script.withLock { $0.held.removeFirst() }(.changed(["late"]))
            // The answer that was given up is not taken for the next one.
            #expect(try link.ask(.ring("x")) == .done)
            #expect(throws: ServiceFailure.self) { _ = try link.ask(wish, patience: .milliseconds(30)) }
        }
        let next = try stage.link()
        stage.host.script.withLock { $0.held.removeFirst() }(.changed(["wrong"]))
        #expect(try next.ask(.ring(nil)) == .done)
        #expect(try next.nextNews(within: .milliseconds(20)) == nil)
        try stage.stop()
    }

    // MARK: Following

    @Test func whoFollowsHearsOfTrouble() throws {
        try stage.start()
        let board = stage.host.board
        let first = try stage.link()
        _ = try first.ask(.follow("a", after: 0))
        board.trouble(of: "a", "the disk is full")
        #expect(try news(first) == .events("a", upTo: 0, trouble: "the disk is full"))
        // Who comes later as well, though no event is new.
        let second = try stage.link()
        _ = try second.ask(.follow("a", after: 9))
        #expect(try news(second) == .events("a", upTo: 0, trouble: "the disk is full"))
        // It is no news.
        board.trouble(of: "a", "the disk is full")
        #expect(try first.nextNews(within: .milliseconds(30)) == nil)
        board.forget("a")
        #expect(board.trouble(of: "a") == "the disk is full", "nobody carries the run, and that is why")
        board.trouble(of: "a", nil)
        for link in [first, second] { #expect(try news(link) == .events("a", upTo: 0)) }
        try stage.stop()
    }

    @Test func newsAndProgressComeToThoseWhoFollow() throws {
        try stage.start { $0.progressPace = .milliseconds(1) }
        let board = stage.host.board
        board.events(of: "a", upTo: 5)
        let (first, second, other) = (try stage.link(), try stage.link(), try stage.link())
        #expect(try first.ask(.follow("a", after: 5)) == .following(5))
        #expect(try second.ask(.follow("a", after: 3)) == .following(5))
        #expect(try other.ask(.follow("b", after: 0)) == .following(0))
        // Who is behind hears at once that there is more.
        #expect(try news(second) == .events("a", upTo: 5))
        board.events(of: "a", upTo: 6)
        #expect(try news(first) == .events("a", upTo: 6))
        #expect(try news(second) == .events("a", upTo: 6))
        let progress = ProtocolTests.progress("t", 10, expected: 20)
        board.progress(progress)
        #expect(try news(first) == .progress(progress))
        board.events(of: "b", upTo: 1)
        #expect(try news(other) == .events("b", upTo: 1))
        #expect(try other.nextNews(within: .milliseconds(30)) == nil)
        try stage.stop()
    }

    @Test func oneConnectionFollowsManySessionsAndNotTooMany() throws {
        try stage.start { $0.follows = 3 }
        let link = try stage.link()
        for name in ["a", "b", "c", "a"] { #expect(try link.ask(.follow(name, after: 0)) == .following(0)) }
        #expect(
            try link.ask(.follow("d", after: 0)) == .refused("one connection follows 3 sessions at most"))
        stage.host.board.events(of: "a", upTo: 1)
        #expect(try news(link) == .events("a", upTo: 1))
        #expect(try link.nextNews(within: .milliseconds(30)) == nil, "it follows `a` once")
        try stage.stop()
        #expect(!stage.host.board.isFollowed("a"))
    }

    /// However fast events come, every follower hears the last word, and few of those before.
    @Test func aFloodIsToldInItsLastWords() throws {
        try stage.start()
        let board = stage.host.board
        let links = try (0..<20).map { _ in try stage.link() }
        for link in links { _ = try link.ask(.follow("a", after: 0)) }
        let last: UInt64 = 200_000
        let thread = try Thread(named: "flood") { for number in 1...last { board.events(of: "a", upTo: number) } }
        thread.join()
        for link in links {
            var (heard, words) = (UInt64(0), 0)
            while heard < last {
                guard case .events("a", let sequence, _)? = try news(link) else { throw ServiceTrouble("no news") }
                #expect(sequence > heard)
                (heard, words) = (sequence, words + 1)
            }
            #expect(words < 2000)
        }
        try stage.stop()
    }

    /// One who reads nothing loses progress, then its place; the others hear everything meanwhile.
    @Test func slowFollowersHinderNobody() throws {
        try stage.start {
            $0.progressPace = .milliseconds(1)
            $0.slowness = .milliseconds(700)
        }
        let board = stage.host.board
        let deaf = try stage.call()
        deaf.say(ServiceHello(version: "0.0.1").frame + ServiceRequest(1, .follow("a", after: 0)).frame)
        let link = try stage.link()
        _ = try link.ask(.follow("a", after: 0))
        try waitUntil { board.isFollowed("a") }
        var sequence: UInt64 = 0
        let deadline = Clocks.instant() + .seconds(20)
        // Until the deaf one was sent away: of two who follow one is left.
        while Clocks.instant() < deadline {
            sequence += 1
            for task in 0..<200 {
                board.progress(
                    ProtocolTests.progress("task-\(task)", Int64(sequence)))
            }
            board.events(of: "a", upTo: sequence)
            var isThere = true
            while isThere {
                guard let one = try news(link) else { throw ServiceTrouble("the good one heard nothing") }
                if case .events(_, sequence, _) = one { isThere = false }
            }
            var entries = [PollEntry(deaf.descriptor.raw, .leaving)]
            Polling.wait(&entries, milliseconds: 0)
            if entries[0].isReady { break }
        }
        #expect(Clocks.instant() < deadline, "the deaf one is still there")
        // What went out before is whole frames up to the last, which was cut.
        #expect(try !deaf.hear().isEmpty)
        try stage.stop()
    }

    // MARK: Odd callers

    @Test func whatIsNoMessageIsAnsweredInWords() throws {
        try stage.start()
        let hello = ServiceHello(version: "0.0.1").frame
        func said(_ bytes: [UInt8]) throws -> String? {
            let socket = try stage.call()
            socket.say(bytes)
            return try socket.refusal()
        }
        #expect(try said(Array("GET / HTTP/1.1\r\n\r\n".utf8))?.contains("a frame of 1195725856 bytes") == true)
        #expect(try said(Frame.around(Array("{}".utf8)))?.contains("an object with a `type`") == true)
        #expect(try said(hello + Frame.around(Array("{".utf8)))?.contains("no JSON") == true)
        #expect(try said(hello + [0, 0, 0, 0])?.contains("a frame of 0 bytes") == true)
        #expect(
            try said(ServiceHello(version: "9.9.9", protocols: 7...9).frame)?.contains("must be restarted") == true)
        #expect(try stage.link().ask(.ring(nil)) == .done)
        try stage.stop()
    }

    @Test func whoTalksTooMuchIsLeft() throws {
        try stage.start { $0.framesPerSecond = 50 }
        let socket = try stage.call()
        let ring = ServiceRequest(1, .ring(nil)).frame
        socket.say(ServiceHello(version: "0.0.1").frame + (0..<200).flatMap { _ in ring })
        let heard = try socket.hear()
        #expect(heard.last == .refused("more than 50 frames a second"))
        // What was asked before is answered.
        #expect((40...60).contains(heard.count))
        try stage.stop()
    }

    /// Sixteen questions wait for their answers; nothing more of this caller is read, and nothing is lost.
    @Test func questionsBeyondTheLimitWaitOutside() throws {
        stage.host.script.withLock { $0.control = nil }
        try stage.start {
            $0.requests = 4
            $0.framesPerSecond = 100_000
        }
        let socket = try stage.call()
        socket.say(ServiceHello(version: "0.0.1").frame)
        let count = 3000
        let thread = try Thread(named: "asker") {
            for number in 1...count {
                socket.say(ServiceRequest(UInt32(number), .control(ServiceControl(.suspend, of: "a"))).frame)
            }
            shutdown(socket.descriptor.raw, Int32(SHUT_WR))
        }
        let read = { self.stage.host.script.withLock { $0.controls.count } }
        try waitUntil { read() >= 4 }
        Polling.sleep(milliseconds: 50)
        // What one read brings may be some more than the limit.
        #expect(read() < 400)
        stage.host.script.withLock { script in
            script.control = .changed([])
            for reply in script.held { reply(.changed([])) }
            script.held = []
        }
        // Those who read nothing would be held up by answers instead.
        _ = try socket.hear()
        try waitUntil { read() == count }
        thread.join()
        try stage.stop()
    }

    @Test func silentAndHalfSpokenCallersAreSentAway() throws {
        try stage.start { $0.patience = .milliseconds(150) }
        let silent = try stage.call()
        #expect(try silent.refusal()?.contains("no `hello` came within 0.15 s") == true)
        let half = try stage.call()
        half.say(ServiceHello(version: "0.0.1").frame + [0, 0, 0, 9, 1])
        #expect(try half.refusal()?.contains("the rest of a frame did not come") == true)
        // Who has greeted may be silent as long as it likes.
        let link = try stage.link()
        Polling.sleep(milliseconds: 300)
        #expect(try link.ask(.ring(nil)) == .done)
        try stage.stop()
    }

    @Test func whoComesWhenAllPlacesAreTakenWaits() throws {
        try stage.start { $0.connections = 64 }
        var links = try (0..<64).map { _ in try stage.link() }
        #expect(throws: ServiceFailure.silent(.milliseconds(50))) { _ = try stage.link(patience: .milliseconds(50)) }
        links.removeLast()
        #expect(try stage.link().ask(.ring(nil)) == .done)
        links = []
        try stage.stop()
    }

    @Test func hostileBytesHarmNobody() throws {
        try stage.start { $0.framesPerSecond = 100_000 }
        var random = Seeded("hostileBytesHarmNobody")
        let good = try stage.link()
        _ = try good.ask(.follow("a", after: 0))
        let right = [
            ServiceHello(version: "0.0.1").frame, ServiceRequest(1, .status(nil)).frame,
            ServiceRequest(2, .follow("a", after: 0)).frame, ServiceRequest(3, .follow("b", after: 9)).frame,
        ]
        for round in 1...Rounds.scaled(150) {
            let socket = try stage.call()
            var bytes = random.oneIn(2) ? right[0] : []
            for _ in 0..<random.below(6) {
                var piece = random.oneIn(4) ? random.bytes(random.below(3000)) : random.pick(right)
                if random.oneIn(3), !piece.isEmpty { piece[random.below(piece.count)] = UInt8(random.below(256)) }
                bytes += piece
            }
            if random.oneIn(10) { bytes += random.bytes(300_000) }
            socket.say(bytes)
            if random.oneIn(3) {
                shutdown(socket.descriptor.raw, Int32(SHUT_WR))
                _ = try? socket.hear()
            }
            stage.host.board.events(of: "a", upTo: UInt64(round))
            guard case .events("a", UInt64(round), _)? = try news(good) else { throw ServiceTrouble("another") }
        }
        #expect(try good.ask(.ring("still")) == .done)
        try stage.stop()
    }

    @Test func manyConnectionsCostLittle() throws {
        // Both ends of each are this process's, and other tests need some too.
        let most = DescriptorLimit.raise(to: 65_536)
        let count = min(Rounds.isLong ? 9000 : 2500, (most - 1500) / 2)
        try stage.start()
        let followers = try (0..<min(1000, count / 2)).map { _ in try stage.link() }
        for link in followers { _ = try link.ask(.follow("a", after: 0)) }
        let sitting = try (followers.count..<count).map { _ in try stage.link() }
        stage.host.board.events(of: "a", upTo: 9)
        for link in followers { #expect(try news(link) == .events("a", upTo: 9)) }
        #expect(try stage.link().ask(.ring(nil)) == .done)
        #expect(sitting.count + followers.count == count && count >= 1000)
        try stage.stop()
    }
}
