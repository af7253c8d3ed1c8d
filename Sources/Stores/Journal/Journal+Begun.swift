import TransferModel

// What must not be sent twice, beside the journal: whether the journal still knows of it.

extension Journal {
    /// Writes down that the run begins these requests. They would survive a power cut, and the loss of the journal, when
    /// this returns.
    @discardableResult
    func noteBegun(_ requests: [BegunRequest], of id: RunID) throws(StoreError) -> LostRun {
        let run = LostRun(try known(id))
        try files.noteBegun(requests, run)
        return run
    }

    /// Notes beside the journal that tasks have succeeded which the run had begun: it may be lost, and its process lives.
    static func noteSuccess(of tasks: [String], _ run: LostRun, folder: String) {
        guard !tasks.isEmpty, let files = try? StoreFiles(folder, kind([]).name) else { return }
        for task in tasks { files.noteSuccess(of: task, run) }
    }

    /// Returns all that the run has begun, in the order in which it began.
    package func begun(of id: RunID) throws(StoreError) -> [BegunRequest] {
        try files.begun(of: known(id).name)?.requests ?? []
    }

    /// Returns a run that is given up, with what it had begun; `nil` if it had begun nothing.
    package func givenUp(_ id: RunID) throws(StoreError) -> LostRun? { try files.begun(of: known(id).name) }

    /// Returns the runs that had begun something and are not in the journal any more.
    package func lostRuns() throws(StoreError) -> [LostRun] {
        let names = files.begunRuns()
        if names.isEmpty { return [] }
        // While this transaction lasts, no process accepts a run in the place of a lost one.
        return try write(durably: false) { () throws(StoreError) in
            let known = Set(try runs().map(\.name))
            var lost: [LostRun] = []
            for name in files.begunRuns() where !known.contains(name) {
                if let run = try files.begun(of: name) { lost.append(run) }
            }
            return lost
        }
    }

    /// Whether runs were handed over with a journal of this folder that is not there any more.
    package static func hasLeftovers(folder: String) -> Bool { StoreFiles.hasLeftovers(folder: folder, kind([]).name) }

    /// Returns the number of runs whose key is there and that the journal does not know: they were handed over, and the
    /// journal has lost them since.
    package func lostKeys() throws(StoreError) -> Int {
        if files.keys().isEmpty { return 0 }
        return try write(durably: false) { () throws(StoreError) in
            let known = Set(try runs().map(\.name))
            return files.keys().count { !known.contains($0) }
        }
    }

    /// Forgets what these runs had begun: it may be sent again.
    package func forgetBegun(_ lost: [LostRun]) { for run in lost { files.eraseBegun(of: run.name) } }

    /// Forgets what runs had begun whose end was delivered, once that is in the file itself: the log may be lost.
    func sweepBegun() throws(StoreError) {
        let names = files.begunRuns()
        if names.isEmpty { return }
        let over = Set(try runs().filter { $0.deliveredAt != nil }.map(\.name))
        guard names.contains(where: over.contains) else { return }
        scrub()
        for name in names where over.contains(name) { files.eraseBegun(of: name) }
    }
}

extension LostRun {
    init(_ run: JournalRun) {
        self.init(
            name: run.name, identifiers: run.accepted.identifiers, job: run.accepted.job, requests: [])
    }
}
