import TransferModel

/// Verifies the seal of every row: run at an opening after damage was met, and by tests.
enum JournalProof {
    static func prove(_ database: borrowing Database) throws(StoreError) {
        for run in try RunRow.all(database) where run.isWhole {
            _ = try Journal.tasks(of: run, database)
            var reading = try EventReading(run, after: 0, database)
            while try reading.nextIsThere() {}
            try reading.checkEnd()
        }
        let inputs = try database.prepare("SELECT kind, name, bytes, seal, run FROM inputs")
        while try inputs.step() { _ = try SealedInput.read(inputs, of: RunID(raw: inputs.integer(4) ?? 0), database) }
    }
}

extension EventReading {
    fileprivate mutating func nextIsThere() throws(StoreError) -> Bool {
        do throws(StoreError) {
            return try next() != nil
        } catch {
            // Written by a later version, and undamaged.
            if error.kind == .other { return true }
            throw error
        }
    }
}
