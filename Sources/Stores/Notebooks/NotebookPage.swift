import HTTPRules
import Records
package import TransferModel

/// The bytes of one page of a notebook: one noted file. Pure.
///
/// What is known at the beginning is written once. How far the file is is written again and again, to two places in turn,
/// so that whatever a kill or a power cut does to one of them, the other holds. A fingerprint tells what was written whole;
/// the entry's number tells to which file a note belongs, for pages are used again.
package enum NotebookPage {
    /// Length in bytes.
    package static let size = 16 << 10
    /// Most bytes of one of the two notes.
    package static let mostOfNote = 2 << 10
    /// Offset of what is known at the beginning.
    package static let head = 2 * mostOfNote
    /// Most bytes of what is known at the beginning.
    static let mostOfHead = size - head
    /// Most ranges that are noted. Those further on are fetched again.
    static let mostRanges = 48

    private static let format: UInt8 = 1

    /// Returns the offset of the note of that number.
    package static func place(ofNote number: UInt64) -> Int { number.isMultiple(of: 2) ? 0 : mostOfNote }

    // MARK: What is known at the beginning

    /// Returns its bytes; `nil` where they do not fit.
    package static func head(_ noted: NotedPart, entry: UInt64) -> [UInt8]? {
        var writer = RecordWriter(capacity: 1024)
        writer.put(byte: format)
        writer.put(entry)
        writer.put(noted.boot)
        writer.put(noted.session.job)
        writer.put(noted.session.name)
        writer.put(noted.destination)
        writer.put(noted.isInFolder)
        writer.put(noted.askedAt.nanoseconds)
        writer.put(noted.record)
        return sealed(writer.bytes, most: mostOfHead)
    }

    // MARK: How far the file is

    /// Returns the bytes of a note; `nil` where they do not fit.
    package static func bytes(of note: PartNote, number: UInt64, entry: UInt64) -> [UInt8]? {
        var writer = RecordWriter(capacity: 512)
        writer.put(entry)
        writer.put(number)
        writer.put(note.part.name)
        writer.put(note.part.size)
        writer.put(note.part.sum)
        writer.put(note.part.earlier) { $0.put($1) }
        writer.put(note.identity)
        writer.put(ranges: Array(note.beyond.prefix(mostRanges)))
        writer.put(note.final) { writer, final in
            writer.put(final.name)
            writer.put(final.stamp.size)
            writer.put(final.stamp.modifiedNanoseconds)
            writer.put(final.stamp.identity)
        }
        return sealed(writer.bytes, most: mostOfNote)
    }

    /// Length and fingerprint before the bytes.
    private static func sealed(_ bytes: [UInt8], most: Int) -> [UInt8]? {
        guard bytes.count + 12 <= most else { return nil }
        var sealed: [UInt8] = []
        sealed.reserveCapacity(bytes.count + 12)
        for shift in stride(from: 0, to: 32, by: 8) { sealed.append(UInt8(truncatingIfNeeded: bytes.count >> shift)) }
        let print = fingerprint(bytes)
        for shift in stride(from: 0, to: 64, by: 8) { sealed.append(UInt8(truncatingIfNeeded: print >> shift)) }
        return sealed + bytes
    }

    private static func fingerprint(_ bytes: [UInt8]) -> Int64 {
        var fingerprint = Fingerprint()
        fingerprint.add(bytes)
        return fingerprint.value
    }

    // MARK: Reading

    /// Reads a page; `nil` where it holds no file, or nothing whole of one.
    package static func read(_ page: ArraySlice<UInt8>) -> NotedPart? {
        guard page.count == size, let (begun, entry) = readHead(page.dropFirst(head)) else { return nil }
        let notes = [0, mostOfNote].compactMap { place -> (number: UInt64, note: PartNote)? in
            readNote(page.dropFirst(place).prefix(mostOfNote), entry: entry)
        }
        var noted = begun
        noted.note = notes.max { $0.number < $1.number }?.note
        return noted
    }

    private static func unsealed(_ bytes: ArraySlice<UInt8>) -> [UInt8]? {
        let bytes = Array(bytes)
        guard bytes.count >= 12 else { return nil }
        let count = (0..<4).reduce(0) { $0 | Int(bytes[$1]) << ($1 * 8) }
        guard count > 0, count <= bytes.count - 12 else { return nil }
        let print = (0..<8).reduce(Int64(0)) { $0 | Int64(bytes[4 + $1]) << ($1 * 8) }
        let content = Array(bytes[12..<(12 + count)])
        return fingerprint(content) == print ? content : nil
    }

    private static func readHead(_ bytes: ArraySlice<UInt8>) -> (noted: NotedPart, entry: UInt64)? {
        guard let content = unsealed(bytes) else { return nil }
        var reader = RecordReader(content)
        do throws(RecordProblem) {
            guard try reader.byte() == format else { return nil }
            let (entry, boot) = (try reader.unsigned(), try reader.int64())
            let session = StoredSessionName(job: try reader.text(), name: try reader.text())
            let noted = NotedPart(
                session: session, destination: try reader.text(), isInFolder: try reader.flag(),
                record: ResumeRecord(
                    start: "", point: ResumePoint(url: "", offset: 0, validator: "", total: nil), shape: 0, folder: "",
                    part: PartFile(name: "", size: 0, sum: [])),
                askedAt: WallTime(nanoseconds: try reader.int64()), boot: boot)
            var whole = noted
            whole.record = try reader.resumeRecord()
            try reader.finish()
            return (whole, entry)
        } catch {
            return nil
        }
    }

    private static func readNote(_ bytes: ArraySlice<UInt8>, entry: UInt64) -> (number: UInt64, note: PartNote)? {
        guard let content = unsealed(bytes) else { return nil }
        var reader = RecordReader(content)
        do throws(RecordProblem) {
            guard try reader.unsigned() == entry else { return nil }
            let number = try reader.unsigned()
            let part = PartFile(
                name: try reader.text(), size: try reader.int64(), sum: try reader.blob(),
                earlier: try reader.list { (reader) throws(RecordProblem) in try reader.beginning() })
            let (identity, beyond) = (try reader.int64(), try reader.ranges())
            let final = try reader.optional { (reader) throws(RecordProblem) in
                PartNote.Final(
                    name: try reader.text(),
                    stamp: FileStamp(
                        size: try reader.int64(), modifiedNanoseconds: try reader.int64(),
                        identity: try reader.optionalInt64()))
            }
            try reader.finish()
            return (number, PartNote(part: part, identity: identity, beyond: beyond, final: final))
        } catch {
            return nil
        }
    }
}

