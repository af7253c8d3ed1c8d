import TextFormats
package import TransferModel

/// What is kept of an answer that became a file, so that the next run can ask whether it is still the same.
package struct KeptValidators: Hashable, Sendable {
    /// Of the request that was answered, after redirects.
    package var url: String
    /// Strong or weak, as sent.
    package var etag: String?
    package var lastModified: String?
    /// How the answer was asked for and turned into the file (`Revalidation.shape`).
    package var shape: Int64
    /// Of the file that the answer became.
    package var file: FileStamp
    /// Its name, where the destination is the folder that it lies in.
    package var name: String?
    /// `nil` once it would survive a power cut.
    package var content: ContentMark?
    /// Of the request that was answered (`RequestMark`).
    package var asked: String?

    package init(
        url: String, etag: String?, lastModified: String?, shape: Int64, file: FileStamp, name: String? = nil,
        content: ContentMark? = nil, asked: String? = nil
    ) {
        self.asked = asked
        self.content = content
        self.name = name
        self.url = url
        self.etag = etag
        self.lastModified = lastModified
        self.shape = shape
        self.file = file
    }
}

/// An answer that became a file, as the loop hands it over: what of it is worth keeping is found out elsewhere.
package struct FiledAnswer: Sendable {
    package var url: String
    package var status: Int
    package var headers: HeaderBlock
    package var shape: Int64
    package var file: FileStamp
    /// Its name, where the destination is the folder that it lies in.
    package var name: String?
    package var content: ContentMark?
    package var asked: String?
    /// When it was asked for, by the clock here.
    package var askedAt: WallTime?
    /// Where the file stands: there nothing else is known of any more.
    package var path: String?
    /// Whether anything proved where the body ends. What may have been cut is fetched again, not asked about.
    package var isProven = true

    package init(
        url: String, status: Int, headers: HeaderBlock, shape: Int64, file: FileStamp, name: String? = nil,
        content: ContentMark? = nil, asked: String? = nil, askedAt: WallTime? = nil, path: String? = nil
    ) {
        self.asked = asked
        self.askedAt = askedAt
        self.path = path
        self.content = content
        self.name = name
        self.url = url
        self.status = status
        self.headers = headers
        self.shape = shape
        self.file = file
    }

    /// `nil` when nothing in it identifies the file.
    package var kept: KeptValidators? {
        guard isProven, let found = Revalidation.validators(of: headers, status: status, askedAt: askedAt) else {
            return nil
        }
        return KeptValidators(
            url: url, etag: found.etag, lastModified: found.lastModified, shape: shape, file: file, name: name,
            content: content, asked: asked)
    }
}

/// A header that makes a request conditional, and the only URL it means anything at: of a chain of redirects the
/// request carries it that goes where the kept answer came from, and no other.
package struct RequestCondition: Hashable, Sendable {
    /// `nil` is any.
    package var url: String?
    package var header: HeaderField
    /// Only a request that is like the one answered then carries it (`RequestMark`).
    package var asked: String?
    /// The size of a file of which nothing was kept: the condition is the file's own time. A 304 counts only when the
    /// server's date and length are the file's.
    package private(set) var size: Int64?

    package init(url: String, header: HeaderField, asked: String? = nil) {
        self.url = url
        self.header = header
        self.asked = asked
    }

    /// Asks by the time of the file, which may be the server's.
    package init(file: FileStamp) {
        let time = HTTPDate.format(WallTime(nanoseconds: file.modifiedNanoseconds))
        header = HeaderField(name: "If-Modified-Since", value: SecretText(time))
        size = file.size
    }

    package enum Word: Hashable, Sendable {
        /// The file is the server's.
        case same
        /// It is not, or another was spoken of.
        case other
        /// The 304 does not say of which length the server's is.
        case unproven
    }

    /// What a 304 says of the file.
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

    /// Whether a 304 speaks of another version than the one that was asked about.
    package func isContradicted(by headers: HeaderBlock) -> Bool {
        guard header.name == "If-None-Match" else { return isOtherDate(headers.first("last-modified")) }
        guard let tag = headers.first("etag") else { return false }
        func bare(_ tag: String) -> Substring.UTF8View { tag.hasPrefix("W/") ? tag.utf8.dropFirst(2) : tag.utf8[...] }
        return !bare(tag).elementsEqual(bare(header.value.revealed))
    }

    /// Most servers answer 304 to each date that is no older than the file's: also where an older file took its place.
    private func isOtherDate(_ told: String?) -> Bool {
        guard header.name == "If-Modified-Since", let told else { return false }
        return HTTPDate.parse(told) != HTTPDate.parse(header.value.revealed)
    }
}

