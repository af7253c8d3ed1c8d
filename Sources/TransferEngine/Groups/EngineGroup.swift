import FileDelivery
import Stores
import TransferModel

/// A group as the engine needs it: where it stands, and whose files it publishes.
struct EngineGroup {
    let place: GroupPlace
    private(set) var members: [TaskIndex] = []

    mutating func add(_ member: TaskIndex) { members.append(member) }
    mutating func remove(_ member: TaskIndex) { members.removeAll { $0 == member } }

    /// Where no task writes that is not meant to.
    static func reserved(_ job: Job, _ groups: [EngineGroup]) -> ReservedPlaces {
        let folders = zip(job.groups, groups).map { group, known in
            ReservedPlaces.GroupFolder(name: group.name, path: known.place.folder)
        }
        return ReservedPlaces(job.reserved, groups: folders)
    }

    /// `memory` is where what outlives the run is kept, if anything is.
    static func all(of job: Job, memory: MemoryPlace?) -> [EngineGroup] {
        guard !job.groups.isEmpty else { return [] }
        var members = Array(repeating: [TaskIndex](), count: job.groups.count)
        var flushes = Array(repeating: false, count: job.groups.count)
        for (index, task) in job.tasks.enumerated() {
            guard let number = task.group.map({ Int($0.raw) }) else { continue }
            members[number].append(TaskIndex(raw: UInt32(index)))
            // One member that must survive a power cut makes the whole swap do so.
            if job.sessions[Int(task.session.raw)].durability == .flush { flushes[number] = true }
        }
        return job.groups.enumerated().map { number, group in
            var folder = group.to.revealed
            while folder.utf8.count > 1, folder.hasSuffix("/") { folder.removeLast() }
            return EngineGroup(
                place: GroupPlace(
                    index: GroupIndex(raw: UInt16(number)), folder: folder, extraneous: group.extraneous,
                    maximumRemovals: group.maximumRemovals, flush: flushes[number],
                    keeping: keeping(members[number], of: job, at: folder, memory)),
                members: members[number])
        }
    }

    /// Members of ephemeral sessions leave nothing, and a group is kept as a whole.
    private static func keeping(
        _ members: [TaskIndex], of job: Job, at folder: String, _ memory: MemoryPlace?
    ) -> KeptPlace? {
        guard let memory else { return nil }
        // Members are of one job file, whose sessions the store knows under one job. A group may have none yet.
        let owners = members.map { memory.sessions[Int(job.tasks[Int($0.raw)].session.raw)]?.job }
        guard !owners.contains(nil), let owner = owners.first ?? memory.sessions.compactMap({ $0?.job }).first
        else { return nil }
        return KeptPlace(
            group: folder, job: owner, state: memory.folder,
            maximum: job.limits.maximumStaged ?? KeptPlace.defaultMaximum)
    }
}
