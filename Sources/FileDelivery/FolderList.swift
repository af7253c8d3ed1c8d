import Glibc
import SystemIO

/// The folders of a tree, each after its parent. Each is opened by its name in its parent, never by a path, so that no
/// link is followed, and no tree is too deep for the stack or for the limit on open files.
final class FolderList {
    private let root: FolderCache.Folder
    private let mount: UInt64
    private var places: [(parent: Int, name: RawName)] = [(0, .this)]
    /// The folder opened last and its parent: the next one is mostly in one of them.
    private var opened: [(index: Int, folder: FolderCache.Folder)] = []

    init(_ root: FolderCache.Folder) {
        self.root = root
        mount = root.descriptor.mountNumber
    }

    var count: Int { places.count }
    func parent(_ index: Int) -> Int { places[index].parent }
    func name(_ index: Int) -> RawName { places[index].name }

    func add(_ name: RawName, below parent: Int) -> Int {
        places.append((parent, name))
        return places.count - 1
    }

    /// Returns the names from the root down; empty for the root.
    func names(_ index: Int) -> [RawName] {
        var names: [RawName] = []
        var index = index
        while index != 0 {
            names.append(places[index].name)
            index = places[index].parent
        }
        return names.reversed()
    }

    /// Returns the path relative to the root, for messages.
    func path(_ index: Int, _ name: RawName? = nil) -> String {
        (names(index) + (name.map { [$0] } ?? [])).map(\.description).joined(separator: "/")
    }

    /// Opens a folder; throws EXDEV if something is mounted on it.
    func open(_ index: Int) throws(SystemError) -> FolderCache.Folder {
        if let known = known(index) { return known }
        var missing: [Int] = []
        var nearest = index
        var above: FolderCache.Folder?
        while above == nil {
            missing.append(nearest)
            nearest = places[nearest].parent
            above = known(nearest)
        }
        var folder = above ?? root
        for index in missing.reversed() {
            let child = try folder.child(places[index].name)
            guard child.device == root.device, child.descriptor.mountNumber == mount else {
                throw SystemError(call: "open", errno: EXDEV)
            }
            opened = [(places[index].parent, folder), (index, child)]
            folder = child
        }
        return folder
    }

    private func known(_ index: Int) -> FolderCache.Folder? {
        index == 0 ? root : opened.first { $0.index == index }?.folder
    }
}

/// Removes trees that are of no more use.
enum TreeRemoval {
    /// Removes `name` in `parent` with everything below it, never through a link and never in another filesystem. On an
    /// error the rest stays.
    static func remove(_ name: RawName, in parent: FolderCache.Folder) throws(SystemError) {
        let list = FolderList(try parent.child(name))
        var next = 0
        while next < list.count {
            try empty(list, next)
            next += 1
        }
        for index in (1..<list.count).reversed() {
            try list.open(list.parent(index)).descriptor.removeFolder(list.name(index))
        }
        try parent.descriptor.removeFolder(name)
    }

    /// Removes the files of one folder and adds its folders to the list.
    private static func empty(_ list: FolderList, _ index: Int) throws(SystemError) {
        let folder = try list.open(index)
        let mode = try folder.descriptor.facts().permissions
        // A folder that was carried over may be one without write permission.
        if mode & 0o700 != 0o700 { try? folder.descriptor.setMode(mode | 0o700) }
        for name in try folder.descriptor.names() {
            do throws(SystemError) {
                try folder.descriptor.unlink(name)
            } catch {
                guard error.errno == EISDIR else { throw error }
                _ = list.add(name, below: index)
            }
        }
    }
}
