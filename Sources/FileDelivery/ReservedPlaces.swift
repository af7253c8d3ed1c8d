import SystemIO
package import TransferModel

/// What a run reads and writes beside its tasks' files. A name that a server chose, or a path that leads there by a symlink,
/// takes none of these places.
package struct ReservedPlaces: Sendable {
    /// By the last part of their paths, so that a file of another name costs nothing here.
    private var places: [String: [(folder: String, what: String)]] = [:]

    package init(_ reserved: [Job.Reserved]) {
        for place in reserved {
            add(place.path, place.what)
            // The link and the file that it leads to.
            if let end = Folders.resolved(place.path), end != place.path { add(end, place.what) }
        }
    }

    private mutating func add(_ path: String, _ what: String) {
        let (folder, name) = Folders.split(path)
        places[name, default: []].append((folder, what))
    }

    /// Whose place that is; `nil` when it is free for a task.
    package func what(at path: String) -> String? {
        guard !places.isEmpty else { return nil }
        let (folder, name) = Folders.split(path)
        guard let alike = places[name], let here = Folders.resolved(folder) else { return nil }
        return alike.first { Folders.resolved($0.folder) == here }?.what
    }
}
