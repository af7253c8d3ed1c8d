import HTTPRules
import SystemIO
import TransferModel

/// The store's side of `MemoryKeeper`: everything here belongs to its thread.
final class MemoryWorker {
    private let place: MemoryPlace
    /// A record that contains one of these is not written.
    private var secrets: Redactor
    private let reports: Mailbox<MemoryReport>
    /// `nil` before there is something to read or write, and once the store cannot be used.
    private var store: Store?
    /// A store that was opened before the job was known.
    private var ahead: Store?
    private var isGivenUp = false
    private var query: ValidatorQuery?
    private var caches: PendingCacheChanges
    private var sessions: [SessionIndex: StoredSession] = [:]
    /// Resume records of each session, by destination, as the store had them when it was opened.
    private var parts: [SessionIndex: [ExactText: ResumeRecord]] = [:]
    private var unwritten = UnwrittenRecords()
    /// Noted files of which the store knows all once the unwritten changes are written.
    private var settled: [NotebookEntry] = []
    private var pace = WritePace()
    private(set) var problems: [String] = []
    /// Waits a while before store work is tried again; returns `false` when it is not to be.
    private let pause: () -> Bool

    init(
        _ place: MemoryPlace, _ reports: Mailbox<MemoryReport>, _ ahead: Store?,
        pause: @escaping () -> Bool = { false }
    ) {
        self.pause = pause
        self.place = place
        self.ahead = ahead
        secrets = place.secrets
        self.reports = reports
        caches = PendingCacheChanges(place.caches)
    }

    /// Opens the store and reports its content. A missing store is created when there is something to write.
    func open() {
        var memory = OpenedMemory()
        memory.parts = []
        if Store.isThere(folder: place.folder) || NotebookFolder.isThere(place.folder) {
            memory.parts = nil
            attempt { () throws(StoreError) in memory = try read(opened()) }
            if isGivenUp { memory.places = [:] }
        } else {
            ahead = nil
        }
        reports.post(.opened(memory))
    }

    private func read(_ store: Store) throws(StoreError) -> OpenedMemory {
        var memory = OpenedMemory()
        memory.forgotten = store.forgotten
        for (number, name) in place.sessions.enumerated() {
            guard let name, let session = try store.existingSession(job: name.job, name: name.name) else { continue }
            let index = SessionIndex(raw: UInt16(number))
            sessions[index] = session
            let records = try store.resumeRecords(session)
            if !records.isEmpty { parts[index] = records }
            let places = KnownPlaces(try store.folders(session), and: records.keys.map(\.text))
            if !places.isNowhere { memory.places[index] = places }
            let uploads = try store.uploads(session, now: Clocks.wall())
            if !uploads.isEmpty { memory.uploads[index] = uploads }
            let state = try store.sessionState(session)
            if !state.isEmpty { memory.sessionStates[index] = state }
            if caches.has(index), let cache = try store.cache(of: session) {
                caches.use(cache.key, index)
                memory.caches[index] = cache
            }
        }
        memory.parts = try store.partFiles()
        memory.hasSentUploads = try store.hasSentUploads()
        query = try ValidatorQuery(store)
        return memory
    }

    private func opened() throws(StoreError) -> Store {
        if let store { return store }
        if let ahead {
            (store, self.ahead) = (ahead, nil)
            ahead.takeNotebooks()
            ahead.forgetOld()
            return ahead
        }
        let made = try Store.open(folder: place.folder)
        if let quarantine = made.quarantined {
            problems.append("\(quarantine.reason): it was put aside as \(quarantine.path)")
        }
        store = made
        return made
    }

    /// Closes the store without moving its log into the file, which waits for the disk twice: the next opening reads
    /// the log as well, and a long log is moved while a run goes on.
    func close() {
        query = nil
        caches.close()
        store?.leaveJournal()
        store = nil
    }

    /// Runs store work, again and again while the process has no descriptor left for it: other tasks give some back. Any
    /// other failure is recorded, and from then on the store is not used: it would fail or block again.
    private func attempt(_ work: () throws(StoreError) -> Void) {
        while true {
            do throws(StoreError) {
                return try work()
            } catch {
                if error.kind == .processLimit, pause() { continue }
                problems.append(error.description)
                isGivenUp = true
                return close()
            }
        }
    }

