import SystemIO
import TransferModel

/// One who is connected. Belongs to the listener's thread.
final class ServiceConnection {
    let number: UInt64
    private let socket: Descriptor
    private let limits: ServiceLimits
    private var conversation: Conversation
    private var output = OutputQueue()
    /// Requests without an answer.
    private var asked = 0
    /// Why nothing more is heard, until that is said: after the answers to what was asked before.
    private var lastWord: String?
    /// By session, whether it writes the report.
    private(set) var follows: [String: Bool] = [:]
    /// When whoever owes us the rest of a frame, or has taken nothing of what we owe, has had long enough.
    private(set) var deadline: Instant
    /// What is waited for at present.
    private(set) var interest = (reading: true, writing: false)
    /// The other side left, or all was said that was to be.
    private(set) var isGone = false

    init(_ caller: consuming Caller, number: UInt64, own: ServiceHello, _ limits: ServiceLimits, _ now: Instant) {
        let caller = caller
        socket = caller.release()
        self.number = number
        self.limits = limits
        conversation = Conversation(own, limits, now)
        deadline = conversation.deadline
    }

    var descriptor: Int32 { socket.raw }

    // MARK: What comes

    /// Reads once only: whoever never stops talking must not keep the others waiting.
    func read(_ now: Instant) -> [ServiceRequest] {
        guard !conversation.isOver else { return drain() }
        let bytes: [UInt8]
        do throws(SystemError) {
            guard let piece = try LocalSocket.receive(socket) else { return [] }
            bytes = piece
        } catch {
            isGone = true
            return []
        }
        if bytes.isEmpty { isGone = true }
        var requests: [ServiceRequest] = []
        for step in conversation.take(bytes, now) {
            switch step {
            case .greeted: break
            case .ask(let request): requests.append(request)
            case .end(let reason): lastWord = reason
            }
        }
        asked += requests.count
        return requests
    }

    /// Of one who is not heard any more only the end is of interest.
    private func drain() -> [ServiceRequest] {
        do throws(SystemError) {
            if try LocalSocket.receive(socket)?.isEmpty == true { isGone = true }
        } catch {
            isGone = true
        }
        return []
    }

    func timeOut(_ now: Instant) {
        // To whom something is owed that nobody takes there is nothing to say.
        guard output.isEmpty, !conversation.isOver, case .end(let reason) = conversation.timeOut() else {
            isGone = true
            return
        }
        lastWord = reason
        sayLastWord(now)
    }

    /// If there is one; it leaves as soon as that went out.
    func sayLastWord(_ now: Instant) {
        guard let reason = lastWord else { return }
        lastWord = nil
        output.finish(AnswerParts.refused(nil, reason))
        flush(now)
    }

    // MARK: What goes

    func say(_ frame: [UInt8], _ now: Instant) {
        output.say(frame)
        flush(now)
    }

    func answer(_ number: UInt32, _ answer: ServiceAnswer, _ now: Instant) {
        asked -= 1
        output.answer(AnswerParts(number, answer))
        flush(now)
    }

    func tell(_ identifier: String, _ news: ServiceNews, _ frame: [UInt8], _ now: Instant) {
        output.tell(identifier, news, frame)
        flush(now)
    }

    func tellIfIdle(_ frame: [UInt8], _ now: Instant) {
        output.tellIfIdle(frame)
        flush(now)
    }

    var owesNothing: Bool { output.isEmpty }

    /// Sends what will go without waiting.
    func flush(_ now: Instant) {
        if isGone { return }
        var hasMoved = false
        do throws(SystemError) {
            while true {
                let bytes = output.next()
                if bytes.isEmpty { break }
                let count = try LocalSocket.send(bytes, socket)
                output.sent(count)
                hasMoved = hasMoved || count > 0
                if count < bytes.count { break }
            }
        } catch {
            isGone = true
            return
        }
        if output.isEmpty, conversation.isOver, lastWord == nil { isGone = true }
        setDeadline(now, hasMoved: hasMoved)
        interest = (asked + output.waitingAnswers < limits.requests, !output.isEmpty)
    }

    private func setDeadline(_ now: Instant, hasMoved: Bool) {
        if output.isEmpty {
            (deadline, isSlow) = (conversation.deadline, false)
        } else if !isSlow || hasMoved {
            (deadline, isSlow) = (now + (conversation.isOver ? limits.patience : limits.slowness), true)
        }
    }
    /// The deadline is that of output.
    private var isSlow = false

    /// After reading, when nothing was said.
    func settle(_ now: Instant) {
        setDeadline(now, hasMoved: false)
        interest.reading = asked + output.waitingAnswers < limits.requests
    }

    // MARK: Following

    /// `nil` when it follows too many already; whether it is one more.
    func follow(_ identifier: String, reports: Bool) -> Bool? {
        if follows[identifier] != nil { return false }
        guard follows.count < limits.follows else { return nil }
        follows[identifier] = reports
        return true
    }
}
