import Digests
import Records
import TransferModel

extension Journal {
    /// Records one more input that the run needs to continue, such as a value that a task captured. It replaces an
    /// input of the same kind and name.
    package func keep(_ input: JournalInput, of id: RunID) throws(StoreError) {
        try write(durably: true) { () throws(StoreError) in
            let run = try known(id)
            guard run.deliveredAt == nil else {
                throw StoreError(.other, "\(database.title): run \(id.raw) has ended and needs nothing any more")
            }
            try replace([input], of: run)
        }
    }

    /// Returns the run's inputs in the order in which they were given: all, or those of one or two kinds. Throws where
    /// the run's key is gone: the inputs can then never be read again.
    package func inputs(of id: RunID, kinds: [String] = []) throws(StoreError) -> [JournalInput] {
        try read { () throws(StoreError) in
            // The run and its inputs must be read as of one moment.
            beginReading()
            defer { endReading() }
            let run = try known(id)
            let sealed = try SealedInput.all(of: id, kinds: kinds, database)
            if sealed.isEmpty { return [] }
            let seal = try seal(of: run)
            var inputs: [JournalInput] = []
            for input in sealed {
                guard let opened = seal.opened(input) else {
                    throw StoreError(
                        .sealedForEver,
                        "\(database.title): what run \(id.raw) was given was sealed with another key than its own")
                }
                inputs.append(opened)
            }
            return inputs
        }
    }

    /// Returns the run's inputs of one kind, in the order in which they were given.
    package func inputs(of id: RunID, kind: String) throws(StoreError) -> [JournalInput] {
        try inputs(of: id, kinds: [kind])
    }

    /// Returns the number of the run's inputs of one kind, without reading them.
    package func inputCount(of id: RunID, kind: String) throws(StoreError) -> Int {
        try read { () throws(StoreError) in
            let query = try database.prepare("SELECT count(*) FROM inputs WHERE run = ? AND kind = ?")
            query.bind(1, id.raw)
            query.bind(2, kind)
            return try query.step() ? Int(query.integer(0) ?? 0) : 0
        }
    }

    private func seal(of run: JournalRun) throws(StoreError) -> InputSeal {
        do throws(StoreError) {
            return InputSeal(run: run.name, key: try files.key(of: run.name))
        } catch {
            throw StoreError(
                error.kind, "\(database.title): what run \(run.id.raw) was given cannot be read or added to: \(error)")
        }
    }

    func replace(_ inputs: [JournalInput], of run: JournalRun) throws(StoreError) {
        if inputs.isEmpty { return }
        let seal = try seal(of: run)
        let delete = try database.prepare("DELETE FROM inputs WHERE run = ? AND kind = ? AND name = ?")
        for input in inputs {
            delete.bind(1, run.id.raw)
            delete.bind(2, input.kind)
            delete.bind(3, input.name)
            try delete.run()
            try insert(seal.closed(input), of: run.id)
        }
    }

    func insert(_ input: SealedInput, of id: RunID) throws(StoreError) {
        let insert = try database.prepare("INSERT INTO inputs (run, kind, name, bytes, seal) VALUES (?, ?, ?, ?, ?)")
        insert.bind(1, id.raw)
        insert.bind(2, input.kind)
        insert.bind(3, input.name)
        insert.bind(4, input.sealed)
        insert.bind(5, JournalSeal.input(input, of: id))
        try insert.run()
    }
}

/// An input as it stands in the journal: its kind and name are readable, its bytes are encrypted.
struct SealedInput {
    let kind: String
    let name: String
    let sealed: [UInt8]

    /// Reads the run's inputs in order. `kinds`: at most two kinds to read; all kinds when empty.
    static func all(
        of id: RunID, kinds: [String], _ database: borrowing Database
    ) throws(StoreError) -> [SealedInput] {
        let query = try database.prepare(
            """
            SELECT kind, name, bytes, seal FROM inputs
            WHERE run = ?1 AND (?2 IS NULL OR kind IN (?2, ?3)) ORDER BY id
            """)
        query.bind(1, id.raw)
        query.bind(2, kinds.first)
        query.bind(3, kinds.last)
        var inputs: [SealedInput] = []
        while try query.step() { inputs.append(try read(query, of: id, database)) }
        return inputs
    }

    static func read(
        _ row: borrowing Statement, of id: RunID, _ database: borrowing Database
    ) throws(StoreError) -> SealedInput {
        let input = SealedInput(kind: row.text(0) ?? "", name: row.text(1) ?? "", sealed: row.blob(2) ?? [])
        guard row.integer(3) == JournalSeal.input(input, of: id) else {
            throw Journal.damage(database, "what run \(id.raw) was given")
        }
        return input
    }
}

/// Encrypts the inputs of one run, each for its own kind and name: it opens as no other input, and in no other run.
struct InputSeal {
    let run: String
    let key: SealingKey

    func closed(_ input: JournalInput) -> SealedInput {
        let purpose = purpose(input.kind, input.name)
        return SealedInput(
            kind: input.kind, name: input.name, sealed: SealedBytes.seal(input.bytes, key: key, purpose: purpose))
    }

    func opened(_ input: SealedInput) -> JournalInput? {
        SealedBytes.open(input.sealed, key: key, purpose: purpose(input.kind, input.name))
            .map { JournalInput(kind: input.kind, name: input.name, bytes: $0) }
    }

    private func purpose(_ kind: String, _ name: String) -> [UInt8] {
        var writer = RecordWriter()
        for text in [run, kind, name] { writer.put(text) }
        return writer.bytes
    }
}
