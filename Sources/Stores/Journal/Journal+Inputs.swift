import TransferModel

extension Journal {
    /// Keeps one more thing that the run needs in order to go on, such as a value that a task captured. It takes the place
    /// of one of the same kind and name.
    package func keep(_ input: JournalInput, of id: RunID) throws(StoreError) {
        try write(durably: true) { () throws(StoreError) in
            guard try known(id).deliveredAt == nil else {
                throw StoreError(.other, "\(database.title): run \(id.raw) has ended and needs nothing any more")
            }
            let delete = try database.prepare("DELETE FROM inputs WHERE run = ? AND kind = ? AND name = ?")
            delete.bind(1, id.raw)
            delete.bind(2, input.kind)
            delete.bind(3, input.name)
            try delete.run()
            try insert(input, of: id)
        }
    }

    /// In the order in which they were given.
    package func inputs(of id: RunID) throws(StoreError) -> [JournalInput] {
        try read { () throws(StoreError) in
            let query = try database.prepare("SELECT kind, name, bytes, seal FROM inputs WHERE run = ? ORDER BY id")
            query.bind(1, id.raw)
            var inputs: [JournalInput] = []
            while try query.step() { inputs.append(try Self.input(query, of: id, database)) }
            return inputs
        }
    }

    static func input(
        _ row: borrowing Statement, of id: RunID, _ database: borrowing Database
    ) throws(StoreError) -> JournalInput {
        let input = JournalInput(kind: row.text(0) ?? "", name: row.text(1) ?? "", bytes: row.blob(2) ?? [])
        guard row.integer(3) == JournalSeal.input(input, of: id) else {
            throw damage(database, "what run \(id.raw) was given")
        }
        return input
    }

    func insert(_ input: JournalInput, of id: RunID) throws(StoreError) {
        let insert = try database.prepare("INSERT INTO inputs (run, kind, name, bytes, seal) VALUES (?, ?, ?, ?, ?)")
        insert.bind(1, id.raw)
        insert.bind(2, input.kind)
        insert.bind(3, input.name)
        insert.bind(4, input.bytes)
        insert.bind(5, JournalSeal.input(input, of: id))
        try insert.run()
    }
}
