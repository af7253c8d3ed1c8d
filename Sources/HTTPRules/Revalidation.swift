import TextFormats
package import TransferModel

/// What is recorded of an answer that became a file, so that the next run can ask whether it is still the same.
package struct KeptValidators: Hashable, Sendable {
    /// URL of the answered request, after redirects.
    package var url: String
    /// Entity tag of the answer, strong or weak, as sent; `nil` where a date identifies the version.
    package var etag: String?
    /// `Last-Modified` of the answer, as sent; `nil` where the entity tag identifies the version.
    package var lastModified: String?
    /// Fingerprint of how the answer was requested and turned into the file (`Revalidation.shape`).
    package var shape: Int64
    /// Size and times of the file that the answer became.
    package var file: FileStamp
    /// Name of the file where the destination is the folder that contains it, else `nil`.
    package var name: String?
    /// Checksum of the file's bytes; `nil` where none is known.
    package var checksum: Checksum?
    /// The number of the system's start in which the file was written; `nil` once it would survive a power cut. Before
    /// that a power cut may lose its bytes and keep its size and time: after a restart only its content proves that it is
    /// the same file.
    package var boot: Int64?
    /// `RequestMark` text of the answered request.
    package var asked: String?

    package init(
        url: String, etag: String?, lastModified: String?, shape: Int64, file: FileStamp, name: String? = nil,
        checksum: Checksum? = nil, boot: Int64? = nil, asked: String? = nil
    ) {
        self.asked = asked
        self.checksum = checksum
        self.boot = boot
        self.name = name
        self.url = url
        self.etag = etag
        self.lastModified = lastModified
        self.shape = shape
        self.file = file
    }
}

/// An answer that became a file, as the event loop hands it over; ``kept`` computes elsewhere what is recorded of it.
package struct FiledAnswer: Sendable {
    /// URL of the answered request, after redirects.
    package var url: String
    /// Status of the answer.
    package var status: Int
    /// Headers of the answer.
    package var headers: HeaderBlock
    /// Fingerprint of how the answer was requested and turned into the file (`Revalidation.shape`).
    package var shape: Int64
    /// Size and times of the file that the answer became.
    package var file: FileStamp
    /// Name of the file where the destination is the folder that contains it, else `nil`.
    package var name: String?
    /// Checksum of the file's bytes; `nil` where none is known.
    package var checksum: Checksum?
    /// The number of the system's start in which the file was written; `nil` when it would survive a power cut.
    package var boot: Int64?
    /// `RequestMark` text of the answered request.
    package var asked: String?
    /// Time of the request by the local clock, if known.
    package var askedAt: WallTime?
    /// Path of the file; what was recorded before for this path no longer counts.
    package var path: String?
    /// Whether anything proved where the body ends. A file that may have been cut is fetched again, not revalidated.
    package var isProven = true

    package init(
        url: String, status: Int, headers: HeaderBlock, shape: Int64, file: FileStamp, name: String? = nil,
        checksum: Checksum? = nil, boot: Int64? = nil, asked: String? = nil, askedAt: WallTime? = nil,
        path: String? = nil
    ) {
        self.asked = asked
        self.askedAt = askedAt
        self.path = path
        self.checksum = checksum
        self.boot = boot
        self.name = name
        self.url = url
        self.status = status
        self.headers = headers
        self.shape = shape
        self.file = file
    }

    /// The record for the next run; `nil` when nothing in the answer identifies the file's version. Of a file that the
    /// server named it is kept all the same, without validators: the next run must know which file is the task's own.
    package var kept: KeptValidators? {
        let found = isProven ? Revalidation.validators(of: headers, status: status, askedAt: askedAt) : nil
        guard found != nil || name != nil else { return nil }
        return KeptValidators(
            url: url, etag: found?.etag, lastModified: found?.lastModified, shape: shape, file: file, name: name,
            checksum: checksum, boot: boot, asked: asked)
    }
}

