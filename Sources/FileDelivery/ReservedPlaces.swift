package import SystemIO
package import TransferModel

/// The files that a run reads, runs and writes beside its tasks' files, and the folders of its groups. A name that a
/// server chose, or a path that leads there by a symlink, must not take one of these places.
package struct ReservedPlaces: Sendable {
    /// The folder of a group: it is exchanged as a whole, so that only its members may write there.
    package struct GroupFolder: Sendable {
        let name: String
        let path: String
        package init(name: String, path: String) {
            self.name = name
            self.path = path
        }
    }

    /// The reserved files by their last name, so that a file of another name costs nothing here.
    private var places: [String: [(folder: RawName, name: RawName, file: Job.Reserved)]] = [:]
    private let reserved: [Job.Reserved]
    private let groups: [GroupFolder]

    package init(_ reserved: [Job.Reserved], groups: [GroupFolder] = []) {
        self.reserved = reserved
        self.groups = groups
        for place in reserved {
            let path = RawName(place.path)
            add(path, place)
            // Both the link and the file that it leads to.
            if let end = Folders.resolved(path), end != path { add(end, place) }
        }
    }

    private mutating func add(_ path: RawName, _ file: Job.Reserved) {
        let (folder, name) = Folders.split(path)
        // Tasks have text paths: none asks for a name that is not UTF-8.
        if let text = name.text { places[text, default: []].append((folder, name, file)) }
    }

    /// Returns what has the place reserved; `nil` when it is free for a task. `isNamed`: the job names the place, and not
    /// a server.
    package func what(at path: String, isNamed: Bool = true) -> String? {
        guard !places.isEmpty else { return nil }
        let (folder, name) = Folders.split(path)
        guard let alike = places[name]?.filter({ !isNamed || !$0.file.mayBeNamed }), !alike.isEmpty,
            let here = Folders.resolved(folder)
        else { return nil }
        return alike.first { $0.name == RawName(name) && Folders.resolved($0.folder) == here }?.file.what
    }

    /// Returns a reserved file in the folder at `path`, which would be removed with it.
    package func first(in path: String) -> Job.Reserved? {
        Folders.resolved(path).flatMap { first(inResolved: $0) }
    }

    /// Returns a reserved file in a folder whose path is resolved.
    package func first(inResolved folder: RawName) -> Job.Reserved? {
        reserved.first { place in
            if place.mayBeNamed { return false }
            // Both the name and, where that is a link, the file.
            return [Folders.split(place.path).folder, place.path].map { Folders.resolvedAsFarAsThere(RawName($0)) }
                .contains { Folders.isAt($0, orIn: folder) }
        }
    }

    var hasGroups: Bool { !groups.isEmpty }

    /// Returns the group in whose folder a folder lies, by whatever path it was reached.
    func group(around folder: borrowing Descriptor) -> String? {
        guard !groups.isEmpty, let path = try? folder.path() else { return nil }
        return group(aroundResolved: path)
    }

    /// Returns the group in whose folder the file lies.
    func group(aroundFile path: String) -> String? {
        guard !groups.isEmpty, let folder = Folders.resolved(Folders.split(path).folder) else { return nil }
        return group(aroundResolved: folder)
    }

    private func group(aroundResolved path: RawName) -> String? {
        groups.first { group in Folders.resolved(group.path).map { Folders.isAt(path, orIn: $0) } ?? false }?.name
    }

    static func isGroups(_ path: String, _ group: String) -> TransferError {
        TransferError(
            .destinationExists,
            "\(path) lies in the folder of the group `\(group)`, which is put in place as a whole: "
                + "make the task its member, or let it go elsewhere")
    }
}
