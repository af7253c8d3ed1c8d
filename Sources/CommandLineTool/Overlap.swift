import RunControl
import Stores
import SystemIO
import TransferModel

/// Applies `onOverlap`: what a run does when another run of its job is under way.
struct Overlap {
    enum Outcome {
        /// Continue; the lock, if any, is to be released at the end.
        case clear((any JobLock)?)
        case end(ExitStatus)
    }

    let job: Job
    let options: RunOptions
    let environment: [String: String]
    let console: Console

    /// Milliseconds between checks whether another run has ended. Signals end the wait at once.
    private static let pause = 100

    /// Takes the job's lock. Call before any file is opened to which the other run may be writing.
    func enter(_ file: JobFile?) -> Outcome {
        do throws(JobLockProblem) {
            let lock = try JobLocks.lock(of: job, file: file) { () throws(StateFolder.Problem) in
                try StateFolder(options.stateDirectory, environment)
            }
            guard let lock else { return .clear(nil) }
            return try enter(lock)
        } catch {
            // A job with ephemeral sessions only needs no state, except to notice a second run of it.
            if JobLocks.isEphemeral(job) {
                console.errors("warning: another run of this job would not be noticed: \(error)\n")
                return .clear(nil)
            }
            console.errors("error: the job cannot be kept from running twice at a time: \(error)\n")
            console.errors("  hint: \(hint)\n")
            return .end(.runnerFailed)
        }
    }

    private let hint =
        "name another state folder with `--state-dir DIR`, or say `configuration: ephemeral` of every session"

    private func enter(_ lock: any JobLock) throws(JobLockProblem) -> Outcome {
        switch try lock.attempt() {
        case .taken: return .clear(lock)
        case .held(let holder): return try meet(holder, lock)
        case .impossible(let reason):
            console.errors(
                "warning: another run of this job would not be noticed: its file cannot be locked: \(reason)\n")
            return .clear(nil)
        }
    }

    private func meet(_ holder: Int32?, _ lock: any JobLock) throws(JobLockProblem) -> Outcome {
        let other = holder.map { " (pid \($0))" } ?? ""
        switch job.onOverlap {
        case .fail:
            console.errors("error: another run of this job is under way\(other)\n")
            let attach =
                background.flatMap { identifier in
                    (try? StateFolder(options.stateDirectory, environment)).map {
                        "\($0.command("attach", identifier)) follows it, "
                    }
                } ?? ""
            console.errors(
                "  hint: \(attach)`onOverlap: wait` waits for its end, `onOverlap: skip` leaves it at that\n")
            return .end(.overlapping)
        case .skip:
            console.errors("skipped: another run of this job is under way\(other)\n")
            return .end(.succeeded)
        case .wait:
            console.errors("waiting: another run of this job is under way\(other)\n")
            return try wait(lock)
        }
    }

    /// The identifier of the first background session with a task; `nil` where the command carries all tasks.
    private var background: String? {
        job.tasks.lazy.map { job.sessions[Int($0.session.raw)] }.first { $0.kind == .background }?.identifier
    }

    private func wait(_ lock: any JobLock) throws(JobLockProblem) -> Outcome {
        while true {
            if let signal = Signals.pause(milliseconds: Self.pause) { return .end(.signal(signal)) }
            if case .held = try lock.attempt() { continue }
            return .clear(lock)
        }
    }
}
