import Glibc
package import SystemIO

/// A file beside the journal that exists as long as the journal may have an unfinished run. Commands check for it
/// within a microsecond, where they would otherwise open the journal.
///
/// A command makes the file before a run is accepted, and the process removes it when no run is left. Both hold its
/// lock meanwhile, so that a crash leaves a file too many, never one too few.
package struct UnfinishedMark: Sendable {
    private let folder: String
    private static let name = "background.unfinished"

    package init(_ place: ServicePlace) { folder = place.state }
    init(folder: String) { self.folder = folder }

    /// Whether the file exists, so that the journal may have an unfinished run.
    package var isThere: Bool { unsafe access("\(folder)/\(Self.name)", F_OK) == 0 }

    /// A shared lock on the file: while it lives, no process removes the file.
    package struct Hold: ~Copyable {
        fileprivate let file: Descriptor
    }

    /// Makes the file where it is missing and keeps it until the result is released. The file's name is synced, so that
    /// it survives a power cut.
    package func hold() throws(PrivacyProblem) -> Hold {
        let place = try PrivateFolder.make(folder)
        while true {
            let file = try PrivateFolder.file(Self.name, in: place, at: folder)
            do throws(SystemError) {
                try file.lockTogether()
                guard try Self.isNamed(file, place) else { continue }
                try place.sync()
            } catch {
                throw PrivacyProblem(kind: .system(error), path: "\(folder)/\(Self.name)")
            }
            return Hold(file: file)
        }
    }

    /// Removes the file if `hasNothing` returns true, unless a command holds it to hand a run over.
    package func remove<Failure: Error>(if hasNothing: () throws(Failure) -> Bool) throws(Failure) {
        guard isThere, let place = try? PrivateFolder.open(folder),
            let file = try? PrivateFolder.file(Self.name, in: place, at: folder), (try? file.tryLock()) == true,
            (try? Self.isNamed(file, place)) == true, try hasNothing()
        else { return }
        try? place.unlink(Self.name)
    }

    /// Whether the name still leads to this file: it may have been removed between being opened and being locked.
    private static func isNamed(_ file: borrowing Descriptor, _ place: borrowing Descriptor) throws(SystemError) -> Bool
    {
        do throws(SystemError) {
            return try place.facts(of: name).isSameFile(as: try file.facts())
        } catch {
            if error.errno == ENOENT { return false }
            throw error
        }
    }
}
