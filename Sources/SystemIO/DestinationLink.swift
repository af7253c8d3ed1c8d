/// Follows a destination that is a symlink to the file that is to be replaced.
package enum DestinationLink {
    /// Why the link cannot be followed to a file.
    package enum Problem: Error, Hashable, Sendable {
        /// The link leads to a device, pipe or socket.
        case noFile
        case folder
        /// Another reason, as for any file that is written.
        case place(WrittenPlace.Problem)
    }

    /// Returns the path of the file that the symlink `path` leads to, which need not exist; `nil` where `path` is no
    /// link. A device, pipe or socket is a problem even without a link; folders are left to the caller.
    package static func end(of path: String) throws(Problem) -> String? {
        guard let facts = try? FileFacts.ofName(path), !facts.isRegular, !facts.isFolder else { return nil }
        guard facts.isLink else { throw .noFile }
        let place: WrittenPlace
        do throws(WrittenPlace.Problem) { place = try .find(path) } catch { throw .place(error) }
        switch place.kind {
        case .nothing, .file: break
        case .folder: throw .folder
        case .given, .device, .other: throw .noFile
        }
        do throws(WrittenPlace.Problem) { return try place.path() } catch { throw .place(error) }
    }
}
