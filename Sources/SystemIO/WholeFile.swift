import Glibc

/// Reads files that are small enough to be held in memory, and lists folders.
package enum WholeFile {
    /// Why a file could not be read.
    package enum Problem: Error, Hashable, Sendable {
        case notFound
        case notRegular
        case tooLarge
        case system(SystemError)
    }

    /// Returns the bytes of a regular file; a pipe or device is refused without waiting for it.
    package static func read(_ path: String, limit: Int) throws(Problem) -> [UInt8] {
        try read(open(path), limit: limit)
    }

    /// Makes a new file with these bytes; throws EEXIST if it exists. A file that could not be written completely is
    /// removed.
    package static func create(_ path: String, _ bytes: [UInt8]) throws(SystemError) {
        let (folder, name) = Folders.split(path)
        let place = try Descriptor.openPlace(folder)
        let file = try place.open(name, O_WRONLY | O_CREAT | O_EXCL, mode: 0o644)
        do throws(SystemError) { try file.writeAll(bytes) } catch {
            do throws(SystemError) { try place.unlink(name) } catch {}
            throw error
        }
    }

    /// Reads like `read(_:limit:)` a file of this user or of root; another one throws EPERM, since its owner decides what
    /// is in it.
    package static func readOwn(_ path: String, limit: Int) throws(Problem) -> [UInt8] {
        if isGiven(path), let bytes = try readPipe(path, limit) { return bytes }
        let file = try open(path)
        guard let owner = try? file.facts().owner, owner == geteuid() || owner == 0 else {
            throw .system(SystemError(call: "open", errno: EPERM))
        }
        return try read(file, limit: limit)
    }

    /// Reads like `read(_:limit:)`, and also reads a pipe that this process was given to its end, such as `<(…)` of a
    /// shell.
    package static func readGiven(_ path: String, limit: Int) throws(Problem) -> [UInt8] {
        if isGiven(path), let bytes = try readPipe(path, limit) { return bytes }
        return try read(path, limit: limit)
    }

    private static func isGiven(_ path: String) -> Bool {
        path == "/dev/stdin" || path.hasPrefix("/dev/fd/") || path.hasPrefix("/proc/self/fd/")
    }

    /// Reads a pipe; `nil` when the path is none.
    private static func readPipe(_ path: String, _ limit: Int) throws(Problem) -> [UInt8]? {
        do throws(SystemError) {
            // Opened blocking, so that reading waits for the writer.
            let file = try Descriptor.open(path, O_RDONLY)
            guard try file.facts().isPipe else { return nil }
            return try readAll(file, expecting: 0, limit: limit)
        } catch {
            throw problem(error)
        }
    }

    /// Opens a file for reading, for a caller that keeps it open.
    package static func open(_ path: String) throws(Problem) -> Descriptor {
        do throws(SystemError) {
            return try Descriptor.open(path, O_RDONLY | O_NONBLOCK)
        } catch {
            throw problem(error)
        }
    }

    /// Returns the bytes of an open regular file.
    package static func read(_ file: borrowing Descriptor, limit: Int) throws(Problem) -> [UInt8] {
        do throws(SystemError) {
            let facts = try file.facts()
            guard facts.isRegular else { throw SystemError(call: "open", errno: ENOTSUP) }
            guard facts.size <= Int64(limit) else { throw SystemError(call: "open", errno: EFBIG) }
            return try readAll(file, expecting: Int(facts.size), limit: limit)
        } catch {
            throw problem(error)
        }
    }

    private static func problem(_ error: SystemError) -> Problem {
        switch error.errno {
        case ENOENT, ENOTDIR: .notFound
        case ENOTSUP, ENXIO: .notRegular
        case EFBIG: .tooLarge
        default: .system(error)
        }
    }

    /// Reads standard input to its end.
    package static func readStandardInput(limit: Int) throws(Problem) -> [UInt8] {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count: Int
            do throws(SystemError) {
                count = try Syscall.count("read") { unsafe Glibc.read(0, &buffer, buffer.count) }
            } catch {
                throw .system(error)
            }
            if count == 0 { return bytes }
            bytes += buffer[..<count]
            if bytes.count > limit { throw .tooLarge }
        }
    }

    /// Reads to the end, up to the limit: `/proc` and growing files report no useful size.
    private static func readAll(
        _ file: borrowing Descriptor, expecting: Int, limit: Int
    ) throws(SystemError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: expecting + 4096)
        var filled = 0
        while true {
            if filled == bytes.count { bytes.append(contentsOf: repeatElement(0, count: bytes.count)) }
            let count = try readPiece(file, &bytes, filled)
            if count == 0 { break }
            filled += count
            if filled > limit { throw SystemError(call: "read", errno: EFBIG) }
        }
        bytes.removeLast(bytes.count - filled)
        return bytes
    }

    private static func readPiece(
        _ file: borrowing Descriptor, _ bytes: inout [UInt8], _ filled: Int
    ) throws(SystemError) -> Int {
        let raw = file.raw
        let space = bytes.count - filled
        return try Syscall.count("read") {
            unsafe bytes.withUnsafeMutableBytes {
                unsafe Glibc.read(raw, $0.baseAddress.unsafelyUnwrapped + filled, space)
            }
        }
    }

    /// Returns the regular files below `root`, as paths relative to it, at most `depth` names deep. A link to a regular
    /// file is listed, and so is a broken link, which then fails when it is read. Links to folders are not followed. A
    /// folder that cannot be opened is listed with a final slash.
    package static func list(_ root: String, depth: Int) throws(Problem) -> [RawName] {
        var found: [RawName] = []
        var folders: [(path: RawName?, depth: Int)] = [(nil, 1)]
        let root = RawName(root)
        while let folder = folders.popLast() {
            let path = folder.path.map { root.appending($0) } ?? root
            let stream: OpaquePointer
            do throws(SystemError) { unsafe stream = try Folders.open(path) } catch {
                if let path = folder.path {
                    // Removed meanwhile by another process.
                    if error.errno != ENOENT { found.append(RawName(bytes: Array(path.bytes) + [UInt8(ascii: "/")])) }
                    continue
                }
                throw error.errno == ENOENT ? .notFound : .system(error)
            }
            defer { unsafe closedir(stream) }
            while let entry = unsafe readdir(stream) {
                let name = unsafe name(of: entry)
                if name == .this || name == .above { continue }
                let relative = folder.path?.appending(name) ?? name
                let path = root.appending(relative)
                switch kind(path, followingLinks: false) {
                case S_IFREG: found.append(relative)
                case S_IFLNK:
                    let target = kind(path, followingLinks: true)
                    if target == S_IFREG || target == 0 { found.append(relative) }
                case S_IFDIR where folder.depth < depth: folders.append((relative, folder.depth + 1))
                default: break
                }
            }
        }
        return found
    }

    static func name(of entry: UnsafeMutablePointer<dirent>) -> RawName {
        unsafe withUnsafeBytes(of: &entry.pointee.d_name) { unsafe RawName(bytes: $0) }
    }

    /// Returns the kind of the entry; 0 if it does not exist or cannot be seen.
    private static func kind(_ path: RawName, followingLinks: Bool) -> mode_t {
        var information = stat()
        let result = unsafe followingLinks ? stat(path.characters, &information) : lstat(path.characters, &information)
        return result == 0 ? information.st_mode & S_IFMT : 0
    }
}
