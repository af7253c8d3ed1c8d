import JobRunner
import Synchronization
import SystemIO
import TransferModel

/// What the listener's thread shares with other threads.
final class ControlRequests: Sendable {
    struct Answer: Sendable {
        let caller: UInt64
        let reply: ControlReply
    }

    let path: String
    let limits: ControlListener.Limits
    let answers: Mailbox<Answer>
    let wake: PollWake
    let listening: ControlSocket
    private let name: String
    private let ending = Atomic<Bool>(false)
    private let deliver: @Sendable (ControlRequest) -> Void

    init(
        _ path: String, _ name: String, _ limits: ControlListener.Limits,
        _ deliver: @escaping @Sendable (ControlRequest) -> Void
    ) throws(ControlProblem) {
        listening = try ControlSocket.open(name, at: path)
        do throws(SystemError) {
            wake = try PollWake()
        } catch {
            throw ControlProblem(description: error.description)
        }
        self.path = path
        self.name = name
        self.limits = limits
        self.deliver = deliver
        answers = Mailbox { [wake] in wake.signal() }
    }

    var isEnding: Bool { ending.load(ordering: .acquiring) }

    func end() {
        ending.store(true, ordering: .releasing)
        wake.signal()
    }

    func hide() { try? listening.folder.unlink(name) }

    /// The body of the listener's thread.
    func work() {
        ControlPlace.sweep(listening.folder, at: path)
        let room = ControlEventLoop(self)
        while !isEnding { room.turn() }
        room.empty()
    }

    /// Passes a request to the run; its answer is posted with the connection's number.
    func ask(_ message: ControlMessage, for caller: UInt64) {
        deliver(
            ControlRequest(
                action: message.action, keepPartial: message.keepPartial,
                patterns: message.patterns.map { TaskPattern($0) },
                reply: { [answers] reply, _ in answers.post(Answer(caller: caller, reply: reply)) }))
    }
}
