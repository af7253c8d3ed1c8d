package import TransferModel

/// The state machine of one connection's input: what it may say and how fast; does no I/O.
package struct Conversation {
    /// What the connection has to do about received bytes.
    package enum Step: Hashable {
        /// The greeting is accepted: requests may follow.
        case greeted
        /// Perform this request.
        case ask(ServiceRequest)
        /// Read nothing more and send this reason.
        case end(String)
    }
    private enum Phase { case beginning, speaking, over }

    private let limits: ServiceLimits
    private let own: ServiceHello
    private var phase = Phase.beginning
    private var reader = FrameReader()
    private var allowance: FrameAllowance
    /// When the greeting or the frame under way must be complete; `.distantFuture` if nothing is awaited.
    package private(set) var deadline: Instant

    package init(_ own: ServiceHello, _ limits: ServiceLimits, _ now: Instant) {
        self.own = own
        self.limits = limits
        allowance = FrameAllowance(limits.framesPerSecond, now)
        deadline = now + limits.patience
    }

    /// Whether the conversation was ended; further input is ignored.
    package var isOver: Bool { if case .over = phase { true } else { false } }

    /// Takes bytes from the socket and returns what to do, in order.
    package mutating func receive(_ bytes: [UInt8], _ now: Instant) -> [Step] {
        if isOver { return [] }
        let progress = reader.receive(bytes)
        var steps: [Step] = []
        for frame in progress.frames where !isOver { steps.append(step(frame, now)) }
        if let problem = progress.problem, !isOver { steps.append(end(problem.description)) }
        setDeadline(now, hasMoved: !progress.frames.isEmpty)
        return steps
    }

    /// Ends the conversation because the deadline has passed.
    package mutating func timeOut() -> Step {
        let what = phase == .beginning ? "no `hello` came" : "the rest of a frame did not come"
        return end("\(what) within \(limits.patience.seconds) s")
    }

    private mutating func step(_ frame: [UInt8], _ now: Instant) -> Step {
        guard allowance.takeToken(now) else {
            return end("more than \(limits.framesPerSecond) frames a second")
        }
        do throws(ServiceProblem) {
            if phase == .beginning { return greet(try ServiceHello.parse(frame)) }
            return .ask(try ServiceRequest.parse(frame))
        } catch {
            // `stop` is accepted even from a program that cannot greet in a known way.
            if phase == .beginning, let request = try? ServiceRequest.parse(frame), request.wish == .stop {
                return .ask(request)
            }
            return end(error.description)
        }
    }

    private mutating func greet(_ other: ServiceHello) -> Step {
        switch ServiceProtocol.agree(other.protocols, own: own.protocols) {
        case .speaking:
            phase = .speaking
            return .greeted
        case .otherIsOlder:
            return end(
                "this process (\(own.version)) no longer speaks what transfer-run \(other.version) does: "
                    + "use \(own.version)")
        case .otherIsNewer:
            return end(
                "this process (\(own.version)) is too old for transfer-run \(other.version): it must be restarted")
        }
    }

    private mutating func end(_ reason: String) -> Step {
        phase = .over
        deadline = .distantFuture
        return .end(reason)
    }

    private mutating func setDeadline(_ now: Instant, hasMoved: Bool) {
        switch phase {
        case .beginning: break
        case .over: deadline = .distantFuture
        case .speaking:
            if reader.isBetweenFrames {
                deadline = .distantFuture
            } else if hasMoved || deadline == .distantFuture {
                deadline = now + limits.patience
            }
        }
    }
}

/// A token bucket: `rate` frames a second, and at most as many at once.
struct FrameAllowance {
    private let rate: Int
    private var left: Double
    private var last: Instant

    init(_ rate: Int, _ now: Instant) {
        self.rate = rate
        left = Double(rate)
        last = now
    }

    mutating func takeToken(_ now: Instant) -> Bool {
        left = min(Double(rate), left + (now - last).seconds * Double(rate))
        last = now
        guard left >= 1 else { return false }
        left -= 1
        return true
    }
}
