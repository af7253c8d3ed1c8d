import Records
import TransferModel

extension Journal {
    /// Deletes the final events of a run whose end was not delivered and which continues now.
    func dropEnding(of run: inout JournalRun) throws(StoreError) {
        while let event = try lastEvent(of: run), event.kind.isEnding,
            let place = EventPlace(run.id, event.sequence)
        {
            let delete = try database.prepare("DELETE FROM events WHERE id = ?")
            delete.bind(1, place.raw)
            try delete.run()
            try stepBack(&run)
        }
    }

    private func lastEvent(of run: JournalRun) throws(StoreError) -> Event? {
        guard run.lastSequence > 0 else { return nil }
        var reading = try EventReading(run, after: run.lastSequence - 1, database)
        return try reading.next()
    }

    /// Sets the run's last sequence and seal to those of its last remaining event.
    private func stepBack(_ run: inout JournalRun) throws(StoreError) {
        let query = try database.prepare(
            "SELECT id, seal FROM events WHERE id > ? AND id <= ? ORDER BY id DESC LIMIT 1")
        query.bind(1, EventPlace.first(run.id))
        query.bind(2, EventPlace.last(run.id))
        if try query.step() {
            run.lastSequence = EventPlace(raw: query.integer(0) ?? 0).sequence
            run.chain = query.integer(1) ?? 0
        } else {
            run.lastSequence = 0
            run.chain = JournalSeal.start(of: run.id)
        }
    }
}

extension Event.Kind {
    /// Whether the event ends a session or the run, after all its tasks.
    fileprivate var isEnding: Bool {
        switch self {
        case .sessionFinishedEvents, .sessionInvalidated, .runFinished: true
        default: false
        }
    }
}
