package import TransferModel

/// A file under a download's final name of which no answer is recorded: another program may have left it incomplete
/// (`resume: adopt`). The answer to a HEAD decides what becomes of it.
package struct ForeignPart: Hashable, Sendable {
    /// Size of the file in bytes.
    package let size: Int64
    /// Whether the job says what the whole file's digest is.
    package let hasChecksum: Bool

    package init(size: Int64, hasChecksum: Bool) {
        self.size = size
        self.hasChecksum = hasChecksum
    }

    /// Whether the file is continued.
    package enum Verdict: Hashable, Sendable {
        /// The download continues after the file's bytes: the rest is requested.
        case adopt(ResumePoint)
        /// The task is fetched as if `resume` were `true`. `why` is given when the file may be a part of the expected
        /// one all the same.
        case leave(why: String?)
    }

    /// Decides by the answer to a HEAD of `url` whether the file is continued; `asked` is the HEAD's `RequestMark`.
    package func judge(status: Int, _ headers: HeaderBlock, url: String, asked: String?) -> Verdict {
        switch status {
        case 200: return judge(headers, url: url, asked: asked)
        // The file does not exist; the request for it will report that.
        case 404, 410: return .leave(why: nil)
        // A URL may be signed for GET alone, and some servers know no HEAD. The answer to the range request tells the
        // file's length.
        case 400..<500 where hasChecksum && ![408, 425, 429].contains(status):
            return .adopt(point(url: url, total: nil, asked: asked))
        default: return .leave(why: "the server answered \(status) to the question how long the file is")
        }
    }

    /// Returns the shape (`Revalidation.shape`) under which an adopted part is kept for a later run, as long as only
    /// the job's checksum proves the whole.
    package static func shape(_ shape: Int64) -> Int64 {
        var own = Fingerprint()
        own.add("foreign part \(shape)")
        return own.value
    }

    /// Returns why a file with this beginning cannot be a part of the expected body, or `nil`. The beginning of a
    /// continued body is not looked at again.
    package static func objection(to start: [UInt8], _ expect: Expectations) -> String? {
        guard var beginning = BodyStart(expect) else { return nil }
        do throws(TransferError) {
            try beginning.take(start)
            try beginning.end()
            return nil
        } catch {
            return "what was there is no part of this file: \(error.message)"
        }
    }

    private func judge(_ headers: HeaderBlock, url: String, asked: String?) -> Verdict {
        let total = headers.first("content-length").flatMap { Int64($0) }
        // The file is whole, or an older and longer one: `existing` decides what becomes of it.
        if let total, total <= size { return .leave(why: nil) }
        let sent = SentDigests.ofHead(headers)
        guard hasChecksum || sent != nil else {
            return .leave(
                why: "nothing can prove the whole: the task has no `checksum`, and the server sends no digest")
        }
        if Resuming.coding(headers) != nil { return .leave(why: "the server packs the file on its way") }
        if headers.first("accept-ranges")?.lowercased() == "none" { return .leave(why: "the server sends no ranges") }
        var point = point(url: url, total: total, asked: asked)
        (point.sent, point.headers) = (sent, Resuming.kept(headers))
        // No validator is recorded for the bytes of the file. The HEAD's validator ties its digest to the rest.
        if !hasChecksum { point.validator = Resuming.validator(headers) ?? "" }
        return .adopt(point)
    }

    private func point(url: String, total: Int64?, asked: String?) -> ResumePoint {
        ResumePoint(url: url, offset: size, validator: "", total: total, asked: asked, isForeign: true)
    }
}
