internal import Glibc

/// A fresh folder, deleted with its contents when the last reference is gone.
package final class TemporaryTree: Sendable {
    /// Absolute path, without a `/` at its end and without a symlink in it.
    package let path: String

    package init(_ name: String = "tree") throws {
        let base = Environment["TMPDIR"] ?? "/tmp"
        var template = Array("\(base)/transfer-run-\(name).XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw SystemFailure("mkdtemp \(base)") }
        let made = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        path =
            realpath(made, nil).map { pointer in
                defer { free(pointer) }
                return String(cString: pointer)
            } ?? made
    }

    deinit { Self.remove(path) }

    /// The absolute path of an entry of the tree.
    package func path(_ relative: String) -> String { relative.isEmpty ? path : "\(path)/\(relative)" }

    /// Writes a file and makes the folders above it; returns its absolute path.
    @discardableResult
    package func write(_ relative: String, _ text: String, mode: UInt32 = 0o644) throws -> String {
        try write(relative, Array(text.utf8), mode: mode)
    }

    /// Writes a file and makes the folders above it; returns its absolute path.
    @discardableResult
    package func write(_ relative: String, _ bytes: [UInt8], mode: UInt32 = 0o644) throws -> String {
        if let slash = relative.lastIndex(of: "/") { try makeFolder(String(relative[..<slash])) }
        let full = path(relative)
        let file = open(full, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode)
        guard file >= 0 else { throw SystemFailure("open \(full)") }
        defer { close(file) }
        guard fchmod(file, mode) == 0 else { throw SystemFailure("fchmod \(full)") }
        var done = 0
        while done < bytes.count {
            let count = bytes.withUnsafeBytes { Glibc.write(file, $0.baseAddress! + done, bytes.count - done) }
            guard count > 0 else { throw SystemFailure("write \(full)") }
            done += count
        }
        return full
    }

    /// Makes a folder and those above it; returns its absolute path.
    @discardableResult
    package func makeFolder(_ relative: String, mode: UInt32 = 0o755) throws -> String {
        var made = path
        for part in relative.split(separator: "/") {
            made += "/\(part)"
            guard mkdir(made, mode) == 0 || errno == EEXIST else { throw SystemFailure("mkdir \(made)") }
        }
        return made
    }

    /// Makes a symlink.
    package func link(_ relative: String, to target: String) throws {
        guard symlink(target, path(relative)) == 0 else { throw SystemFailure("symlink \(relative)") }
    }

    /// Whether an entry exists, also a dangling symlink.
    package func exists(_ relative: String) -> Bool {
        var information = stat()
        return lstat(path(relative), &information) == 0
    }

    /// Returns a file's bytes.
    package func bytes(_ relative: String) throws -> [UInt8] { try Self.bytes(at: path(relative)) }

    /// Returns a file's text.
    package func text(_ relative: String) throws -> String { String(decoding: try bytes(relative), as: UTF8.self) }

    /// Deletes an entry, a folder with its contents.
    package func remove(_ relative: String) { Self.remove(path(relative)) }

    /// Sets an entry's permission bits.
    package func setMode(_ relative: String, _ mode: UInt32) throws {
        guard chmod(path(relative), mode) == 0 else { throw SystemFailure("chmod \(relative)") }
    }

    /// The permission bits, or `nil` when the entry does not exist.
    package func mode(_ relative: String) -> UInt32? {
        var information = stat()
        return lstat(path(relative), &information) == 0 ? information.st_mode & 0o7777 : nil
    }

    /// Every entry below the folder, by its relative path, sorted; a folder ends in `/`, a symlink in `@`.
    package func list(_ relative: String = "") -> [String] {
        var found: [String] = []
        collect(relative, prefix: "", into: &found)
        return found.sorted()
    }

    /// The entries of `list` with the files' bytes, for comparing trees. Folders have no bytes, symlinks their target.
    package func contents(_ relative: String = "") throws -> [String: [UInt8]] {
        var all: [String: [UInt8]] = [:]
        for entry in list(relative) {
            let base = relative.isEmpty ? "" : relative + "/"
            if entry.hasSuffix("/") {
                all[entry] = []
            } else if entry.hasSuffix("@") {
                all[entry] = Array(Self.linkTarget(path(base + entry.dropLast())).utf8)
            } else {
                all[entry] = try bytes(base + entry)
            }
        }
        return all
    }

    private func collect(_ relative: String, prefix: String, into found: inout [String]) {
        for (name, kind) in Self.entries(of: path(relative)) {
            let inner = relative.isEmpty ? name : "\(relative)/\(name)"
            switch kind {
            case .folder:
                found.append("\(prefix)\(name)/")
                collect(inner, prefix: "\(prefix)\(name)/", into: &found)
            case .symlink: found.append("\(prefix)\(name)@")
            case .other: found.append(prefix + name)
            }
        }
    }
}

extension TemporaryTree {
    private enum Kind { case folder, symlink, other }

    /// Returns the bytes of a file anywhere.
    package static func bytes(at path: String) throws -> [UInt8] {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { throw SystemFailure("open \(path)") }
        defer { close(file) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = read(file, &buffer, buffer.count)
            guard count >= 0 else { throw SystemFailure("read \(path)") }
            if count == 0 { return bytes }
            bytes += buffer[..<count]
        }
    }

    /// Returns the names in a folder anywhere.
    package static func names(in folder: String) -> [String] { entries(of: folder).map(\.0) }

    private static func entries(of folder: String) -> [(String, Kind)] {
        guard let stream = opendir(folder) else { return [] }
        defer { closedir(stream) }
        var found: [(String, Kind)] = []
        while let entry = readdir(stream) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name == "." || name == ".." { continue }
            var information = stat()
            guard lstat("\(folder)/\(name)", &information) == 0 else { continue }
            switch information.st_mode & S_IFMT {
            case S_IFDIR: found.append((name, .folder))
            case S_IFLNK: found.append((name, .symlink))
            default: found.append((name, .other))
            }
        }
        return found
    }

    private static func linkTarget(_ path: String) -> String {
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = buffer.withUnsafeMutableBytes {
            readlink(path, $0.baseAddress!.assumingMemoryBound(to: CChar.self), $0.count)
        }
        return String(decoding: buffer.prefix(max(0, count)), as: UTF8.self)
    }

    private static func remove(_ path: String) {
        if unlink(path) == 0 { return }
        // A test may have removed the permissions.
        chmod(path, 0o700)
        for (name, _) in entries(of: path) { remove("\(path)/\(name)") }
        rmdir(path)
    }
}
