import Synchronization
import SystemIO
import TransferModel

/// The event loop over all connections. Belongs to the listener's thread.
final class ServiceEventLoop {
    private enum Tag {
        static let wake: UInt64 = 0
        static let listening: UInt64 = 1
        static let firstConnection: UInt64 = 2
    }

    private let requests: ServiceRequests
    private let set: ReadinessSet
    private var listening: ServiceSocket?
    /// Whether the listening socket is in the readiness set.
    private var isOpen = false
    /// When connections are accepted again after the process had no descriptor to spare.
    private var closedUntil = Instant(nanoseconds: 0)
    private var connections: [UInt64: ServiceConnection] = [:]
    private var nextNumber = Tag.firstConnection
    /// The connections with a deadline: few, however many only follow.
    private var impatient: Set<UInt64> = []
    private var followers: [String: Set<UInt64>] = [:]
    private var news: NewsPace
    private var rounds: ServiceRounds
    private var isLeaving = false
    private let hello: [UInt8]

    init(_ requests: ServiceRequests, _ listening: ServiceSocket) throws(SystemError) {
        let now = Clocks.instant()
        self.requests = requests
        self.listening = listening
        set = try ReadinessSet()
        hello = requests.hello.frame
        news = NewsPace(requests.limits)
        rounds = ServiceRounds(requests.limits, watchdog: requests.manager.watchdog, now)
        try set.add(requests.wake.entry.descriptor, tag: Tag.wake, reading: true, writing: false)
        setOpen(true)
    }

    // MARK: A turn

    func turn() {
        let ready = set.wait(milliseconds: wait(Clocks.instant()))
        let now = Clocks.instant()
        for one in ready {
            switch one.tag {
            case Tag.wake: requests.wake.clear()
            case Tag.listening: letIn(now)
            default: serve(one, now)
            }
        }
        leaveIfTold(now)
        answer(now)
        spread(now)
        for number in impatient { if let one = connections[number], one.deadline <= now { timeOut(one, now) } }
        if rounds.areDue(now) { makeRounds(now) }
        setOpen(mayLetIn(now))
    }

    private func wait(_ now: Instant) -> Int64 {
        var due = min(rounds.due, news.due)
        if !isOpen, !isLeaving, now < closedUntil { due = min(due, closedUntil) }
        for number in impatient { if let one = connections[number] { due = min(due, one.deadline) } }
        return max(0, (due - now).nanoseconds / 1_000_000 + 1)
    }

    // MARK: Coming and going

    private func mayLetIn(_ now: Instant) -> Bool {
        !isLeaving && now >= closedUntil && connections.count < requests.limits.connections
    }

    private func setOpen(_ wanted: Bool) {
        guard let listening, wanted != isOpen else { return }
        if wanted {
            isOpen = (try? set.add(listening.socket.raw, tag: Tag.listening, reading: true, writing: false)) != nil
        } else {
            set.remove(listening.socket.raw)
            isOpen = false
        }
    }

    private func letIn(_ now: Instant) {
        guard let listening else { return }
        // Accept a bounded number per turn, so that connected commands do not wait.
        for _ in 0..<64 where mayLetIn(now) {
            do throws(SystemError) {
                guard let caller = try LocalSocket.accept(listening.socket) else { return }
                if caller.isAdmitted { welcome(caller, now) }
            } catch {
                closedUntil = now + .milliseconds(100)
            }
        }
    }

    private func welcome(_ caller: consuming Caller, _ now: Instant) {
        let one = ServiceConnection(caller, number: nextNumber, own: requests.hello, requests.limits, now)
        do throws(SystemError) {
            try set.add(one.descriptor, tag: nextNumber, reading: true, writing: false)
        } catch {
            closedUntil = now + .milliseconds(100)
            return
        }
        connections[nextNumber] = one
        nextNumber += 1
        rounds.somebodyCame()
        change(one) { $0.say(hello, now) }
    }

