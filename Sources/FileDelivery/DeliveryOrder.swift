import SystemIO
package import TransferModel

/// Identifies a body under way to the disk: one number per attempt, never used twice in a run.
package struct StagingID: Hashable, Sendable {
    /// The number; its lower 32 bits select the delivery thread.
    package let raw: UInt64
    package init(raw: UInt64) { self.raw = raw }

    /// The number selects the thread: all bodies of a task go to the same one, and those of groups to the first, which
    /// publishes groups.
    package init(_ count: UInt32, of task: TaskIndex, isGrouped: Bool) {
        raw = UInt64(count) << 32 | (isGrouped ? 0 : UInt64(task.raw))
    }

    fileprivate func thread(of count: Int) -> Int { Int(raw & UInt64(UInt32.max)) % count }
}

/// Where a file is to be put, and what must be true of it first.
package struct Destination: Sendable {
    /// The absolute path with the file's final name.
    package var path: String
    /// What happens if the path is taken.
    package var existing = ExistingPolicy.revalidate
    /// What is known of the name where a server chose it; `nil` where the job names the file.
    package var chosenName: ChosenName?
    /// The file's permissions; `nil` is 0644 less the umask.
    package var mode: UInt16?
    /// The file's modification time; `nil` leaves the time of writing. For a local source any time stands for the
    /// source's own.
    package var modificationTime: WallTime?
    /// The checksum that the job expects of the written bytes.
    package var checksum: Checksum?
    /// The digest that the server announced for the bytes as it sends them.
    package var sent: SentDigest?
    /// Checks a local source by its first bytes and its size before the file gets its name; returns why it is refused.
    package var check: (@Sendable (_ start: [UInt8], _ size: Int64) -> TransferError?)?
    /// The check of the whole file's bytes before the file gets its name.
    package var examine: Examination?
    /// A check of a file's bytes.
    package struct Examination: Sendable {
        /// Greatest size in bytes of a file that is checked; a larger one is refused.
        package let most: Int64
        /// Returns why the bytes are refused; `nil` if they are not.
        package let look: @Sendable (_ bytes: [UInt8]) -> TransferError?
        package init(most: Int64, look: @escaping @Sendable (_ bytes: [UInt8]) -> TransferError?) {
            self.most = most
            self.look = look
        }
    }
    /// Whether the file counts as done only when its bytes and name would survive a power cut.
    package var flush = false
    /// The group with which the file is published, if it is a member; it gets its final path only with the group.
    package var group: GroupPlace?
    /// Whether a member of an unpublished group is worth keeping: the next run can tell whether it is still right.
    package var isOfUseToNextRun = true
    /// How a local source is decoded.
    package var decoding: BodyDecoding?
    /// Bytes that must stay free on the destination's filesystem.
    package var reserve: Int64 = 0
    /// Whether the verified body is handed over instead of getting a name (`DeliveryReport.readyForOutput`); `path`
    /// only names the folder where it is staged.
    package var toStandardOutput = false
    /// Whether the file's record has a stamp by which the file can be recognized.
    package var isStamped = false
    /// Set after a process ended without reporting: since this time it may have put the file there.
    package var untoldSince: WallTime?
    package init(path: String) { self.path = path }
    /// The folder of `path`.
    package var folder: String { Folders.split(path).folder }
    /// The file as a member of its group, if it has one.
    package var member: GroupMember? { group.map { GroupMember($0, existing) } }
}

/// A piece of input for a digest.
package enum DigestedPiece: Sendable {
    case bytes([UInt8])
    /// A file, or the range of it.
    case file(path: String, Range<Int64>? = nil)
}

