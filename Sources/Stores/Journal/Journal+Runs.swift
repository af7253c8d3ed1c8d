import Records
package import TransferModel

extension Journal {
    /// Accepts a run with its inputs and tasks, in one transaction: it would survive a power cut when this returns, and
    /// nothing was recorded when it throws. It takes the place of `lost` runs: what those had begun counts as begun by
    /// it.
    package func accept(
        _ run: AcceptedRun, inputs: [JournalInput], tasks: [String], inPlaceOf lost: [LostRun] = []
    ) throws(AcceptProblem) -> RunID {
        let taken: Result<RunID, AcceptProblem>
        do throws(StoreError) {
            taken = try write(durably: true) { () throws(StoreError) in
                for identifier in run.identifiers {
                    if let holder = try holder(of: identifier) { return .failure(.identifierInUse(holder)) }
                }
                return .success(try insert(run, inputs, tasks, lost))
            }
        } catch {
            throw .failed(error)
        }
        let id = try taken.get()
        forgetBegun(lost)
        return id
    }

    /// Returns the run that holds the identifier, or `nil` if it is free. A run holds its identifiers until its end is
    /// delivered.
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

    /// Returns all recorded runs, the oldest first.
    package func runs() throws(StoreError) -> [JournalRun] {
        try read { () throws(StoreError) in try RunRow.all(database) }
    }

    /// Returns the runs whose end was not delivered yet, the oldest first. The time it takes does not grow with the
    /// others.
    package func undelivered() throws(StoreError) -> [JournalRun] {
        try read { () throws(StoreError) in try RunRow.undelivered(database) }
    }

    /// Returns the run of that number, or `nil` if the journal has none.
    package func run(_ id: RunID) throws(StoreError) -> JournalRun? {
        try read { () throws(StoreError) in try RunRow.within(id.raw...id.raw, database).first }
    }

    /// Adds tasks to a run whose end was not delivered yet, in one durable transaction: their numbers continue those of
    /// the others, and none may have an id that the run has. An input replaces one of the same kind and name. A run
    /// that had ended is running again, and the events of its end are deleted. New identifiers are held by the run from
    /// then on.
    ///
    /// `after`: number of tasks that the run has, as far as the caller knows. Returns `false`, and adds nothing, if it
    /// has others by now.
    @discardableResult
    package func extend(
        _ id: RunID, inputs: [JournalInput], tasks: [String], identifiers: [String] = [], after count: Int? = nil
    ) throws(StoreError) -> Bool {
        try change(id) { run throws(StoreError) in
            guard run.deliveredAt == nil else {
                throw StoreError(.other, "\(database.title): run \(id.raw) has ended, and somebody knows of it")
            }
            guard count ?? run.taskCount == run.taskCount else { return false }
            var known = Set(try Self.tasks(of: run, database))
            if let twice = tasks.first(where: { !known.insert($0).inserted }) {
                throw StoreError(.other, "\(database.title): run \(id.raw) has a task `\(twice)` already")
            }
            try replace(inputs, of: run)
            try insert(tasks, of: id, from: run.taskCount)
            run.taskCount += tasks.count
            try claimIdentifiers(identifiers, for: &run)
            if run.state == .finished {
                (run.state, run.end) = (.running, nil)
                try dropEnding(of: &run)
            }
            return true
        }
    }

    private func claimIdentifiers(_ identifiers: [String], for run: inout JournalRun) throws(StoreError) {
        let new = identifiers.filter { !run.accepted.identifiers.contains($0) }
        if new.isEmpty { return }
        for identifier in new {
            if let holder = try holder(of: identifier) {
                throw StoreError(
                    .other, "\(database.title): the identifier `\(identifier)` is held by run \(holder.run.raw)")
            }
        }
        run.accepted.identifiers += new
        try hold(new, by: run.id)
        let update = try database.prepare("UPDATE runs SET identifiers = ?2 WHERE id = ?1")
        update.bind(1, run.id.raw)
        update.bind(2, RunRow.bytes(run.accepted.identifiers))
        try update.run()
    }

    private func hold(_ identifiers: [String], by id: RunID) throws(StoreError) {
        let insert = try database.prepare("INSERT INTO identifiers (identifier, run) VALUES (?, ?)")
        for identifier in identifiers {
            insert.bind(1, identifier)
            insert.bind(2, id.raw)
            try insert.run()
        }
    }

    // MARK: What becomes of it

    /// Records the run's end, after all its events were appended. A second call changes nothing: the first end is kept.
    /// `tasks` is the number of tasks that the caller knows of: `false` is returned when there are more by now, and the
    /// run has not ended.
    ///
    /// With `deliveredAt` the end counts as delivered at that time, in the same transaction.
    @discardableResult
    package func recordEnd(
        of id: RunID, _ end: RunEnd, tasks: Int? = nil, deliveredAt: WallTime? = nil
    ) throws(StoreError) -> Bool {
        var isOver = true
        var delivered: String?
        try change(id) { run throws(StoreError) in
            guard run.state != .finished else { return }
            isOver = tasks.map { $0 >= run.taskCount } ?? true
            if !isOver { return }
            run.state = .finished
            run.end = end
            guard let deliveredAt else { return }
            try deliver(&run, deliveredAt)
            delivered = run.name
        }
        if let delivered { erase(delivered) }
        return isOver
    }

