import Records
import TransferModel

extension Journal {
    /// Returns the ids of a run's tasks, in the order of their numbers; empty for an old run, whose tasks are not kept.
    package func tasks(of id: RunID) throws(StoreError) -> [String] {
        try read { () throws(StoreError) in
            // The run and its tasks must be read as of one moment.
            beginReading()
            defer { endReading() }
            let run = try known(id)
            return run.isWhole ? try Self.tasks(of: run, database) : []
        }
    }

    static func tasks(of run: JournalRun, _ database: borrowing Database) throws(StoreError) -> [String] {
        let query = try database.prepare("SELECT ids, seal FROM tasks WHERE run = ? ORDER BY id")
        query.bind(1, run.id.raw)
        var tasks: [String] = []
        while try query.step() {
            let bytes = query.blob(0) ?? []
            guard query.integer(1) == JournalSeal.tasks(bytes, from: tasks.count, of: run.id),
                let ids = RunRow.texts(bytes)
            else { throw damage(database, "the list of tasks of run \(run.id.raw)") }
            tasks += ids
        }
        guard tasks.count == run.taskCount else { throw damage(database, "the list of tasks of run \(run.id.raw)") }
        return tasks
    }

    /// Records task ids, all in one row: the events say what became of each.
    func insert(_ tasks: [String], of id: RunID, from first: Int = 0) throws(StoreError) {
        if tasks.isEmpty { return }
        let bytes = RunRow.bytes(tasks)
        let insert = try database.prepare("INSERT INTO tasks (run, ids, seal) VALUES (?, ?, ?)")
        insert.bind(1, id.raw)
        insert.bind(2, bytes)
        insert.bind(3, JournalSeal.tasks(bytes, from: first, of: id))
        try insert.run()
    }
}
