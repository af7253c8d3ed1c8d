import TransferModel

/// A range of a stored body that answers a request.
package struct HeldPart: Hashable, Sendable {
    /// Offset of the first byte within the stored bytes.
    package let offset: Int64
    /// Number of bytes.
    package let length: Int64
    /// Value for `Content-Range`: the range within the whole body.
    package let contentRange: String
}

/// Answers requests for a part from stored bytes, and joins parts (RFC 9111, sections 3.3 and 3.4).
package enum PartialContent {
    /// The bytes that a request wants: one range at most; the server answers several ranges and other units.
    enum Wanted: Hashable {
        case whole
        case from(Int64, to: Int64?)
        case last(Int64)
        case other
    }

    /// Returns the wanted bytes; a HEAD has no ranges.
    static func wanted(by request: CacheRequest) -> Wanted {
        let lines = request.headers.all("range")
        guard !lines.isEmpty, request.method == "GET" else { return .whole }
        guard lines.count == 1, let range = single(Array(lines[0].utf8)) else { return .other }
        return range
    }

    private static func single(_ text: [UInt8]) -> Wanted? {
        let unit = Array("bytes=".utf8)
        guard String(Array(text.prefix(unit.count))).lowercased() == "bytes=" else { return nil }
        let ends = text.dropFirst(unit.count).split(
            separator: UInt8(ascii: "-"), omittingEmptySubsequences: false
        ).map { $0.trimmed() }
        guard ends.count == 2 else { return nil }
        if ends[0].isEmpty { return number(ends[1]).map { .last($0) } }
        guard let first = number(ends[0]) else { return nil }
        if ends[1].isEmpty { return .from(first, to: nil) }
        guard let last = number(ends[1]), first <= last else { return nil }
        return .from(first, to: last)
    }

    private static func number(_ digits: [UInt8]) -> Int64? {
        guard !digits.isEmpty, digits.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return Int64(String(digits))
    }

    /// Returns the bytes that answer the request, if all of them are stored.
    static func held(_ wanted: Wanted, by stored: StoredResponse) -> HeldPart? {
        let total = stored.part?.total ?? (stored.part == nil ? stored.bodyLength : nil)
        let held = stored.part.map { $0.first...$0.last } ?? 0...max(stored.bodyLength - 1, 0)
        guard let total, total > 0, let (first, last) = bounds(wanted, total), held.contains(first), held.contains(last)
        else { return nil }
        return HeldPart(
            offset: first - held.lowerBound, length: last - first + 1, contentRange: "bytes \(first)-\(last)/\(total)")
    }

    private static func bounds(_ wanted: Wanted, _ total: Int64) -> (Int64, Int64)? {
        switch wanted {
        case .from(let first, let last): first < total ? (first, min(last ?? .max, total - 1)) : nil
        case .last(let count): count > 0 ? (max(total - count, 0), total - 1) : nil
        case .whole, .other: nil
        }
    }

    /// Returns the entry for two parts together, or `nil` where they must not be joined. Only a strong entity tag
    /// proves that they are parts of the same version, and only parts that touch make one part.
    package static func joined(_ stored: StoredResponse, _ new: StoredResponse) -> StoredResponse? {
        guard let old = stored.part, let added = new.part, let total = old.total, added.total == total,
            let tag = stored.entityTag, let other = new.entityTag, tag.matchesStrongly(other),
            stored.selecting == new.selecting, stored.url == new.url, stored.credentials.isSame(as: new.credentials),
            old.first <= added.last + 1, added.first <= old.last + 1
        else { return nil }
        let (first, last) = (min(old.first, added.first), max(old.last, added.last))
        let isWhole = first == 0 && last == total - 1
        var joined = StoredResponse(
            url: new.url, status: isWhole ? 200 : 206, headers: new.headers, selecting: new.selecting,
            credentials: new.credentials, requestTime: new.requestTime, responseTime: new.responseTime,
            bodyLength: last - first + 1, part: isWhole ? nil : ContentRange("bytes \(first)-\(last)/\(total)"))
        joined.id = stored.id
        joined.headers = described(joined)
        return joined
    }

    /// Returns the bytes of two parts that touch, the new ones over the old; `old` and `new` are the parts' offsets.
    package static func join(_ held: [UInt8], at old: Int64, _ added: [UInt8], at new: Int64) -> [UInt8] {
        if new <= old { return added + held.dropFirst(max(Int(new) + added.count - Int(old), 0)) }
        let front = held.prefix(Int(new - old))
        return front + added + held.dropFirst(front.count + added.count)
    }

    /// The headers with the length and range of the joined bytes.
    private static func described(_ joined: StoredResponse) -> HeaderBlock {
        joined.headers.describing(length: joined.bodyLength, range: joined.part?.text)
    }
}

extension HeaderBlock {
    /// The headers adapted to other bytes of the same body: digests of the original message are left out.
    func describing(length: Int64, range: String?) -> HeaderBlock {
        var lines = [("Content-Length", "\(length)")]
        if let range { lines.append(("Content-Range", range)) }
        let replaced = Resuming.digestsOfTheMessage.union(["content-length", "content-range"])
        return keeping({ !replaced.contains(lowerName($0)) }, adding: HeaderBlock(lines), { _ in true })
    }
}

extension ContentRange {
    var text: String { "bytes \(first)-\(last)/\(total.map { "\($0)" } ?? "*")" }
    var length: Int64 { last - first + 1 }
}
