import Glibc

/// Files that are small enough to be read whole, and lists of what a folder holds.
package enum WholeFile {
    package enum Problem: Error, Hashable, Sendable {
        case notFound
        case notRegular
        case tooLarge
        case system(SystemError)
    }

    /// The bytes of a regular file; a pipe or a device is refused without waiting for it.
    package static func read(_ path: String, limit: Int) throws(Problem) -> [UInt8] {
        try read(open(path), limit: limit)
    }

    /// Makes a file that was not there (`EEXIST` where it was) and writes all of it; half of one does not stay.
    package static func create(_ path: String, _ bytes: [UInt8]) throws(SystemError) {
        let file = try Descriptor.open(path, O_WRONLY | O_CREAT | O_EXCL, mode: 0o644)
        do throws(SystemError) { try file.writeAll(bytes) } catch {
            unsafe _ = unlink(path)
            throw error
        }
    }

    /// The same; but a pipe that this process was given is read to its end, as `<(…)` of a shell is.
    package static func readGiven(_ path: String, limit: Int) throws(Problem) -> [UInt8] {
        let isGiven = path == "/dev/stdin" || path.hasPrefix("/dev/fd/") || path.hasPrefix("/proc/self/fd/")
        if isGiven, let bytes = try readPipe(path, limit) { return bytes }
        return try read(path, limit: limit)
    }

    /// `nil` when it is none.
    private static func readPipe(_ path: String, _ limit: Int) throws(Problem) -> [UInt8]? {
        do throws(SystemError) {
            // Opened so that reading waits for whoever writes.
            let file = try Descriptor.open(path, O_RDONLY)
            guard try file.facts().isPipe else { return nil }
            return try readAll(file, expecting: 0, limit: limit)
        } catch {
            throw problem(error)
        }
    }

    /// For whoever wants to keep what was read open.
    package static func open(_ path: String) throws(Problem) -> Descriptor {
        do throws(SystemError) {
            return try Descriptor.open(path, O_RDONLY | O_NONBLOCK)
        } catch {
            throw problem(error)
        }
    }

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

    /// All that comes from standard input.
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

    /// `/proc` and growing files say nothing useful of their size: read to the end, up to the limit.
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

    /// The regular files below `root`, as paths relative to it, at most `depth` names deep. A link to such a file is one too,
    /// and so is one that leads nowhere: whoever reads it is told. Links to folders are not followed. A folder that cannot be
    /// opened ends with a slash.
    package static func list(_ root: String, depth: Int) throws(Problem) -> [RawName] {
        var found: [RawName] = []
        var folders: [(path: RawName?, depth: Int)] = [(nil, 1)]
        let root = RawName(root)
        while let folder = folders.popLast() {
            let path = folder.path.map { root.appending($0) } ?? root
            guard let stream = unsafe opendir(path.characters) else {
                let code = errno
                if let path = folder.path {
                    // Somebody has removed it meanwhile.
                    if code != ENOENT { found.append(RawName(bytes: Array(path.bytes) + [UInt8(ascii: "/")])) }
                    continue
                }
                throw code == ENOENT ? .notFound : .system(SystemError(call: "opendir", errno: code))
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

    /// 0: nothing is there, or nothing that may be seen.
    private static func kind(_ path: RawName, followingLinks: Bool) -> mode_t {
        var information = stat()
        let result = unsafe followingLinks ? stat(path.characters, &information) : lstat(path.characters, &information)
        return result == 0 ? information.st_mode & S_IFMT : 0
    }
}
