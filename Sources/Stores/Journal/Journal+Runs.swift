import Records
package import TransferModel

extension Journal {
    /// Takes a run over with all that it is made of, in one transaction: when this returns it would survive a power cut,
    /// and when it throws nothing was taken.
    package func accept(
        _ run: AcceptedRun, inputs: [JournalInput], tasks: [String]
    ) throws(AcceptProblem) -> RunID {
        let taken: Result<RunID, AcceptProblem>
        do throws(StoreError) {
            taken = try write(durably: true) { () throws(StoreError) in
                for identifier in run.identifiers {
                    if let holder = try holder(of: identifier) { return .failure(.identifierInUse(holder)) }
                }
                let id = try insert(run, taskCount: tasks.count)
                for input in inputs { try insert(input, of: id) }
                try insert(tasks, of: id)
                return .success(id)
            }
        } catch {
            throw .failed(error)
        }
        return try taken.get()
    }

    /// Whose an identifier is: a run's whose end nobody knows of yet.
    package func holder(of identifier: String) throws(StoreError) -> IdentifierHolder? {
        try read { () throws(StoreError) in
            let query = try database.prepare("SELECT run FROM identifiers WHERE identifier = ?")
            query.bind(1, identifier)
            guard try query.step(), let number = query.integer(0) else { return nil }
            guard let run = try self.run(RunID(raw: number)), run.accepted.identifiers.contains(identifier) else {
                throw damage("the identifier `\(identifier)`")
            }
            return IdentifierHolder(identifier: identifier, run: run.id, job: run.accepted.job, state: run.state)
        }
    }

    /// The oldest first.
    package func runs() throws(StoreError) -> [JournalRun] {
        try read { () throws(StoreError) in
            let query = try database.prepare(RunRow.query)
            query.bind(1, 0)
            query.bind(2, .max)
            var runs: [JournalRun] = []
            while try query.step() { runs.append(try RunRow.read(query, database)) }
            return runs
        }
    }

    package func run(_ id: RunID) throws(StoreError) -> JournalRun? {
        try read { () throws(StoreError) in
            let query = try database.prepare(RunRow.query)
            query.bind(1, id.raw)
            query.bind(2, id.raw)
            return try query.step() ? try RunRow.read(query, database) : nil
        }
    }

    // MARK: What becomes of it

    /// Of a run that has not ended.
    package func setState(_ state: JournalRun.State, of id: RunID) throws(StoreError) {
        try change(id) { run throws(StoreError) in
            guard state != .finished, run.state != .finished else {
                throw StoreError(.other, "\(database.title): run \(id.raw) ends by `finish`, once")
            }
            run.state = state
        }
    }

    /// All its events were appended. Once is enough: what was said first is the truth.
    package func finish(_ id: RunID, _ end: RunEnd) throws(StoreError) {
        try change(id) { run in
            guard run.state != .finished else { return }
            run.state = .finished
            run.end = end
        }
    }

    /// Somebody knows of its end: its identifiers are free, and what it was given is erased.
    package func deliver(_ id: RunID, now: WallTime) throws(StoreError) {
        try change(id) { run throws(StoreError) in
            guard run.state == .finished else {
                throw StoreError(.other, "\(database.title): run \(id.raw) has not ended, so its end cannot be known")
            }
            run.deliveredAt = run.deliveredAt ?? now
            try remove("DELETE FROM identifiers WHERE run = ?", id)
            try remove("DELETE FROM inputs WHERE run = ?", id)
        }
        scrub()
    }

    private func remove(_ sql: StaticString, _ id: RunID) throws(StoreError) {
        let delete = try database.prepare(sql)
        delete.bind(1, id.raw)
        try delete.run()
    }

    private func change(
        _ id: RunID, _ body: (inout JournalRun) throws(StoreError) -> Void
    ) throws(StoreError) {
        try write(durably: true) { () throws(StoreError) in
            var run = try known(id)
            try body(&run)
            try update(run)
        }
    }

    func known(_ id: RunID) throws(StoreError) -> JournalRun {
        guard let run = try run(id) else { throw StoreError(.other, "\(database.title) has no run \(id.raw)") }
        return run
    }

    func update(_ run: JournalRun) throws(StoreError) {
        let update = try database.prepare(
            """
            UPDATE runs SET state = ?2, ended = ?3, outcome = ?4, exitStatus = ?5, delivered = ?6, last = ?7, chain = ?8,
                isWhole = ?9, seal = ?10
            WHERE id = ?1
            """)
        update.bind(1, run.id.raw)
        RunRow.bindChanging(run, to: update, from: 2)
        try update.run()
    }

