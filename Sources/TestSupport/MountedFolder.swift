internal import Glibc

/// A filesystem mounted on a folder for the lifetime of this object: a full one, a read-only one, or an image that can
/// be copied as a power cut would leave it. Needs root.
package final class MountedFolder: Sendable {
    private let path: String

    private init(_ path: String) { self.path = path }

    deinit { umount2(path, Int32(MNT_DETACH)) }

    /// Mounts a filesystem in memory with at most `size`, such as `64k`.
    package static func memory(at path: String, size: String) throws -> MountedFolder {
        try mounted(path, "-t", "tmpfs", "-o", "size=\(size)", "none", path)
    }

    /// Mounts a filesystem in memory (ramfs) that the program does not count among those that report at once what they
    /// cannot keep.
    package static func ofNoKnownKind(at path: String) throws -> MountedFolder {
        try mounted(path, "-t", "ramfs", "none", path)
    }

    /// Mounts a folder on itself, read-only.
    package static func readOnly(at path: String) throws -> MountedFolder {
        let mounted = try mounted(path, "--bind", path, path)
        try run(["/bin/mount", "-o", "remount,bind,ro", path])
        return mounted
    }

    /// Mounts the filesystem in the file `image` through a loop device.
    package static func image(_ image: String, at path: String, options: String = "defaults") throws -> MountedFolder {
        try mounted(path, "-t", "ext4", "-o", "loop,\(options)", image, path)
    }

    /// Makes a new ext4 filesystem in a new file of `size` bytes.
    package static func makeImage(_ image: String, size: Int, features: String? = nil) throws {
        let file = open(image, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard file >= 0, ftruncate(file, size) == 0 else { throw SystemFailure("make \(image)") }
        close(file)
        // Prepare everything now: later writes would otherwise mix with the kernel's lazy initialisation.
        let options =
            ["-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0"] + (features.map { ["-O", $0] } ?? [])
        try run(["/sbin/mkfs.ext4"] + options + [image])
    }

    private static func mounted(_ path: String, _ words: String...) throws -> MountedFolder {
        try run(["/bin/mount"] + words)
        return MountedFolder(path)
    }

    private static func run(_ command: [String]) throws {
        let result = try Binary(program: command[0]).run(arguments: Array(command.dropFirst()))
        guard result.exitStatus == 0 else { throw Refused(description: "\(command[0]): \(result.errorText)") }
    }

    private struct Refused: Error, CustomStringConvertible { let description: String }

    // MARK: For `.enabled(if:)`

    /// Whether this user may mount; prints why not.
    package static let isAllowed = tries("a filesystem in memory") { try memory(at: $0.path, size: "64k") }

    /// Whether loop devices and ext4 are available too; prints why not.
    package static let takesImages = tries("an ext4 image") {
        let image = "\($0.path).image"
        defer { unlink(image) }
        try makeImage(image, size: 8 << 20)
        return try MountedFolder.image(image, at: $0.path)
    }

    private static func tries(_ what: String, _ mount: (TemporaryTree) throws -> MountedFolder) -> Bool {
        do {
            let tree = try TemporaryTree("mount")
            _ = try mount(tree)
            return true
        } catch {
            print("\(what) cannot be mounted here, so what it would show is not tested: \(error)")
            return false
        }
    }
}
