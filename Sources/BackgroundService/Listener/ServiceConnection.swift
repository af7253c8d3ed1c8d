import SystemIO
import TransferModel

/// One connected command. Belongs to the listener's thread.
final class ServiceConnection {
    let number: UInt64
    private let socket: Descriptor
    private let limits: ServiceLimits
    private var conversation: Conversation
    private var output = OutputQueue()
    /// The number of requests that are not answered yet.
    private var asked = 0
    /// Why no further input is read, until this is sent: after the answers to earlier requests.
    private var lastWord: String?
    /// The followed sessions; the value says whether this connection writes the report.
    private(set) var follows: [String: Bool] = [:]
    /// When the connection is closed unless the rest of a frame comes, or some of the output is taken.
    private(set) var deadline: Instant
    /// What the readiness set waits for at present.
    private(set) var interest = (reading: true, writing: false)
    /// Whether the other side has left, or everything was sent that was to be.
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

    /// Reads once and returns the requests in it: a connection that never stops sending must not delay the others.
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
        for step in conversation.receive(bytes, now) {
            switch step {
            case .greeted: break
            case .ask(let request): requests.append(request)
            case .end(let reason): lastWord = reason
            }
        }
        asked += requests.count
        return requests
    }

    /// Discards input after the conversation's end, to notice when the other side closes.
    private func drain() -> [ServiceRequest] {
        do throws(SystemError) {
            if try LocalSocket.receive(socket)?.isEmpty == true { isGone = true }
        } catch {
            isGone = true
        }
        return []
    }

    func timeOut(_ now: Instant) {
        // A connection that does not take its output cannot be sent a reason either.
        guard output.isEmpty, !conversation.isOver, case .end(let reason) = conversation.timeOut() else {
            isGone = true
            return
        }
        lastWord = reason
        sayLastWord(now)
    }

    /// Sends the reason for the conversation's end, if there is one; the connection closes once it was sent.
    func sayLastWord(_ now: Instant) {
        guard let reason = lastWord else { return }
        lastWord = nil
        output.end(with: AnswerParts.refused(nil, reason))
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

    /// Sends as much of the output as the socket takes without waiting.
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
    /// Whether `deadline` is for taking output rather than for input.
    private var isSlow = false

    /// Updates deadline and interest after a read that produced no output.
    func settle(_ now: Instant) {
        setDeadline(now, hasMoved: false)
        interest.reading = asked + output.waitingAnswers < limits.requests
    }

    // MARK: Following

    /// Follows a session. Returns whether it was not followed before, or `nil` when the connection follows too many
    /// already.
    func follow(_ identifier: String, reports: Bool) -> Bool? {
        if follows[identifier] != nil { return false }
        guard follows.count < limits.follows else { return nil }
        follows[identifier] = reports
        return true
    }
}
