import FileDelivery
import JobRunner
import RunControl
package import Stores
import SystemIO
import TransferModel

/// `reset` as it is meant.
package struct ResetOptions: Sendable {
    /// The session's name, or `JOB/NAME`.
    package var session: String
    package var folder: StateFolder

    package init(_ typed: TypedArguments, environment: [String: String]) throws(UsageError) {
        let meant = try MeantArguments(typed, environment: environment)
        guard let session = typed.operands.first, !session.isEmpty else {
            throw UsageError("`transfer-run reset` needs SESSION")
        }
        self.session = session
        do throws(StateFolder.Problem) {
            folder = try StateFolder(meant.value(.stateDir), environment)
        } catch {
            throw UsageError(error.description)
        }
    }
}

extension CommandLineTool {
    /// Forgets what is kept of one session. Several jobs may have one of that name: then the job is said, too.
    static func reset(_ options: ResetOptions, _ console: Console) -> Int32 {
        do throws(StoreError) {
            if let problem = Store.privacyProblem(folder: options.folder.state) { throw problem }
            guard Store.isThere(folder: options.folder.state) else {
                return refuse("nothing is kept of any session", nil, console)
            }
            let store = try Store.open(folder: options.folder.state)
            if let quarantined = store.quarantined {
                console.errors("warning: \(quarantined.reason): it was put aside as \(quarantined.path)\n")
            }
            let all = try store.sessions()
            let meant = all.filter { "\($0.job)/\($0.name)" == options.session }
            let found = meant.isEmpty ? all.filter { $0.name == options.session } : meant
            guard let session = found.first else {
                let known = all.map { "`\($0.job)/\($0.name)`" }.joined(separator: ", ")
                return refuse(
                    "nothing is kept of a session `\(options.session)`", all.isEmpty ? nil : "known are \(known)",
                    console)
            }
            guard found.count == 1 else {
                let names = found.map { "`\($0.job)/\($0.name)`" }.joined(separator: ", ")
                return refuse("several jobs have a session `\(options.session)`", "say which: \(names)", console)
            }
            return try reset(session.job, session.name, store, options.folder, console)
        } catch {
            console.errors("error: \(error.description)\n")
            return ExitStatus.runnerFailed.code
        }
    }

    private static func refuse(_ what: String, _ hint: String?, _ console: Console) -> Int32 {
        console.errors(UsageError(what, hint: hint).text)
        return ExitStatus.invalidInput.code
    }

    /// A run under way would write down again what it knows.
    private static func reset(
        _ job: String, _ name: String, _ store: Store, _ folder: StateFolder, _ console: Console
    ) throws(StoreError) -> Int32 {
        do throws(JobLockProblem) {
            let lock = try JobLocks.lock(of: JobIdentity(text: job), state: folder.state)
            defer { lock.release() }
            if case .held(let process) = try lock.attempt() {
                let pid = process.map { " (pid \($0))" } ?? ""
                console.errors("error: a run of \(job) is under way\(pid)\n")
                return ExitStatus.overlapping.code
            }
            do throws(StoreError) {
                let gone = try store.reset(job: job, name: name)
                for path in gone.parts { HalfDoneFile.remove(path) }
                if !gone.bodies.isEmpty, let cache = try? CacheFolder(folder.cache) {
                    for id in gone.bodies { cache.remove(id) }
                }
                console.output("forgot the session \(name) of \(job)\n")
                return ExitStatus.succeeded.code
            } catch {
                console.errors("error: \(error.description)\n")
                return ExitStatus.runnerFailed.code
            }
        } catch {
            console.errors("error: \(error.description)\n")
            return ExitStatus.runnerFailed.code
        }
    }
}