    func perform(_ batch: [MemoryOrder]) {
        if batch.count > 1 { store?.beginReading() }
        defer { store?.endReading() }
        var answers: [MemoryReport] = []
        for order in batch {
            switch order {
            case .find(let task, let session, let destination):
                answers.append(.found(task, find(session, destination), parts[session]?[ExactText(destination)]))
            case .isKnown(let task, let path): answers.append(.known(task, isKnown(path)))
            case .file(let session, let destination, let answer): recordPublishedFile(session, destination, answer)
            case .confirm(let session, let destination, let kept): put(session, destination, kept)
            case .part(let session, let destination, let record): recordPartialFile(session, destination, record)
            case .dropPart(let session, let destination):
                guard let record = parts[session]?.removeValue(forKey: ExactText(destination)) else { continue }
                recordPartialFile(session, destination, nil)
                let folder = record.folder == "/" ? "" : record.folder
                answers.append(.useless(path: "\(folder)/\(record.part.name)"))
            case .upload(let session, let change): recordUpload(session, change)
            case .findSent(let task, let session, let url): answers.append(.foundSent(task, findSent(session, url)))
            case .sent(let session, let url, let sent): noteSent(sent, to: url, session)
            case .cache(let session, let order):
                if let answer = perform(order, session) { answers.append(answer) }
            case .learned(let session, let changes): recordSessionState(session, changes)
            case .captured(let news): secrets = secrets.adding(news)
            case .write: pace.hurry(Clocks.instant())
            case .crossOut(let entry):
                if !isGivenUp, pace.due == nil { entry.crossOut() } else { settled.append(entry) }
            }
        }
        reports.post(answers)
    }

    private func find(_ session: SessionIndex, _ destination: String) -> KeptValidators? {
        guard let stored = sessions[session] else { return nil }
        var found: KeptValidators?
        attempt { () throws(StoreError) in found = try query?.find(stored, destination) }
        return found
    }

    /// Whether any session has a record for the path, with or without its links resolved; `true` where that is unknown.
    private func isKnown(_ path: String) -> Bool {
        guard !isGivenUp else { return true }
        var isKnown = true
        attempt { () throws(StoreError) in
            isKnown = try store?.isKnown(path) ?? false
            guard !isKnown, let straight = Folders.resolved(path)?.text, straight != path else { return }
            isKnown = try store?.isKnown(straight) ?? false
        }
        return isKnown
    }

    /// Records a published file. Where nothing identifies the file's version, the record of an earlier one is deleted.
    private func recordPublishedFile(_ session: SessionIndex, _ destination: String, _ answer: FiledAnswer) {
        guard !isGivenUp else { return }
        let found = answer.kept
        let kept = holdsSecret([destination, found?.url, found?.etag, found?.lastModified]) ? nil : found
        if let path = answer.path, kept != nil || store != nil {
            unwritten[session].publishedPaths.append(path)
            if kept == nil { noteUnwritten() }
        }
        if kept == nil, !mayHold(session, \.validators) { return }
        put(session, destination, kept)
    }

    /// Whether the session may have a record that a deletion would remove: in the store or among the unwritten changes.
    private func mayHold<Change>(
        _ session: SessionIndex, _ changes: KeyPath<UnwrittenRecords.OfSession, [Change]>
    ) -> Bool {
        sessions[session] != nil || !unwritten[session][keyPath: changes].isEmpty
    }

    private func put(_ session: SessionIndex, _ destination: String, _ kept: KeptValidators?) {
        guard !isGivenUp else { return }
        unwritten[session].validators.append(ValidatorChange(destination: destination, kept: kept))
        noteUnwritten()
    }

    /// Records a partial file. One that contains a secret is not recorded, and the previous record is deleted as
    /// outdated.
    private func recordPartialFile(_ session: SessionIndex, _ destination: String, _ record: ResumeRecord?) {
        guard !isGivenUp, !holdsSecret([destination]) else { return }
        let kept = record.flatMap { record in
            let headers = String(decoding: record.point.headers.bytes, as: UTF8.self)
            return holdsSecret([record.start, record.point.url, record.point.validator, headers]) ? nil : record
        }
        if kept == nil, !mayHold(session, \.parts) { return }
        unwritten[session].parts.append(ResumeChange(destination: destination, record: kept))
        noteUnwritten()
    }

    private func recordUpload(_ session: SessionIndex, _ change: UploadChange) {
        let key = change.key
        guard !isGivenUp, !holdsSecret([key.task, key.url, key.file]) else { return }
        let kept = change.record.flatMap { holdsSecret([$0.point.place]) ? nil : $0 }
        if kept == nil, !mayHold(session, \.uploads) { return }
        unwritten[session].uploads.append(UploadChange(key: key, record: kept))
        noteUnwritten()
    }

