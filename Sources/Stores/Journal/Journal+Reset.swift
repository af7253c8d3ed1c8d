import TransferModel

extension Journal {
    /// Leaves nothing of these runs, whose end is known. Others are left alone.
    package func erase(_ runs: [RunID]) throws(StoreError) {
        guard !runs.isEmpty else { return }
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
        // What else is there of it refers to its row, and goes with it.
        let row = try database.prepare("DELETE FROM runs WHERE id = ?")
        row.bind(1, id.raw)
        try row.run()
    }
}
