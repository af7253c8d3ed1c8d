import Glibc
import SystemIO
import TransferModel

// A `to` of the job that is a symlink means the file that the link leads to: that one is asked about, revalidated and
// replaced, and the link stays. So does the `to` of a rule of `onResponse`. Names that servers chose, and paths with captured
// values in them, are never followed: a link that has such a name is itself replaced.

/// Follows the paths of files that a job writes itself.
enum WrittenPath {
    /// The file that the symlink `path` leads to; `nil` where it is none, or names a folder in which the file gets a name.
    /// Throws where no file can have that path.
    static func linkEnd(of path: String, _ folders: inout TrustedFolders) throws(TransferError) -> String? {
        guard let facts = try facts(of: path) else { return nil }
        // An existing file is compared and may stay, so its path must hold no link of another user either.
        if let link = folders.foreignLink(above: path) {
            throw TransferError(.cannotMoveFile, SystemError.isForeign(link), errno: EPERM)
        }
        guard !facts.isRegular, !facts.isFolder else { return nil }
        do throws(DestinationLink.Problem) {
            return try DestinationLink.end(of: path)
        } catch {
            throw explain(error, path)
        }
    }

    /// Refuses a path whose file could not be made, whatever the server sends: a folder has the name, or a file stands where
    /// one of its folders should be.
    static func check(_ path: String) throws(TransferError) { _ = try facts(of: path) }

    /// The facts of what has the path's name; `nil` where nothing has it. Of a path that ends in `/` they are those of the
    /// folder, through a link too.
    private static func facts(of path: String) throws(TransferError) -> FileFacts? {
        do throws(SystemError) {
            let facts = try FileFacts.ofName(path)
            guard facts.isFolder, path.utf8.last != UInt8(ascii: "/") else { return facts }
            throw SystemError(call: "stat", errno: EISDIR)
        } catch {
            switch error.errno {
            case EISDIR: throw TransferError(.cannotMoveFile, "\(path) is a folder", errno: error.errno)
            case ENOTDIR:
                throw TransferError(
                    .cannotCreateFile, "cannot create a file in \(Folders.split(path).folder): \(error.reason)",
                    errno: error.errno)
            default: return nil
            }
        }
    }

    private static func explain(_ problem: DestinationLink.Problem, _ path: String) -> TransferError {
        switch problem {
        case .noFile:
            TransferError(
                .cannotMoveFile,
                "\(path) is, or leads to, a device, pipe or socket",
                errno: ENOTSUP)
        case .folder, .place(.noName):
            TransferError(.cannotMoveFile, "\(path) leads to a folder", errno: EISDIR)
        case .place(.foreign(let link)):
            TransferError(.cannotMoveFile, SystemError.isForeign(link), errno: EPERM)
        case .place(.noFolder(let folder, let error)):
            TransferError(
                .cannotCreateFile, "\(path) leads to a file in \(folder), which cannot be opened: \(error.reason)",
                errno: error.errno)
        case .place(.unreadable(let error)):
            TransferError(
                .cannotMoveFile, "\(path) is a link that cannot be followed: \(error.reason)", errno: error.errno)
        case .place(.tooManyLinks):
            TransferError(.cannotMoveFile, "\(path) leads through too many links", errno: ELOOP)
        case .place(.noText):
            TransferError(.cannotMoveFile, "\(path) leads to a path that is no UTF-8", errno: EILSEQ)
        }
    }
}

extension Engine {
    /// Makes the task's destination what its link leads to now; returns why that can be no file.
    func followLink(_ task: TaskIndex) -> TransferError? {
        let index = Int(task.raw)
        guard job.tasks[index].type == .download || job.tasks[index].savesAnswer, job.tasks[index].group == nil,
            let path = job.tasks[index].destination
        else { return nil }
        do throws(TransferError) {
            guard let end = try WrittenPath.linkEnd(of: path, &trustedFolders) else { return nil }
            job.tasks[index].destination = end
            // What was known of another file says nothing of this one.
            _ = foresight.take(task)
            return nil
        } catch {
            return error
        }
    }

    /// Returns why a path with captured values in it can be no file.
    func refuseFilled(_ task: TaskIndex, _ filled: TaskSpecification) -> TransferError? {
        guard job.tasks[Int(task.raw)].destination == nil, filled.type == .download || filled.savesAnswer,
            filled.group == nil, let path = filled.destination
        else { return nil }
        do throws(TransferError) {
            try WrittenPath.check(path)
            return nil
        } catch {
            return error
        }
    }
}
