import JobRunner
import RunControl
import Stores
import SystemIO
import TransferModel

/// Everything that speaks to a run from other threads: signals, and people with `suspend`, `resume` and `cancel`.
final class RunInputs {
    private let job: Job
    private let options: RunOptions
    private let environment: [String: String]
    private let console: Console
    private let signalled: (@Sendable (Int32) -> Void)?
    private var listener: ControlListener?

    /// `signalled` hears of the first signal, for as long as the process lives: longer than the run does.
    init(
        _ job: Job, _ options: RunOptions, _ environment: [String: String], _ console: Console,
        signalled: (@Sendable (Int32) -> Void)? = nil
    ) {
        self.job = job
        self.options = options
        self.environment = environment
        self.console = console
        self.signalled = signalled
    }

    /// The run's inbox, with somebody at its other end.
    func open(_ wake: @escaping @Sendable () -> Void) -> Mailbox<RunInput> {
        let inbox = Mailbox<RunInput>(wake: wake)
        let listener = listen { inbox.post(.control($0)) }
        self.listener = listener
        watchSignals(inbox, listener)
        return inbox
    }

    /// After the run: nobody is heard any more.
    func beginToClose() { listener?.beginToClose() }

    /// The same, and it is over. May be called again.
    func close() {
        listener?.close()
        listener = nil
    }

    /// Signals become commands; a second one ends the process at once.
    private func watchSignals(_ inbox: Mailbox<RunInput>, _ listener: ControlListener?) {
        let heard = HeardSignal()
        try? Signals.watch(aroundStop: LiveTerminal.standardError.standAside) { [signalled] number in
            switch heard.note(number) {
            case .first:
                signalled?(number)
                inbox.post(.command(.stop(signal: number)))
            case .companion: break
            case .second:
                listener?.hide()
                Terminal.endAtOnce(number)
            }
        }
    }

    /// A run that nobody can reach is a run all the same.
    private func listen(_ deliver: @escaping @Sendable (ControlRequest) -> Void) -> ControlListener? {
        do {
            let folder = try StateFolder(options.stateDirectory, environment).runtime
            return try ControlListener(
                folder: folder, process: Surroundings.processID(), leavesNothing: JobLocks.isEphemeral(job),
                deliver: deliver)
        } catch {
            if case .verbose = options.amount { console.errors("warning: this run cannot be controlled: \(error)\n") }
            return nil
        }
    }
}
