import TransferModel

extension Journal {
    /// Deletes every trace of these runs, if their end was delivered; other runs are left alone.
    package func erase(_ runs: [RunID]) throws(StoreError) {
        guard !runs.isEmpty else { return }
        // Without its row, what a run has begun would look like that of a lost one.
        try sweepBegun()
        try write(durably: true) { () throws(StoreError) in
            for id in runs { try erase(id) }
        }
        scrub()
    }

    private func erase(_ id: RunID) throws(StoreError) {
        guard let run = try run(id), run.deliveredAt != nil else { return }
        let events = try database.prepare("DELETE FROM events WHERE id > ? AND id <= ?")
        events.bind(1, EventPlace.first(id))
        events.bind(2, EventPlace.last(id))
        try events.run()
        // All other rows of the run refer to this one, and go with it.
        let row = try database.prepare("DELETE FROM runs WHERE id = ?")
        row.bind(1, id.raw)
        try row.run()
    }
}
