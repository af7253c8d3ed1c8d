import Records
package import TransferModel

extension Journal {
    /// Writes events in one transaction and returns the number of the run's last event. Secrets were redacted before.
    /// Progress is left out; numbers must rise. With `durably`, or with an outcome among the events, all of them would
    /// survive a power cut when this returns.
    @discardableResult
    package func append(_ events: [Event], to id: RunID, durably: Bool = false) throws(StoreError) -> UInt64 {
        let events = events.filter(\.isJournalled)
        return try write(durably: durably || events.contains(where: \.isOutcome)) { () throws(StoreError) in
            var run = try known(id)
            if events.isEmpty { return run.lastSequence }
            let insert = try database.prepare("INSERT INTO events (id, seal, payload) VALUES (?, ?, ?)")
            var payload = RecordWriter(capacity: 1024)
            for event in events {
                guard event.sequence > run.lastSequence, run.isWhole, let place = EventPlace(id, event.sequence) else {
                    throw StoreError(
                        .other, "\(database.title): event \(event.sequence) of run \(id.raw) comes after its last")
                }
                if let task = event.task, Int(task.raw) >= run.taskCount {
                    throw StoreError(.other, "\(database.title): run \(id.raw) has no task \(task.raw)")
                }
                EventCodec.encode(event, into: &payload)
                run.chain = JournalSeal.event(after: run.chain, place, payload.bytes)
                run.lastSequence = event.sequence
                insert.bind(1, place.raw)
                insert.bind(2, run.chain)
                insert.bind(3, payload.bytes)
                try insert.run()
            }
            try update(run)
            return run.lastSequence
        }
    }

    /// Returns the events after the one of that number, in order, at most `limit`; empty for an old run, whose events
    /// are not kept.
    package func events(of id: RunID, after sequence: UInt64 = 0, limit: Int = .max) throws(StoreError) -> [Event] {
        try read { () throws(StoreError) in
            // The run's row says what the last of them must be: both are about one moment.
            beginReading()
            defer { endReading() }
            let run = try known(id)
            guard run.isWhole, sequence < run.lastSequence else { return [] }
            var reading = try EventReading(run, after: sequence, database)
            var events: [Event] = []
            while events.count < limit, let event = try reading.next() { events.append(event) }
            if events.count < limit { try reading.checkEnd() }
            return events
        }
    }
}

/// Reads a run's events in order and verifies each against the seal of the one before.
struct EventReading: ~Copyable {
    private let run: JournalRun
    private let query: Statement
    private let title: String
    private var chain: Int64

    init(_ run: JournalRun, after sequence: UInt64, _ database: borrowing Database) throws(StoreError) {
        let chain = try Self.chain(of: run.id, at: sequence, database)
        let query = try database.prepare("SELECT id, seal, payload FROM events WHERE id > ? AND id <= ? ORDER BY id")
        query.bind(1, EventPlace(run.id, sequence)?.raw ?? EventPlace.first(run.id))
        query.bind(2, EventPlace.last(run.id))
        self.run = run
        self.query = query
        self.chain = chain
        title = database.title
    }

    /// Returns the seal of the last event whose number is at most `sequence`.
    private static func chain(
        of run: RunID, at sequence: UInt64, _ database: borrowing Database
    ) throws(StoreError) -> Int64 {
        let query = try database.prepare("SELECT seal FROM events WHERE id > ? AND id <= ? ORDER BY id DESC LIMIT 1")
        query.bind(1, EventPlace.first(run))
        query.bind(2, EventPlace(run, sequence)?.raw ?? EventPlace.last(run))
        return try query.step() ? query.integer(0) ?? 0 : JournalSeal.start(of: run)
    }

    mutating func next() throws(StoreError) -> Event? {
        guard try query.step() else { return nil }
        let place = EventPlace(raw: query.integer(0) ?? 0)
        let payload = query.blob(2) ?? []
        chain = JournalSeal.event(after: chain, place, payload)
        guard query.integer(1) == chain else { throw damage("event \(place.sequence)") }
        let event = try decoded(payload, place.sequence)
        guard event.sequence == place.sequence else { throw damage("event \(place.sequence)") }
        return event
    }

    private func decoded(_ payload: [UInt8], _ sequence: UInt64) throws(StoreError) -> Event {
        do throws(RecordProblem) {
            return try EventCodec.decode(payload)
        } catch {
            // Sealed as it is, a later version wrote it.
            throw StoreError(.other, "\(title): event \(sequence) of run \(run.id.raw): \(error)")
        }
    }

    /// Throws if events are missing after the last one read.
    func checkEnd() throws(StoreError) {
        guard chain == run.chain else { throw damage("the end of the events") }
    }

    private func damage(_ what: String) -> StoreError {
        StoreError(.damaged, "\(title): \(what) of run \(run.id.raw) is not as it was written")
    }
}
