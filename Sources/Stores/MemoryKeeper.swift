package import HTTPRules
import Synchronization
package import SystemIO
package import TransferModel

/// Where a run keeps what its sessions remember, and for which sessions.
package struct MemoryPlace: Sendable {
    /// State folder of the store.
    package let folder: String
    /// The sessions by number; `nil` for a session that remembers nothing.
    package let sessions: [StoredSessionName?]
    /// The job's secrets: a record that contains one is not written.
    package let secrets: Redactor
    /// Disk caches, by session number; `nil` for a session without one.
    package let caches: [CachePlace?]
    /// The store of the folder, if it was opened ahead of the run; the `MemoryKeeper` of this place takes it over.
    package var ahead: StoreAhead?

    package init(folder: String, sessions: [StoredSessionName?], secrets: Redactor, caches: [CachePlace?] = []) {
        self.caches = caches
        self.folder = folder
        self.sessions = sessions
        self.secrets = secrets
    }

    /// The place of one job's sessions.
    package init(folder: String, job: String, sessions: [String?], secrets: Redactor, caches: [CachePlace?] = []) {
        let names = sessions.map { name in name.map { StoredSessionName(job: job, name: $0) } }
        self.init(folder: folder, sessions: names, secrets: secrets, caches: caches)
    }
}

/// What the store knows a session by.
package struct StoredSessionName: Hashable, Sendable {
    /// Key of the job in the store: its name if it has one, else its absolute path.
    package let job: String
    /// The session's name in the job.
    package let name: String
    package init(job: String, name: String) {
        self.job = job
        self.name = name
    }
}

/// What the loop asks of the store's thread.
package enum MemoryOrder: Sendable {
    case find(TaskIndex, SessionIndex, destination: String)
    /// Asks whether any session, of any job, has a record for the file at this path.
    case isKnown(TaskIndex, path: String)
    /// The answer became the file at `destination`.
    case file(SessionIndex, destination: String, FiledAnswer)
    /// The file at `destination` was found unchanged, and would survive a power cut.
    case confirm(SessionIndex, destination: String, KeptValidators)
    /// State of the partial file of `destination`; `nil` when there is none any more.
    case part(SessionIndex, destination: String, ResumeRecord?)
    /// The file at `destination` is complete: an earlier run's partial file is useless. `useless` reports its path.
    case dropPart(SessionIndex, destination: String)
    case upload(SessionIndex, UploadChange)
    /// Asks what the session last sent to the URL.
    case findSent(TaskIndex, SessionIndex, url: String)
    /// The server at the URL accepted this file whole; `nil` when its content is no longer known.
    case sent(SessionIndex, url: String, SentUpload?)
    case cache(SessionIndex, CacheOrder)
    /// Changes to what the session knows of servers, in the order in which it learned them.
    case learned(SessionIndex, [SessionState.Change])
    /// Secrets in addition to the job's: from here on a record that contains one is not written.
    case captured([KnownSecret])
    /// Write everything ordered so far without delay.
    case write
    /// What was ordered so far is all that the store has to know of a noted file: once that is written, its notes end.
    case crossOut(NotebookEntry)
}

/// What the store's thread answers.
package enum MemoryReport: Sendable {
    /// The store was opened; reported once, as the first.
    case opened(OpenedMemory)
    case found(TaskIndex, KeptValidators?, ResumeRecord?)
    case known(TaskIndex, Bool)
    case foundSent(TaskIndex, SentUpload?)
    /// The answers cached on the disk for the URL that the task requests.
    case cached(TaskIndex, [CachedEntry])
    /// Body of a cached answer; `nil` when it is gone or does not match its digest.
    case cachedBody(TaskIndex, CacheEntryID, [UInt8]?)
    /// A partial file that no run will resume.
    case useless(path: String)
}

/// What the store knows at its opening.
package struct OpenedMemory: Sendable {
    /// Sessions with recorded files, and their folders; a session that is missing needs no lookups.
    package var places: [SessionIndex: KnownPlaces] = [:]
    /// Absolute paths of the partial files of all sessions of this user; `nil` when the store cannot be read.
    package var parts: Set<String>?
    /// Absolute paths of partial files that no run will resume.
    package var forgotten: Set<String> = []
    /// What the sessions learned of servers.
    package var sessionStates: [SessionIndex: SessionState.Kept] = [:]
    /// Unfinished uploads whose servers hold a part of the body.
    package var uploads: [SessionIndex: [UploadRecord]] = [:]
    /// Whether any session recorded a file that a server accepted whole.
    package var hasSentUploads = false
    /// Sessions with a disk cache.
    package var caches: [SessionIndex: OpenedCache] = [:]
}

/// The thread that reads and writes what sessions remember between runs, so that neither the loop nor file delivery
/// waits for SQLite. Orders are carried out in batches, and changes are written in one transaction when `WritePace`
/// says so.
///
/// A store that cannot be used costs requests, never a wrong file: lookups then find nothing.
package final class MemoryKeeper: Sendable {
    private let orders: Mailbox<MemoryOrder>
    private let thread: WorkThread
    private let problems = Mutex<[String]>([])
    /// The pause before store work is tried again for which the process had no descriptor left.
    private static let pause = TimeSpan.milliseconds(500)

    package init(_ place: MemoryPlace, reports: Mailbox<MemoryReport>) throws(SystemError) {
        thread = place.ahead?.thread ?? WorkThread()
        let wake = thread.wake
        orders = Mailbox(wake: { wake.signal() })
        let order = StoreAhead.Work { [self] store in
            let worker = MemoryWorker(place, reports, store) { [thread] in
                if thread.isEnding { return false }
                _ = thread.wake.wait(nanoseconds: Self.pause.nanoseconds)
                return !thread.isEnding
            }
            worker.open()
            work(worker)
            problems.withLock { $0 = worker.problems }
        }
        if let ahead = place.ahead {
            ahead.goOn(order)
        } else {
            try thread.start(named: "store") { order.body(nil) }
        }
    }

    /// Queues orders for the thread, in their order. May be called from any thread.
    package func submit(_ batch: [MemoryOrder]) { orders.post(batch) }

    /// Ends the thread after the orders submitted so far are written and the store is closed; does not wait for that.
    package func beginToFinish() { thread.beginToFinish() }

    /// Waits until the rest is written and the store closed; returns its problems as sentences for people.
    package func finish() -> [String] {
        thread.finish()
        return problems.withLock { $0 }
    }

    private func work(_ worker: MemoryWorker) {
        while true {
            let isEnding = thread.isEnding
            let batch = orders.takeAll()
            worker.perform(batch)
            worker.writeIfDue(isLast: isEnding)
            if isEnding, batch.isEmpty { return worker.close() }
            if batch.isEmpty { worker.wait(on: thread.wake) }
        }
    }
}
