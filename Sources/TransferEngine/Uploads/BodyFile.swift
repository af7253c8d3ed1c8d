import Glibc
import SystemIO
import TransferModel

/// A file that is sent: which one it is, and as it was, when the task began. Another one is never sent in its place.
struct BodyFile: Sendable {
    let path: String
    let facts: FileFacts

    init(_ path: String) throws(TransferError) {
        self.path = path
        do throws(SystemError) {
            facts = try FileFacts.of(path)
            if facts.isFolder { throw SystemError(call: "open", errno: EISDIR) }
        } catch {
            throw Self.openError(error, path)
        }
        guard facts.isRegular else {
            throw TransferError(
                .cannotOpenFile, "the body's file \(path) cannot be read: it is no regular file", errno: ENOTSUP)
        }
        if facts.size == 0 { try refuseHiddenLength() }
    }

    /// What the kernel makes while it is read has no length before.
    private func refuseHiddenLength() throws(TransferError) {
        let count: Int
        do throws(SystemError) {
            let file = try Descriptor.openOfJob(path, O_RDONLY | O_NONBLOCK)
            var byte: UInt8 = 0
            count = try withUnsafeMutableBytes(of: &byte) { (bytes) throws(SystemError) in
                try file.read(into: bytes, at: 0)
            }
        } catch {
            throw Self.openError(error, path)
        }
        if count == 0 || (try? FileFacts.of(path))?.size != 0 { return }
        throw TransferError(.cannotOpenFile, "the body's file \(path) says that it is empty, and is not")
    }

    /// What stands there now is still what was planned.
    func check() throws(TransferError) {
        let now: FileFacts
        do throws(SystemError) { now = try FileFacts.of(path) } catch { throw Self.openError(error, path) }
        try compare(now)
    }

    func compare(_ now: FileFacts) throws(TransferError) {
        if now == facts { return }
        throw changed(BodyFileMark(now, boot: 0).difference(from: BodyFileMark(facts, boot: 0)))
    }

    /// Fails where the file is not as an earlier process saw it.
    func compare(to then: BodyFileMark) throws(TransferError) {
        if let what = BodyFileMark(facts, boot: SystemStart.number).difference(from: then) { throw changed(what) }
    }

    private func changed(_ what: String?) -> TransferError {
        TransferError(
            .bodyFileChanged,
            "the body's file \(path) is not as it was when the task began: \(what ?? "its attributes changed")")
    }

    /// For whoever goes on with the task in another process.
    var mark: BodyFileMark { BodyFileMark(facts, boot: SystemStart.number) }

    /// Whether it is still that file shows when it is read.
    func open() throws(TransferError) -> OpenBodyFile {
        do throws(SystemError) {
            return OpenBodyFile(self, try Descriptor.openOfJob(path, O_RDONLY | O_NONBLOCK))
        } catch {
            throw Self.openError(error, path)
        }
    }

    private static func openError(_ error: SystemError, _ path: String) -> TransferError {
        let name: ErrorName =
            switch error.errno {
            case ENOENT, ENOTDIR: .fileDoesNotExist
            case EISDIR: .fileIsDirectory
            case EACCES, EPERM: .noPermissionsToReadFile
            default: .cannotOpenFile
            }
        return TransferError(name, "the body's file \(path) cannot be read: \(error.reason)", errno: error.errno)
    }
}

final class OpenBodyFile {
    private let plan: BodyFile
    private let file: Descriptor

    init(_ plan: BodyFile, _ file: consuming Descriptor) {
        self.plan = plan
        self.file = file
    }

    /// Bytes that were read count only once this was asked: what is handed over before the file changed was right.
    private func check() throws(TransferError) {
        let now: FileFacts
        do throws(SystemError) { now = try file.facts() } catch { throw readError(error) }
        try plan.compare(now)
    }

    /// `nil` where the disk would have to be waited for and the caller does not want to.
    func read(
        into buffer: UnsafeMutableRawBufferPointer, at offset: Int64, waiting: Bool
    ) throws(TransferError) -> Int? {
        let count: Int
        do throws(SystemError) {
            if let read = try file.readNow(into: buffer, at: offset) {
                count = read
            } else if waiting {
                count = try file.read(into: buffer, at: offset)
            } else {
                return nil
            }
        } catch {
            throw readError(error)
        }
        try check()
        guard count > 0 || buffer.isEmpty else {
            throw TransferError(.bodyFileChanged, "the body's file \(plan.path) ended at byte \(offset)")
        }
        return count
    }

    private func readError(_ error: SystemError) -> TransferError {
        TransferError(.cannotOpenFile, "reading \(plan.path) failed: \(error.reason)", errno: error.errno)
    }
}

extension BodyFileMark {
    fileprivate init(_ facts: FileFacts, boot: Int64) {
        self.init(
            boot: boot, device: facts.device, inode: facts.inode, size: facts.size,
            modifiedNanoseconds: facts.modifiedNanoseconds, changedNanoseconds: facts.changedNanoseconds)
    }
}
