import Glibc
package import TransferModel

/// Operations on folders and paths.
package enum Folders {
    /// Returns the absolute path of the working folder; `nil` when it was removed or lies outside of what this process
    /// can see.
    package static func working() throws(NotText) -> String? {
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX) + 1)
        guard unsafe getcwd(&buffer, buffer.count) != nil, buffer[0] == 0x2F else { return nil }
        return try RawName(bytes: buffer.lazy.map { UInt8(bitPattern: $0) }).asText()
    }

    /// Returns the absolute path without links, `.` and `..`; `nil` when nothing exists there.
    package static func resolved(_ path: String) -> RawName? { resolved(RawName(path)) }

    /// Returns the absolute path without links, `.` and `..`; `nil` when nothing exists there.
    package static func resolved(_ path: RawName) -> RawName? {
        guard let found = unsafe realpath(path.characters, nil) else { return nil }
        defer { unsafe free(found) }
        return unsafe RawName(bytes: UnsafeRawBufferPointer(start: found, count: strlen(found)))
    }

    /// Resolves the existing part of a path and appends the rest.
    package static func resolvedAsFarAsThere(_ path: RawName) -> RawName {
        if let there = resolved(path) { return there }
        let (folder, name) = split(path)
        guard !name.bytes.isEmpty, folder != path else { return path }
        return resolvedAsFarAsThere(folder).appending(name)
    }

    /// Returns whether a resolved path is `folder` or below it.
    package static func isAt(_ path: RawName, orIn folder: RawName) -> Bool {
        guard path.bytes.starts(with: folder.bytes) else { return false }
        let next = path.bytes.dropFirst(folder.bytes.count).first
        return next == nil || next == UInt8(ascii: "/") || folder.bytes.last == UInt8(ascii: "/")
    }

    /// Returns the names in a folder, in no order: none if it cannot be read, and none that is not UTF-8.
    package static func names(in path: String) -> [String] {
        guard let stream = unsafe try? open(RawName(path)) else { return [] }
        defer { unsafe closedir(stream) }
        var names: [String] = []
        while let entry = unsafe readdir(stream) {
            if let name = unsafe WholeFile.name(of: entry).text { names.append(name) }
        }
        return names.filter { $0 != "." && $0 != ".." }
    }

    /// Opens a folder for reading its names.
    static func open(_ path: RawName) throws(SystemError) -> OpaquePointer {
        let folder = try Descriptor.open(path, O_RDONLY | O_DIRECTORY | O_NONBLOCK)
        let own = folder.raw
        let copy = try Syscall.check("opendir") { fcntl(own, F_DUPFD_CLOEXEC, 0) }
        guard let stream = unsafe fdopendir(copy) else {
            let code = errno
            close(copy)
            throw SystemError(call: "opendir", errno: code)
        }
        return unsafe stream
    }

    /// Splits a path into its folder and its name, by bytes; the folder of a bare name is `.`.
    package static func split(_ path: RawName) -> (folder: RawName, name: RawName) {
        guard let slash = path.bytes.lastIndex(of: UInt8(ascii: "/")) else { return (.this, path) }
        let name = RawName(bytes: path.bytes[path.bytes.index(after: slash)...])
        return (slash == path.bytes.startIndex ? RawName("/") : RawName(bytes: path.bytes[..<slash]), name)
    }

    /// Splits a path into its folder and its name; the folder of a bare name is `.`.
    package static func split(_ path: String) -> (folder: String, name: String) {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return (".", path) }
        let name = String(path[path.utf8.index(after: slash)...])
        return slash == path.startIndex ? ("/", name) : (String(path[..<slash]), name)
    }
}
