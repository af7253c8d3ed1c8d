import SystemIO
package import TransferModel

/// A body under way to disk. One number per attempt, never used twice in a run.
package struct StagingID: Hashable, Sendable {
    package let raw: UInt64
    package init(raw: UInt64) { self.raw = raw }

    /// Which thread carries it out is in its number: a task's bodies come to the same, and those of groups to the first,
    /// which has the groups.
    package init(_ count: UInt32, of task: TaskIndex, isGrouped: Bool) {
        raw = UInt64(count) << 32 | (isGrouped ? 0 : UInt64(task.raw))
    }

    fileprivate func thread(of count: Int) -> Int { Int(raw & UInt64(UInt32.max)) % count }
}

/// Where a file shall stand and what must hold before it does.
package struct Destination: Sendable {
    /// Absolute and complete: the name is chosen already.
    package var path: String
    package var existing = ExistingPolicy.revalidate
    /// `nil` is 0644 less umask.
    package var mode: UInt16?
    package var modificationTime: WallTime?
    package var checksum: Checksum?
    /// Of the bytes as the server sent them.
    package var sent: SentDigest?
    /// What must hold of a local source, asked with its first bytes and its size before it gets its name.
    package var check: (@Sendable (_ start: [UInt8], _ size: Int64) -> TransferError?)?
    /// What must hold of the file's bytes before it gets its name, and the most bytes that are looked into.
    package var examine: Examination?
    package struct Examination: Sendable {
        package let most: Int64
        package let look: @Sendable (_ bytes: [UInt8]) -> TransferError?
        package init(most: Int64, look: @escaping @Sendable (_ bytes: [UInt8]) -> TransferError?) {
            self.most = most
            self.look = look
        }
    }
    /// Counts as done only when bytes and name would survive a power cut.
    package var flush = false
    /// The group it is published with; it stands where it shall only once that is published.
    package var group: GroupPlace?
    /// A member of a group that is not published is worth keeping: the next run can tell whether it is still right.
    package var isOfUseToNextRun = true
    /// How a local source is unpacked.
    package var decoding: BodyDecoding?
    /// Bytes that must stay free on its filesystem.
    package var reserve: Int64 = 0
    /// The verified body is handed over instead of getting a name (`DeliveryReport.readyForOutput`); `path` is one in the
    /// folder where it is staged.
    package var toStandardOutput = false
    /// Its record says by what the file can be known again.
    package var isStamped = false
    /// Since then a process that has ended may have put the file there and told nobody.
    package var untoldSince: WallTime?
    package init(path: String) { self.path = path }
    package var folder: String { Folders.split(path).folder }
    package var member: GroupMember? { group.map { GroupMember($0, existing) } }
}

/// A piece of what is to be hashed.
package enum DigestedPiece: Sendable {
    case bytes([UInt8])
    /// All of it, where no range is named.
    case file(path: String, Range<Int64>? = nil)
}