/// A header that makes a request conditional, and the only URL for which it counts: in a chain of redirects only the
/// request to the URL of the recorded answer carries it.
package struct RequestCondition: Hashable, Sendable {
    /// URL for which the condition counts; `nil` for any.
    package var url: String?
    /// The conditional header, `If-None-Match` or `If-Modified-Since`.
    package var header: HeaderField
    /// `RequestMark` text of the recorded answer: only a request that fits it carries the condition.
    package var asked: String?
    /// Size in bytes of a file of which no answer is recorded, whose own time is the condition: a 304 counts only when
    /// the server's date and length are the file's. Else `nil`.
    package private(set) var size: Int64?

    package init(url: String, header: HeaderField, asked: String? = nil) {
        self.url = url
        self.header = header
        self.asked = asked
    }

    /// Makes the condition of the time of the file, which may be the server's.
    package init(file: FileStamp) {
        let time = HTTPDate.format(WallTime(nanoseconds: file.modifiedNanoseconds))
        header = HeaderField(name: "If-Modified-Since", value: SecretText(time))
        size = file.size
    }

    /// What a 304 means for the file.
    package enum Word: Hashable, Sendable {
        /// The file is the server's version.
        case same
        /// The file is another version than the server's, or the answer is about another version.
        case other
        /// The 304 does not give the server's length and date, so a HEAD has to.
        case unproven
    }

    /// Returns what the headers of a 304 mean for the file.
    package func word(of headers: HeaderBlock) -> Word {
        if isContradicted(by: headers) { return .other }
        guard let size else { return .same }
        let length = headers.first("content-length").flatMap { Int64($0) }
        if let length, length != size { return .other }
        return length == nil || headers.first("last-modified") == nil ? .unproven : .same
    }

    /// Whether the answer to a HEAD has the file's date and length.
    package func isMet(byHead status: Int, _ headers: HeaderBlock) -> Bool {
        guard status == 200, let size, headers.first("content-encoding") == nil,
            headers.all("content-length").count == 1, headers.first("content-length").flatMap({ Int64($0) }) == size,
            let told = headers.first("last-modified")
        else { return false }
        return !isOtherDate(told)
    }

    /// Whether a 304 names another version than the condition.
    package func isContradicted(by headers: HeaderBlock) -> Bool {
        guard header.name == "If-None-Match" else { return isOtherDate(headers.first("last-modified")) }
        guard let tag = headers.first("etag") else { return false }
        func bare(_ tag: String) -> Substring.UTF8View { tag.hasPrefix("W/") ? tag.utf8.dropFirst(2) : tag.utf8[...] }
        return !bare(tag).elementsEqual(bare(header.value.revealed))
    }

    /// Whether the date differs from the condition's. Most servers answer 304 to each date that is not before the
    /// file's: also where an older file replaced it.
    private func isOtherDate(_ told: String?) -> Bool {
        guard header.name == "If-Modified-Since", let told else { return false }
        return HTTPDate.parse(told) != HTTPDate.parse(header.value.revealed)
    }
}

