import HTTPRules
import SystemIO
import TransferModel

/// The store's side of `ValidatorKeeper`: everything here belongs to its thread.
final class ValidatorWorker {
    private let place: ValidatorPlace
    private let reports: Mailbox<ValidatorReport>
    /// `nil` once it cannot be used.
    private var store: Store?
    private var query: ValidatorQuery?
    private var sessions: [SessionIndex: StoredSession] = [:]
    private var unwritten: [SessionIndex: [ValidatorChange]] = [:]
    private var unwrittenCount = 0
    private var writeDue: Instant?
    private(set) var problems: [String] = []

    init(_ place: ValidatorPlace, _ reports: Mailbox<ValidatorReport>) {
        self.place = place
        self.reports = reports
    }

    func open() {
        var known: Set<SessionIndex> = []
        attempt { () throws(StoreError) in
            let store = try Store.open(folder: place.folder)
            self.store = store
            if let quarantine = store.quarantined {
                problems.append("\(quarantine.reason): it was put aside as \(quarantine.path)")
            }
            for (number, name) in place.sessions.enumerated() {
                guard let name, let session = try store.existingSession(job: place.job, name: name) else { continue }
                let index = SessionIndex(raw: UInt16(number))
                sessions[index] = session
                if try store.hasValidators(session) { known.insert(index) }
            }
            query = try ValidatorQuery(store)
        }
        reports.post(.opened(store == nil ? [] : known))
    }

    /// Moving the log of changes into the file waits for the disk twice: who opens the store next reads the log as well,
    /// and when it is long it is moved while the run goes on.
    func close() {
        query = nil
        store?.leaveJournal()
        store = nil
    }

    /// The first failure is told, and from then on the store is left alone: it would fail again, or keep us waiting.
    private func attempt(_ work: () throws(StoreError) -> Void) {
        do throws(StoreError) {
            try work()
        } catch {
            problems.append(error.description)
            close()
        }
    }

    func perform(_ batch: [ValidatorOrder]) {
        var answers: [ValidatorReport] = []
        for order in batch {
            switch order {
            case .find(let task, let session, let destination):
                answers.append(.found(task, find(session, destination)))
            case .file(let session, let destination, let answer): take(session, destination, answer)
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

    /// Where nothing identifies the file, what was kept of an earlier one goes.
    private func take(_ session: SessionIndex, _ destination: String, _ answer: FiledAnswer) {
        guard store != nil else { return }
        let isSecret = !place.secrets.isEmpty && place.secrets.redacted(answer.url) != answer.url
        let kept = isSecret ? nil : answer.kept
        if kept == nil, sessions[session] == nil { return }
        unwritten[session, default: []].append(ValidatorChange(destination: destination, kept: kept))
        unwrittenCount += 1
        if writeDue == nil { writeDue = Clocks.instant() + ValidatorKeeper.writeAfter }
        if unwrittenCount >= ValidatorKeeper.writeCount { write() }
    }

    func writeIfDue(isLast: Bool) {
        guard let due = writeDue, isLast || due <= Clocks.instant() else { return }
        write()
    }

    private func write() {
        attempt { () throws(StoreError) in
            try store?.batch { () throws(StoreError) in
                for (session, changes) in unwritten { try write(changes, of: session) }
            }
        }
        unwritten = [:]
        unwrittenCount = 0
        writeDue = nil
    }

    private func write(_ changes: [ValidatorChange], of session: SessionIndex) throws(StoreError) {
        guard let store, let name = place.sessions[Int(session.raw)] else { return }
        let now = Clocks.wall()
        let stored = try store.session(job: place.job, name: name, now: now)
        sessions[session] = stored
        try store.change(stored, changes, now: now)
    }

    func wait(on wake: WakeSignal) {
        guard let due = writeDue else { return wake.wait() }
        let left = due - Clocks.instant()
        if left > .zero { _ = wake.wait(nanoseconds: left.nanoseconds) }
    }
}
