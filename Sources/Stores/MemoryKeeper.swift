package import HTTPRules
import Synchronization
package import SystemIO
package import TransferModel

/// Whose sessions outlive the run, and where they are kept.
package struct MemoryPlace: Sendable {
    package let folder: String
    /// Who the job is: its name if written, else its absolute path.
    package let job: String
    /// The names of the job's sessions, by number; `nil` for one of which nothing is kept.
    package let sessions: [String?]
    /// The job's: what holds one of them is not written down.
    package let secrets: Redactor
    /// By session; `nil` for one whose answers are not kept on the disk.
    package let caches: [CachePlace?]
    /// The store of that folder, if somebody began to open it. Whoever uses this place is the one to use it.
    package var ahead: StoreAhead?

    package init(folder: String, job: String, sessions: [String?], secrets: Redactor, caches: [CachePlace?] = []) {
        self.caches = caches
        self.folder = folder
        self.job = job
        self.sessions = sessions
        self.secrets = secrets
    }
}

/// What the loop asks of the store.
package enum MemoryOrder: Sendable {
    case find(TaskIndex, SessionIndex, destination: String)
    /// Whether any session, of any job, keeps something of the file at this path.
    case isKnown(TaskIndex, path: String)
    /// The answer became the file at `destination`.
    case file(SessionIndex, destination: String, FiledAnswer)
    /// The file that stands at `destination` was found to be as it was, and would survive a power cut.
    case confirm(SessionIndex, destination: String, KeptValidators)
    /// So much is there of the file at `destination`; `nil` when nothing is any more.
    case part(SessionIndex, destination: String, ResumeRecord?)
    /// The file at `destination` stands there: what an earlier run left of it is of no use. `useless` tells where that is.
    case dropPart(SessionIndex, destination: String)
    case upload(SessionIndex, UploadChange)
    /// Asks what the session sent to the URL.
    case findSent(TaskIndex, SessionIndex, url: String)
    /// The server at the URL took this file whole; `nil` when what it holds is not known any more.
    case sent(SessionIndex, url: String, SentUpload?)
    case cache(SessionIndex, CacheOrder)
    /// In the order in which it was learned.
    case learned(SessionIndex, [SessionLore.Change])
    /// Secrets beside the job's: what holds one is not written down from here on.
    case captured([KnownSecret])
    /// What was told up to here is to be written at once.
    case write
}

/// What the store answers.
package enum MemoryReport: Sendable {
    /// Once.
    case opened(OpenedMemory)
    case found(TaskIndex, KeptValidators?, ResumeRecord?)
    case known(TaskIndex, Bool)
    case foundSent(TaskIndex, SentUpload?)
    /// What lies on the disk under the URL that a task asked for.
    case cached(TaskIndex, [CachedEntry])
    /// `nil`: it is not there any more, or not what was kept.
    case cachedBody(TaskIndex, CacheEntryID, [UInt8]?)
    /// A half-done file that nobody will go on with.
    case useless(path: String)
}

/// What is known as soon as the store is open.
package struct OpenedMemory: Sendable {
    /// The sessions of which files are kept, and where: the others need not ask.
    package var places: [SessionIndex: KnownPlaces] = [:]
    /// The half-done files of all sessions of this user; `nil` when nobody can say.
    package var parts: Set<String>?
    /// Half-done files that nobody will go on with.
    package var forgotten: Set<String> = []
    /// What the sessions learned of servers.
    package var lore: [SessionIndex: SessionLore.Kept] = [:]
    /// What servers hold of bodies that were cut.
    package var uploads: [SessionIndex: [UploadRecord]] = [:]
    /// Whether anything is known of files that servers took whole.
    package var hasSentUploads = false
    /// Of which answers are kept.
    package var caches: [SessionIndex: OpenedCache] = [:]
}

/// The thread that reads and writes what is kept from run to run, so that neither the loop nor the files wait for SQLite. Orders are
/// carried out in batches, and what is to be kept is written in one transaction when `WritePace` says so.
///
/// A store that cannot be used costs requests, never a wrong file: whoever asks then hears that nothing is kept.
package final class MemoryKeeper: Sendable {
    private let orders: Mailbox<MemoryOrder>
    private let thread: WorkThread
    private let problems = Mutex<[String]>([])

    package init(_ place: MemoryPlace, reports: Mailbox<MemoryReport>) throws(SystemError) {
        thread = place.ahead?.thread ?? WorkThread()
        let wake = thread.wake
        orders = Mailbox(wake: { wake.signal() })
        let order = StoreAhead.Work { [self] store in
            let worker = MemoryWorker(place, reports, store)
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

    package func submit(_ batch: [MemoryOrder]) { orders.post(batch) }

    /// What was submitted is the last: it is written, and the store closed, without anybody waiting for that.
    package func beginToFinish() { thread.beginToFinish() }

    /// Waits until what is left is written and the store closed; says what went wrong with it: sentences for people.
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
