import FileDelivery
import HTTPRules
import Stores
import TransferModel

/// What is kept of the files of tasks that are soon to begin, looked up many at a time: no connection stands idle while its
/// next task waits for the store, and then for what stands at its destination.
///
/// That what it saw is a while ago harms nobody: a file that is to stay is looked at again when the server has answered.
struct Foresight {
    /// What is known of a task that has not begun.
    enum Sight {
        /// Surely nothing is kept.
        case nothing
        case asked
        case found(KeptValidators?, ResumeRecord?)
        case looking(KeptValidators)
        case seen(KeptValidators, FileStamp?)
    }

    private var sights: [TaskIndex: Sight] = [:]
    /// Which tasks have begun, each at its number: for those nobody looks any more.
    private var begun: [Bool] = []
    /// The next task that is to be thought of.
    private var reached = 0
    private var count: Int

    private static let step = 64
    private static let margin = 32

    init(_ count: Int) { self.count = count }

    /// Makes room for more tasks.
    mutating func grow(by more: Int) {
        count += more
        if !begun.isEmpty { begun += Array(repeating: false, count: more) }
    }

    /// The tasks to be thought of now that this one begins; from now on those count as thought of.
    mutating func extend(from task: TaskIndex) -> Range<Int> {
        let next = Int(task.raw) + 1
        // Where another order than the file's led elsewhere, it begins anew from there.
        let isNear = next <= reached && reached <= next + Self.margin + Self.step
        if isNear, reached > next + Self.margin { return reached..<reached }
        let start = isNear ? reached : next
        reached = min(count, start + Self.step)
        return min(start, count)..<reached
    }

    subscript(task: TaskIndex) -> Sight? {
        get { sights[task] }
        set { sights[task] = newValue }
    }

    /// Removes and returns what was foreseen of the task, if anything.
    mutating func take(_ task: TaskIndex) -> Sight? { sights.removeValue(forKey: task) }

    /// Marks the task as begun; returns `false` if it was already.
    mutating func markBegun(_ task: TaskIndex) -> Bool {
        if begun.isEmpty { begun = Array(repeating: false, count: count) }
        defer { begun[Int(task.raw)] = true }
        return !begun[Int(task.raw)]
    }

    /// Whether the task has begun.
    func hasBegun(_ task: TaskIndex) -> Bool { !begun.isEmpty && begun[Int(task.raw)] }
}

extension KeptFiles {
    /// A task begins; others will soon.
    func lookAhead(of task: TaskIndex, _ memory: StoreClient) {
        guard memory.isOpen, foresight.markBegun(task) else { return }
        for index in foresight.extend(from: task) {
            let next = TaskIndex(raw: UInt32(index))
            guard foresight[next] == nil, !foresight.hasBegun(next), core.attempts[index] == nil,
                !core.job.tasks[index].options.values.awaitsCaptures, participants.filling.lookAhead(of: next)
            else { continue }
            let specification = core.job.tasks[index]
            guard memory.keeps(specification).isEligible else { continue }
            foresight[next] = memory.find(next, specification) ? .asked : .nothing
        }
    }

    /// What the store knows of a task that has not begun; `false` if it has, and waits for that itself.
    func foresaw(_ task: TaskIndex, _ kept: KeptValidators?, _ record: ResumeRecord?) -> Bool {
        guard case .asked = foresight[task] else { return false }
        // A file that has to be read is read when its turn comes.
        if let kept, record == nil, !Revalidation.mustRead(kept, boot: core.store?.boot ?? 0) {
            foresight[task] = .looking(kept)
            let specification = core.job.tasks[Int(task.raw)]
            core.outbox.add(
                .readStamp(
                    .init(
                        task, path: keptPath(specification, kept), member: participants.groupFiles.member(specification)
                    )))
        } else {
            foresight[task] = .found(kept, record)
        }
        return true
    }

    /// What stands where such a task's file would.
    func foresaw(_ task: TaskIndex, _ stamp: FileStamp?) -> Bool {
        guard case .looking(let kept) = foresight[task] else { return false }
        foresight[task] = .seen(kept, stamp)
        return true
    }
}
