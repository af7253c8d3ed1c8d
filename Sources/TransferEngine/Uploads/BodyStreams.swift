import SystemIO
import TransferModel

/// The commands whose output is sent now, each on a thread of its own.
final class BodyStreams {
    private enum Notice: Sendable {
        case ready(Int)
        case ended(Int)
    }
    private struct Running {
        let task: TaskIndex
        let stream: BodyStream
        let thread: Thread
    }
    private let notices: Mailbox<Notice>
    private let folder: String
    private var running: [Int: Running] = [:]
    private var count = 0
    private var hasReadStandardInput = false

    init(folder: String, wake: @escaping @Sendable () -> Void) {
        self.folder = folder
        notices = Mailbox(wake: wake)
    }

    /// Runs the command anew; `-` is this process's own standard input, which nobody can give twice.
    func open(_ words: [SecretText], for task: TaskIndex) throws(TransferError) -> BodyStream {
        let isStandardInput = words.count == 1 && words[0].plain == "-"
        if isStandardInput, hasReadStandardInput {
            throw TransferError(
                .requestBodyStreamExhausted, "standard input was read once already, and cannot be sent again")
        }
        do throws(SystemError) {
            let stream = isStandardInput ? try readInput(for: task) : try run(words, for: task)
            hasReadStandardInput = hasReadStandardInput || isStandardInput
            return stream
        } catch {
            throw TransferError(
                .bodyCommandFailed, "the body's command could not be started: \(error)", errno: error.errno)
        }
    }

    private func run(_ words: [SecretText], for task: TaskIndex) throws(SystemError) -> BodyStream {
        var command = Command(words.map(\.revealed))
        command.folder = folder
        let cancellation = try Command.Cancellation()
        let name = words.first?.redacted ?? ""
        return try start(for: task, cancel: { cancellation.cancel() }) { [command] stream in
            do throws(SystemError) {
                let result = try command.run(cancellation: cancellation, awaitsWholeOutput: true) {
                    stream.offer($0)
                }
                return Self.outcome(of: result.ending, name)
            } catch {
                let reason = "the body's command `\(name)` cannot be run: \(error.reason)"
                return .failure(TransferError(.bodyCommandFailed, reason, errno: error.errno))
            }
        }
    }

    private static func outcome(of ending: Command.Ending, _ name: String) -> Result<Void, TransferError> {
        let what: String
        switch ending {
        case .exited(0): return .success(())
        case .exited(let status): what = "ended with status \(status)"
        case .killed(let signal): what = "was ended by signal \(signal)"
        case .timedOut, .cancelled: what = "was ended early"
        }
        return .failure(TransferError(.bodyCommandFailed, "the body's command `\(name)` \(what)"))
    }

    private func readInput(for task: TaskIndex) throws(SystemError) -> BodyStream {
        let cancellation = try PollWake()
        return try start(for: task, cancel: { cancellation.signal() }) { stream in
            do throws(SystemError) {
                return try StandardInput.read(until: cancellation) { stream.offer($0) }
                    ? .success(())
                    : .failure(TransferError(.bodyCommandFailed, "standard input was left before its end"))
            } catch {
                let reason = "standard input cannot be read: \(error.reason)"
                return .failure(TransferError(.bodyCommandFailed, reason, errno: error.errno))
            }
        }
    }

    private func start(
        for task: TaskIndex, cancel: @escaping @Sendable () -> Void,
        _ work: @escaping @Sendable (BodyStream) -> Result<Void, TransferError>
    ) throws(SystemError) -> BodyStream {
        count += 1
        let (number, notices) = (count, notices)
        let stream = BodyStream(tell: { notices.post(.ready(number)) }, cancel: cancel)
        let thread = try Thread(named: "body") {
            stream.end(work(stream))
            notices.post(.ended(number))
        }
        running[number] = Running(task: task, stream: stream, thread: thread)
        return stream
    }

    /// The streams that have something to take since this was last asked, with their tasks.
    func takeNews() -> [(task: TaskIndex, stream: BodyStream)] {
        var news: [(TaskIndex, BodyStream)] = []
        for notice in notices.takeAll() {
            switch notice {
            case .ready(let number): if let one = running[number] { news.append((one.task, one.stream)) }
            case .ended(let number): running.removeValue(forKey: number)?.thread.join()
            }
        }
        return news
    }

    /// Ends all commands and waits for them: none outlives the run.
    func close() {
        for one in running.values { one.stream.leave() }
        for one in running.values { one.thread.join() }
        running = [:]
    }
}
