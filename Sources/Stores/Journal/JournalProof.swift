import TransferModel

/// Reads every row against its seal: after somebody met damage, and for tests.
enum JournalProof {
    static func prove(_ database: borrowing Database) throws(StoreError) {
        for run in try runs(database) where run.isWhole {
            _ = try Journal.history(of: run, database)
            var reading = try EventReading(run, after: 0, database)
            while try reading.nextIsThere() {}
            try reading.checkEnd()
        }
        let inputs = try database.prepare("SELECT kind, name, bytes, seal, run FROM inputs")
        while try inputs.step() { _ = try Journal.input(inputs, of: RunID(raw: inputs.integer(4) ?? 0), database) }
    }

    private static func runs(_ database: borrowing Database) throws(StoreError) -> [JournalRun] {
        let query = try database.prepare(RunRow.query)
        query.bind(1, 0)
        query.bind(2, .max)
        var runs: [JournalRun] = []
        while try query.step() { runs.append(try RunRow.read(query, database)) }
        return runs
    }
}

extension EventReading {
    fileprivate mutating func nextIsThere() throws(StoreError) -> Bool {
        do throws(StoreError) {
            return try next() != nil
        } catch {
            // Written by a later version, and unharmed.
            if error.kind == .other { return true }
            throw error
        }
    }
}
