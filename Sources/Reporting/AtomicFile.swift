internal import Glibc
import SystemIO
import TransferModel

/// A file that appears under its name whole, or not at all: written beside it and renamed over it.
///
/// What already stands under the name and is no regular file (a device, a pipe) is written to as it is: a rename would
/// put a file in its place. A symlink stays and the file it leads to is replaced.
package final class AtomicFile: ByteSink {
    private let target: String
    /// `nil` when there is nothing to rename.
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
        // While it is locked: then nobody else can have given the name to a file of theirs.
        if let temporary { unlink(temporary) }
        close(descriptor)
    }

    package func write(_ bytes: [UInt8]) throws(OutputProblem) {
        try Descriptor.writeAll(bytes, to: descriptor, name: target)
    }

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

    /// What has which name in a folder is on the disk when it returns.
    static func flush(_ folder: borrowing SystemIO.Descriptor) throws(SystemError) {
        do throws(SystemError) {
            try folder.sync()
        } catch {
            // Of a file system that cannot do it nothing more can be had.
            guard error.errno == EINVAL else { throw error }
        }
    }

    /// Makes and removes a file in the folder, the one proof that it can be done.
    package static func preflight(_ path: String) throws(OutputProblem) {
        if try kind(of: path) == .special {
            guard access(path, W_OK) == 0 else { throw .system("write", path) }
            return
        }
        _ = try AtomicFile(path)
    }
}

// What has a file's name is put there in one step: where that is.
extension AtomicFile {
    /// The file that would be replaced; `nil` when nothing can be.
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

    /// The file that a symlink leads to.
    private static func resolved(_ path: String) throws(OutputProblem) -> String {
        guard let real = Folders.resolved(path) else { return path }
        do throws(NotText) {
            return try real.asText()
        } catch {
            throw OutputProblem("cannot write `\(path)`: it leads to `\(error.escaped)`, a path that is not UTF-8 text")
        }
    }
}
