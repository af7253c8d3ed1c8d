/// The publication of a group.
package final class GroupRecord: Sendable {
    /// The group's name in the job file.
    package let name: String
    /// The files that the publication removed; `nil` where the group removes none (`extraneous: keep`).
    package let removed: RemovedFiles?
    package init(name: String, removed: RemovedFiles?) {
        self.name = name
        self.removed = removed
    }
}

/// Files that no member of a group names any more and that its publication removed.
package struct RemovedFiles: Hashable, Sendable {
    /// Most files that are named.
    package static let mostNamed = 1_000
    /// Number of files.
    package private(set) var count = 0
    /// Paths of the first of them, relative to the group's folder.
    package private(set) var named: [String] = []

    package init() {}

    package init(count: Int, named: [String]) {
        self.count = count
        self.named = named
    }

    /// Counts one more file.
    package mutating func add(_ path: @autoclosure () -> String) {
        count += 1
        if named.count < Self.mostNamed { named.append(path()) }
    }
}
