import SystemIO

/// A private folder for files that live as long as a command, at most two levels deep.
struct ScratchFolder {
    let path: String

    /// Makes the folder, and the folders above it.
    init(_ path: String) throws(PrivacyProblem) {
        self.path = path
        _ = try PrivateFolder.make(path)
    }

    /// Removes a file, and the folder of its own that it may lie in.
    func remove(_ file: String) {
        let (folder, name) = Folders.split(file)
        guard folder.utf8.starts(with: path.utf8), let place = try? Descriptor.openPlace(folder) else { return }
        try? place.unlink(name)
        if folder != path { removeFolder(folder) }
    }

    /// Removes everything.
    func removeAll() {
        for name in Folders.names(in: path) {
            for inner in Folders.names(in: "\(path)/\(name)") { remove("\(path)/\(name)/\(inner)") }
            remove("\(path)/\(name)")
            removeFolder("\(path)/\(name)")
        }
        removeFolder(path)
    }

    private func removeFolder(_ path: String) {
        let (folder, name) = Folders.split(path)
        guard let place = try? Descriptor.openPlace(folder) else { return }
        try? place.removeFolder(RawName(name))
    }
}
