package import TransferModel

// The values of orders that have more than three.

extension DeliveryOrder {
    /// A piece of a body.
    package struct Append: Sendable {
        /// The body.
        package let id: StagingID
        /// Where the body is staged.
        package let placement: BodyPlacement
        /// The bytes.
        package let piece: BodyPiece
        /// The piece's offset, where nothing was written yet; `nil` if it follows the piece before.
        package let offset: Int64?
        /// The task to which a failure is reported at once; `nil` if only `publish` reports it.
        package let task: TaskIndex?

        package init(
            _ id: StagingID, _ placement: BodyPlacement, _ piece: BodyPiece, at offset: Int64? = nil,
            for task: TaskIndex? = nil
        ) {
            self.id = id
            self.placement = placement
            self.piece = piece
            self.offset = offset
            self.task = task
        }
    }

    /// The length of a body that is about to arrive.
    package struct Announcement: Sendable {
        /// The body.
        package let id: StagingID
        /// The task to which a failure is reported.
        package let task: TaskIndex
        /// The folder of the file.
        package let folder: String
        /// The name that the file is to have, if it is known already.
        package let path: String?
        /// The number of bytes that will still come.
        package let length: Int64
        /// Bytes that must stay free on the folder's filesystem.
        package let reserve: Int64

        package init(
            _ id: StagingID, _ task: TaskIndex, folder: String, path: String? = nil, length: Int64, reserve: Int64
        ) {
            self.id = id
            self.task = task
            self.folder = folder
            self.path = path
            self.length = length
            self.reserve = reserve
        }
    }

    /// The end of a body.
    package struct Publication: Sendable {
        /// The task that gets the answer.
        package let task: TaskIndex
        /// The body.
        package let id: StagingID
        /// Where the file is to be put, and what must be true of it first.
        package let destination: Destination
        /// The bytes after the last appended piece.
        package let rest: BodyPiece
        /// Whether the body may be cut: nothing has proven where it ends.
        package let lengthUnverified: Bool

        package init(
            _ task: TaskIndex, _ id: StagingID, _ destination: Destination, rest: BodyPiece, lengthUnverified: Bool
        ) {
            self.task = task
            self.id = id
            self.destination = destination
            self.rest = rest
            self.lengthUnverified = lengthUnverified
        }
    }

    /// An earlier run's partial file as the beginning of a body.
    package struct Adoption: Sendable {
        /// The body.
        package let id: StagingID
        /// The task that gets the answer.
        package let task: TaskIndex
        /// Where the partial file is, and the digests to compute of it.
        package let placement: BodyPlacement
        /// The partial file as it was noted.
        package let part: PartFile
        /// The number of its bytes to keep.
        package let keeping: Int64

        package init(_ id: StagingID, _ task: TaskIndex, _ placement: BodyPlacement, _ part: PartFile, keeping: Int64) {
            self.id = id
            self.task = task
            self.placement = placement
            self.part = part
            self.keeping = keeping
        }
    }

    /// A question about the file at a destination.
    package struct Inspection: Sendable {
        /// The task that gets the answer.
        package let task: TaskIndex
        /// The destination's path.
        package let path: String
        /// The checksum to compare; `nil` asks for the size alone.
        package let checksum: Checksum?
        /// The file as a member of its group; an earlier run may have kept it elsewhere.
        package let member: GroupMember?
        /// A file put there since then does not count, since it may be the task's own.
        package let exceptSince: WallTime?

        package init(
            _ task: TaskIndex, path: String, _ checksum: Checksum?, member: GroupMember? = nil,
            exceptSince: WallTime? = nil
        ) {
            self.task = task
            self.path = path
            self.checksum = checksum
            self.member = member
            self.exceptSince = exceptSince
        }
    }

    /// A question about a file's stamp.
    package struct StampReading: Sendable {
        /// The task that gets the answer.
        package let task: TaskIndex
        /// The file's path.
        package let path: String
        /// The algorithm of the digest that the answer has of the file's bytes; `nil` leaves them unread.
        package let digest: DigestAlgorithm?
        /// Whether the file is a task's source, which may be in a group's folder.
        package let isSource: Bool
        /// The file as a member of its group; an earlier run may have kept it elsewhere.
        package let member: GroupMember?

        package init(
            _ task: TaskIndex, path: String, digest: DigestAlgorithm? = nil, isSource: Bool = false,
            member: GroupMember? = nil
        ) {
            self.task = task
            self.path = path
            self.digest = digest
            self.isSource = isSource
            self.member = member
        }
    }

    /// A local file that is a download's source.
    package struct Copy: Sendable {
        /// The task that gets the answer.
        package let task: TaskIndex
        /// The path of the local file.
        package let source: String
        /// Where the copy is to be put.
        package let destination: Destination
        /// Greatest number of bytes to copy; a larger file is refused.
        package let maximum: Int64?

        package init(_ task: TaskIndex, from source: String, _ destination: Destination, maximum: Int64?) {
            self.task = task
            self.source = source
            self.destination = destination
            self.maximum = maximum
        }
    }

    /// A local file that is a data task's response body.
    package struct Reading: Sendable {
        /// The task that gets the answer.
        package let task: TaskIndex
        /// The file's path.
        package let path: String
        /// Greatest number of bytes to read; a larger file is refused.
        package let maximum: Int64
        /// The group of which the file is a member; it is read from the group's staging, if it is staged.
        package let group: GroupPlace?

        package init(_ task: TaskIndex, path: String, maximum: Int64, group: GroupPlace? = nil) {
            self.task = task
            self.path = path
            self.maximum = maximum
            self.group = group
        }
    }

    /// A file that is to be opened.
    package struct ListedFile: Sendable {
        /// The file's path.
        package let path: String
        /// The group of which the file is a member; it is opened in the group's staging, if it is staged.
        package let group: GroupPlace?

        package init(path: String, group: GroupPlace?) {
            self.path = path
            self.group = group
        }
    }

    /// A member of a group that is already as wanted.
    package struct KeptMember: Sendable {
        /// The task that gets the answer.
        package let task: TaskIndex
        /// The path of the member's file.
        package let path: String
        /// The file as a member of its group.
        package let member: GroupMember
        /// The checksum that the file met.
        package let checksum: Checksum?
        /// The destination for a copy with the wanted mode, if the file has another one, since the old tree must stay as it
        /// is.
        package let anew: Destination?

        package init(
            _ task: TaskIndex, path: String, _ member: GroupMember, _ checksum: Checksum? = nil,
            anew: Destination? = nil
        ) {
            self.task = task
            self.path = path
            self.member = member
            self.checksum = checksum
            self.anew = anew
        }
    }
}
