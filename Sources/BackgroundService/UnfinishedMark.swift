import Glibc
package import SystemIO

/// A file beside the journal that is there as long as the journal may have a run that nobody has ended: commands look
/// for it, for a millionth of a second, where they would have to open the journal.
///
/// It is made before a run is accepted and removed by the process when nothing is left. Either holds its lock
/// meanwhile, so that whoever dies leaves one too many, never one too few.
package struct UnfinishedMark: Sendable {
    private let folder: String
    private static let name = "background.unfinished"

    package init(_ place: ServicePlace) { folder = place.state }
    init(folder: String) { self.folder = folder }

    package var isThere: Bool { unsafe access("\(folder)/\(Self.name)", F_OK) == 0 }

    /// While it lives nobody removes the file.
    package struct Hold: ~Copyable {
        fileprivate let file: Descriptor
    }

    /// Makes the file where it is missing, and keeps it there. It would survive a power cut.
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

    /// Removes it when `hasNothing` says so, unless somebody is about to hand something over.
    package func remove<Failure: Error>(if hasNothing: () throws(Failure) -> Bool) throws(Failure) {
        guard isThere, let place = try? PrivateFolder.open(folder),
            let file = try? PrivateFolder.file(Self.name, in: place, at: folder), (try? file.tryLock()) == true,
            (try? Self.isNamed(file, place)) == true, try hasNothing()
        else { return }
        try? place.unlink(Self.name)
    }

    /// It may have been removed between being opened and being locked.
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
