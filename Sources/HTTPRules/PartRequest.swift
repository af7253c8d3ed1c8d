import TextFormats
package import TransferModel

/// A request for one part of a file whose first answer is known, and the rules by which an answer to it counts as that
/// part of that file.
package struct PartRequest: Hashable, Sendable {
    /// Offsets in the file of the bytes to request.
    package var range: Range<Int64>
    /// Validator of the first answer, as sent in `If-Range`.
    package var validator: String
    /// Length of the whole file in bytes, as the first answer announced it.
    package var total: Int64
    /// `Last-Modified` of the first answer, where it is a strong validator.
    package var modified: String?
    /// Whether the whole file is checked against a digest in the end.
    package var isProven: Bool

    package init(
        range: Range<Int64>, validator: String, total: Int64, modified: String? = nil, isProven: Bool = false
    ) {
        self.modified = modified
        self.isProven = isProven
        precondition(!range.isEmpty && range.upperBound <= total, "a part of no bytes, or beyond the end")
        self.range = range
        self.validator = validator
        self.total = total
    }

    /// The request's `Range` and `If-Range` headers.
    package var headers: [HeaderField] {
        [
            HeaderField(name: "Range", value: SecretText("bytes=\(range.lowerBound)-\(range.upperBound - 1)")),
            HeaderField(name: "If-Range", value: SecretText(validator)),
        ]
    }

    /// What an answer to the request means for the segmented download.
    package enum Verdict: Hashable, Sendable {
        /// The bytes of the requested range follow.
        case part
        /// The answer shows that the server need not be asked for another range.
        case noRanges(why: String)
        /// The bytes are of another version than those already received, although `If-Range` forbids that: nothing that
        /// arrived can be trusted.
        case otherVersion(why: String)
        /// This request failed; the server may answer the next one.
        case declined(why: String)
    }

    /// Returns what the answer's status and headers mean for this part.
    package func judge(status: Int, _ headers: HeaderBlock) -> Verdict {
        switch status {
        case 206: return judgePart(headers)
        case 200:
            let now = Resuming.validator(headers)
            let isSame = now == nil || now.isExactly(validator)
            return .noRanges(why: isSame ? "the server sends no ranges" : "the server has another version")
        case 416: return .noRanges(why: "the server has no bytes from \(range.lowerBound) on")
        // A single stream follows redirects, and a request for the whole file may succeed.
        case 300..<400,
            _ where Resuming.mayRefuseRange(status: status, headers):
            return .noRanges(why: "the server answered \(status) to a range")
        default: return .declined(why: "the server answered \(status)")
        }
    }

    private func judgePart(_ headers: HeaderBlock) -> Verdict {
        if headers.first("content-type")?.lowercased().hasPrefix("multipart/byteranges") == true {
            return .noRanges(why: "the server sent several ranges")
        }
        let ranges = headers.all("content-range")
        guard ranges.count == 1, let sent = ContentRange(ranges[0]) else {
            return .noRanges(why: "the server does not say which range it sent")
        }
        if let now = sent.total, now != total {
            return .otherVersion(why: "the file was \(total) bytes long and is \(now) now")
        }
        if Resuming.isOtherVersion(headers, than: validator) {
            return .otherVersion(why: "the server has another version")
        }
        if !isProven, Resuming.isSilent(headers, validator: validator, modified: modified) {
            return .noRanges(why: "the server does not say of which version the range is")
        }
        guard sent.first == range.lowerBound, sent.last == range.upperBound - 1 else {
            return .noRanges(
                why: "the server sent bytes \(sent.first) to \(sent.last), asked for were \(range.lowerBound) to "
                    + "\(range.upperBound - 1)")
        }
        if let coding = Resuming.coding(headers) {
            return .noRanges(why: "the server packed the range (\(coding))")
        }
        return .part
    }
}
