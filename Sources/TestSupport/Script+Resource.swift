/// A file as a correct server serves it, for tests of resuming and revalidating.
package struct ServedResource: Sendable {
    /// Bytes of the file.
    package var body: [UInt8]
    /// Value of `ETag` with its quotes; `nil` sends none.
    package var etag: String?
    /// Value of `Last-Modified`; `nil` sends none.
    package var lastModified: String?
    /// Value of `Content-Type`.
    package var contentType = "application/octet-stream"
    /// Whether the server announces and answers ranges.
    package var acceptsRanges = true

    package init(_ body: [UInt8], etag: String? = "\"v1\"", lastModified: String? = nil) {
        self.body = body
        self.etag = etag
        self.lastModified = lastModified
    }

    package init(_ text: String, etag: String? = "\"v1\"", lastModified: String? = nil) {
        self.init(Array(text.utf8), etag: etag, lastModified: lastModified)
    }

    /// Answers GET and HEAD with regard to `If-None-Match`, `If-Modified-Since`, `If-Range` and one `Range`.
    package func answer(_ request: ReceivedRequest) -> Script {
        if isUnchanged(for: request) { return .respond(304, headers: validators) }
        guard let range = wantedRange(request) else {
            return send(200, headers: validators + shape, 0..<body.count, to: request)
        }
        guard let range else {
            return .respond(416, headers: [("Content-Range", "bytes */\(body.count)")] + validators)
        }
        let span = ("Content-Range", "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(body.count)")
        return send(206, headers: [span] + validators + shape, range, to: request)
    }

    /// Returns the whole response as a script that sends `bytes` of the body and then does `then`: a transfer that
    /// breaks.
    package func broken(after bytes: Int, then: Script.Step = .reset) -> Script {
        let lines = validators + shape + [("Content-Length", "\(body.count)")]
        return [.bytes(Script.head(200, lines)), .bytes(Array(body.prefix(bytes))), then]
    }

    private var validators: [Script.Header] {
        var lines: [Script.Header] = []
        if let etag { lines.append(("ETag", etag)) }
        if let lastModified { lines.append(("Last-Modified", lastModified)) }
        return lines
    }

    private var shape: [Script.Header] {
        [("Content-Type", contentType)] + (acceptsRanges ? [("Accept-Ranges", "bytes")] : [])
    }

    private func send(_ status: Int, headers: [Script.Header], _ range: Range<Int>, to request: ReceivedRequest)
        -> Script
    {
        if request.method == "HEAD" { return .headOnly(status, headers: headers, length: range.count) }
        return .respond(status, headers: headers, body: Array(body[range]))
    }

    private func isUnchanged(for request: ReceivedRequest) -> Bool {
        if let given = request.header("If-None-Match") { return given == "*" || (etag.map(given.contains) ?? false) }
        guard let since = request.header("If-Modified-Since") else { return false }
        return since == lastModified
    }

    /// Returns the requested range; `nil` if none is requested or it does not apply, `.some(nil)` if it cannot be
    /// satisfied.
    private func wantedRange(_ request: ReceivedRequest) -> Range<Int>?? {
        guard acceptsRanges, let text = request.header("Range"), text.hasPrefix("bytes="), !text.contains(",") else {
            return nil
        }
        if let condition = request.header("If-Range"), condition != etag, condition != lastModified { return nil }
        let parts = text.dropFirst(6).split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2 else { return nil }
        guard let first = Int(parts[0]) else {
            guard let suffix = Int(parts[1]), suffix > 0 else { return .some(nil) }
            return max(0, body.count - suffix)..<body.count
        }
        guard first < body.count else { return .some(nil) }
        let last = min(Int(parts[1]) ?? body.count - 1, body.count - 1)
        return last < first ? nil : first..<(last + 1)
    }
}
