import JobRunner
import RunControl
import Stores
import SystemIO
import TransferModel

/// Connects a run with other threads: signals, and the commands `suspend`, `resume` and `cancel`.
final class RunInputs {
    private let job: Job
    private let options: RunOptions
    private let environment: [String: String]
    private let console: Console
    private let signalled: (@Sendable (Int32) -> Void)?
    private var listener: ControlListener?

    /// `signalled` is called with the first signal, even after the run has ended.
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

    /// Returns the run's inbox, connected to signals and the control socket.
    func open(_ wake: @escaping @Sendable () -> Void) -> Mailbox<RunInput> {
        let inbox = Mailbox<RunInput>(wake: wake)
        let listener = listen { inbox.post(.control($0)) }
        self.listener = listener
        // A confined process makes no Unix socket beside this one.
        if Confinement.room != nil, Confinement.refusesCalls { try? Confinement.refuseLocalSockets() }
        watchSignals(inbox, listener)
        return inbox
    }

    /// Stops accepting commands, once the run has ended.
    func beginToClose() { listener?.beginToClose() }

    /// Stops accepting commands, and waits until that is done. May be called again.
    func close() {
        listener?.close()
        listener = nil
    }

    /// Turns signals into commands; a second one ends the process at once.
    private func watchSignals(_ inbox: Mailbox<RunInput>, _ listener: ControlListener?) {
        let heard = HeardSignal()
        try? Signals.watch(aroundStop: LiveTerminal.standardError.standAside) { [signalled] number in
            switch heard.signalReceived(number) {
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

    /// Opens the control socket; `nil` where that fails, which does not fail the run.
    private func listen(_ deliver: @escaping @Sendable (ControlRequest) -> Void) -> ControlListener? {
        do {
            let folder = try StateFolder(options.stateDirectory, environment).runtime
            return try ControlListener(
                folder: folder, process: CurrentProcess.processID(), leavesNothing: JobLocks.isEphemeral(job),
                deliver: deliver)
        } catch {
            if case .verbose = options.amount { console.errors("warning: this run cannot be controlled: \(error)\n") }
            return nil
        }
    }
}
