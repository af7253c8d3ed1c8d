import TextFormats
package import TransferModel

/// A file that a server accepted whole by PUT, recorded for the next run: `existing: revalidate` of an upload compares
/// it with the file to send now, and with the server's answer to a HEAD.
package struct SentUpload: Hashable, Sendable {
    /// Absolute path of the file.
    package var path: String
    /// Size, times and inode number of the file when it was last read.
    package var file: BodyFileMark
    /// Time of the last read, by the local clock.
    package var readAt: WallTime
    /// SHA-256 of the file's bytes.
    package var digest: [UInt8]
    /// Fingerprint of the upload's headers that describe the body (`shape(of:)`).
    package var shape: Int64
    /// Entity tag of the stored file; `nil` until the server sent one.
    package var etag: String?
    /// `Last-Modified` of the stored file, as sent; `nil` until the server sent one.
    package var lastModified: String?
    /// Time of the server's answer to the upload, by the server's clock.
    package var answeredAt: WallTime?
    /// `RequestMark` text of the upload.
    package var asked: String?

    package init(
        path: String, file: BodyFileMark, readAt: WallTime, digest: [UInt8], shape: Int64, etag: String? = nil,
        lastModified: String? = nil, answeredAt: WallTime? = nil, asked: String? = nil
    ) {
        self.path = path
        self.file = file
        self.readAt = readAt
        self.digest = digest
        self.shape = shape
        self.etag = etag
        self.lastModified = lastModified
        self.answeredAt = answeredAt
        self.asked = asked
    }

    // MARK: The file

    /// How the file to send now compares with the recorded one.
    package enum Comparison: Hashable, Sendable {
        /// Both are surely the same file.
        case same
        /// Only the size agrees for certain: the bytes must be compared.
        case mustRead
        /// The file is another one, or is described differently.
        case other
    }

    /// Coarsest resolution of a filesystem's times.
    private static let grain = TimeSpan.seconds(2)

    /// Compares the file to send now. A file that was written shortly before it was read may have been written again
    /// since with the same time, so its bytes must be compared too.
    package func compare(_ now: BodyFileMark, at path: String, shape: Int64) -> Comparison {
        guard now.size == file.size, shape == self.shape else { return .other }
        let newest = max(file.modifiedNanoseconds, file.changedNanoseconds)
        let isSettled = WallTime(nanoseconds: newest) + Self.grain <= readAt
        let isSame = path.utf8.elementsEqual(self.path.utf8) && now.difference(from: file) == nil
        return isSame && isSettled ? .same : .mustRead
    }

    // MARK: The server

    /// Returns whether the server still has the uploaded file, by its answer of 2xx to a HEAD. An `ETag` decides by
    /// itself; without one the length must be that of the file, the date must not have moved, and the user must be the
    /// one who sent it.
    package func isStored(_ headers: HeaderBlock, isSameUser: Bool) -> Bool {
        let length = Self.length(headers)
        // A file stored under a coding may be announced with the length of either form.
        if let length, length != file.size, headers.first("content-encoding") == nil { return false }
        if let etag { return Self.etag(headers).map { Self.opaque($0) == Self.opaque(etag) } ?? false }
        guard isSameUser, length == file.size else { return false }
        guard let told = headers.first("last-modified") else { return lastModified == nil }
        if let lastModified { return HTTPDate.parse(told) == HTTPDate.parse(lastModified) }
        guard let answeredAt, let changed = HTTPDate.parse(told) else { return true }
        return changed <= answeredAt + Self.storing
    }

    /// Time after its answer in which a server may still date the stored file.
    private static let storing = TimeSpan.seconds(60)

    /// Returns the record with the validators of an answer by which the file is stored; validators already recorded
    /// stay.
    package func confirmed(_ headers: HeaderBlock) -> SentUpload {
        var kept = self
        kept.etag = etag ?? Self.etag(headers)
        kept.lastModified = lastModified ?? Self.date(headers)
        return kept
    }

    /// Takes over the validators in the answer to the upload. RFC 9110 (section 9.3.4) lets a server send a validator
    /// there only if it stored the bytes as they were sent.
    package mutating func learn(_ headers: HeaderBlock) {
        etag = Self.etag(headers)
        lastModified = Self.date(headers)
        answeredAt = headers.first("date").flatMap { HTTPDate.parse($0) }
    }

    private static func length(_ headers: HeaderBlock) -> Int64? {
        let lengths = headers.all("content-length")
        return lengths.count == 1 ? Int64(lengths[0]) : nil
    }

    /// The answer's entity tag; `nil` without one, and with more than one.
    private static func etag(_ headers: HeaderBlock) -> String? {
        let tags = headers.all("etag")
        return tags.count == 1 && !tags[0].isEmpty ? tags[0] : nil
    }

    private static func date(_ headers: HeaderBlock) -> String? {
        headers.first("last-modified").flatMap { HTTPDate.parse($0) == nil ? nil : $0 }
    }

    /// The tag without the mark of a weak one: the server may pack its answer, but the stored file is the same.
    private static func opaque(_ tag: String) -> [UInt8] {
        Array(tag.hasPrefix("W/") ? tag.utf8.dropFirst(2) : tag.utf8[...])
    }

    // MARK: The request

    /// Returns a fingerprint of the upload's headers that describe its body: type, coding, language and the like. Under
    /// another fingerprint the server would store something else.
    package static func shape(of headers: [HeaderField]) -> Int64 {
        var print = Fingerprint()
        let described = headers.filter { !$0.value.isSecret && $0.name.lowercased().hasPrefix("content-") }
        for (name, value) in described.map({ ($0.name.lowercased(), $0.value.revealed) }).sorted(by: <) {
            print.add(name)
            print.add(value)
        }
        return print.value
    }
}
