internal import CLinuxShims

/// The number of descriptors that this process may have.
package enum DescriptorLimit {
    /// Descriptors that a task under way may hold: for a look-up, connections that are made side by side or kept for
    /// the next task, its file and that file's folder.
    private static let ofATask = 6
    /// Descriptors that a run holds beside its tasks.
    private static let ofARun = 48

    /// The number that the process may have at present.
    package static var present: Int { raise(to: 0) }

    /// Raises the limit up to `wanted` as far as the hard limit allows, and returns the resulting limit.
    @discardableResult
    package static func raise(to wanted: Int) -> Int { Int(clamping: tr_raise_descriptors(Int64(wanted))) }

    /// Raises the limit if it is too low for this number of tasks at a time, and returns how many can be under way. It
    /// is raised no further than needed, because commands that the run starts inherit it.
    package static func makeRoom(for tasks: Int) -> Int {
        let needed = tasks * ofATask + ofARun
        let limit = raise(to: needed)
        return limit >= needed ? tasks : max(1, (limit - ofARun) / ofATask)
    }
}
