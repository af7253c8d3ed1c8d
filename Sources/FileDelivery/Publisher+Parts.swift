import SystemIO
import TransferModel

// Partial bodies, kept for a later run and taken from an earlier one.

extension Publisher {
    /// Keeps the body for a later run, should this one not finish.
    func keepPart(_ id: StagingID, _ task: TaskIndex) { body(id).partTask = task }

    /// Notes how far the body is, now and after each write.
    func notePart(_ id: StagingID, _ note: @escaping @Sendable (PartNote) -> Void) {
        let body = body(id)
        body.note = note
        if let staging = body.staging { recordProgress(of: body, in: staging) }
    }

    /// Notes how far the body is, if that is noted.
    func recordProgress(of body: IncomingBody, in staging: Staging) {
        if let note = body.note, body.partTask != nil { staging.recordProgress(names, to: note) }
    }

    /// Shortest time between two reports of partial bodies. A body that is complete by then needed no name.
    private static let partPause = TimeSpan.seconds(1)

    /// Schedules a report for a body that has grown enough.
    func noteGrowth(_ body: IncomingBody, _ staging: Staging) {
        recordProgress(of: body, in: staging)
        guard partsDue == nil, body.partTask != nil, staging.hasGrown else { return }
        partsDue = Clocks.instant() + Self.partPause
    }

    /// Returns the reports of all partial bodies that have grown, if they are due.
    func partsIfDue() -> [DeliveryReport] {
        guard let due = partsDue, due <= Clocks.instant() else { return [] }
        partsDue = nil
        return bodies.values.compactMap { body in
            guard let task = body.partTask, let staging = body.staging, staging.hasGrown,
                let part = staging.part(names)
            else { return nil }
            return .part(body.id, task, part)
        }
    }

    /// Leaves the body's bytes under a temporary name for a later run, if there are enough.
    func leave(_ id: StagingID, _ task: TaskIndex?, atAnySize: Bool) -> DeliveryReport? {
        if let index = adoptions.firstIndex(where: { $0.id == id }) {
            adoptions.remove(at: index).letGo()
            return nil
        }
        let body = forget(id)
        let staging = body?.staging
        staging?.settle()
        let smallest = atAnySize ? 1 : PartFile.leastLeft
        if body?.partTask != nil, let staging, let part = staging.part(names, smallest: smallest) {
            folders.leftovers.spare(part.name)
            staging.leave()
            return task.map { .part(id, $0, part) }
        }
        staging?.remove()
        return task.map { .part(id, $0, nil) }
    }

    // MARK: Of an earlier run

    /// Begins to read the partial file with which a body begins; returns an answer at once when it is of no use.
    func adopt(_ order: DeliveryOrder.Adoption) -> DeliveryReport? {
        let placement = order.placement
        do throws(Adoption.Problem) {
            let place =
                if let group = placement.group { try? groups.staging(group).root } else {
                    try? folders.folder(placement.folder)
                }
            guard let place else {
                throw Adoption.Problem(reason: "the folder of the half-done file cannot be opened", isOurs: false)
            }
            adoptions.append(try Adoption(order, in: place))
            return nil
        } catch {
            if error.isOurs { removePart("\(placement.folder)/\(order.part.name)") }
            return .adopted(order.task, .useless(error.reason))
        }
    }

    var isAdopting: Bool { !adoptions.isEmpty || !copies.isEmpty }

    /// Reads the next slice of a file that is being adopted.
    func adoptSome() -> DeliveryReport? {
        guard let adoption = adoptions.first else { return copySome() }
        do throws(Adoption.Problem) {
            guard let staging = try adoption.proceed() else { return nil }
            let body = body(adoption.id)
            body.staging = staging
            body.partTask = adoption.task
            adoptions.removeFirst()
            return .adopted(adoption.task, .taken(size: staging.size, beyond: staging.beyond))
        } catch {
            adoption.remove()
            adoptions.removeFirst()
            return .adopted(adoption.task, .useless(error.reason))
        }
    }

    func removePart(_ path: String) { HalfDoneFile.remove(path) }

    // MARK: Of runs that were killed

    func sweep(keeping: Set<String>?) { folders.leftovers.allowSweep(keeping: keeping) }

    /// Sweeps one folder; `false` when none is left.
    func sweepOne() -> Bool { folders.leftovers.sweepOne() }
}

/// The partial file that a run left for the next.
package enum HalfDoneFile {
    /// Removes the partial file unless a run has it locked; a missing file is no error.
    package static func remove(_ path: String) {
        let (folder, name) = Folders.split(path)
        guard name.hasPrefix(TemporaryNames.prefix),
            let place = try? FolderCache.Folder(Descriptor.openFolder(folder))
        else { return }
        Leftovers.remove(RawName(name), in: place)
    }
}
