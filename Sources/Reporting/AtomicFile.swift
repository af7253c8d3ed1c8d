internal import Glibc
import SystemIO
import TransferModel

/// A file that appears under its name whole, or not at all: written beside it and renamed over it.
///
/// A path that names something other than a regular file (a device, a pipe) is written to directly: a rename would put
/// a file in its place. A symlink stays and the file it leads to is replaced.
package final class AtomicFile: ByteSink {
    private let target: String
    /// Path of the temporary file; `nil` when there is nothing to rename.
    private var temporary: String?
    private let descriptor: Int32

    package init(_ path: String) throws(OutputProblem) {
        let kind = try Self.kind(of: path)
        target = try Self.resolved(path)
        if kind == .special {
            temporary = nil
            descriptor = try Descriptor.open(path)
        } else {
            var made: Int32 = -1
            temporary = try TemporaryReport.path(beside: target) { beside in
                // 0644 less umask.
                made = open(beside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o644)
                guard made >= 0 else { return .failed(errno) }
                if TemporaryReport.lock(made, beside) { return .made }
                close(made)
                return .taken
            }
            descriptor = made
        }
    }

    deinit {
        // The lock is still held, so no other process can have given the name to a file of its own.
        if let temporary { unlink(temporary) }
        close(descriptor)
    }

    /// Appends bytes to the temporary file, or to the device or pipe.
    package func write(_ bytes: [UInt8]) throws(OutputProblem) {
        try Descriptor.writeAll(bytes, to: descriptor, name: target)
    }

    /// Publishes the file under its name; without a call `deinit` deletes it. With `isDurable` file and name are on the
    /// disk when it returns.
    package func commit(isDurable: Bool) throws(OutputProblem) {
        guard let from = temporary else { return }
        try Descriptor.confirmWrites(descriptor, name: target)
        if isDurable { guard fsync(descriptor) == 0 else { throw .system("flush", target) } }
        let (place, name) = Folders.split(target)
        do throws(SystemError) {
            try TemporaryReport.putInPlace(Folders.split(from).name, as: name, in: .openPlace(place))
        } catch {
            throw OutputProblem("cannot write \(target): \(error.reason)", errno: error.errno)
        }
        temporary = nil
        guard isDurable else { return }
        do throws(SystemError) {
            try Self.flush(.openFolder(place))
        } catch {
            throw OutputProblem("cannot flush \(target): \(error.reason)", errno: error.errno)
        }
    }

    /// Writes a folder's names to the disk.
    static func flush(_ folder: borrowing SystemIO.Descriptor) throws(SystemError) {
        do throws(SystemError) {
            try folder.sync()
        } catch {
            // The file system cannot flush folders: no more can be done.
            guard error.errno == EINVAL else { throw error }
        }
    }

    /// Checks that the path can be written by creating and removing a temporary file beside it, which is the only
    /// proof.
    package static func preflight(_ path: String) throws(OutputProblem) {
        if try kind(of: path) == .special {
            guard access(path, W_OK) == 0 else { throw .system("write", path) }
            return
        }
        _ = try AtomicFile(path)
    }
}

// Where a file is published in one step.
extension AtomicFile {
    /// Path of the file that a publication would replace or create; `nil` when the path cannot be replaced.
    static func replaceable(_ path: String) -> String? {
        guard let kind = try? kind(of: path), kind != .special else { return nil }
        return try? resolved(path)
    }

    private enum Kind { case absent, regular, special }

    private static func kind(of path: String) throws(OutputProblem) -> Kind {
        if path.isEmpty || path.hasSuffix("/") { throw OutputProblem("cannot write `\(path)`: it names no file") }
        var information = stat()
        guard stat(path, &information) == 0 else { return .absent }
        switch information.st_mode & S_IFMT {
        case S_IFREG: return .regular
        case S_IFDIR: throw OutputProblem("cannot write \(path): it is a folder", errno: EISDIR)
        default: return .special
        }
    }

    /// Path of the file to which a symlink leads; other paths stay as they are.
    private static func resolved(_ path: String) throws(OutputProblem) -> String {
        guard let real = Folders.resolved(path) else { return path }
        do throws(NotText) {
            return try real.asText()
        } catch {
            throw OutputProblem("cannot write `\(path)`: it leads to `\(error.escaped)`, a path that is not UTF-8 text")
        }
    }
}
