import Glibc

extension WholeFile {
    /// Replaces a file in one step, so that readers see the old or the new one. The new file is readable for its owner
    /// alone.
    package static func replacePrivately(_ path: String, with bytes: [UInt8]) throws(SystemError) {
        let (folderPath, name) = Folders.split(path)
        let folder = try Descriptor.openFolder(folderPath)
        let temporary = ".transfer-run-\(getpid())-\(UInt64.random(in: .min ... .max))"
        do throws(SystemError) {
            let file = try folder.open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o600)
            try file.writeAll(bytes)
            try file.confirmWrites()
            try folder.rename(temporary, to: name)
        } catch {
            do throws(SystemError) { try folder.unlink(temporary) } catch {}
            throw error
        }
    }
}
