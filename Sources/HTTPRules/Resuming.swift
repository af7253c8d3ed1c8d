import TextFormats
package import TransferModel

/// A partial download that can be resumed: the bytes received so far, and what is needed to request the rest without
/// ever mixing two versions.
package struct ResumePoint: Hashable, Sendable {
    /// URL that the bytes came from, after redirects: another URL would need its own proof.
    package var url: String
    /// Bytes received so far, and so the offset of the first missing byte.
    package var offset: Int64
    /// Strong validator for `If-Range`; empty where none is known, which only a foreign part may have.
    package var validator: String
    /// Length of the whole file in bytes; `nil` when no answer announced it.
    package var total: Int64?
    /// Digest of the whole file that the first answer announced, if any.
    package var sent: SentDigest?
    /// `RequestMark` text of the request that was answered.
    package var asked: String?
    /// The first answer's headers that describe the file: the answer with the rest need not repeat them.
    package var headers: HeaderBlock
    /// How many consecutive requests for the rest ended without a byte of it.
    package var unanswered: Int
    /// Whether another program left the bytes (`ForeignPart`). No answer is known that brought them, so only a digest
    /// of the whole proves that they are the file's.
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

    /// `Content-Encoding` of the first answer, as `Resuming.coding` returns it; `nil` for none.
    package var coding: String? { Resuming.coding(headers) }

    /// Requests for the rest that may end without a byte before the whole file is requested: one broken connection is
    /// the network's fault, but a middlebox that lets no ranges through breaks each.
    package static let mostUnanswered = 2

    /// Whether the bytes came from `other`. Its query may differ where a digest proves the whole, or where only a
    /// signature differs that is renewed each time: otherwise it may name another file, and a validator counts only
    /// within one.
    package func isFrom(_ other: ResourceURL, isProven: Bool = false) -> Bool {
        guard url != other.text else { return true }
        guard let own = try? ResourceURL.parse(url), own.hasSameOrigin(as: other), own.path == other.path else {
            return false
        }
        return isProven || sent != nil || SignedQuery.unsigned(own.query) == SignedQuery.unsigned(other.query)
    }
}

/// Recognizes signed URLs, which grant access for a limited time: the same file has another one each time.
enum SignedQuery {
    private struct Family {
        /// Name of the parameter that holds the signature.
        let signature: String
        /// Names of which one must be present too: names as short as `sig` have other meanings elsewhere.
        let beside: Set<String>
        /// Names of the parameters that change with each signature.
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

    /// Returns the query's parameters, in their order, without a signature and the parameters that belong to it.
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

/// The rules for range requests and their answers (RFC 9110, sections 13 and 14).
package enum Resuming {
    /// Returns the validator of an answer with which the rest of its body can be requested; `nil` when that would prove
    /// nothing.
    package static func validator(_ headers: HeaderBlock) -> String? {
        if let ranges = headers.first("accept-ranges"), ranges.lowercased() == "none" { return nil }
        if let tag = headers.first("etag") {
            // A weak tag says that two versions are alike, not that they have the same bytes.
            return isStrong(tag) ? tag : nil
        }
        return strongDate(headers)
    }

    /// Returns `Last-Modified` where the file could not have changed twice in that second (RFC 9110, section 8.8.2.2),
    /// else `nil`.
    package static func strongDate(_ headers: HeaderBlock) -> String? {
        guard let text = headers.first("last-modified"), let modified = HTTPDate.parse(text),
            let date = headers.first("date").flatMap({ HTTPDate.parse($0) })
        else { return nil }
        return date - modified >= .seconds(60) ? text : nil
    }

    /// Whether an entity tag is strong and well-formed.
    static func isStrong(_ tag: String) -> Bool {
        let bytes = tag.utf8
        guard bytes.count >= 2, bytes.first == 0x22, bytes.last == 0x22 else { return false }
        return bytes.dropFirst().dropLast().allSatisfy { $0 != 0x22 && $0 > 0x20 && $0 != 0x7F } && isText(tag)
    }

    /// Whether a tag is UTF-8: other bytes would not be sent back as they arrived.
    static func isText(_ tag: String) -> Bool { !tag.unicodeScalars.contains("\u{FFFD}") }

    /// Returns the validator with which an answer that continues `point` can be continued itself; empty where only a
    /// digest proves the whole.
    package static func validator(_ headers: HeaderBlock, continuing point: ResumePoint) -> String {
        point.validator.isEmpty ? validator(headers) ?? "" : point.validator
    }

    /// Returns the headers that request the rest, or the whole file if its version has changed.
    package static func headers(for point: ResumePoint) -> [HeaderField] {
        let range = HeaderField(name: "Range", value: SecretText("bytes=\(point.offset)-"))
        // No validator is recorded for a file that another program left; a digest checks the whole in the end.
        if point.validator.isEmpty { return [range] }
        return [range, HeaderField(name: "If-Range", value: SecretText(point.validator))]
    }

    /// Whether an answer may refuse the range and not the file. Servers and firewalls that let no ranges through refuse
    /// with many statuses, and some answer "no content" or "not modified". An answer that asks for credentials, or for
    /// a later request, says nothing about the range.
    package static func mayRefuseRange(status: Int, _ headers: HeaderBlock) -> Bool {
        let isRefusal = status == 204 || status == 501 || (300..<500).contains(status)
        return isRefusal && ![401, 407, 408, 425, 429].contains(status) && headers.first("retry-after") == nil
    }

    /// Whether the bytes received so far are worth keeping for a later run after an attempt ended with this status. A
    /// deleted file needs no rest, and a server's error may be caused by the range: the next run then requests the
    /// whole file.
    package static func outlives(_ status: Int) -> Bool {
        ![404, 410].contains(status) && (status < 500 || status == 503)
    }

    /// What an answer to a request for the rest means.
    package enum Verdict: Hashable, Sendable {
        /// `length` bytes follow the received ones and end the file.
        case append(length: Int64)
        /// The answer is the whole file, so the received bytes are of no use. `length`: the expected body length in
        /// bytes where the answer is the same version as before.
        case whole(why: String, length: Int64? = nil)
        /// Neither: send the request again, for the whole file.
        case askAgain(why: String)
    }

    /// Returns what an answer to a request for the rest means; `nil` for a status that has nothing to do with ranges.
    /// `isProven`: the whole file is checked against a digest in the end.
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

    /// Judges an answer 200; one whose `Content-Range` says that it is only a part counts neither as part nor as whole.
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

    /// Returns why an answer 200 is not all of a file by its own `Content-Range`, or `nil`. That field has no meaning
    /// there (RFC 9110, section 14.4), and servers number the rows of a page with it; but a field that says that the
    /// bytes are a part of more than the message holds comes from a server that took the answer for a 206.
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

    /// Returns the headers that describe a completed file: those of the first answer, replaced by newer ones of the
    /// answer that brought the rest, without the headers that describe only the part.
    package static func headers(_ first: HeaderBlock, completedBy part: HeaderBlock) -> HeaderBlock {
        let own = Set(part.lines.map { part.lowerName($0) }).subtracting(ofTheMessage)
        return first.keeping({ !own.contains(first.lowerName($0)) }, adding: part) {
            !ofTheMessage.contains(part.lowerName($0))
        }
    }

    /// Returns the first answer's headers that are kept for `headers(_:completedBy:)`.
    package static func kept(_ first: HeaderBlock) -> HeaderBlock {
        let storable = StoredResponse.storable(first)
        return storable.keeping { storable.lowerName($0) != "set-cookie" }
    }

    private static let ofTheMessage = Set(["content-length", "content-range", "transfer-encoding"])
        .union(digestsOfTheMessage)
    /// Names of the digest headers that cover the bytes of one message: of another message with other bytes they say
    /// nothing.
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
        // `If-Range` should have prevented this; a server that ignores it must not mix two versions.
        if !point.validator.isEmpty, isOtherVersion(headers, than: point.validator) {
            return .askAgain(why: "the server has another version")
        }
        if !isProven, isSilent(headers, validator: point.validator, modified: strongDate(point.headers)) {
            return .askAgain(why: "the server does not say of which version the rest is")
        }
        if let why = otherBytes(headers, point) { return .askAgain(why: why) }
        return .append(length: total - range.first)
    }

