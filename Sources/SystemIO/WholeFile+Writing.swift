import Glibc

extension WholeFile {
    /// Replaces a file in one step, so that readers see the old or the new one. The new file is readable for its owner
    /// alone. Missing folders above it are made; a link is followed by the rules of `WrittenPlace`.
    package static func replacePrivately(_ path: String, with bytes: [UInt8]) throws(SystemError) {
        let place: WrittenPlace
        do throws(WrittenPlace.Problem) { place = try .find(path, makingFolders: true) } catch { throw error.asError }
        switch place.kind {
        case .nothing, .file: break
        case .folder: throw SystemError(call: "open", errno: EISDIR)
        case .given, .device, .other: throw SystemError(call: "open", errno: ENOTSUP)
        }
        let temporary = ".transfer-run-\(getpid())-\(UInt64.random(in: .min ... .max))"
        do throws(SystemError) {
            let file = try place.folder.open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o600)
            try file.writeAll(bytes)
            try file.confirmWrites()
            try place.folder.rename(temporary, to: place.name)
        } catch {
            do throws(SystemError) { try place.folder.unlink(temporary) } catch {}
            throw error
        }
    }
}
