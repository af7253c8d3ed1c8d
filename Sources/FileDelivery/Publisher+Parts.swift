import SystemIO
import TransferModel

// Partial bodies, kept for a later run and taken from an earlier one.

extension Publisher {
    func keepPart(_ id: StagingID, _ task: TaskIndex) { kept[id] = task }

    /// Shortest time between two reports of partial bodies. A body that is complete by then needed no name.
    private static let partPause = TimeSpan.seconds(1)

    /// Schedules a report for a body that has grown enough.
    func noteGrowth(_ id: StagingID, _ staging: Staging) {
        guard partsDue == nil, !kept.isEmpty, kept[id] != nil, staging.hasGrown else { return }
        partsDue = Clocks.instant() + Self.partPause
    }

    /// Returns the reports of all partial bodies that have grown, if they are due.
    func partsIfDue() -> [DeliveryReport] {
        guard let due = partsDue, due <= Clocks.instant() else { return [] }
        partsDue = nil
        return kept.compactMap { id, task in
            guard let staging = stagings[id], staging.hasGrown, let part = staging.part(names) else { return nil }
            return .part(id, task, part)
        }
    }

    /// Leaves the body's bytes under a temporary name for a later run, if there are enough.
    func leave(_ id: StagingID, _ task: TaskIndex?, atAnySize: Bool) -> DeliveryReport? {
        if let place = adoptions.firstIndex(where: { $0.id == id }) {
            adoptions.remove(at: place).letGo()
            return nil
        }
        defer { forget(id) }
        let staging = stagings.removeValue(forKey: id)
        staging?.settle()
        let smallest = atAnySize ? 1 : PartFile.leastLeft
        if kept[id] != nil, failures[id] == nil, let staging, let part = staging.part(names, smallest: smallest) {
            folders.leftovers.spare(part.name)
            staging.leave()
            return task.map { .part(id, $0, part) }
        }
        staging?.remove()
        return task.map { .part(id, $0, nil) }
    }

    // MARK: Of an earlier run

    func adopt(
        _ id: StagingID, _ task: TaskIndex, _ folder: String, _ group: GroupPlace?, _ part: PartFile, keeping: Int64,
        _ algorithms: BodyDigests.Algorithms
    ) -> DeliveryReport? {
        do throws(Adoption.Problem) {
            let place = if let group { try? groups.staging(group).root } else { try? folders.folder(folder) }
            guard let place else {
                throw Adoption.Problem(reason: "the folder of the half-done file cannot be opened", isOurs: false)
            }
            adoptions.append(try Adoption(id, task, in: place, part, keeping: keeping, algorithms))
            return nil
        } catch {
            if error.isOurs { removePart("\(folder)/\(part.name)") }
            return .adopted(task, error.reason)
        }
    }

    var isAdopting: Bool { !adoptions.isEmpty || !copies.isEmpty }

    /// Reads the next slice of a file that is being adopted.
    func adoptSome() -> DeliveryReport? {
        guard let adoption = adoptions.first else { return copySome() }
        do throws(Adoption.Problem) {
            guard let staging = try adoption.proceed() else { return nil }
            stagings[adoption.id] = staging
            kept[adoption.id] = adoption.task
            adoptions.removeFirst()
            return .adopted(adoption.task, nil)
        } catch {
            adoption.remove()
            adoptions.removeFirst()
            return .adopted(adoption.task, error.reason)
        }
    }

    func removePart(_ path: String) { HalfDoneFile.remove(path) }

    // MARK: Of runs that were killed

    func sweep(keeping: Set<String>?) { folders.leftovers.begin(keeping: keeping) }

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