    /// Why a part of the same version does not fit the received bytes, or `nil`.
    private static func otherBytes(_ headers: HeaderBlock, _ point: ResumePoint) -> String? {
        if coding(headers) != point.coding { return "the server packed the rest in another way" }
        guard let told = SentDigests.strongest(headers, status: 206) else { return nil }
        guard let known = point.sent else {
            // No answer brought a foreign part, so no digest was announced at first.
            return point.isForeign ? nil : "the server tells a digest that it did not tell at first"
        }
        let isAnother = told.checksum.algorithm == known.checksum.algorithm && told.checksum != known.checksum
        return isAnother ? "the server tells another digest than at first" : nil
    }

    /// Returns the content codings of an answer in lower case, separated by commas; `nil` for none.
    package static func coding(_ headers: HeaderBlock) -> String? {
        let codings = headers.all("content-encoding").flatMap { $0.lowercased().split(separator: ",") }
            .map { String($0.utf8.trimmed()) }.filter { !$0.isEmpty && $0 != "identity" }
        return codings.isEmpty ? nil : codings.joined(separator: ",")
    }

    /// Whether a part says nothing of its version. It must carry the `ETag` that a 200 would have (RFC 9110, section
    /// 15.3.7); a server that leaves that out may not know `If-Range` either. The date of the first answer, `modified`,
    /// is as good where it is a strong one: else a version of the same second may have it too. Where a date is the
    /// validator, a part may leave it out by that section; but a server that knows nothing of `If-Range` and whose file
    /// has changed leaves it out too.
    static func isSilent(_ headers: HeaderBlock, validator: String, modified: String?) -> Bool {
        guard validator.hasPrefix("\"") else { return headers.first("last-modified") == nil }
        guard headers.first("etag") == nil else { return false }
        return modified == nil || !headers.first("last-modified").isExactly(modified)
    }

    /// Whether a part says itself that it is of another version than the one with this validator; so does any part with
    /// a tag where the first answer had none.
    static func isOtherVersion(_ headers: HeaderBlock, than validator: String) -> Bool {
        let isTag = validator.hasPrefix("\"")
        if !isTag, headers.first("etag") != nil { return true }
        return headers.all(isTag ? "etag" : "last-modified").contains { !$0.isExactly(validator) }
    }
}

/// A parsed `Content-Range`: `bytes 200-999/1000`; the total may be `*`.
package struct ContentRange: Hashable, Sendable {
    /// Offset of the first byte.
    package var first: Int64
    /// Offset of the last byte, inclusive.
    package var last: Int64
    /// Length of the whole file in bytes; `nil` for `*`.
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
