internal import CLinuxShims

/// How many descriptors this process may have.
package enum DescriptorLimit {
    /// A task under way may hold so many: of a look-up, connections that are made side by side or kept for the next, its
    /// file and that file's folder.
    private static let ofATask = 6
    /// What a run holds beside them.
    private static let ofARun = 48

    package static var present: Int { raise(to: 0) }

    /// Lets this process have up to `wanted` descriptors where its hard limit allows it, and says how many it may have.
    @discardableResult
    package static func raise(to wanted: Int) -> Int { Int(clamping: tr_raise_descriptors(Int64(wanted))) }

    /// Raises the limit where it is too low for so many tasks at once, and only there: commands that the run starts inherit
    /// it. How many of them can be under way.
    package static func makeRoom(for tasks: Int) -> Int {
        let needed = tasks * ofATask + ofARun
        let limit = raise(to: needed)
        return limit >= needed ? tasks : max(1, (limit - ofARun) / ofATask)
    }
}