/// What the loop asks of a delivery thread. Orders for one staging are carried out in order.
package enum DeliveryOrder: Sendable {
    /// Appends a full buffer to a body that is longer than one. With a task its failure is reported at once, and only
    /// once.
    case append(Append)
    /// Ends writing at offsets for this body: only the beginning without a hole is kept, and the next piece follows it.
    case settle(StagingID)
    /// Announces the body's length: a body for which there is no room, or which cannot replace what has the name
    /// `path`, fails before a byte is written. Failures of an announced body are reported at once, and only once.
    case announce(Announcement)
    /// Decodes the body; ordered before its first piece. Failures are reported as for an announced body.
    case decode(StagingID, TaskIndex, BodyDecoding)
    /// Takes the rest of the body (all of it, if nothing was appended), verifies it and publishes it; a group's member
    /// is only staged.
    case publish(Publication)
    /// Discards the body of a failed attempt.
    case discard(StagingID)
    /// Makes the body's file readable for its owner alone until it gets its mode. Ordered before the first piece.
    case conceal(StagingID)
    /// Keeps the body for a later run, should this one not finish: from `PartFile.smallest` on its file gets a name,
    /// and `part` reports its size at intervals. Ordered before the first piece.
    case keepPart(StagingID, TaskIndex)
    /// Notes how far the body is after each write, from now on. A later run finds it by the last note.
    case notePart(StagingID, @Sendable (PartNote) -> Void)
    /// Leaves the body for a later run: no more pieces follow. `part` reports it to the task, if one is given. A file
    /// that is still being adopted stays as it is. `atAnySize`: it need not have reached `PartFile.leastLeft`.
    case leave(StagingID, TaskIndex?, atAnySize: Bool = false)
    /// Takes the first `keeping` bytes of the partial file of an earlier run as the beginning of this body, if it is
    /// unchanged. `adopted` answers; no other order for the body may precede the answer.
    case adopt(Adoption)
    /// Takes a copy of another program's partial file as the beginning of this body. `adopted` answers; no other order
    /// for the body may precede the answer.
    case adoptForeign(StagingID, TaskIndex, ForeignFile)
    /// Removes an earlier run's partial file at this path, which is of no use.
    case removePart(String)
    /// Allows removing files and folders of killed runs from the folders that are used, except for these paths. `nil`:
    /// it is not known what is to be kept, and large files stay for a day.
    case sweep(keeping: Set<String>?)
    /// Reports the size of the file at the destination, and whether it has the checksum.
    case inspect(Inspection)
    /// Reports the stamp of the file at the path and, if wanted, a digest of its bytes.
    case readStamp(StampReading)
    /// Keeps the existing file and sets its mode; `published` answers with its record.
    case keepFile(TaskIndex, FileRecord, mode: UInt16)
    /// Computes the digest of a body that is to be sent, which consists of these pieces.
    case digest(TaskIndex, [DigestedPiece], DigestAlgorithm)
    /// Reads a range of a file that is to be sent into the system's cache; `fetched` answers even if that fails.
    case fetch(TaskIndex, path: String, Range<Int64>)
    /// Copies a local file as a download's source.
    case copy(Copy)
    /// Reads a local file as a data task's response body.
    case read(Reading)
    /// Opens files for reading them elsewhere and passes them to `opened`; no report follows.
    case open([ListedFile], opened: @Sendable ([Result<OpenedFile, TransferError>]) -> Void)
    /// Runs `look`, which examines a response and may take a while; `examined` follows.
    case examine(TaskIndex, look: @Sendable () -> Void)
    /// Carries a member that is already right over into the group's new tree.
    case keep(KeptMember)
    /// Publishes a group whose members are all staged, in one step. The files of `absent` members of the job are kept:
    /// their paths, `nil` for a member whose file is not known, or a path with a final slash for any file in that
    /// folder.
    case publishGroup(GroupPlace, absent: [String?] = [])
    /// Stops waiting for another run: `groupPublished` answers with the error `cancelled`. Ignored if the group does
    /// not wait.
    case giveUpGroup(GroupPlace)
    /// Discards a group of which a member failed: the published folder stays as it is, and verified members are kept
    /// for the next run unless `keepingMembers` is false.
    case discardGroup(GroupPlace, keepingMembers: Bool = true)
    /// Nothing else is under way: flush without waiting for more files.
    case hurry
}

extension DeliveryOrder {
    /// Returns which of `count` threads carries the order out; `nil` for all of them.
    package func thread(of count: Int) -> Int? {
        switch self {
        case .append(let order): order.id.thread(of: count)
        case .announce(let order): order.id.thread(of: count)
        case .publish(let order): order.id.thread(of: count)
        case .adopt(let order): order.id.thread(of: count)
        case .decode(let id, _, _), .settle(let id), .discard(let id), .conceal(let id), .keepPart(let id, _),
            .notePart(let id, _), .leave(let id, _, _), .adoptForeign(let id, _, _):
            id.thread(of: count)
        case .inspect(let order): Int(order.task.raw) % count
        case .readStamp(let order): Int(order.task.raw) % count
        case .digest(let task, _, _), .examine(let task, _), .keepFile(let task, _, _), .fetch(let task, _, _):
            Int(task.raw) % count
        case .copy(let order): order.destination.group == nil ? Int(order.task.raw) % count : 0
        case .read(let order): order.group == nil ? Int(order.task.raw) % count : 0
        case .removePart, .sweep, .keep, .open, .publishGroup, .giveUpGroup, .discardGroup: 0
        case .hurry: nil
        }
    }
}

/// What an adoption came to.
package enum AdoptedPart: Hashable, Sendable {
    /// The file's beginning of that size is the body's, and so are the ranges beyond it.
    case taken(size: Int64, beyond: [Range<Int64>])
    /// The file is of no use, for this reason.
    case useless(String)
}

/// What the delivery threads answer.
package enum DeliveryReport: Sendable {
    /// The file has its final name.
    case published(TaskIndex, FileRecord, isKept: Bool)
    /// A member is verified and waits for its group: `FileRecord.path` is its future path, `changed` whether it differs
    /// from the file that is there now. No `flushed` follows.
    case staged(TaskIndex, FileRecord)
    /// The body is complete and verified, and is to be written to standard output.
    case readyForOutput(TaskIndex, FileRecord, StagedBody)
    /// The body was written to standard output, or the reason why not all of it was.
    case written(TaskIndex, TransferError?)
    /// The group is published; with `flush` it would survive a power cut. After an error nothing has changed, unless
    /// the flush failed (`cannotWriteToFile`). `removed` is `nil` where the group removes no files.
    case groupPublished(GroupIndex, TransferError?, removed: RemovedFiles?)
    /// Follows `published` if a flush was asked for.
    case flushed(TaskIndex)
    case failed(TaskIndex, TransferError)
    /// Answers `inspect`. `size` is `nil` when no file is there, `matches` when no checksum was given.
    case inspected(TaskIndex, path: String, size: Int64?, matches: Bool?)
    case digested(TaskIndex, Checksum)
    case fetched(TaskIndex)
    /// Answers `readStamp`. The stamp is `nil` when no file is there, or none that may be read.
    case stampRead(TaskIndex, FileStamp?, Checksum?)
    /// Answers an adoption: what of the file is the beginning of the body now.
    case adopted(TaskIndex, AdoptedPart)
    /// The partial file of a body that is kept for a later run; `nil` if it is too small.
    case part(StagingID, TaskIndex, PartFile?)
    case contents(TaskIndex, [UInt8])
    case examined(TaskIndex)
}