/// What the loop asks of a delivery thread. Orders of one staging are carried out in the order given.
package enum DeliveryOrder: Sendable {
    /// A full buffer of a body that is longer than one; `algorithm` and `sent` are hashed along. These, the group and
    /// the reserve are those of the destination. It follows what was appended before, or belongs `at` a place of the
    /// file where nothing was put yet.
    case append(
        StagingID, folder: String, algorithm: DigestAlgorithm?, sent: DigestAlgorithm? = nil, group: GroupPlace? = nil,
        reserve: Int64 = 0, at: Int64? = nil, BodyPiece)
    /// No more comes for this body from those who wrote at places: only what is there without a hole counts, and the
    /// next piece follows that.
    case settle(StagingID)
    /// So many bytes are to come: a body for which there is no room, or which cannot be what stands at `path`, fails
    /// before a byte of it is written. Whatever goes wrong with an announced body is answered at once, and only once.
    case announce(StagingID, TaskIndex, folder: String, path: String? = nil, length: Int64, reserve: Int64)
    /// The body comes packed; before its first piece. Whatever goes wrong with it is answered like an announced one's.
    case decode(StagingID, TaskIndex, BodyDecoding)
    /// The rest of the body (all of it, if nothing was appended), then verify and publish; a group's member is only
    /// staged.
    case publish(TaskIndex, StagingID, Destination, rest: BodyPiece, lengthUnverified: Bool)
    /// The attempt failed: nothing stays.
    case discard(StagingID)
    /// The body becomes a file of a mode of its own: until then nobody else may look into it. Before its first piece.
    case conceal(StagingID)
    /// This body is to be found by a later run, should this one not come to its end: from `PartFile.smallest` on it gets
    /// a name, and `part` tells now and then how far it is. Before its first piece.
    case keepPart(StagingID, TaskIndex)
    /// What a later run may find stays; nothing more comes for it. `part` tells the task of it, if one is named. What
    /// was to be adopted stays as it is. `atAnySize`: it need not have reached `PartFile.leastLeft`.
    case leave(StagingID, TaskIndex?, atAnySize: Bool = false)
    /// The first `keeping` bytes of what an earlier run left become the beginning of this body, if it is still what it
    /// was. `adopted` answers; nothing else may be ordered for the body before.
    case adopt(
        StagingID, TaskIndex, folder: String, group: GroupPlace? = nil, PartFile, keeping: Int64,
        algorithm: DigestAlgorithm?, sent: DigestAlgorithm?)
    /// A copy of what another program left becomes the beginning of this body. `adopted` answers; nothing else may be ordered
    /// for the body before.
    case adoptForeign(StagingID, TaskIndex, ForeignFile)
    /// What an earlier run left, at this path, is of no use.
    case removePart(String)
    /// Files and folders under way that killed runs left may go, in the folders that are met, but for these. Where
    /// nobody can say what is to be kept, big ones stay for a day.
    case sweep(keeping: Set<String>?)
    /// What stands at the destination, and whether it meets the checksum. `member`: of the group in whose folder that
    /// is; an earlier run may have kept its file. `exceptSince`: what was put there since then may be the task's own, and
    /// does not count.
    case inspect(TaskIndex, path: String, Checksum?, member: GroupMember? = nil, exceptSince: WallTime? = nil)
    /// By what is known again what stands at the destination and, with `readingIt`, the sum of its bytes. `member` as in
    /// `inspect`; a file that is a task's source may stand in a group's folder.
    case look(TaskIndex, path: String, readingIt: Bool = false, isSource: Bool = false, member: GroupMember? = nil)
    /// What stands there is as it shall be but for its mode, perhaps; `published` answers with its record.
    case keepFile(TaskIndex, FileRecord, mode: UInt16)
    /// The digest of a body that is to be sent: of these, one after the other.
    case digest(TaskIndex, [DigestedPiece], DigestAlgorithm)
    /// A piece of a file that is to be sent, from the disk into memory; whatever comes of it, `fetched` answers.
    case fetch(TaskIndex, path: String, Range<Int64>)
    /// A local file as a download's source.
    case copy(TaskIndex, from: String, Destination, maximum: Int64?)
    /// A local file as a data task's answer, or for what it says. One of a group is read where it is staged, if it is.
    case read(TaskIndex, path: String, maximum: Int64, group: GroupPlace? = nil)
    /// Looks into an answer, which may take a while; `examined` follows.
    case examine(TaskIndex, look: @Sendable () -> Void)
    /// A member of a group that is as it shall be: carried over with the group. With the checksum that it met.
    /// `anew` where it shall have a mode: one that has another is staged as a copy, for the old tree stays as it is.
    case keep(TaskIndex, path: String, GroupMember, Checksum? = nil, anew: Destination? = nil)
    /// All members are staged: put them in place in one step. What the `absent` members of the job wrote stays as it is;
    /// `nil` for one of which nobody knows where that is, a path with a slash at its end for one in that folder.
    case publishGroup(GroupPlace, absent: [String?] = [])
    /// If it still waits for another run, it is not published: `groupPublished` says so, with the error `cancelled`.
    case giveUpGroup(GroupPlace)
    /// A member failed: the published folder stays as it is, and verified members are kept for the next run.
    case discardGroup(GroupPlace, keepingMembers: Bool = true)
    /// Nothing else is under way: do not wait for more before flushing.
    case hurry
}

extension DeliveryOrder {
    /// Which of so many threads carries it out; `nil` for all of them.
    package func thread(of count: Int) -> Int? {
        switch self {
        case .append(let id, _, _, _, _, _, _, _), .announce(let id, _, _, _, _, _), .decode(let id, _, _),
            .publish(_, let id, _, _, _), .settle(let id), .discard(let id), .conceal(let id), .keepPart(let id, _),
            .leave(let id, _, _), .adoptForeign(let id, _, _),
            .adopt(let id, _, _, _, _, _, _, _):
            id.thread(of: count)
        case .inspect(let task, _, _, _, _), .look(let task, _, _, _, _), .digest(let task, _, _),
            .examine(let task, _),
            .keepFile(let task, _, _), .fetch(let task, _, _):
            Int(task.raw) % count
        case .copy(let task, _, let destination, _): destination.group == nil ? Int(task.raw) % count : 0
        case .read(let task, _, _, let group): group == nil ? Int(task.raw) % count : 0
        case .removePart, .sweep, .keep, .publishGroup, .giveUpGroup, .discardGroup: 0
        case .hurry: nil
        }
    }
}

/// What the delivery threads answer.
package enum DeliveryReport: Sendable {
    /// Stands under its final name.
    case published(TaskIndex, FileRecord, isKept: Bool)
    /// A member is verified and waits for its group: `FileRecord.path` is where it will stand, `changed` whether it
    /// differs from what stands there now. No `flushed` follows.
    case staged(TaskIndex, FileRecord)
    /// The body is whole and verified, and is to be written to standard output.
    case readyForOutput(TaskIndex, FileRecord, StagedBody)
    /// All of such a body was written to standard output, or why not.
    case written(TaskIndex, TransferError?)
    /// With a `flush`, what stands there now would survive a power cut. On an error nothing has changed,
    /// unless it is the flush that failed (`cannotWriteToFile`).
    case groupPublished(GroupIndex, TransferError?)
    /// Follows `published` where a flush was asked for.
    case flushed(TaskIndex)
    case failed(TaskIndex, TransferError)
    /// `nil` size: nothing stands there. `matches` is `nil` when no checksum was given.
    case inspected(TaskIndex, path: String, size: Int64?, matches: Bool?)
    case digested(TaskIndex, Checksum)
    case fetched(TaskIndex)
    /// `nil`: no file stands there, or none that may be seen.
    case looked(TaskIndex, FileStamp?, sum: Int64?)
    /// It is the beginning of the body now, or of no use for the reason given.
    case adopted(TaskIndex, String?)
    /// So much is there of a body that is to be found by a later run; `nil`: too little.
    case part(StagingID, TaskIndex, PartFile?)
    case contents(TaskIndex, [UInt8])
    case examined(TaskIndex)
}
