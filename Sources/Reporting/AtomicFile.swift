import Glibc
import SystemIO
import TransferModel

/// A file that appears under its name whole, or not at all: written beside it and renamed over it. Missing folders above
/// it are made.
///
/// A path that names a device, or what this process was given open (`/dev/stdout`), is written to directly: a rename
/// would put a file in its place. A symlink stays and the file it leads to is replaced.
package final class AtomicFile: ByteSink {
    private let target: OutputPlace
    /// Name of the temporary file in the target's folder; `nil` when there is nothing to rename.
    private var temporary: String?
    private let file: SystemIO.Descriptor

    package init(_ path: String) throws(OutputProblem) {
        target = try OutputPlace(path)
        if target.isReplaced {
            let (folder, mode) = (target, target.mode)
            var made: SystemIO.Descriptor?
            temporary = try TemporaryReport.name(beside: target) { name in
                do throws(SystemError) {
                    let opened = try folder.open(name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode: mode)
                    guard TemporaryReport.lock(opened, name, in: folder) else { return .taken }
                    made = consume opened
                    return .made
                } catch {
                    return .failed(error)
                }
            }
            guard let made = made.take() else { throw target.problem(SystemError(call: "open", errno: EEXIST)) }
            file = made
        } else {
            file = try target.openForWriting()
        }
    }

    deinit {
        // The lock is still held, so no other process can have given the name to a file of its own.
        if let temporary { target.remove(temporary) }
    }

    /// Appends bytes to the temporary file, or to the device or pipe.
    package func write(_ bytes: [UInt8]) throws(OutputProblem) {
        try Descriptor.writeAll(bytes, to: file.raw, name: target.shown)
    }

    /// Publishes the file under its name; without a call `deinit` deletes it. With `isDurable` file and name are on the
    /// disk when it returns.
    package func commit(isDurable: Bool) throws(OutputProblem) {
        guard let from = temporary else { return }
        try Descriptor.confirmWrites(file.raw, name: target.shown)
        do throws(SystemError) {
            if isDurable { try file.sync() }
            try target.putInPlace(from)
            temporary = nil
            if isDurable { try target.flush() }
        } catch {
            throw target.problem(error)
        }
    }

    /// Checks that the path can be written by creating and removing a temporary file beside it, which is the only
    /// proof. Missing folders are made, and stay.
    package static func preflight(_ path: String) throws(OutputProblem) {
        let place = try OutputPlace(path)
        guard place.isReplaced else { return try place.checkMayBeWritten() }
        _ = try AtomicFile(path)
    }

    /// Puts `bytes` at `path` in one step, or changes nothing.
    package static func put(_ bytes: [UInt8], at path: String) throws(OutputProblem) {
        let file = try AtomicFile(path)
        try file.write(bytes)
        try file.commit(isDurable: false)
    }
}
