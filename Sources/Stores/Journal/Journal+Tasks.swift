import TransferModel

extension Journal {
    /// Of every task, in the order of their numbers. Of an old run nothing is kept.
    package func history(of id: RunID) throws(StoreError) -> [TaskHistory] {
        try read { () throws(StoreError) in
            // Both are about one moment.
            beginReading()
            defer { endReading() }
            let run = try known(id)
            guard run.isWhole else { return [] }
            return try Self.history(of: run, database)
        }
    }

    static func history(of run: JournalRun, _ database: borrowing Database) throws(StoreError) -> [TaskHistory] {
        let query = try database.prepare(TaskRow.query)
        query.bind(1, run.id.raw)
        query.bind(2, 0)
        query.bind(3, .max)
        var tasks: [TaskHistory] = []
        tasks.reserveCapacity(min(run.taskCount, 1 << 20))
        while try query.step() { tasks.append(try TaskRow.read(query, tasks.count, of: run.id, database)) }
        guard tasks.count == run.taskCount else { throw damage(database, "the list of tasks of run \(run.id.raw)") }
        return tasks
    }

    func insert(_ tasks: [String], of id: RunID) throws(StoreError) {
        let insert = try database.prepare(TaskRow.insertion)
        insert.bind(1, id.raw)
        for (number, task) in tasks.enumerated() {
            TaskRow.bind(TaskHistory(id: task), number, of: id, to: insert)
            try insert.run()
        }
    }

    /// Brings the rows of those tasks up to date of which the events tell something that is kept there.
    func fold(_ events: [Event], into id: RunID) throws(StoreError) {
        var changed: [Int: [Int]] = [:]
        for (place, event) in events.enumerated() where event.isHistory {
            if let task = event.task { changed[Int(task.raw), default: []].append(place) }
        }
        if changed.isEmpty { return }
        let query = try database.prepare(TaskRow.query)
        let replace = try database.prepare(TaskRow.insertion)
        query.bind(1, id.raw)
        replace.bind(1, id.raw)
        // In their order, so that each page is met once.
        for (number, places) in changed.sorted(by: { $0.key < $1.key }) {
            query.bind(2, Int64(number))
            query.bind(3, Int64(number))
            guard try query.step() else {
                throw StoreError(.other, "\(database.title): run \(id.raw) has no task \(number)")
            }
            var task = try TaskRow.read(query, number, of: id, database)
            query.reset()
            for place in places { task.apply(events[place]) }
            TaskRow.bind(task, number, of: id, to: replace)
            try replace.run()
        }
    }
}

/// A row of `tasks`.
private enum TaskRow {
    static let query: StaticString = """
        SELECT number, id, attempts, interrupted, isUnderWay, isSuspended, began, clock, clockSince, retryAt, outcome, seal
        FROM tasks WHERE run = ? AND number >= ? AND number <= ? ORDER BY number
        """
    static let insertion: StaticString = """
        INSERT OR REPLACE INTO tasks (run, number, id, attempts, interrupted, isUnderWay, isSuspended, began, clock,
            clockSince, retryAt, outcome, seal)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        """

    static func bind(_ task: TaskHistory, _ number: Int, of run: RunID, to statement: borrowing Statement) {
        statement.bind(2, Int64(number))
        statement.bind(3, task.id)
        statement.bind(4, Int64(task.attempts))
        statement.bind(5, Int64(task.interrupted))
        statement.bind(6, task.isUnderWay ? 1 : 0)
        statement.bind(7, task.isSuspended ? 1 : 0)
        statement.bind(8, task.beganAt?.nanoseconds)
        statement.bind(9, task.clock.nanoseconds)
        statement.bind(10, task.clockSince?.nanoseconds)
        statement.bind(11, task.retryAt?.nanoseconds)
        statement.bind(12, task.outcome?.rawValue)
        statement.bind(13, JournalSeal.task(task, number, of: run))
    }

    static func read(
        _ row: borrowing Statement, _ number: Int, of run: RunID, _ database: borrowing Database
    ) throws(StoreError) -> TaskHistory {
        var task = TaskHistory(id: row.text(1) ?? "")
        task.attempts = Int(row.integer(2) ?? 0)
        task.interrupted = Int(row.integer(3) ?? 0)
        task.isUnderWay = row.integer(4) == 1
        task.isSuspended = row.integer(5) == 1
        task.beganAt = row.date(6)
        task.clock = TimeSpan(nanoseconds: row.integer(7) ?? 0)
        task.clockSince = row.date(8)
        task.retryAt = row.date(9)
        task.outcome = row.text(10).flatMap { TaskOutcome(rawValue: $0) }
        guard row.integer(0) == Int64(number), row.integer(11) == JournalSeal.task(task, number, of: run) else {
            throw Journal.damage(database, "task \(number) of run \(run.raw)")
        }
        return task
    }
}

extension Statement {
    fileprivate func date(_ column: Int32) -> WallTime? { integer(column).map { WallTime(nanoseconds: $0) } }
}