/// The rules by which an existing file is revalidated instead of fetched (RFC 9110, section 13).
package enum Revalidation {
    /// Whether a task's options allow revalidation. A `checksum` has the last word: a file that meets one needs no
    /// request, and one that does not needs the whole body. Captures and rules on the answer need an answer, and a task
    /// that does not expect the recorded 200 must not succeed by it.
    package static func applies(to options: TaskOptions.Values) -> Bool {
        options.existing == .revalidate && options.checksum == nil
            && options.policies.cachePolicy != .reloadIgnoringCacheData
            && (options.method ?? "GET") == "GET" && options.body == nil
            && !options.needsAnswer && options.onResponse.isEmpty && options.expect.status.contains(200)
            && !options.headers.contains { isPrecondition($0.name) }
    }

    /// Whether a header is a condition or a range; a job that sends one itself judges the answer itself.
    package static func isPrecondition(_ name: String) -> Bool {
        switch name.lowercased() {
        case "if-none-match", "if-modified-since", "if-match", "if-unmodified-since", "if-range", "range": true
        default: false
        }
    }

    /// Whether the file must be read to be recognized: a power cut may have come since it was written, or another file
    /// of its size and time has replaced it, which may be a copy of it.
    package static func mustRead(_ kept: KeptValidators, file: FileStamp? = nil, boot: Int64) -> Bool {
        if let file, file.isAnother(than: kept.file) { return true }
        return kept.boot.map { $0 != boot } ?? false
    }

    /// Returns the record to keep of a file that was read, had the recorded checksum, and is still the server's; `nil` when
    /// the record stays as it is.
    package static func confirmed(_ kept: KeptValidators, file: FileStamp, boot: Int64) -> KeptValidators? {
        guard mustRead(kept, file: file, boot: boot) else { return nil }
        var kept = kept
        // Bytes that came from the disk survived. A copy may have been made a moment ago.
        kept.boot = file.isAnother(than: kept.file) ? boot : nil
        kept.file = file
        return kept
    }

    /// Returns the condition for the request; `nil` means that the whole file is requested. `found` is the checksum of the
    /// file's bytes, where it had to be read in this start of the system.
    package static func condition(
        _ kept: KeptValidators?, file: FileStamp?, found: Checksum? = nil, boot: Int64 = 0,
        _ options: TaskOptions.Values
    ) -> RequestCondition? {
        guard let kept, let file, kept.file.looksLike(file), applies(to: options), kept.shape == shape(of: options),
            fits(kept.file.size, options)
        else { return nil }
        if mustRead(kept, file: file, boot: boot), found == nil || found != kept.checksum { return nil }
        let header: HeaderField
        if let etag = kept.etag {
            header = HeaderField(name: "If-None-Match", value: SecretText(etag))
        } else if let date = kept.lastModified {
            header = HeaderField(name: "If-Modified-Since", value: SecretText(date))
        } else {
            return nil
        }
        return RequestCondition(url: kept.url, header: header, asked: kept.asked)
    }

    /// Returns the condition for a file of which no answer is recorded; `nil` where its time cannot be the server's, or
    /// is so recent that the file may have changed later in that second.
    package static func condition(
        unknown file: FileStamp, at now: WallTime, _ options: TaskOptions.Values
    ) -> RequestCondition? {
        let time = WallTime(nanoseconds: file.modifiedNanoseconds)
        guard options.preserveTime, options.decompress == .no, applies(to: options), fits(file.size, options),
            file.modifiedNanoseconds > 0, file.modifiedNanoseconds % TimeSpan.seconds(1).nanoseconds == 0,
            time + .seconds(60) <= now
        else { return nil }
        return RequestCondition(file: file)
    }

    /// Whether a file of this size meets what the job expects today. A file that does not is fetched again, so that a
    /// real answer fails.
    private static func fits(_ size: Int64, _ options: TaskOptions.Values) -> Bool {
        size <= options.maximumSize ?? .max && size == options.expect.size ?? size
            && size >= options.expect.minimumSize ?? 0
    }

    /// Returns the entity tag or date that identifies an answer's body; `nil` when neither does. Only a 200 has the
    /// whole body.
    package static func validators(
        of headers: HeaderBlock, status: Int, askedAt: WallTime? = nil
    ) -> (etag: String?, lastModified: String?)? {
        guard status == 200 else { return nil }
        let tags = headers.all("etag")
        if tags.count == 1, isETag(tags[0]) { return (tags[0], nil) }
        guard let date = headers.first("last-modified"), isPast(date, headers.first("date"), askedAt) else {
            return nil
        }
        return (nil, date)
    }

    /// Whether a text is an entity tag as RFC 9110 writes it. Any other text may not come back as it was meant.
    private static func isETag(_ text: String) -> Bool {
        let bytes = text.hasPrefix("W/") ? text.utf8.dropFirst(2) : text.utf8[...]
        guard bytes.count >= 2, bytes.first == 0x22, bytes.last == 0x22, Resuming.isText(text) else { return false }
        return bytes.dropFirst().dropLast().allSatisfy { $0 > 0x20 && $0 != 0x22 && $0 != 0x7F }
    }

    /// Whether a date is before the second in which the answer was made: a date of that second says nothing about a
    /// change later in it.
    private static func isPast(_ date: String, _ answered: String?, _ askedAt: WallTime?) -> Bool {
        guard let time = HTTPDate.parse(date) else { return false }
        if let answered = answered.flatMap({ HTTPDate.parse($0) }) { return time + .seconds(1) <= answered }
        // An answer without `Date` is dated by the local clock (RFC 9110, section 6.6.1), which may be ahead of the
        // server's.
        return askedAt.map { time + .seconds(60) <= $0 } ?? false
    }

    /// Returns a fingerprint of the options that change the file made from a URL, or how it is judged: the request's
    /// `Accept…` headers, the decoding of the body, the expectations. A recorded answer counts only for the same
    /// fingerprint.
    package static func shape(of options: TaskOptions.Values) -> Int64 {
        var shape = Fingerprint()
        switch options.decompress {
        case .no: break
        case .answer: shape.add("decompress")
        case .file: shape.add("decompress file")
        }
        // An unchanged file keeps its time: a file that did not get the server's time has to be fetched once more to
        // get it.
        if !options.preserveTime { shape.add("own time") }
        for field in options.headers where field.name.lowercased().hasPrefix("accept") {
            shape.add(field.name.lowercased())
            shape.add(field.value.revealed)
        }
        addExpectations(options.expect, &shape)
        return shape.value
    }

    /// Adds the expectations, without status and sizes, which are checked against each answer and each file anew.
    private static func addExpectations(_ expect: Expectations, _ shape: inout Fingerprint) {
        if let type = expect.mimeType { shape.add("type \(type)") }
        if let magic = expect.magic { shape.add("magic \(magic)") }
        if expect.notHTML { shape.add("notHTML") }
        for header in expect.headers { shape.add("header \(header.name)=\(header.pattern)") }
        if let text = expect.bodyContains { shape.add("contains \(text.revealed)") }
        if let pattern = expect.bodyMatches { shape.add("matches \(pattern)") }
        for match in expect.bodyJSON { shape.add("json \(match.path)=\(match.value)") }
    }
}
