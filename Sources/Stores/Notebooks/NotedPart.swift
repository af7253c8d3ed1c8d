package import HTTPRules
package import TransferModel

/// Everything that a run notes of one unfinished file: what is known when it begins, and how far it is.
package struct NotedPart: Hashable, Sendable {
    /// Session of the task.
    package var session: StoredSessionName
    /// Key of the file in the store (`StoreKey`).
    package var destination: String
    /// Whether the destination is the folder in which the server names the file.
    package var isInFolder: Bool
    /// The request for the rest. Its part is empty: `note` has it.
    package var record: ResumeRecord
    /// Time of the request by the local clock.
    package var askedAt: WallTime
    /// Number of the system's start in which it was noted.
    package var boot: Int64
    /// How far the file is; `nil` until a byte of it was written.
    package var note: PartNote?

    package init(
        session: StoredSessionName, destination: String, isInFolder: Bool, record: ResumeRecord, askedAt: WallTime,
        boot: Int64, note: PartNote? = nil
    ) {
        self.session = session
        self.destination = destination
        self.isInFolder = isInFolder
        self.record = record
        self.askedAt = askedAt
        self.boot = boot
        self.note = note
    }

    /// What became of a file whose run was killed.
    package enum Verdict: Hashable, Sendable {
        /// The next run can go on with it.
        case unfinished(ResumeRecord)
        /// The file is whole and has its final name, and its run died before the store knew that.
        case finished(KeptValidators, path: String)
        /// Nothing of it is of use.
        case lost
    }

    /// Judges what was noted by what stands there now: `temporary`, the file under its temporary name, and `final`, the one
    /// under the name that it was given last.
    package func verdict(temporary: FileStamp?, final: FileStamp?) -> Verdict {
        guard let note, note.part.size > 0 else { return .lost }
        if temporary != nil { return .unfinished(resumeRecord(note)) }
        guard let given = note.final, final == given.stamp, given.stamp.size == note.part.size else { return .lost }
        let path = "\(record.folder == "/" ? "" : record.folder)/\(given.name)"
        let answer = FiledAnswer(
            url: record.point.url, status: 200, headers: record.point.headers, shape: record.shape, file: given.stamp,
            name: isInFolder ? given.name : nil, checksum: Checksum(algorithm: .xxh3, bytes: note.part.sum),
            boot: boot, asked: record.point.asked, askedAt: askedAt, path: path)
        return answer.kept.map { .finished($0, path: path) } ?? .lost
    }

    private func resumeRecord(_ note: PartNote) -> ResumeRecord {
        var found = record
        found.part = note.part
        found.part.scattered =
            note.beyond.isEmpty
            ? nil : PartFile.Scattered(ranges: note.beyond, identity: note.identity, boot: boot)
        found.point.offset = note.part.size
        return found
    }
}
