internal import CLinuxShims
import Glibc
import Synchronization

/// The number of descriptors that this process may have.
package enum DescriptorLimit {
    /// Descriptors that a task under way may hold: for a look-up, connections that are made side by side or kept for
    /// the next task, its file and that file's folder.
    private static let ofATask = 6
    /// Descriptors that a run holds beside its tasks.
    private static let ofARun = 48

    /// Descriptors that one of many runs of a process holds with six tasks under way, as many as a host gets by default.
    private static let ofOneOfMany = 28

    /// How many runs of one process the limit leaves room for.
    package static var runs: Int { max(1, (present - ofARun) / ofOneOfMany) }

    /// The number that the process may have at present.
    package static var present: Int { raise(to: 0) }

    /// Raises the limit up to `wanted` as far as the hard limit allows, and returns the resulting limit.
    @discardableResult
    package static func raise(to wanted: Int) -> Int { Int(clamping: tr_raise_descriptors(Int64(wanted))) }

    /// Descriptors that no transfer takes, because the process needs them to be told something and to write down what
    /// happens; 0 in a process that is not told anything while it transfers.
    private static let kept = Atomic<Int>(0)

    /// Keeps so many descriptors, or a quarter of all where that is less, for others than transfers.
    package static func keep(_ count: Int) { kept.store(count, ordering: .relaxed) }

    /// Whether a transfer may have this descriptor, which was just opened: the system gives the lowest free number.
    package static func allowsTransfer(_ descriptor: Int32) -> Bool {
        let kept = kept.load(ordering: .relaxed)
        return kept == 0 || allowsTransfer(Int(descriptor), keeping: kept, of: present)
    }

    static func allowsTransfer(_ descriptor: Int, keeping kept: Int, of limit: Int) -> Bool {
        descriptor < limit - min(kept, limit / 4)
    }

    /// Why not even two descriptors can be opened now, EMFILE or ENFILE; `nil` if they can. For failures of a library
    /// that does not tell their cause.
    package static var shortage: Int32? {
        var pair: [Int32] = [-1, -1]
        let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        if unsafe socketpair(AF_UNIX, kind, 0, &pair) == 0 {
            for end in pair { close(end) }
            return nil
        }
        let code = errno
        return [EMFILE, ENFILE].contains(code) ? code : nil
    }

    /// Raises the limit if it is too low for this number of tasks at a time, and returns how many can be under way. It
    /// is raised no further than needed, because commands that the run starts inherit it.
    package static func makeRoom(for tasks: Int) -> Int {
        let needed = tasks * ofATask + ofARun
        let limit = raise(to: needed)
        return limit >= needed ? tasks : max(1, (limit - ofARun) / ofATask)
    }
}
