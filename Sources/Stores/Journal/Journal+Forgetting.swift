package import TransferModel

/// Limits of what the journal keeps of runs whose end was delivered.
package struct JournalBounds: Sendable {
    /// Age of the delivery after which a run's events and tasks are deleted; a follower may be reading until then.
    package var events = TimeSpan.seconds(24 * 3_600)
    /// Age of the end after which a run's events and tasks are deleted although its end was never delivered.
    package var abandoned = TimeSpan.seconds(90 * 24 * 3_600)
    /// Size in bytes above which the oldest delivered runs lose their events and tasks, whatever their age.
    package var bytes: Int64 = 64 << 20
    /// Number of older runs whose summary row is kept.
    package var summaries = 20
    package init() {}
}

extension Journal {
    /// Deletes what exceeds the bounds and shortens the file. Runs under way are never touched.
    package func forget(_ bounds: JournalBounds = JournalBounds(), now: WallTime) throws(StoreError) {
        try sweepKeys()
        try sweepBegun()
        let isFull = try usedBytes() > bounds.bytes
        if !isFull {
            // Mostly nothing is to be done, however many runs were recorded.
            guard try hasOld(bounds, now) else { return try forgetSummaries(bounds) }
        }
        let ended = try runs().filter { $0.state == .finished }
        let old = ended.filter { $0.isWhole && Self.isOld($0, bounds, now) }
        let spare = ended.filter { $0.isWhole && $0.deliveredAt != nil && !Self.isOld($0, bounds, now) }
        // Pages that only events stood on need not be overwritten.
        _ = try database.pragma("secure_delete = FAST")
        defer { _ = try? database.pragma("secure_delete = ON") }
        for run in old { try empty(run, now) }
        for run in isFull ? spare : [] {
            // With some room to spare, so that not every run that ends has to make its own.
            guard try usedBytes() > bounds.bytes - bounds.bytes / 8 else { break }
            try empty(run, now)
        }
        try forgetSummaries(bounds)
        try read { () throws(StoreError) in try database.execute("PRAGMA incremental_vacuum") }
        scrub()
    }

    /// Deletes the keys that a process left which died while accepting or delivering a run.
    private func sweepKeys() throws(StoreError) {
        if files.keys().isEmpty { return }
        // While this transaction lasts, no process has a key whose run is not in the journal yet.
        try write(durably: false) { () throws(StoreError) in
            let needed = Set(try runs().filter { $0.deliveredAt == nil }.map(\.name))
            for run in files.keys() where !needed.contains(run) { files.eraseKey(of: run) }
        }
    }

    private static func isOld(_ run: JournalRun, _ bounds: JournalBounds, _ now: WallTime) -> Bool {
        if let delivered = run.deliveredAt { return now - delivered >= bounds.events }
        return run.end.map { now - $0.at >= bounds.abandoned } ?? false
    }

    /// Whether any run is old: decided by the first that was delivered and the first that ended, each found by an
    /// index.
    private func hasOld(_ bounds: JournalBounds, _ now: WallTime) throws(StoreError) -> Bool {
        func isOlder(_ sql: StaticString, _ age: TimeSpan) throws(StoreError) -> Bool {
            let query = try database.prepare(sql)
            guard try query.step(), let first = query.integer(0) else { return false }
            return now - WallTime(nanoseconds: first) >= age
        }
        return try read { () throws(StoreError) in
            if try isOlder("SELECT min(delivered) FROM runs WHERE isWhole = 1", bounds.events) { return true }
            return try isOlder("SELECT min(ended) FROM runs WHERE delivered IS NULL", bounds.abandoned)
        }
    }

    private func usedBytes() throws(StoreError) -> Int64 {
        try read { () throws(StoreError) in
            let pages = try database.number("PRAGMA page_count") - database.number("PRAGMA freelist_count")
            return try pages * database.number("PRAGMA page_size")
        }
    }

    /// Deletes a run's events and tasks and keeps its row. An end that was never delivered counts as delivered now.
    private func empty(_ run: JournalRun, _ now: WallTime) throws(StoreError) {
        if run.deliveredAt == nil { try deliver(run.id, now: now) }
        try write(durably: false) { () throws(StoreError) in
            var run = try known(run.id)
            run.isWhole = false
            try update(run)
            let events = try database.prepare("DELETE FROM events WHERE id > ? AND id <= ?")
            events.bind(1, EventPlace.first(run.id))
            events.bind(2, EventPlace.last(run.id))
            try events.run()
            let tasks = try database.prepare("DELETE FROM tasks WHERE run = ?")
            tasks.bind(1, run.id.raw)
            try tasks.run()
        }
    }

    private func forgetSummaries(_ bounds: JournalBounds) throws(StoreError) {
        guard try database.number("SELECT count(*) FROM runs WHERE isWhole = 0") > bounds.summaries else { return }
        let empty = try runs().filter { !$0.isWhole }
        try write(durably: false) { () throws(StoreError) in
            let delete = try database.prepare("DELETE FROM runs WHERE id = ?")
            for run in empty.dropLast(bounds.summaries) {
                delete.bind(1, run.id.raw)
                try delete.run()
            }
        }
    }

    /// Takes the log into the file and empties it, so that erased content does not remain in the log. While other
    /// connections read that is impossible: it is then done by a later commit, at the latest by the last connection to
    /// close.
    package func scrub() { database.emptyLog() }
}
