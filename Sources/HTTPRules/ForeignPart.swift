package import TransferModel

/// A file that stands under a download's final name and that no answer is known of: another program may have left it
/// half-done (`resume: adopt`). The answer to a HEAD decides what becomes of it.
package struct ForeignPart: Hashable, Sendable {
    /// In bytes.
    package let size: Int64
    /// The job says what the whole file's digest is.
    package let hasChecksum: Bool

    package init(size: Int64, hasChecksum: Bool) {
        self.size = size
        self.hasChecksum = hasChecksum
    }

    package enum Verdict: Hashable, Sendable {
        /// The rest is asked for.
        case adopt(ResumePoint)
        /// The task is fetched as if `resume` were `true`. The reason is there when the file may be a part all the same.
        case leave(why: String?)
    }

    /// What the answer to a HEAD of `url` means; `asked` is its `RequestMark`.
    package func judge(status: Int, _ headers: HeaderBlock, url: String, asked: String?) -> Verdict {
        switch status {
        case 200: return judge(headers, url: url, asked: asked)
        // Nothing is there. The request for the file tells so.
        case 404, 410: return .leave(why: nil)
        // A URL may be signed for GET alone, and some servers know no HEAD. The range tells how long the file is.
        case 400..<500 where hasChecksum && ![408, 425, 429].contains(status):
            return .adopt(point(url: url, total: nil, asked: asked))
        default: return .leave(why: "the server answered \(status) to the question how long the file is")
        }
    }

    /// The shape (`Revalidation.shape`) under which such a part is kept for a later run, as long as nothing but the job's
    /// checksum proves the whole.
    package static func shape(_ shape: Int64) -> Int64 {
        var own = Fingerprint()
        own.add("foreign part \(shape)")
        return own.value
    }

    /// Why a file that begins so cannot be a part of what the task expects: of a body that is continued nobody looks at the
    /// beginning again.
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
        // A whole file, or an older one that was longer: `existing` says what becomes of it.
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
        // No validator was kept of the bytes that are there. That of the HEAD ties its digest to the rest.
        if !hasChecksum { point.validator = Resuming.validator(headers) ?? "" }
        return .adopt(point)
    }

    private func point(url: String, total: Int64?, asked: String?) -> ResumePoint {
        ResumePoint(url: url, offset: size, validator: "", total: total, asked: asked, isForeign: true)
    }
}
