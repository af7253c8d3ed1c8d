import JobRunner
package import Reporting
package import Stores
package import SystemIO
package import TransferModel

/// An `onFinish` command: of the job, or of a background session. It is run once, when the report is written.
package struct FinishCommand {
    /// What the command is told in its environment.
    package struct Facts: Sendable {
        /// Path of the report; empty without one.
        package var report: String
        /// Outcome of the run.
        package var outcome: RunOutcome
        /// Identifier of the background session; empty without one.
        package var identifier: String
        /// Id of the run's end, which each delivery of it repeats: a receiver recognizes an end that it was told before.
        package var delivery: String
        /// What became of the run's tasks, for words such as `${run.error}`.
        package var ends: RunEnds
        package init(report: String, outcome: RunOutcome, identifier: String, delivery: String, ends: RunEnds) {
            (self.report, self.outcome, self.identifier, self.delivery) = (report, outcome, identifier, delivery)
            self.ends = ends
        }
    }

    /// The longest that a command may run.
    private static let timeout = TimeSpan.seconds(600)
    private static let prefix = "TRANSFER_RUN_HOOK_"

    /// Name of the session; empty for the job's own command.
    let session: String
    private let words: [SecretText]
    private let folder: String
    private let redactor: Redactor

    package init(_ words: [SecretText], of session: String = "", in job: Job) {
        self.session = session
        self.words = words
        folder = job.baseDirectory
        redactor = job.redactor
    }

    /// Runs the command to its end. `take` gets what it writes to its standard output and its standard
    /// error. Returns `nil` if it was cancelled.
    package func run(
        _ facts: Facts, cancellation: Command.Cancellation? = nil,
        take: (UnsafeRawBufferPointer) -> Bool = { _ in true }
    ) -> HookEnd? {
        var values = CapturedValues()
        values.ends = facts.ends
        var command = Command(words.map { ((try? $0.filled(from: values, in: .text)) ?? $0).revealed })
        command.environment = environment(facts)
        command.folder = folder
        command.timeout = Self.timeout
        command.startPatience = Self.timeout
        let began = Clocks.instant()
        var hook = HookEnd(session: session, exitStatus: nil, duration: .zero)
        do throws(SystemError) {
            var (output, errors) = (MaskedLines(redactor), MaskedLines(redactor))
            let result = try unsafe command.run(
                cancellation: cancellation, takeErrors: { unsafe _ = errors.add($0, take) }
            ) { unsafe output.add($0, take) }
            output.flush(take)
            errors.flush(take)
            switch result.ending {
            case .exited(let status):
                hook.exitStatus = Int(status)
                if status != 0 {
                    hook.trouble = "ended with status \(status)" + HookWords.last(of: result.errors, redactor)
                }
            case .cancelled: return nil
            case .killed(let signal):
                hook.trouble = "was ended by signal \(signal)" + HookWords.last(of: result.errors, redactor)
            case .timedOut:
                hook.trouble = "took longer than 10 minutes and was ended" + HookWords.last(of: result.errors, redactor)
            }
        } catch {
            hook.trouble = "cannot be started: \(error)"
        }
        hook.duration = Clocks.instant() - began
        return hook
    }

    private func environment(_ facts: Facts) -> [RawName] {
        let told = [
            "REPORT": facts.report, "OUTCOME": facts.ends.told(facts.outcome).rawValue, "IDENTIFIER": facts.identifier,
            "DELIVERY_ID": facts.delivery,
        ]
        return CurrentProcess.variables().filter { !$0.bytes.starts(with: Self.prefix.utf8) }
            + told.map { RawName("\(Self.prefix)\($0.key)=\($0.value)") }
    }
}

/// What a command writes to one of its streams, without the job's secrets: a line at a time, because a secret may come
/// in two pieces.
private struct MaskedLines {
    private let redactor: Redactor
    private var pending: [UInt8] = []

    /// A line that is longer is passed on in pieces.
    private static let longest = 64 << 10

    init(_ redactor: Redactor) { self.redactor = redactor }

    /// Passes on the lines that are whole by now. Returns whether more is wanted.
    mutating func add(_ bytes: UnsafeRawBufferPointer, _ take: (UnsafeRawBufferPointer) -> Bool) -> Bool {
        unsafe pending += bytes
        guard let end = pending.lastIndex(of: UInt8(ascii: "\n")) else {
            return pending.count < Self.longest + 2 * redactor.longestWriting || passPart(take)
        }
        return pass(end + 1, take)
    }

    /// Passes on a piece of a long line that ends in no secret: of one that is cut in two no half would be found.
    private mutating func passPart(_ take: (UnsafeRawBufferPointer) -> Bool) -> Bool {
        let whole = redactor.redacted(pending)
        var end = pending.count - redactor.longestWriting
        while end > 0 {
            let halves = [pending[..<end], pending[end...]].map { redactor.redacted(Array($0)) }
            if halves[0] + halves[1] == whole { return pass(end, take) }
            end -= max(1, redactor.longestWriting)
        }
        return pass(pending.count, take)
    }

    /// Passes on a last line without a line break.
    mutating func flush(_ take: (UnsafeRawBufferPointer) -> Bool) {
        if !pending.isEmpty { _ = pass(pending.count, take) }
    }

    private mutating func pass(_ count: Int, _ take: (UnsafeRawBufferPointer) -> Bool) -> Bool {
        let lines = redactor.redacted(Array(pending[..<count]))
        pending.removeFirst(count)
        return unsafe lines.withUnsafeBytes { unsafe take($0) }
    }
}

extension HookEnd {
    /// The command, as messages name it.
    package var name: String { session.isEmpty ? "`onFinish`" : "`onFinish` of the session `\(session)`" }

    /// Returns the result as the report of `job` states it.
    package func result(in job: Job) -> HookResult {
        let words = session.isEmpty ? job.onFinish : job.sessions.first { $0.name == session }?.onFinish
        return HookResult(command: (words ?? []).map(\.redacted), exitStatus: exitStatus, duration: duration)
    }

    /// A line for people, `nil` if the command succeeded: no event tells what comes after the last task's end.
    package var warning: String? {
        if let trouble { return "error: \(name) \(trouble)\n" }
        return exitStatus == 0 ? nil : "error: \(name) did not end by itself\n"
    }
}