    /// Runs `body` on a connection and then updates its interest, its deadline and whether it is closed; every change
    /// to a connection goes through here.
    private func change(_ one: ServiceConnection, _ body: (ServiceConnection) -> Void) {
        guard connections[one.number] != nil else { return }
        let before = one.interest
        body(one)
        if one.isGone { return remove(one) }
        if one.interest != before {
            let interest = one.interest
            try? set.change(one.descriptor, tag: one.number, reading: interest.reading, writing: interest.writing)
        }
        if one.deadline == .distantFuture { impatient.remove(one.number) } else { impatient.insert(one.number) }
    }

    private func remove(_ one: ServiceConnection) {
        guard connections.removeValue(forKey: one.number) != nil else { return }
        set.remove(one.descriptor)
        impatient.remove(one.number)
        for (identifier, reports) in one.follows {
            requests.board.unfollow(identifier, reports: reports)
            followers[identifier]?.remove(one.number)
            if followers[identifier]?.isEmpty == true { followers[identifier] = nil }
        }
    }

    private func timeOut(_ one: ServiceConnection, _ now: Instant) { change(one) { $0.timeOut(now) } }

    // MARK: Requests

    private func serve(_ ready: ReadinessSet.Ready, _ now: Instant) {
        // The connection may have been closed in this turn.
        guard let one = connections[ready.tag] else { return }
        var requests: [ServiceRequest] = []
        change(one) { one in
            if ready.canWrite { one.flush(now) }
            if ready.canRead, !one.isGone { requests = one.read(now) }
            one.settle(now)
        }
        for request in requests { perform(request, one, now) }
        change(one) { $0.sayLastWord(now) }
    }

    private func perform(_ request: ServiceRequest, _ one: ServiceConnection, _ now: Instant) {
        let (number, caller) = (request.number, one.number)
        let answers = requests.answers
        let reply: @Sendable (ServiceAnswer) -> Void = {
            answers.post(ServiceRequests.Answer(connection: caller, request: number, answer: $0))
        }
        switch request.wish {
        // Closed without an answer, the command asks the next process.
        case _ where isLeaving && request.wish != .stop: remove(one)
        case .ring(let identifier):
            requests.host.ring(identifier)
            change(one) { $0.answer(number, .done, now) }
        case .status(let identifier): requests.host.status(identifier) { reply(.status($0)) }
        case .control(let control): requests.host.control(control) { reply(ServiceAnswer($0)) }
        case .follow(let identifier, let sequence, let watches):
            follow(identifier, sequence, reports: !watches, number, one, now)
        case .stop:
            change(one) { $0.answer(number, .done, now) }
            requests.end(.asked)
        }
    }

    private func follow(
        _ identifier: String, _ sequence: UInt64, reports: Bool, _ number: UInt32, _ one: ServiceConnection,
        _ now: Instant
    ) {
        guard connections[one.number] != nil else { return }
        guard let isNew = one.follow(identifier, reports: reports) else {
            let most = "one connection follows \(requests.limits.follows) sessions at most"
            return change(one) { $0.answer(number, .refused(most), now) }
        }
        let last = requests.board.follow(identifier, reports: reports)
        let trouble = requests.board.trouble(of: identifier)
        if isNew {
            followers[identifier, default: []].insert(one.number)
        } else {
            requests.board.unfollow(identifier, reports: reports)
        }
        change(one) { one in
            one.answer(number, .following(last), now)
            guard last > sequence || trouble != nil, !one.isGone else { return }
            let news = ServiceNews.events(identifier, upTo: last, trouble: trouble)
            one.tell(identifier, news, news.frame, now)
        }
    }

    private func answer(_ now: Instant) {
        for answer in requests.answers.takeAll() {
            guard let one = connections[answer.connection] else { continue }
            change(one) { $0.answer(answer.request, answer.answer, now) }
        }
    }

    // MARK: News