/// When a file that stands there may be asked about instead of fetched (RFC 9110, section 13).
package enum Revalidation {
    /// Whether a task leaves room for it. A `checksum` has the last word: a file that meets one needs no request, and
    /// one that does not needs the whole body. Captures and rules on the answer need an answer,
    /// and whoever does not expect the 200 that was kept must not have it said once more.
    package static func applies(to options: TaskOptions.Values) -> Bool {
        options.existing == .revalidate && options.checksum == nil
            && options.policies.cachePolicy != .reloadIgnoringCacheData
            && (options.method ?? "GET") == "GET" && options.body == nil
            && options.captures.isEmpty && options.onResponse.isEmpty && options.expect.status.contains(200)
            && !options.headers.contains { isPrecondition($0.name) }
    }

    /// Somebody's own conditions and ranges are theirs to judge.
    package static func isPrecondition(_ name: String) -> Bool {
        switch name.lowercased() {
        case "if-none-match", "if-modified-since", "if-match", "if-unmodified-since", "if-range", "range": true
        default: false
        }
    }

    /// Whether the file must be read to be known again: a power cut may have come since it was written, or another file
    /// of its size and time stands in its place, which may be a copy of it.
    package static func mustRead(_ kept: KeptValidators, file: FileStamp? = nil, boot: Int64) -> Bool {
        if let file, file.isAnother(than: kept.file) { return true }
        return kept.content.map { $0.boot != boot } ?? false
    }

    /// What is worth keeping of a file that was read, had the sum, and is still the server's; `nil` when that is known.
    package static func confirmed(_ kept: KeptValidators, file: FileStamp, boot: Int64) -> KeptValidators? {
        guard mustRead(kept, file: file, boot: boot) else { return nil }
        var kept = kept
        // What came from the disk survived. A copy may have been made a moment ago.
        kept.content = file.isAnother(than: kept.file) ? ContentMark(boot: boot, sum: kept.content?.sum) : nil
        kept.file = file
        return kept
    }

    /// The condition to ask under; `nil` asks for the whole file. `sum` is that of the file's bytes, where it was to be
    /// read under this start of the system.
    package static func condition(
        _ kept: KeptValidators?, file: FileStamp?, sum: Int64? = nil, boot: Int64 = 0, _ options: TaskOptions.Values
    ) -> RequestCondition? {
        guard let kept, let file, kept.file.looksLike(file), applies(to: options), kept.shape == shape(of: options),
            fits(kept.file.size, options)
        else { return nil }
        if mustRead(kept, file: file, boot: boot), sum == nil || sum != kept.content?.sum { return nil }
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

    /// The condition for a file of which nothing was kept; `nil` where its time cannot be the server's, or is so near that
    /// the file may have changed later in that second.
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

    /// A file that breaks what the job expects today is fetched again, so that the failure is of a real answer.
    private static func fits(_ size: Int64, _ options: TaskOptions.Values) -> Bool {
        size <= options.maximumSize ?? .max && size == options.expect.size ?? size
            && size >= options.expect.minimumSize ?? 0
    }

    /// What of an answer identifies its body; `nil` when nothing does. Only a 200 has the whole of it.
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

    /// An entity tag as RFC 9110 writes it. What looks otherwise may not come back as it was meant.
    private static func isETag(_ text: String) -> Bool {
        let bytes = text.hasPrefix("W/") ? text.utf8.dropFirst(2) : text.utf8[...]
        guard bytes.count >= 2, bytes.first == 0x22, bytes.last == 0x22, Resuming.isText(text) else { return false }
        return bytes.dropFirst().dropLast().allSatisfy { $0 > 0x20 && $0 != 0x22 && $0 != 0x7F }
    }

    /// A date of the second in which the answer was made says nothing about a change later in that second.
    private static func isPast(_ date: String, _ answered: String?, _ askedAt: WallTime?) -> Bool {
        guard let time = HTTPDate.parse(date) else { return false }
        if let answered = answered.flatMap({ HTTPDate.parse($0) }) { return time + .seconds(1) <= answered }
        // A server that does not say when is dated by the clock here (RFC 9110, section 6.6.1), which may be ahead of its own.
        return askedAt.map { time + .seconds(60) <= $0 } ?? false
    }

    /// A fingerprint of all that makes another file of the same URL, or another judgement of it: what the request
    /// accepts, how the body is decoded, what is expected of it. A kept answer counts only for the same one.
    package static func shape(of options: TaskOptions.Values) -> Int64 {
        var shape = Fingerprint()
        switch options.decompress {
        case .no: break
        case .answer: shape.add("decompress")
        case .file: shape.add("decompress file")
        }
        // A file that stays keeps its time: one that got none of the server's has to come once more to get it.
        if !options.preserveTime { shape.add("own time") }
        for field in options.headers where field.name.lowercased().hasPrefix("accept") {
            shape.add(field.name.lowercased())
            shape.add(field.value.revealed)
        }
        addExpectations(options.expect, &shape)
        return shape.value
    }

    /// Status and sizes are left out: they are held against each answer and each file anew.
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
