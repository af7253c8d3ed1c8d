import Glibc
import SystemIO
import TransferModel

/// The folder of all runs' notebooks.
package enum NotebookFolder {
    /// The folder's path in a state folder.
    static func path(_ state: String) -> String { "\(state)/notebooks" }

    /// Whether there are notebooks, of killed or of living runs.
    package static func isThere(_ state: String) -> Bool { (try? FileFacts.of(path(state)))?.isFolder == true }

    /// Most pages of a notebook that are read: as many as one has.
    private static let mostBytes = 4096 * NotebookPage.size

    /// Passes what killed runs noted to `take`, notebook by notebook in the order of their last change, and removes each
    /// notebook after that. One whose notes could not be taken stays.
    static func takeLeft(_ state: String, take: ([NotedPart]) -> Bool) {
        guard let place = try? PrivateFolder.open(path(state)), (try? place.lock()) != nil,
            let names = try? place.names()
        else { return }
        let known = names.compactMap { name in (try? place.facts(of: name)).map { (name, $0) } }
            .filter { $1.isRegular && $1.owner == geteuid() }
            .sorted { $0.1.modifiedNanoseconds < $1.1.modifiedNanoseconds }
        for (name, _) in known {
            guard let text = name.text, let file = try? place.open(text, O_RDWR | O_NOFOLLOW | O_NONBLOCK),
                // A living run has it locked.
                (try? file.tryLock()) == true, let noted = read(file), take(noted)
            else { continue }
            try? place.unlink(name)
        }
        PrivateFolder.removeIfEmpty([path(state)])
    }

    private static func read(_ file: borrowing Descriptor) -> [NotedPart]? {
        guard let size = try? file.facts().size else { return nil }
        var found: [NotedPart] = []
        var page = [UInt8](repeating: 0, count: NotebookPage.size)
        for start in stride(from: 0, to: min(Int(size), mostBytes), by: NotebookPage.size) {
            for index in page.indices { page[index] = 0 }
            var failure: SystemError?
            unsafe page.withUnsafeMutableBytes { bytes in
                do throws(SystemError) {
                    _ = try unsafe file.read(into: bytes, at: Int64(start))
                } catch {
                    failure = error
                }
            }
            guard failure == nil else { return nil }
            // The last page may end where its head does.
            if let noted = NotebookPage.read(page[...]) { found.append(noted) }
        }
        return found
    }
}

extension Store {
    /// Takes over what killed runs noted of unfinished files. A failure is ignored: the next opening tries again.
    func takeNotebooks() {
        NotebookFolder.takeLeft(files.path) { noted in
            do throws(StoreError) {
                try batch { () throws(StoreError) in for part in noted { try adopt(part) } }
                return true
            } catch {
                return false
            }
        }
    }

    private func adopt(_ noted: NotedPart) throws(StoreError) {
        let folder = noted.record.folder == "/" ? "" : noted.record.folder
        func stamp(_ name: String?) -> FileStamp? {
            name.flatMap { try? FileFacts.identifiedName("\(folder)/\($0)") }.flatMap { found in
                found.facts.isRegular
                    ? FileStamp(
                        size: found.facts.size, modifiedNanoseconds: found.facts.modifiedNanoseconds,
                        identity: found.identity) : nil
            }
        }
        switch noted.verdict(temporary: stamp(noted.note?.part.name), final: stamp(noted.note?.final?.name)) {
        case .lost: return
        case .unfinished(let record):
            let session = try session(job: noted.session.job, name: noted.session.name, now: openedAt)
            let known = try resumeRecords(session)[ExactText(noted.destination)]
            if let known, known.part.name == record.part.name, known.part.size > record.part.size { return }
            try change(session, [ResumeChange(destination: noted.destination, record: record)], now: openedAt)
        case .finished(let kept, let path):
            let session = try session(job: noted.session.job, name: noted.session.name, now: openedAt)
            try forgetOthers(than: session, at: [path])
            try change(session, [ValidatorChange(destination: noted.destination, kept: kept)], now: openedAt)
            try change(session, [ResumeChange(destination: noted.destination, record: nil)], now: openedAt)
        }
    }
}