    /// Returns what was sent to the URL; unwritten changes come first.
    private func findSent(_ session: SessionIndex, _ url: String) -> SentUpload? {
        if let news = unwritten.sent[ExactText(url)] { return news.session == session ? news.sent : nil }
        guard !isGivenUp, let store, let stored = sessions[session] else { return nil }
        var found: SentUpload?
        attempt { () throws(StoreError) in found = try store.sentUpload(stored, url: url) }
        return found
    }

    private func noteSent(_ sent: SentUpload?, to url: String, _ session: SessionIndex) {
        guard !isGivenUp else { return }
        let kept = sent.flatMap { holdsSecret([url, $0.path, $0.etag, $0.lastModified]) ? nil : $0 }
        if kept == nil, store == nil, unwritten.sent.isEmpty { return }
        unwritten.sent[ExactText(url)] = (session, kept)
        noteUnwritten()
    }

    private func recordSessionState(_ session: SessionIndex, _ changes: [SessionState.Change]) {
        guard !isGivenUp else { return }
        unwritten[session].states += changes
        noteUnwritten()
    }

    // MARK: Caches

    /// Carries out an order of the cache. Pending changes under the URL are written before it is searched.
    private func perform(_ order: CacheOrder, _ session: SessionIndex) -> MemoryReport? {
        switch order {
        case .find(let task, let url):
            if caches.awaitsWriting(session, url) { write() }
            return .cached(task, find(session, url))
        case .read(let task, let id, let url):
            if caches.awaitsWriting(session, url) { write() }
            return .cachedBody(task, id, body(session, id))
        case .put(let stored, let body):
            guard !isGivenUp else { return nil }
            if let problem = caches.put(stored, body, session) { problems.append(problem) }
            noteUnwritten()
        case .change(let change):
            guard !isGivenUp else { return nil }
            caches.add(change, session)
            // A use can wait until something else is written, or until the end.
            if case .used = change { return nil }
            noteUnwritten()
        }
        return nil
    }

    private func find(_ session: SessionIndex, _ url: String) -> [CachedEntry] {
        guard let store, let stored = sessions[session] else { return [] }
        var found: [CachedEntry] = []
        attempt { () throws(StoreError) in found = try caches.find(store, stored, session, url) }
        return found
    }

    private func body(_ session: SessionIndex, _ id: CacheEntryID) -> [UInt8]? {
        guard let store, let stored = sessions[session] else { return nil }
        var body: [UInt8]?
        attempt { () throws(StoreError) in body = try caches.body(store, stored, session, id) }
        return body
    }

    private func holdsSecret(_ texts: [String?]) -> Bool { secrets.holds(texts) }

    private func noteUnwritten() { pace.noted(Clocks.instant()) }

    func writeIfDue(isLast: Bool) {
        if isLast ? pace.due != nil || caches.hasChanges : pace.isDue(Clocks.instant()) { write() }
    }

    private func write() {
        store?.endReading()
        // Creating the store is not part of each write's time.
        var start = Clocks.instant()
        attempt { () throws(StoreError) in
            let store = try opened()
            let now = Clocks.wall()
            start = Clocks.instant()
            try store.batch { () throws(StoreError) in
                let owner = { (session: SessionIndex) throws(StoreError) in try self.stored(session, in: store, now) }
                try unwritten.write(to: store, sessions, now, owner: owner)
                for session in caches.changed {
                    if let stored = try stored(session, in: store, now) {
                        try caches.write(store, stored, session, now)
                    }
                }
            }
            caches.tidy(store, sessions, now)
        }
        // Without the store the notes are all that a later run has.
        if !isGivenUp { for entry in settled { entry.crossOut() } }
        settled = []
        caches.forgetChanges()
        unwritten = UnwrittenRecords()
        pace.wrote(start, Clocks.instant())
    }

    private func stored(
        _ session: SessionIndex, in store: Store, _ now: WallTime
    ) throws(StoreError) -> StoredSession? {
        guard let name = place.sessions[Int(session.raw)] else { return nil }
        let stored = try store.session(job: name.job, name: name.name, now: now)
        sessions[session] = stored
        return stored
    }

    func wait(on wake: WakeSignal) {
        guard let due = pace.due else { return wake.wait() }
        let left = due - Clocks.instant()
        if left > .zero { _ = wake.wait(nanoseconds: left.nanoseconds) }
    }
}