extension RecordWriter {
    /// Without the part, which changes with each note.
    fileprivate mutating func put(_ record: ResumeRecord) {
        put(record.start)
        put(record.shape)
        put(record.folder)
        let point = record.point
        put(point.url)
        put(point.validator)
        put(point.total)
        put(point.sent) { writer, sent in
            writer.put(sent.header)
            writer.put(sent.checksum.algorithm.rawValue)
            writer.put(sent.checksum.bytes)
        }
        put(point.asked)
        put(point.headers.bytes)
        put(point.unanswered)
    }
}

extension RecordReader {
    fileprivate mutating func resumeRecord() throws(RecordProblem) -> ResumeRecord {
        let (start, shape, folder) = (try text(), try int64(), try text())
        let (url, validator, total) = (try text(), try text(), try optionalInt64())
        let sent = try optional { (reader) throws(RecordProblem) -> SentDigest in
            let (header, name, bytes) = (try reader.text(), try reader.text(), try reader.blob())
            guard let algorithm = DigestAlgorithm(rawValue: name), bytes.count == algorithm.byteCount else {
                throw reader.problem(.unknown, "\(name) is no digest of this version")
            }
            return SentDigest(header: header, checksum: Checksum(algorithm: algorithm, bytes: bytes))
        }
        let (asked, headers, unanswered) = (try optionalText(), try blob(), try int())
        return ResumeRecord(
            start: start,
            point: ResumePoint(
                url: url, offset: 0, validator: validator, total: total, sent: sent, asked: asked,
                headers: headers.isEmpty ? .empty : HeaderBlock(raw: headers), unanswered: unanswered),
            shape: shape, folder: folder, part: PartFile(name: "", size: 0, sum: []))
    }
}