    /// Records that the run's end was delivered to a reader: its identifiers become free, and its inputs are erased,
    /// with the key to every copy of them.
    ///
    /// With `leavesLog` the caller takes the log into the file later (`scrub`), which may take longer than a small run.
    package func deliver(_ id: RunID, now: WallTime, leavesLog: Bool = false) throws(StoreError) {
        let name = try change(id) { run throws(StoreError) in
            guard run.state == .finished else {
                throw StoreError(.other, "\(database.title): run \(id.raw) has not ended, so its end cannot be known")
            }
            try deliver(&run, now)
            return run.name
        }
        erase(name, leavesLog: leavesLog)
    }

    private func deliver(_ run: inout JournalRun, _ now: WallTime) throws(StoreError) {
        run.deliveredAt = run.deliveredAt ?? now
        try remove("DELETE FROM identifiers WHERE run = ?", run.id)
        try remove("DELETE FROM inputs WHERE run = ?", run.id)
    }

    /// Erases the key once the delivery is recorded.
    private func erase(_ name: String, leavesLog: Bool = false) {
        files.eraseKey(of: name)
        if !leavesLog { scrub() }
    }

    private func remove(_ sql: StaticString, _ id: RunID) throws(StoreError) {
        let delete = try database.prepare(sql)
        delete.bind(1, id.raw)
        try delete.run()
    }

    private func change<Result>(
        _ id: RunID, _ body: (inout JournalRun) throws(StoreError) -> Result
    ) throws(StoreError) -> Result {
        try write(durably: true) { () throws(StoreError) in
            var run = try known(id)
            let result = try body(&run)
            try update(run)
            return result
        }
    }

    func known(_ id: RunID) throws(StoreError) -> JournalRun {
        guard let run = try run(id) else { throw StoreError(.other, "\(database.title) has no run \(id.raw)") }
        return run
    }

    func update(_ run: JournalRun) throws(StoreError) {
        let update = try database.prepare(
            """
            UPDATE runs SET tasks = ?2, state = ?3, ended = ?4, outcome = ?5, exitStatus = ?6, hooks = ?7,
                delivered = ?8, last = ?9, chain = ?10, isWhole = ?11, seal = ?12
            WHERE id = ?1
            """)
        update.bind(1, run.id.raw)
        RunRow.bindChanging(run, to: update, from: 2)
        try update.run()
    }

    /// Records an accepted run. A failure before the commit leaves no key. After a failed commit it is unknown whether
    /// the run is recorded: the key stays, and a later `forget` deletes it if its run is missing.
    private func insert(
        _ accepted: AcceptedRun, _ inputs: [JournalInput], _ tasks: [String], _ lost: [LostRun]
    ) throws(StoreError) -> RunID {
        let name = [UInt64.random(in: 0 ... .max), .random(in: 0 ... .max)].map { String($0, radix: 16) }
            .joined(separator: "-")
        let seal = InputSeal(run: name, key: try files.makeKey(of: name))
        do throws(StoreError) {
            let id = try insert(accepted, name: name, taskCount: tasks.count)
            for input in inputs { try insert(seal.closed(input), of: id) }
            try insert(tasks, of: id)
            if !lost.isEmpty { try noteBegun(lost.flatMap(\.requests), of: id) }
            return id
        } catch {
            files.eraseKey(of: name)
            files.eraseBegun(of: name)
            throw error
        }
    }

