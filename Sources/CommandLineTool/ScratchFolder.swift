import SystemIO

/// A private folder for files that live as long as a command.
struct ScratchFolder {
    let path: String

    /// Makes the folder, and the folders above it.
    init(_ path: String) throws(PrivacyProblem) {
        self.path = path
        _ = try PrivateFolder.make(path)
    }

    /// Removes a file, and the folders above it that are empty then.
    func remove(_ file: String) {
        var folder = Folders.split(file).folder
        guard folder.utf8.starts(with: path.utf8) else { return }
        unlink(file)
        while folder.utf8.count > path.utf8.count, removeFolder(folder) { folder = Folders.split(folder).folder }
    }

    private func unlink(_ file: String) {
        let (folder, name) = Folders.split(file)
        guard let place = try? Descriptor.openPlace(folder) else { return }
        try? place.unlink(name)
    }

    /// Removes everything.
    func removeAll() { removeAll(in: path) }

    private func removeAll(in folder: String) {
        for name in Folders.names(in: folder) {
            guard let facts = try? FileFacts.ofName("\(folder)/\(name)") else { continue }
            if facts.isFolder { removeAll(in: "\(folder)/\(name)") } else { unlink("\(folder)/\(name)") }
        }
        removeFolder(folder)
    }

    @discardableResult
    private func removeFolder(_ path: String) -> Bool {
        let (folder, name) = Folders.split(path)
        guard let place = try? Descriptor.openPlace(folder) else { return false }
        return (try? place.removeFolder(RawName(name))) != nil
    }
}
