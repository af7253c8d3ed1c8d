import Glibc
import SystemIO
import TransferModel

// A `to` of the job that is a symlink means the file that the link leads to: that one is asked about, revalidated and
// replaced, and the link stays. So does the `to` of a rule of `onResponse`. Names that servers chose, and paths with captured
// values in them, are never followed: a link that has such a name is itself replaced.

/// Follows the paths of files that a job writes itself.
enum WrittenPath {
    /// The file that the symlink `path` leads to; `nil` where it is none, or names a folder.
    static func linkEnd(of path: String) throws(TransferError) -> String? {
        guard path.utf8.last != UInt8(ascii: "/") else { return nil }
        do throws(DestinationLink.Problem) {
            return try DestinationLink.end(of: path)
        } catch {
            throw explain(error, path)
        }
    }

    private static func explain(_ problem: DestinationLink.Problem, _ path: String) -> TransferError {
        switch problem {
        case .noFile:
            TransferError(
                .cannotMoveFile,
                "\(path) is, or leads to, a device, pipe or socket",
                errno: ENOTSUP)
        case .folder:
            TransferError(.cannotMoveFile, "\(path) leads to a folder", errno: EISDIR)
        case .foreign(let link):
            TransferError(
                .cannotMoveFile,
                "\(link) is a link of another user in a folder that others may write, and is not followed", errno: EPERM
            )
        case .noFolder(let folder, let error):
            TransferError(
                .cannotCreateFile, "\(path) leads to a file in \(folder), which cannot be opened: \(error.reason)",
                errno: error.errno)
        case .unreadable(let error):
            TransferError(
                .cannotMoveFile, "\(path) is a link that cannot be followed: \(error.reason)", errno: error.errno)
        case .tooManyLinks:
            TransferError(.cannotMoveFile, "\(path) leads through too many links", errno: ELOOP)
        case .noText:
            TransferError(.cannotMoveFile, "\(path) leads to a path that is no UTF-8", errno: EILSEQ)
        }
    }
}

extension Engine {
    /// Makes the task's destination what its link leads to now; returns why that can be no file.
    func followLink(_ task: TaskIndex) -> TransferError? {
        let index = Int(task.raw)
        guard job.tasks[index].type == .download, job.tasks[index].group == nil,
            let path = job.tasks[index].destination
        else { return nil }
        do throws(TransferError) {
            guard let end = try WrittenPath.linkEnd(of: path) else { return nil }
            job.tasks[index].destination = end
            // What was known of another file says nothing of this one.
            _ = foresight.take(task)
            return nil
        } catch {
            return error
        }
    }
}
