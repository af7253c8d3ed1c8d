import TextFormats
package import TransferModel

/// What makes a half-done download worth going on with: the bytes that are there, and how to ask for the rest so that
/// no two versions are ever mixed.
package struct ResumePoint: Hashable, Sendable {
    /// Where the bytes came from, after redirects: another place would need its own proof.
    package var url: String
    package var offset: Int64
    /// A strong validator, as `If-Range` takes it; empty where none is known, which only a foreign part may have.
    package var validator: String
    /// Of the whole, when the server told it.
    package var total: Int64?
    /// What the first answer said of the whole.
    package var sent: SentDigest?
    /// Of the request that was answered (`RequestMark`).
    package var asked: String?
    /// What the first answer said of the file: a part need not say it again.
    package var headers: HeaderBlock
    /// So many requests for the rest, one after the other, ended without a byte of it.
    package var unanswered: Int
    /// Another program left the bytes (`ForeignPart`): no answer is known that brought them, so nothing but a digest of the
    /// whole says that they are the file's.
    package var isForeign = false

    package init(
        url: String, offset: Int64, validator: String, total: Int64?, sent: SentDigest? = nil,
        asked: String? = nil, headers: HeaderBlock = .empty, unanswered: Int = 0, isForeign: Bool = false
    ) {
        self.isForeign = isForeign
        self.asked = asked
        self.unanswered = unanswered
        self.headers = headers
        self.url = url
        self.offset = offset
        self.validator = validator
        self.total = total
        self.sent = sent
    }

    /// How the first answer said that its bytes are packed.
    package var coding: String? { Resuming.coding(headers) }

    /// One connection that breaks is the network's. Something on the way that lets no range through breaks each.
    package static let mostUnanswered = 2

    /// Whether the bytes came from there. A query may be another where a digest proves the whole, or where it differs in
    /// nothing but a signature that is new each time: else it may name another file, and a validator is worth something
    /// only within one.
    package func isFrom(_ other: ResourceURL, isProven: Bool = false) -> Bool {
        guard url != other.text else { return true }
        guard let own = try? ResourceURL.parse(url), own.hasSameOrigin(as: other), own.path == other.path else {
            return false
        }
        return isProven || sent != nil || SignedQuery.unsigned(own.query) == SignedQuery.unsigned(other.query)
    }
}

/// URLs that let whoever has them in for a while: the same file has another one each time.
enum SignedQuery {
    private struct Family {
        /// The parameter that holds the signature.
        let signature: String
        /// One of these must stand beside it: names as short as `sig` mean other things to others.
        let beside: Set<String>
        /// What is new with each signature.
        let renewed: Set<String>
    }

    private static let families = [
        Family(
            signature: "x-amz-signature", beside: ["x-amz-credential"],
            renewed: [
                "x-amz-algorithm", "x-amz-credential", "x-amz-date", "x-amz-expires", "x-amz-security-token",
                "x-amz-signedheaders",
            ]),
        Family(
            signature: "x-goog-signature", beside: ["x-goog-credential"],
            renewed: [
                "x-goog-algorithm", "x-goog-credential", "x-goog-date", "x-goog-expires", "x-goog-signedheaders",
            ]),
        Family(
            signature: "signature", beside: ["key-pair-id", "awsaccesskeyid", "googleaccessid"],
            renewed: [
                "expires", "key-pair-id", "policy", "awsaccesskeyid", "googleaccessid", "x-amz-security-token",
            ]),
        Family(signature: "sig", beside: ["sv"], renewed: ["se", "st", "ske", "skt", "jwt"]),
    ]

    /// The parameters, in their order, without a signature and what belongs to it.
    static func unsigned(_ query: String?) -> [Substring] {
        let pairs = (query ?? "").split(separator: "&")
        func name(_ pair: Substring) -> String { pair.prefix { $0 != "=" }.lowercased() }
        let names = Set(pairs.map(name))
        var dropped: Set<String> = []
        for family in families where names.contains(family.signature) && !names.isDisjoint(with: family.beside) {
            dropped.formUnion(family.renewed)
            dropped.insert(family.signature)
        }
        return pairs.filter { !dropped.contains(name($0)) }
    }
}

