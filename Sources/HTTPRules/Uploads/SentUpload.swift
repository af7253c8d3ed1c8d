import TextFormats
package import TransferModel

/// A file that a server took whole by PUT, kept for the next run: `existing: revalidate` of an upload compares it with the
/// file that is to be sent now, and with what the server says of its URL.
package struct SentUpload: Hashable, Sendable {
    /// Absolute.
    package var path: String
    /// Size and times of the file when it was read last, and its number.
    package var file: BodyFileMark
    /// When it was read last, by the clock here.
    package var readAt: WallTime
    /// SHA-256 of its bytes.
    package var digest: [UInt8]
    /// What the upload said of the body (`shape(of:)`).
    package var shape: Int64
    /// What the server told of the stored file; `nil` until it told anything.
    package var etag: String?
    package var lastModified: String?
    /// When the server answered the upload, by its own clock.
    package var answeredAt: WallTime?
    /// Who sent it (`RequestMark`).
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

    package enum Comparison: Hashable, Sendable {
        /// It is surely the file that was sent.
        case same
        /// It has the size: its bytes tell.
        case mustRead
        /// It is another one, or was sent as something else.
        case other
    }

    /// A filesystem's times may be no finer.
    private static let grain = TimeSpan.seconds(2)

    /// Compares the file that is to be sent now. A file that was written shortly before it was read may have been written
    /// again since, and have the time of then: its bytes tell too.
    package func compare(_ now: BodyFileMark, at path: String, shape: Int64) -> Comparison {
        guard now.size == file.size, shape == self.shape else { return .other }
        let newest = max(file.modifiedNanoseconds, file.changedNanoseconds)
        let isSettled = WallTime(nanoseconds: newest) + Self.grain <= readAt
        let isSame = path.utf8.elementsEqual(self.path.utf8) && now.difference(from: file) == nil
        return isSame && isSettled ? .same : .mustRead
    }

    // MARK: The server

    /// Returns whether the server still has what was sent, by its answer of 2xx to a HEAD. An `ETag` tells by itself; where
    /// there was none, the length must be that of the file, the date may not have moved, and the user must be the one who
    /// sent it.
    package func isStored(_ headers: HeaderBlock, isSameUser: Bool) -> Bool {
        let length = Self.length(headers)
        // What is stored under a coding may be told with the length of either.
        if let length, length != file.size, headers.first("content-encoding") == nil { return false }
        if let etag { return Self.etag(headers).map { Self.opaque($0) == Self.opaque(etag) } ?? false }
        guard isSameUser, length == file.size else { return false }
        guard let told = headers.first("last-modified") else { return lastModified == nil }
        if let lastModified { return HTTPDate.parse(told) == HTTPDate.parse(lastModified) }
        guard let answeredAt, let changed = HTTPDate.parse(told) else { return true }
        return changed <= answeredAt + Self.storing
    }

    /// A server may date what it stores a while after it answered.
    private static let storing = TimeSpan.seconds(60)

    /// What is known after an answer that says it is stored: what was not told before is from now on.
    package func confirmed(_ headers: HeaderBlock) -> SentUpload {
        var kept = self
        kept.etag = etag ?? Self.etag(headers)
        kept.lastModified = lastModified ?? Self.date(headers)
        return kept
    }

    /// Takes over what the answer to the upload tells of the stored file. RFC 9110 (section 9.3.4) lets a server tell a
    /// validator there only if it stored the bytes as they were sent.
    package mutating func learn(_ headers: HeaderBlock) {
        etag = Self.etag(headers)
        lastModified = Self.date(headers)
        answeredAt = headers.first("date").flatMap { HTTPDate.parse($0) }
    }

    private static func length(_ headers: HeaderBlock) -> Int64? {
        let lengths = headers.all("content-length")
        return lengths.count == 1 ? Int64(lengths[0]) : nil
    }

    /// `nil` where there is none, or more than one.
    private static func etag(_ headers: HeaderBlock) -> String? {
        let tags = headers.all("etag")
        return tags.count == 1 && !tags[0].isEmpty ? tags[0] : nil
    }

    private static func date(_ headers: HeaderBlock) -> String? {
        headers.first("last-modified").flatMap { HTTPDate.parse($0) == nil ? nil : $0 }
    }

    /// Weak and strong are one: what a server would send now may be packed on its way, what it has stored is the same.
    private static func opaque(_ tag: String) -> [UInt8] {
        Array(tag.hasPrefix("W/") ? tag.utf8.dropFirst(2) : tag.utf8[...])
    }

    // MARK: The request

    /// Returns a fingerprint of what an upload's headers say of its body: its type, coding, language and the like. Under
    /// another one the server would store something else.
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
