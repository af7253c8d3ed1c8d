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

/// Why nothing was forgotten, and the status that says so.
private struct ResetFailure: Error {
    let text: String
    let status: ExitStatus

    /// The command line is wrong.
    static func unclear(_ what: String, hint: String?) -> ResetFailure {
        ResetFailure(text: UsageError(what, hint: hint).text, status: .invalidInput)
    }
    static func broken(_ what: String) -> ResetFailure {
        ResetFailure(text: "error: \(what)\n", status: .runnerFailed)
    }
}

extension CommandLineTool {
    /// Forgets what is kept of one session. Several jobs may have one of that name: then the job is said, too.
    static func reset(_ options: ResetOptions, _ console: Console) -> Int32 {
        do throws(ResetFailure) {
            let store = try open(options.folder, console)
            let session = try find(options.session, in: store)
            // A run under way would write down again what it knows.
            let lock = try lock(session.job, options.folder)
            defer { lock.release() }
            try forget(session.job, session.name, store, options.folder)
            console.output("forgot the session \(session.name) of \(session.job)\n")
            return ExitStatus.succeeded.code
        } catch {
            console.errors(error.text)
            return error.status.code
        }
    }

    private static func open(_ folder: StateFolder, _ console: Console) throws(ResetFailure) -> Store {
        if let problem = Store.privacyProblem(folder: folder.state) { throw .broken(problem.description) }
        guard Store.isThere(folder: folder.state) else {
            throw .unclear("nothing is kept of any session", hint: nil)
        }
        do throws(StoreError) {
            let store = try Store.open(folder: folder.state)
            if let quarantined = store.quarantined {
                console.errors("warning: \(quarantined.reason): it was put aside as \(quarantined.path)\n")
            }
            return store
        } catch {
            throw .broken(error.description)
        }
    }

    private static func find(_ wanted: String, in store: Store) throws(ResetFailure) -> (job: String, name: String) {
        let all: [(job: String, name: String)]
        do throws(StoreError) { all = try store.sessions() } catch { throw .broken(error.description) }
        func names(_ sessions: [(job: String, name: String)]) -> String {
            sessions.map { "`\($0.job)/\($0.name)`" }.joined(separator: ", ")
        }
        let meant = all.filter { "\($0.job)/\($0.name)" == wanted }
        let found = meant.isEmpty ? all.filter { $0.name == wanted } : meant
        guard let session = found.first else {
            throw .unclear(
                "nothing is kept of a session `\(wanted)`", hint: all.isEmpty ? nil : "known are \(names(all))")
        }
        guard found.count == 1 else {
            throw .unclear("several jobs have a session `\(wanted)`", hint: "say which: \(names(found))")
        }
        return session
    }

    private static func lock(_ job: String, _ folder: StateFolder) throws(ResetFailure) -> any JobLock {
        let (lock, attempt): (any JobLock, LockAttempt)
        do throws(JobLockProblem) {
            lock = try JobLocks.lock(of: JobIdentity(text: job), state: folder.state)
            attempt = try lock.attempt()
        } catch {
            throw .broken(error.description)
        }
        guard case .held(let process) = attempt else { return lock }
        let pid = process.map { " (pid \($0))" } ?? ""
        throw ResetFailure(text: "error: a run of \(job) is under way\(pid)\n", status: .overlapping)
    }

    private static func forget(
        _ job: String, _ name: String, _ store: Store, _ folder: StateFolder
    ) throws(ResetFailure) {
        do throws(StoreError) {
            let gone = try store.reset(job: job, name: name)
            for path in gone.parts { HalfDoneFile.remove(path) }
            guard !gone.bodies.isEmpty else { return }
            // Stores of before did not say where.
            for path in Set(gone.folders + [folder.cache]) where Folders.resolved(path) != nil {
                guard let cache = try? CacheFolder(path) else { continue }
                for id in gone.bodies { cache.remove(id) }
            }
        } catch {
            throw .broken(error.description)
        }
    }
}
