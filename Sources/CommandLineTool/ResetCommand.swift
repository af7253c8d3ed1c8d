import BackgroundService
import FileDelivery
import JobRunner
import Reporting
import RunControl
package import Stores
import SystemIO
import TransferModel

/// The options of `reset`.
package struct ResetOptions: Sendable {
    /// The session's name, or `JOB/NAME`.
    package var session: String
    /// Folder of the runs' state.
    package var folder: StateFolder

    package init(_ typed: TypedArguments, environment: [String: String]) throws(UsageError) {
        let meant = try MeantArguments(typed, environment: environment)
        guard let session = typed.operands.first, !session.isEmpty else {
            throw UsageError("`transfer-run reset` needs SESSION")
        }
        self.session = session
        folder = try StateFolder.needed(meant.value(.stateDir), environment)
    }
}

/// Why a session was not reset, and the exit status for it.
private struct ResetFailure: Error {
    let text: String
    let status: ExitStatus

    /// A usage error: the named session does not exist or is ambiguous.
    static func unclear(_ what: String, hint: String?) -> ResetFailure {
        ResetFailure(text: UsageError(what, hint: hint).text, status: .invalidInput)
    }
    static func underWay(_ identifier: String, _ folder: StateFolder) -> ResetFailure {
        ResetFailure(
            text: "error: the background session `\(identifier)` is under way\n"
                + "  hint: \(folder.command("cancel", identifier)) ends it\n", status: .overlapping)
    }
    static func broken(_ what: String) -> ResetFailure {
        ResetFailure(text: "error: \(what)\n", status: .runnerFailed)
    }
}

extension CommandLineTool {
    /// Deletes everything stored for one session. Where several jobs have a session of that name, the job must be given
    /// too.
    static func reset(_ options: ResetOptions, _ environment: [String: String], _ console: Console) -> Int32 {
        if let store = Store.privacyProblem(folder: options.folder.state) {
            return console.failed(store)
        }
        tellOfDamage(options.folder, console)
        ServiceStarter.here(options.folder, environment).goOn()
        do throws(ResetFailure) {
            let memory = try SessionMemory(options.folder, console)
            let session = try memory.find(options.session)
            // A run under way would store its state again.
            let lock = try lock(session.job, options.folder)
            defer { lock.release() }
            try memory.forget(session.job, session.name)
            console.output("forgot the session \(session.name) of \(session.job)\n")
            return ExitStatus.succeeded.code
        } catch {
            console.errors(error.text)
            return error.status.code
        }
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
}

/// Everything stored for sessions: in the store, and for background sessions in the journal.
private struct SessionMemory {
    private let folder: StateFolder
    private let store: Store?
    private let journal: Journal?

    init(_ folder: StateFolder, _ console: Console) throws(ResetFailure) {
        self.folder = folder
        do throws(StoreError) {
            let isThere = Store.isThere(folder: folder.state) || NotebookFolder.isThere(folder.state)
            store = isThere ? try Store.open(folder: folder.state) : nil
            journal = Journal.isThere(folder: folder.state) ? try Journal.open(folder: folder.state) : nil
        } catch {
            throw .broken(error.description)
        }
        if store == nil, journal == nil { throw .unclear("nothing is kept of any session", hint: nil) }
        for quarantined in [store?.quarantined, journal?.quarantined].compactMap({ $0 }) {
            console.errors("warning: \(quarantined.reason): it was put aside as \(quarantined.path)\n")
        }
    }

    func find(_ wanted: String) throws(ResetFailure) -> (job: String, name: String) {
        var all: [(job: String, name: String)]
        do throws(StoreError) {
            all = try store?.sessions() ?? []
            for session in try journalled() where !all.contains(where: { $0 == (session.job, session.name) }) {
                all.append((session.job, session.name))
            }
        } catch { throw .broken(error.description) }
        let meant = all.filter { "\($0.job)/\($0.name)" == wanted }
        let found = meant.isEmpty ? all.filter { $0.name == wanted } : meant
        guard let session = found.first else {
            throw .unclear(
                "nothing is kept of a session `\(wanted)`", hint: all.isEmpty ? nil : "known are\(Self.list(all))")
        }
        guard found.count == 1 else {
            throw .unclear("several jobs have a session `\(wanted)`", hint: "say which:\(Self.list(found))")
        }
        return session
    }

    /// The sessions, a line for each; of many the first ten.
    private static func list(_ sessions: [(job: String, name: String)]) -> String {
        let more = sessions.count > 10 ? ["and \(sessions.count - 10) more"] : []
        return (sessions.prefix(10).map { "`\(SafeText.line("\($0.job)/\($0.name)"))`" } + more).map { "\n    \($0)" }
            .joined()
    }

    private func journalled() throws(StoreError) -> [JournalledSession] {
        guard let journal else { return [] }
        return try JournalledSession.all(journal)
    }

    /// Deletes a session's state; call under the job's lock, so that no session is handed over meanwhile.
    func forget(_ job: String, _ name: String) throws(ResetFailure) {
        let known: [JournalledSession]
        do throws(StoreError) { known = try journalled() } catch { throw .broken(error.description) }
        if let open = known.first(where: { $0.job == job && $0.name == name && !$0.hasEnded }) {
            throw .underWay(open.identifier, folder)
        }
        do throws(StoreError) {
            if let journal { try journal.erase(JournalledSession.deliveredRuns(of: job, journal)) }
            guard let gone = try store?.reset(job: job, name: name) else { return }
            for path in gone.parts { HalfDoneFile.remove(path) }
            KeptPlace.removeAll(of: job, state: folder.state)
            ObjectFolder.removeAll(of: job, state: folder.state)
            guard !gone.bodies.isEmpty else { return }
            // Older stores did not record the folder.
            for path in Set(gone.folders + [folder.cache]) where Folders.resolved(path) != nil {
                guard let cache = try? CacheFolder(path) else { continue }
                for id in gone.bodies { cache.remove(id) }
            }
        } catch {
            throw .broken(error.description)
        }
    }
}
