import Glibc
import SystemIO
import TransferModel

/// Makes errors for people of failed system calls on files.
enum FileErrors {
    /// Creating a file in the folder failed.
    static func creating(_ error: SystemError, _ folder: String) -> TransferError {
        if DiskSpace.isFull(error) { return DiskSpace.full(error, folder) }
        return TransferError(
            .cannotCreateFile, "cannot create a file in \(folder): \(error.reason)\(whose(error, folder))",
            errno: error.errno)
    }

    /// Returns whose folder did not let a file be made, and its mode, for EACCES: ` (owner root, mode 0755)`. Names the
    /// folder where it is one above the destination's.
    private static func whose(_ error: SystemError, _ folder: String) -> String {
        guard error.errno == EACCES else { return "" }
        var path = folder
        while true {
            if let facts = try? FileFacts.of(path) {
                let mode = String(facts.permissions, radix: 8)
                let zeros = String(repeating: "0", count: max(0, 4 - mode.count))
                let above = path == folder ? "" : "\(path) has "
                return " (\(above)owner \(CurrentProcess.userName(facts.owner)), mode \(zeros)\(mode))"
            }
            let above = Folders.split(path).folder
            if above == path { return "" }
            path = above
        }
    }

    /// Writing, closing or preparing a file in the folder failed; `error.call` says which.
    static func writing(_ error: SystemError, _ folder: String) -> TransferError {
        if DiskSpace.isFull(error) { return DiskSpace.full(error, folder) }
        if error.call == "close" {
            return TransferError(
                .cannotCloseFile, "closing a file in \(folder) failed: \(error.reason)", errno: error.errno)
        }
        let doing =
            switch error.call {
            case "chmod": "setting the mode of a file in"
            case "futimens": "setting the time of a file in"
            default: "writing in"
            }
        return TransferError(.cannotWriteToFile, "\(doing) \(folder) failed: \(error.reason)", errno: error.errno)
    }

    /// Returns the error for a failed flush. The bytes were written before: only the names may be lost.
    static func flushing(_ error: SystemError, _ folder: String) -> TransferError {
        var full =
            DiskSpace.isFull(error)
            ? DiskSpace.full(error, folder)
            : TransferError(
                .cannotWriteToFile, "flushing the file system of \(folder) failed: \(error.reason)", errno: error.errno)
        full.message +=
            "; the new file has its name already, in place of any older one, and may not outlast a power cut"
        return full
    }

    /// Giving a file the name `path` failed.
    static func naming(_ error: SystemError, _ path: String) -> TransferError {
        switch error.errno {
        case ENOSPC, EDQUOT: DiskSpace.full(error, Folders.split(path).folder)
        case EEXIST: TransferError(.destinationExists, "\(path) is there already", errno: error.errno)
        case ENOLINK: .leadsNowhere(path)
        case EISDIR: TransferError(.cannotMoveFile, "\(path) is a folder", errno: error.errno)
        case ENOTSUP: TransferError(.cannotMoveFile, "\(path) is a device, pipe or socket", errno: error.errno)
        case ENOENT:
            TransferError(
                .cannotMoveFile, "the folder of \(path) was taken away while the file was fetched", errno: error.errno)
        default: TransferError(.cannotMoveFile, "naming \(path) failed: \(error.reason)", errno: error.errno)
        }
    }
}
