internal import CLinuxShims

/// What sort of filesystem it is, as `statfs` has it.
package struct FilesystemKind: Hashable, Sendable {
    private let number: UInt32

    package init(number: UInt32) { self.number = number }

    /// Of the filesystem that this file or folder lies on; one that nobody knows where the system does not say.
    package static func of(_ file: borrowing Descriptor) -> FilesystemKind {
        FilesystemKind(number: tr_filesystem_kind(file.raw))
    }

    /// Whether it may take a write and tell only later that the bytes are lost: to a file's close and `fsync`, and to
    /// nobody else. So do NFS, CIFS and FUSE, and so may any that is not known to be of this machine.
    package var tellsLate: Bool { !Self.local.contains(number) }

    /// Whether it looks for room block by block while a file is written, and finds a long piece faster when it is asked
    /// for it before. Others do not gain by that, and some lose: btrfs packs no file that got its room so.
    package var findsRoomByBlock: Bool { number == Self.ext4 }

    private static let ext4: UInt32 = 0xEF53
    package static let proc = FilesystemKind(number: 0x9FA0)

    /// They find room for a byte, or say no, when it is written; closing a file asks nothing of them. Nearly all files are
    /// written here, so that nobody is to pay for the others.
    ///
    /// overlayfs does not tell what it lies on. What it writes to must know exchanges of names and attributes of its own,
    /// which the kernel finds in no NFS and no CIFS; and containers have little else.
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
