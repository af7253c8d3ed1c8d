import SystemIO
package import TransferModel

/// Limits a run to the tasks for which its process may open files: further ones would fetch what they cannot write, or
/// fail, again and again.
package enum OpenFiles {
    /// Lowers the job's limit if needed, and returns why, else `nil`.
    package static func fit(_ job: inout Job) -> String? {
        // How many tasks a template becomes shows later.
        let most = job.tasks.contains(where: \.isTemplate) ? Int.max : job.tasks.count
        let wanted = min(job.limits.maximumConcurrentTasks, most)
        let room = DescriptorLimit.makeRoom(for: wanted)
        guard room < wanted else { return nil }
        job.limits.maximumConcurrentTasks = room
        return "\(room) tasks at once instead of \(wanted): this process may not open more than "
            + "\(DescriptorLimit.present) files (`ulimit -n`)"
    }
}
