package import HTTPRules
package import TransferModel

/// A cached answer on the disk, with its body if that is in the row.
package struct CachedEntry: Hashable, Sendable {
    /// Head of the answer, and the facts that decide its reuse.
    package var stored: StoredResponse
    /// `nil` when the body is in a file, and must be requested with `CacheOrder.read`.
    package var body: [UInt8]?
    /// Last recorded use.
    package var usedAt: WallTime
    package init(stored: StoredResponse, body: [UInt8]?, usedAt: WallTime) {
        self.stored = stored
        self.body = body
        self.usedAt = usedAt
    }
}

/// A verified row of `cacheEntries`.
struct CacheRow {
    var stored: StoredResponse
    var digest: [UInt8]
    /// `nil` when the body is in a file.
    var body: [UInt8]?
    var usedAt = WallTime(nanoseconds: 0)

    /// Returns a checksum over every value of the row and its session: SQLite would not notice a changed letter.
    func seal(_ session: StoredSession) -> Int64 {
        var seal = Fingerprint()
        seal.add(session.id)
        seal.add(stored.id.raw)
        seal.add(stored.url)
        seal.add(Int64(stored.status))
        seal.add(stored.headers.bytes)
        seal.add(stored.selecting.text)
        seal.add(stored.credentials.text ?? "\0")
        for number in [stored.requestTime.nanoseconds, stored.responseTime.nanoseconds, stored.bodyLength] {
            seal.add(number)
        }
        for number in [stored.part?.first, stored.part?.last, stored.part?.total] { seal.add(number ?? -1) }
        seal.add(stored.needsValidation ? 1 : 0)
        seal.add(digest)
        return seal.value
    }

    /// Returns the fingerprint under which a URL's answers are looked up: a number is shorter than a URL, and the row
    /// has the URL too.
    static func place(_ url: String) -> Int64 {
        var print = Fingerprint()
        print.add(url)
        return print.value
    }
}

// MARK: Columns

extension Statement {
    /// Binds all columns of an entry from `id` to `body`, from parameter 1 on.
    func bind(_ row: CacheRow, _ session: StoredSession) {
        bindHead(row, session)
        bind(9, row.stored.bodyLength)
        bind(10, row.stored.part?.first)
        bind(11, row.stored.part?.last)
        bind(12, row.stored.part?.total)
        bind(13, row.digest)
        bind(14, row.body)
    }

    /// Binds the columns that a 304 may change, from parameter 1 on.
    func bindHead(_ row: CacheRow, _ session: StoredSession) {
        bind(1, row.stored.id.raw)
        bind(2, session.id)
        bind(3, row.stored.headers.bytes)
        bind(4, row.stored.selecting.text)
        bind(5, row.stored.requestTime.nanoseconds)
        bind(6, row.stored.responseTime.nanoseconds)
        bind(7, row.stored.needsValidation ? 1 : 0)
        bind(8, row.seal(session))
    }

    /// Decodes a row of `CacheQuery`; `nil` when its seal is broken.
    func cacheRow(_ session: StoredSession) -> CacheRow? {
        var part: ContentRange?
        if let first = integer(10), let last = integer(11) {
            part = ContentRange("bytes \(first)-\(last)/\(integer(12).map { "\($0)" } ?? "*")")
        }
        var stored = StoredResponse(
            url: text(1) ?? "", status: Int(integer(2) ?? 0), headers: HeaderBlock(raw: blob(3) ?? []),
            selecting: SelectingHeaders(text: text(4) ?? ""), credentials: CacheMark(text: text(5)),
            requestTime: WallTime(nanoseconds: integer(6) ?? 0), responseTime: WallTime(nanoseconds: integer(7) ?? 0),
            bodyLength: integer(9) ?? 0, part: part)
        stored.id = CacheEntryID(raw: integer(0) ?? 0)
        stored.needsValidation = integer(8) == 1
        let used = WallTime(nanoseconds: integer(16) ?? 0)
        let row = CacheRow(stored: stored, digest: blob(13) ?? [], body: blob(14), usedAt: used)
        return row.seal(session) == integer(15) ? row : nil
    }
}

// MARK: Texts of what has parts

extension SelectingHeaders {
    /// A line for each field: its name, and its mark after a `=` where the request had it.
    var text: String {
        fields.map { field in "\(field.name)\(field.mark.text.map { "=\($0)" } ?? "")\n" }.joined()
    }

    init(text: String) {
        self.init(
            fields: text.utf8.split(separator: 0x0A).map { line in
                let halves = line.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
                return Field(
                    name: String(decoding: halves[0], as: UTF8.self),
                    mark: CacheMark(text: halves.count > 1 ? String(decoding: halves[1], as: UTF8.self) : nil))
            })
    }
}

extension CacheMark {
    /// The mark's text; `nil` for an absent value. A value that cannot be marked is never written.
    var text: String? {
        if case .value(let text) = self { text } else { nil }
    }

    init(text: String?) { self = text.map { .value($0) } ?? .absent }
}