/// Ranges and their answers (RFC 9110, sections 13 and 14).
package enum Resuming {
    /// The validator of an answer by which the rest of it can be asked for; `nil` when that would prove nothing.
    package static func validator(_ headers: HeaderBlock) -> String? {
        if let ranges = headers.first("accept-ranges"), ranges.lowercased() == "none" { return nil }
        if let tag = headers.first("etag") {
            // A weak one says that two versions are alike, not that they are the same bytes.
            return isStrong(tag) ? tag : nil
        }
        return strongDate(headers)
    }

    /// `Last-Modified` where it could not have changed twice in that second (RFC 9110, section 8.8.2.2).
    package static func strongDate(_ headers: HeaderBlock) -> String? {
        guard let text = headers.first("last-modified"), let modified = HTTPDate.parse(text),
            let date = headers.first("date").flatMap({ HTTPDate.parse($0) })
        else { return nil }
        return date - modified >= .seconds(60) ? text : nil
    }

    static func isStrong(_ tag: String) -> Bool {
        let bytes = Array(tag.utf8)
        guard bytes.count >= 2, bytes.first == 0x22, bytes.last == 0x22 else { return false }
        return bytes.dropFirst().dropLast().allSatisfy { $0 != 0x22 && $0 > 0x20 && $0 != 0x7F } && isText(tag)
    }

    /// Bytes that are no UTF-8 would not go back as they came.
    static func isText(_ tag: String) -> Bool { !tag.unicodeScalars.contains("\u{FFFD}") }

    /// By what an answer that continues `point` can be continued itself; empty where nothing but a digest proves the whole.
    package static func validator(_ headers: HeaderBlock, continuing point: ResumePoint) -> String {
        point.validator.isEmpty ? validator(headers) ?? "" : point.validator
    }

    /// The headers that ask for the rest, or for all of it if it is another version by now.
    package static func headers(for point: ResumePoint) -> [HeaderField] {
        let range = HeaderField(name: "Range", value: SecretText("bytes=\(point.offset)-"))
        // Of a file that another program left no validator was kept, and a digest judges the whole in the end.
        if point.validator.isEmpty { return [range] }
        return [range, HeaderField(name: "If-Range", value: SecretText(point.validator))]
    }

    /// Whether an answer may refuse the range and not the file: servers and firewalls that let no ranges through say so
    /// with many a status, and some answer that there is nothing, or nothing new. One that wants to know who asks, or to be
    /// asked later, says nothing of the range.
    package static func mayRefuseRange(status: Int, _ headers: HeaderBlock) -> Bool {
        let isRefusal = status == 204 || status == 501 || (300..<500).contains(status)
        return isRefusal && ![401, 407, 408, 425, 429].contains(status) && headers.first("retry-after") == nil
    }

    /// Whether what is there is worth keeping for a later run where an attempt ended with this refusal. A file that is gone
    /// needs no rest, and an error of the server's may come of the range: then the next run asks for all of it.
    package static func outlives(_ status: Int) -> Bool {
        ![404, 410].contains(status) && (status < 500 || status == 503)
    }

    package enum Verdict: Hashable, Sendable {
        /// Its bytes follow those that are there: so many, which end the file.
        case append(length: Int64)
        /// A whole answer: what is there is of no use. `length`: so long it was when it was this very version.
        case whole(why: String, length: Int64? = nil)
        /// Neither: ask again, for all of it.
        case askAgain(why: String)
    }

    /// What an answer to such a request means; `nil` for a status that has nothing to do with ranges. `isProven`: the whole
    /// is held against a digest in the end.
    package static func judge(
        _ point: ResumePoint, status: Int, _ headers: HeaderBlock, isProven: Bool = false
    ) -> Verdict? {
        switch status {
        case 200: return whole(point, headers)
        case 206: return part(point, headers, isProven: isProven || point.sent != nil)
        case 416: return .askAgain(why: "the server has no bytes from \(point.offset) on")
        default: return nil
        }
    }

    /// A part that calls itself the whole is believed in neither.
    private static func whole(_ point: ResumePoint, _ headers: HeaderBlock) -> Verdict {
        if let why = partialWhole(headers) { return .askAgain(why: why) }
        if point.validator.isEmpty { return .whole(why: "the server sends no ranges") }
        guard validator(headers).isExactly(point.validator) else {
            return .whole(why: "the server has another version")
        }
        let why = "the server sends no ranges"
        guard let total = point.total, coding(headers) == point.coding else { return .whole(why: why) }
        if let length = headers.first("content-length").flatMap({ Int64($0) }), length != total {
            return .askAgain(why: "the file was \(total) bytes long and is \(length) now, under the same validator")
        }
        return .whole(why: why, length: total)
    }

    /// Why an answer 200 is not all of a file: its `Content-Range` says so. That field has no meaning there (RFC 9110, section
    /// 14.4), and servers number the rows of a page with it; but one that says that the bytes are a part of more than the
    /// message holds comes from a server that took the answer for a 206.
    package static func partialWhole(_ headers: HeaderBlock) -> String? {
        guard let text = headers.first("content-range"), let range = ContentRange(text) else { return nil }
        guard let total = range.total else { return range.first == 0 ? nil : Self.notWhole(text) }
        let isAll = range.first == 0 && range.last == total - 1
        let isHere = headers.first("content-length").flatMap { Int64($0) } == total
        return isAll || isHere ? nil : Self.notWhole(text)
    }

    private static func notWhole(_ text: String) -> String {
        "the server called \(ForeignText.quoted(text)) the whole"
    }

    /// What is said of a file by the first answer, as far as one that brought the rest of it says nothing newer. What
    /// describes the part itself is none of it.
    package static func headers(_ first: HeaderBlock, completedBy part: HeaderBlock) -> HeaderBlock {
        let own = Set(part.lines.map { part.lowerName($0) }).subtracting(ofTheMessage)
        return first.keeping({ !own.contains(first.lowerName($0)) }, adding: part) {
            !ofTheMessage.contains(part.lowerName($0))
        }
    }

    /// Of the first answer, what is worth keeping for that.
    package static func kept(_ first: HeaderBlock) -> HeaderBlock {
        let storable = StoredResponse.storable(first)
        return storable.keeping { storable.lowerName($0) != "set-cookie" }
    }

    private static let ofTheMessage = Set(["content-length", "content-range", "transfer-encoding"])
        .union(digestsOfTheMessage)
    /// They are of the bytes of one message: of another with other bytes they say nothing.
    static let digestsOfTheMessage: Set<String> = ["content-digest", "content-md5", "digest"]

    private static func part(_ point: ResumePoint, _ headers: HeaderBlock, isProven: Bool) -> Verdict {
        if headers.first("content-type")?.lowercased().hasPrefix("multipart/byteranges") == true {
            return .askAgain(why: "the server sent several ranges")
        }
        let ranges = headers.all("content-range")
        guard ranges.count == 1, let range = ContentRange(ranges[0]) else {
            return .askAgain(why: "the server does not say which range it sent")
        }
        guard range.first == point.offset else {
            return .askAgain(
                why: "the server sent bytes from \(range.first), asked for were those from \(point.offset)")
        }
        if let total = range.total {
            if let known = point.total, known != total {
                return .askAgain(why: "the file was \(known) bytes long and is \(total) now")
            }
        }
        guard let total = range.total ?? point.total else {
            return .askAgain(why: "the server does not say where the file ends")
        }
        guard range.last == total - 1 else { return .askAgain(why: "the server sent only a part of the rest") }
        // `If-Range` should have seen to that; a server that ignores it must not mix two versions.
        if !point.validator.isEmpty, isOtherVersion(headers, than: point.validator) {
            return .askAgain(why: "the server has another version")
        }
        if !isProven, isSilent(headers, validator: point.validator, modified: strongDate(point.headers)) {
            return .askAgain(why: "the server does not say of which version the rest is")
        }
        if let why = otherBytes(headers, point) { return .askAgain(why: why) }
        return .append(length: total - range.first)
    }

    /// Why a part of the same version is none of what is there.
    private static func otherBytes(_ headers: HeaderBlock, _ point: ResumePoint) -> String? {
        if coding(headers) != point.coding { return "the server packed the rest in another way" }
        guard let told = SentDigests.strongest(headers, status: 206) else { return nil }
        guard let known = point.sent else {
            // Nothing was told at first of a part that no answer brought.
            return point.isForeign ? nil : "the server tells a digest that it did not tell at first"
        }
        let isAnother = told.checksum.algorithm == known.checksum.algorithm && told.checksum != known.checksum
        return isAnother ? "the server tells another digest than at first" : nil
    }

    /// How an answer says that its bytes are packed; `nil` for not at all.
    package static func coding(_ headers: HeaderBlock) -> String? {
        let codings = headers.all("content-encoding").flatMap { $0.lowercased().split(separator: ",") }
            .map { String($0.utf8.trimmed()) }.filter { !$0.isEmpty && $0 != "identity" }
        return codings.isEmpty ? nil : codings.joined(separator: ",")
    }

    /// Whether a part says nothing of its version. It must carry the `ETag` that a 200 would have (RFC 9110, section
    /// 15.3.7); a server that leaves that out may not know `If-Range` either. The date of the first answer, `modified`,
    /// is as good where it is a strong one: else a version of the same second may have it too. Where a date is the validator a part may leave it out, by that
    /// section; but so it does where it knows nothing of `If-Range` and the file was changed.
    static func isSilent(_ headers: HeaderBlock, validator: String, modified: String?) -> Bool {
        guard validator.hasPrefix("\"") else { return headers.first("last-modified") == nil }
        guard headers.first("etag") == nil else { return false }
        return modified == nil || !headers.first("last-modified").isExactly(modified)
    }

    /// Whether a part is, by its own word, of another version than the one with this validator. One with a tag is, where the
    /// first answer had none.
    static func isOtherVersion(_ headers: HeaderBlock, than validator: String) -> Bool {
        let isTag = validator.hasPrefix("\"")
        if !isTag, headers.first("etag") != nil { return true }
        return headers.all(isTag ? "etag" : "last-modified").contains { !$0.isExactly(validator) }
    }
}

/// `bytes 200-999/1000`; the total may be `*`.
package struct ContentRange: Hashable, Sendable {
    package var first: Int64
    package var last: Int64
    package var total: Int64?

    package init?(_ text: String) {
        let words = text.utf8.split(separator: 0x20)
        guard words.count == 2, String(Array(words[0])).lowercased() == "bytes" else { return nil }
        let sides = words[1].split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        guard sides.count == 2 else { return nil }
        let ends = sides[0].split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        guard ends.count == 2, let first = Self.number(ends[0]), let last = Self.number(ends[1]), first <= last else {
            return nil
        }
        self.first = first
        self.last = last
        if sides[1].elementsEqual([UInt8(ascii: "*")]) { return }
        guard let total = Self.number(sides[1]), total > last else { return nil }
        self.total = total
    }

    private static func number(_ digits: Substring.UTF8View.SubSequence) -> Int64? {
        guard !digits.isEmpty, digits.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return Int64(String(Array(digits)))
    }
}