    private func spread(_ now: Instant) {
        guard news.isDue(now) || requests.board.isHurried else { return news.postpone() }
        let withProgress = news.isProgressDue(now)
        let content = requests.board.takeNews(withProgress: withProgress)
        for (identifier, sequence) in content.events {
            let news = ServiceNews.events(identifier, upTo: sequence, trouble: content.troubles[identifier])
            let frame = news.frame
            each(identifier) { $0.tell(identifier, news, frame, now) }
        }
        for (identifier, frames) in Self.progressFrames(content.progress) {
            each(identifier) { $0.tellIfIdle(frames, now) }
        }
        news.newsSent(content, followers: followers.values.reduce(0) { $0 + $1.count }, now)
    }

    private func each(_ identifier: String, _ body: (ServiceConnection) -> Void) {
        for number in followers[identifier] ?? [] { if let one = connections[number] { change(one, body) } }
    }

    /// Encodes progress once for all followers, in one piece for each session; of very much progress only a part is
    /// sent.
    private static func progressFrames(_ progress: [TaskProgress]) -> [String: [UInt8]] {
        var frames: [String: [UInt8]] = [:]
        for one in progress where frames[one.identifier]?.count ?? 0 < 128 << 10 {
            frames[one.identifier, default: []] += ServiceNews.progress(one).frame
        }
        return frames
    }

    // MARK: Looking after itself

    private func makeRounds(_ now: Instant) {
        if rounds.isWatchdogDue(now) { requests.manager.tell("WATCHDOG=1") }
        if isLeaving { return rounds.made(now, isIdle: false) }
        let isIdle = connections.isEmpty && requests.host.isIdle
        rounds.made(now, isIdle: isIdle)
        if !requests.lock.isInPlace { return end(.displaced) }
        if let text = rounds.status(runs: requests.host.liveRuns, connections: connections.count) {
            requests.manager.tell("STATUS=\(text)")
        }
        if rounds.wasIdleLongEnough(now) { return end(.idle) }
        if let listening, !listening.isFound { reopen(listening) }
    }

    /// Stops accepting connections and asks the process to end: a command that connects in between gets no greeting and
    /// starts the next process.
    private func end(_ why: ServiceEnd) {
        beginToLeave(why, Clocks.instant())
        requests.end(why)
    }

    private func leaveIfTold(_ now: Instant) {
        if !isLeaving, let why = requests.leaving.withLock({ $0 }) { beginToLeave(why, now) }
    }

    private func reopen(_ lost: ServiceSocket) {
        do throws(ServiceTrouble) {
            let opened = try ServiceSocket.reopen(requests.place)
            // Accept connections that reached the old socket in time.
            letIn(Clocks.instant())
            setOpen(false)
            listening = opened
            setOpen(true)
            let path = opened.path ?? ""
            do throws(SystemError) { try requests.lock.name(socket: path) } catch { throw ServiceTrouble("\(error)") }
            requests.log("\(lost.path ?? path) was gone: listens at \(path)")
        } catch {
            if rounds.isNew(trouble: error.description) { requests.log("nobody finds this process: \(error)") }
        }
    }

    private func beginToLeave(_ why: ServiceEnd, _ now: Instant) {
        guard !isLeaving else { return }
        isLeaving = true
        setOpen(false)
        listening?.hide()
        // An own socket closes with this reference and refuses the queued connections; a service manager keeps its
        // socket.
        listening = nil
        let frame = ServiceNews.leaving(why.description).frame
        for one in connections.values where !one.isGone { change(one) { $0.say(frame, now) } }
    }

    /// Sends what is left of the output before the process ends, for a second at most.
    func empty() {
        let last = Clocks.instant() + .seconds(1)
        // All runs may have been left during the last turn.
        leaveIfTold(Clocks.instant())
        answer(Clocks.instant())
        spread(last)
        while Clocks.instant() < last {
            for one in connections.values where one.owesNothing { remove(one) }
            if connections.isEmpty { break }
            let ready = set.wait(milliseconds: 20)
            for one in ready where one.canWrite {
                if let connection = connections[one.tag] { change(connection) { $0.flush(Clocks.instant()) } }
            }
        }
        for one in Array(connections.values) { remove(one) }
    }
}
