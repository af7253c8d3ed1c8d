import SystemIO
import TransferModel

/// Limits a run to the tasks for which this process may open files: further ones would fail for lack of descriptors, in
/// each run again.
enum OpenFiles {
    /// Lowers the job's limit if needed, and returns the warning, else `nil`.
    static func fit(_ job: inout Job) -> String? {
        let wanted = min(job.limits.maximumConcurrentTasks, job.tasks.count)
        let room = DescriptorLimit.makeRoom(for: wanted)
        guard room < wanted else { return nil }
        job.limits.maximumConcurrentTasks = room
        return "warning: \(room) tasks at once instead of \(wanted): this process may not open more than "
            + "\(DescriptorLimit.present) files (`ulimit -n`)\n"
    }
}