    private func insert(_ accepted: AcceptedRun, name: String, taskCount: Int) throws(StoreError) -> RunID {
        // Its number is part of its seal, and known once it has a row.
        let insert = try database.prepare(
            """
            INSERT INTO runs (identifiers, job, file, folder, arguments, report, events, created, boot, tasks, name, state,
                last, chain, isWhole, seal)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'accepted', 0, 0, 1, 0)
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
        insert.bind(11, name)
        try insert.run()
        let id = RunID(raw: database.lastInserted)
        try update(
            JournalRun(
                id: id, name: name, accepted: accepted, taskCount: taskCount, state: .accepted, lastSequence: 0,
                chain: JournalSeal.start(of: id), isWhole: true))
        try hold(accepted.identifiers, by: id)
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

    static func texts(_ bytes: [UInt8]?) -> [String]? {
        var reader = RecordReader(bytes ?? [])
        return try? reader.list { (reader) throws(RecordProblem) in try reader.text() }
    }

    /// Session and text in turn.
    static func texts(of hooks: [HookEnd]) -> [String] { hooks.flatMap { [$0.session, $0.text] } }

    /// Decodes the hooks' results; `nil` for texts that no version writes.
    private static func hooks(_ texts: [String]) -> [HookEnd]? {
        let hooks = stride(from: 0, to: texts.count - 1, by: 2).compactMap {
            HookEnd(session: texts[$0], texts[$0 + 1])
        }
        return hooks.count * 2 == texts.count ? hooks : nil
    }

    static func bindChanging(_ run: JournalRun, to statement: borrowing Statement, from column: Int32) {
        statement.bind(column, Int64(run.taskCount))
        statement.bind(column + 1, run.state.rawValue)
        statement.bind(column + 2, run.end?.at.nanoseconds)
        statement.bind(column + 3, run.end?.outcome.rawValue)
        statement.bind(column + 4, run.end.map { Int64($0.exitStatus) })
        statement.bind(column + 5, run.end.flatMap { $0.hooks.isEmpty ? nil : bytes(texts(of: $0.hooks)) })
        statement.bind(column + 6, run.deliveredAt?.nanoseconds)
        statement.bind(column + 7, Int64(bitPattern: run.lastSequence))
        statement.bind(column + 8, run.chain)
        statement.bind(column + 9, run.isWhole ? 1 : 0)
        statement.bind(column + 10, JournalSeal.run(run))
    }

    private static let query: StaticString = """
        SELECT id, identifiers, job, file, folder, arguments, report, events, created, boot, tasks, state, ended, outcome,
            exitStatus, delivered, last, chain, isWhole, name, seal, hooks
        FROM runs WHERE id >= ?1 AND id <= ?2 ORDER BY id
        """
    /// Uses the index `undeliveredRuns` (`Migration.journal`).
    private static let undeliveredQuery: StaticString = """
        SELECT id, identifiers, job, file, folder, arguments, report, events, created, boot, tasks, state, ended, outcome,
            exitStatus, delivered, last, chain, isWhole, name, seal, hooks
        FROM runs WHERE delivered IS NULL ORDER BY id
        """

    /// Reads all runs, the oldest first.
    static func all(_ database: borrowing Database) throws(StoreError) -> [JournalRun] {
        try within(0...Int64.max, database)
    }

    static func within(
        _ numbers: ClosedRange<Int64>, _ database: borrowing Database
    ) throws(StoreError) -> [JournalRun] {
        let query = try database.prepare(query)
        query.bind(1, numbers.lowerBound)
        query.bind(2, numbers.upperBound)
        return try all(query, database)
    }

    static func undelivered(_ database: borrowing Database) throws(StoreError) -> [JournalRun] {
        try all(try database.prepare(undeliveredQuery), database)
    }

    private static func all(
        _ query: borrowing Statement, _ database: borrowing Database
    ) throws(StoreError) -> [JournalRun] {
        var runs: [JournalRun] = []
        while try query.step() { runs.append(try read(query, database)) }
        return runs
    }

    private static func read(
        _ row: borrowing Statement, _ database: borrowing Database
    ) throws(StoreError) -> JournalRun {
        guard let run = read(row), row.integer(20) == JournalSeal.run(run) else {
            throw Journal.damage(database, "run \(row.integer(0) ?? 0)")
        }
        return run
    }

    /// Decodes a row; `nil` for content that no version writes.
    private static func read(_ row: borrowing Statement) -> JournalRun? {
        guard let identifiers = texts(row.blob(1)), let arguments = texts(row.blob(5)),
            let state = JournalRun.State(rawValue: row.text(11) ?? "")
        else { return nil }
        let outcome = row.text(13).flatMap { RunOutcome(rawValue: $0) }
        var end: RunEnd?
        if let date = row.integer(12), let outcome, let status = row.integer(14) {
            end = RunEnd(at: WallTime(nanoseconds: date), outcome: outcome, exitStatus: Int(status))
            if let bytes = row.blob(21) {
                guard let hooks = texts(bytes).flatMap(hooks) else { return nil }
                end?.hooks = hooks
            }
        }
        let accepted = AcceptedRun(
            identifiers: identifiers, job: row.text(2) ?? "", file: row.text(3) ?? "", folder: row.text(4) ?? "",
            arguments: arguments, report: row.text(6), events: row.text(7),
            createdAt: WallTime(nanoseconds: row.integer(8) ?? 0), boot: row.text(9) ?? "")
        return JournalRun(
            id: RunID(raw: row.integer(0) ?? 0), name: row.text(19) ?? "", accepted: accepted,
            taskCount: Int(row.integer(10) ?? 0), state: state,
            end: end, deliveredAt: row.integer(15).map { WallTime(nanoseconds: $0) },
            lastSequence: UInt64(bitPattern: row.integer(16) ?? 0), chain: row.integer(17) ?? 0,
            isWhole: row.integer(18) == 1)
    }
}