    private func insert(_ accepted: AcceptedRun, taskCount: Int) throws(StoreError) -> RunID {
        // Its number is part of its seal, and known once it has a row.
        let insert = try database.prepare(
            """
            INSERT INTO runs (identifiers, job, file, folder, arguments, report, events, created, boot, tasks, state, last,
                chain, isWhole, seal)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'accepted', 0, 0, 1, 0)
            """)
        insert.bind(1, RunRow.bytes(accepted.identifiers))
        for (column, text) in [accepted.job, accepted.file, accepted.folder].enumerated() {
            insert.bind(Int32(column + 2), text)
        }
        insert.bind(5, RunRow.bytes(accepted.arguments))
        insert.bind(6, accepted.report)
        insert.bind(7, accepted.events)
        insert.bind(8, accepted.createdAt.nanoseconds)
        insert.bind(9, accepted.boot)
        insert.bind(10, Int64(taskCount))
        try insert.run()
        let id = RunID(raw: database.lastInserted)
        try update(
            JournalRun(
                id: id, accepted: accepted, taskCount: taskCount, state: .accepted, lastSequence: 0,
                chain: JournalSeal.start(of: id), isWhole: true))
        let take = try database.prepare("INSERT INTO identifiers (identifier, run) VALUES (?, ?)")
        for identifier in accepted.identifiers {
            take.bind(1, identifier)
            take.bind(2, id.raw)
            try take.run()
        }
        return id
    }
}

/// A row of `runs`.
enum RunRow {
    static func bytes(_ texts: [String]) -> [UInt8] {
        var writer = RecordWriter()
        writer.put(texts) { $0.put($1) }
        return writer.bytes
    }

    private static func texts(_ bytes: [UInt8]?) -> [String]? {
        var reader = RecordReader(bytes ?? [])
        return try? reader.list { (reader) throws(RecordProblem) in try reader.text() }
    }

    static func bindChanging(_ run: JournalRun, to statement: borrowing Statement, from column: Int32) {
        statement.bind(column, run.state.rawValue)
        statement.bind(column + 1, run.end?.at.nanoseconds)
        statement.bind(column + 2, run.end?.outcome.rawValue)
        statement.bind(column + 3, run.end.map { Int64($0.exitStatus) })
        statement.bind(column + 4, run.deliveredAt?.nanoseconds)
        statement.bind(column + 5, Int64(bitPattern: run.lastSequence))
        statement.bind(column + 6, run.chain)
        statement.bind(column + 7, run.isWhole ? 1 : 0)
        statement.bind(column + 8, JournalSeal.run(run))
    }

    static let query: StaticString = """
        SELECT id, identifiers, job, file, folder, arguments, report, events, created, boot, tasks, state, ended, outcome,
            exitStatus, delivered, last, chain, isWhole, seal
        FROM runs WHERE id >= ?1 AND id <= ?2 ORDER BY id
        """

    static func read(_ row: borrowing Statement, _ database: borrowing Database) throws(StoreError) -> JournalRun {
        guard let run = read(row), row.integer(19) == JournalSeal.run(run) else {
            throw Journal.damage(database, "run \(row.integer(0) ?? 0)")
        }
        return run
    }

    /// `nil` where it says what nobody wrote.
    private static func read(_ row: borrowing Statement) -> JournalRun? {
        guard let identifiers = texts(row.blob(1)), let arguments = texts(row.blob(5)),
            let state = JournalRun.State(rawValue: row.text(11) ?? "")
        else { return nil }
        let outcome = row.text(13).flatMap { RunOutcome(rawValue: $0) }
        var end: RunEnd?
        if let date = row.integer(12), let outcome, let status = row.integer(14) {
            end = RunEnd(at: WallTime(nanoseconds: date), outcome: outcome, exitStatus: Int(status))
        }
        let accepted = AcceptedRun(
            identifiers: identifiers, job: row.text(2) ?? "", file: row.text(3) ?? "", folder: row.text(4) ?? "",
            arguments: arguments, report: row.text(6), events: row.text(7),
            createdAt: WallTime(nanoseconds: row.integer(8) ?? 0), boot: row.text(9) ?? "")
        return JournalRun(
            id: RunID(raw: row.integer(0) ?? 0), accepted: accepted, taskCount: Int(row.integer(10) ?? 0), state: state,
            end: end, deliveredAt: row.integer(15).map { WallTime(nanoseconds: $0) },
            lastSequence: UInt64(bitPattern: row.integer(16) ?? 0), chain: row.integer(17) ?? 0,
            isWhole: row.integer(18) == 1)
    }
}
