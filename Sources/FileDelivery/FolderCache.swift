import Glibc
import SystemIO

/// Open folders by path, so that ten thousand files in one folder open it once.
final class FolderCache {
    final class Folder {
        let descriptor: Descriptor
        let device: UInt64
        /// Set once the filesystem turned out not to know unnamed files.
        var lacksUnnamedFiles = false
        init(_ descriptor: consuming Descriptor) throws(SystemError) {
            device = try descriptor.facts().device
            self.descriptor = descriptor
        }
    }

    private var folders: [String: Folder] = [:]
    private var last: (path: String, folder: Folder)?
    /// Few enough to stay far from the limit on open files.
    private let capacity = 128

    /// The folder at `path`, made with what is missing above it.
    func folder(_ path: String) throws(SystemError) -> Folder {
        if let last, last.path == path { return last.folder }
        if let known = folders[path] {
            last = (path, known)
            return known
        }
        let opened = try open(path)
        if folders.count >= capacity { folders.removeAll(keepingCapacity: true) }
        folders[path] = opened
        last = (path, opened)
        return opened
    }

    /// Somebody removed or replaced the folder: look again.
    func forget(_ path: String) {
        folders[path] = nil
        if last?.path == path { last = nil }
    }

    private func open(_ path: String) throws(SystemError) -> Folder {
        do throws(SystemError) {
            return try Folder(Descriptor.openFolder(path))
        } catch {
            guard error.errno == ENOENT else { throw error }
        }
        try Folders.makeAll(path)
        return try Folder(Descriptor.openFolder(path))
    }
}
