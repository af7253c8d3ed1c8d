internal import CLinuxShims

/// The kind of a filesystem, as `statfs` returns it.
package struct FilesystemKind: Hashable, Sendable {
    private let number: UInt32

    package init(number: UInt32) { self.number = number }

    /// Returns the kind of the filesystem that holds this file or folder; an unknown kind if the system does not say.
    package static func of(_ file: borrowing Descriptor) -> FilesystemKind {
        FilesystemKind(number: tr_filesystem_kind(file.raw))
    }

    /// Whether it may accept a write and report the loss of the bytes only later, on the file's close and `fsync`. NFS,
    /// CIFS and FUSE do so, and so may any filesystem that is not known to be local.
    package var tellsLate: Bool { !Self.local.contains(number) }

    /// Whether it finds room block by block while a file is written, and a long piece faster when that is reserved
    /// before. Others gain nothing, and some lose: btrfs does not compress a file whose room was reserved.
    package var findsRoomByBlock: Bool { number == Self.ext4 }

    private static let ext4: UInt32 = 0xEF53
    /// The kernel's own `/proc`.
    package static let proc = FilesystemKind(number: 0x9FA0)

    /// Local filesystems: they find room for a byte, or refuse it, when it is written, and closing a file does nothing
    /// there. Nearly all files are on these, which must not pay for the others.
    ///
    /// overlayfs does not tell what it lies on. Its upper layer must support exchanging names and attributes of its
    /// own, which the kernel finds in no NFS and no CIFS; and containers have little else.
    private static let local: Set<UInt32> = [
        ext4,  // ext2 and ext3, too
        0x5846_5342,  // xfs
        0x9123_683E,  // btrfs
        0xF2F5_2010,  // f2fs
        0x2FC1_2FC1,  // zfs
        0xCA45_1A4E,  // bcachefs
        0x0102_1994,  // tmpfs
        0x794C_7630,  // overlayfs
    ]
}
