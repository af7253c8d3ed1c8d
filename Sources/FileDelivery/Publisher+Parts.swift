import SystemIO
import TransferModel

// What is there of a body that did not come to its end, for a later run and from an earlier one.

extension Publisher {
    func keepPart(_ id: StagingID, _ task: TaskIndex) { kept[id] = task }

    /// Not more often than this is it told how far bodies are. What is whole by then needed no name.
    private static let partPause = TimeSpan.seconds(1)

    /// A body grew: if that is worth telling, it is told in a while.
    func noteGrowth(_ id: StagingID, _ staging: Staging) {
        guard partsDue == nil, !kept.isEmpty, kept[id] != nil, staging.hasGrown else { return }
        partsDue = Clocks.instant() + Self.partPause
    }

    /// Of all bodies that grew.
    func partsIfDue() -> [DeliveryReport] {
        guard let due = partsDue, due <= Clocks.instant() else { return [] }
        partsDue = nil
        return kept.compactMap { id, task in
            guard let staging = stagings[id], staging.hasGrown, let part = staging.part(names) else { return nil }
            return .part(id, task, part)
        }
    }

    /// Its bytes stay under their temporary name, if there are enough of them.
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

    /// Reads on in what is being adopted, a slice.
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

    /// Sweeps one folder; `false` when there is none left.
    func sweepOne() -> Bool { folders.leftovers.sweepOne() }
}

/// What a run left of a file for the next.
package enum HalfDoneFile {
    /// Takes it away unless a run is at it. Gone already is as good.
    package static func remove(_ path: String) {
        let (folder, name) = Folders.split(path)
        guard name.hasPrefix(TemporaryNames.prefix),
            let place = try? FolderCache.Folder(Descriptor.openFolder(folder))
        else { return }
        Leftovers.remove(RawName(name), in: place)
    }
}
