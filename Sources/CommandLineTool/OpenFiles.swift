import SystemIO
import TransferModel

/// Not more tasks at once than this process may open files for: they would fail for want of descriptors, in each run anew.
enum OpenFiles {
    /// A line that says so.
    static func fit(_ job: inout Job) -> String? {
        let wanted = min(job.limits.maximumConcurrentTasks, job.tasks.count)
        let room = DescriptorLimit.makeRoom(for: wanted)
        guard room < wanted else { return nil }
        job.limits.maximumConcurrentTasks = room
        return "warning: \(room) tasks at once instead of \(wanted): this process may not open more than "
            + "\(DescriptorLimit.present) files (`ulimit -n`)\n"
    }
}
