import Glibc
import SystemIO
import TransferModel

/// The place of an output: its open folder and its name in it, found by the rules of `WrittenPlace`. Missing folders
/// above it are made.
final class OutputPlace: Sendable {
    /// The path as the user wrote it.
    let shown: String
    private let place: WrittenPlace

    /// Whether a file of that name is replaced in one step; otherwise a device or what this process was given open has
    /// the name, and is written to as it is.
    var isReplaced: Bool { place.kind == .nothing || place.kind == .file }

    /// Permissions of a new file, less the umask. Outputs hold URLs, so in a folder that all users may write a new file is
    /// readable for its owner alone.
    let mode: mode_t

    var name: String { place.name }

    init(_ path: String) throws(OutputProblem) {
        let found: WrittenPlace
        do throws(WrittenPlace.Problem) {
            found = try .find(path, makingFolders: true)
        } catch {
            throw Self.problem(error, path)
        }
        switch found.kind {
        case .folder: throw OutputProblem("cannot write \(path): it is a folder", errno: EISDIR)
        case .other:
            throw OutputProblem("cannot write \(path): it is a named pipe, a socket or a disk", errno: ENOTSUP)
                .hinting("name a file, or what the run is given open: `-`, `/dev/stdout`, `/dev/fd/N`")
        case .nothing, .file, .given, .device: break
        }
        shown = path
        mode = found.isOpenToAll() ? 0o600 : 0o644
        place = found
    }

    private static func problem(_ problem: WrittenPlace.Problem, _ path: String) -> OutputProblem {
        switch problem {
        case .noName: OutputProblem("cannot write `\(path)`: it names no file")
        case .foreign(let link):
            OutputProblem("cannot write \(path): \(SystemError.isForeign(link))", errno: EPERM)
        case .noFolder(let folder, let error):
            OutputProblem("cannot write \(path): \(folder): \(error.reason)", errno: error.errno)
        case .unreadable(let error): OutputProblem("cannot write \(path): \(error.reason)", errno: error.errno)
        case .tooManyLinks:
            OutputProblem("cannot write \(path): \(SystemError(call: "open", errno: ELOOP).reason)", errno: ELOOP)
        case .noText: OutputProblem("cannot write `\(path)`: it leads to a path that is not UTF-8 text")
        }
    }

    /// Returns the problem that a failed call makes of the output.
    func problem(_ error: SystemError) -> OutputProblem {
        let action = error.call == "fsync" ? "flush" : "write"
        return OutputProblem("cannot \(action) \(shown): \(error.reason)", errno: error.errno)
    }

    /// Opens `name` in the folder.
    func open(_ name: String, _ flags: Int32, mode: mode_t = 0) throws(SystemError) -> SystemIO.Descriptor {
        try place.folder.open(name, flags, mode: mode)
    }

    /// Opens a file without a name in the folder.
    func openUnnamed(mode: mode_t) throws(SystemError) -> SystemIO.Descriptor {
        try place.folder.openUnnamed(mode: mode)
    }

    /// Opens what has the name, or makes the file.
    func openForWriting(_ flags: Int32 = 0) throws(OutputProblem) -> SystemIO.Descriptor {
        do throws(SystemError) { return try place.open(flags, mode: mode) } catch { throw problem(error) }
    }

    func checkMayBeWritten() throws(OutputProblem) {
        guard place.mayBeWritten() else { throw problem(SystemError(call: "access", errno: EACCES)) }
    }

    /// Returns the facts of `name` in the folder.
    func facts(of name: String) throws(SystemError) -> FileFacts { try place.folder.facts(of: name) }

    /// Whether the path still leads to this folder and name.
    var isStillThere: Bool {
        guard let now = try? WrittenPlace.find(shown), now.kind == .nothing || now.kind == .file,
            let (here, there) = try? (place.folder.facts(), now.folder.facts())
        else { return false }
        return there.isSameFile(as: here) && now.name == name
    }

    /// Removes `name` from the folder; one that is gone already is no failure.
    func remove(_ name: String) { try? place.folder.unlink(name) }

    /// Gives a file without a name one in the folder.
    func link(_ file: borrowing SystemIO.Descriptor, as name: String) throws(SystemError) {
        try file.link(into: place.folder, as: name)
    }

    /// Renames `beside` of the folder to the output's name, replacing the previous file in one step.
    func putInPlace(_ beside: String) throws(SystemError) {
        try TemporaryReport.putInPlace(beside, as: name, in: place.folder)
    }

    /// Writes the folder's names to the disk.
    func flush() throws(SystemError) {
        let folder = try place.folder.open(".", O_RDONLY | O_DIRECTORY)
        do throws(SystemError) {
            try folder.sync()
        } catch {
            // The file system cannot flush folders: no more can be done.
            guard error.errno == EINVAL else { throw error }
        }
    }
}
