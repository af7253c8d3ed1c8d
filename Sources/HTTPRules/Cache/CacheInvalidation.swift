package import TransferModel

/// Decides which stored answers are invalid after a request that may have changed something (RFC 9111, section 4.4).
package enum CacheInvalidation {
    /// Returns the URLs whose stored answers must not be used any more. Only where the request succeeded, and only at
    /// the requested origin: no server invalidates for another.
    package static func urls(
        after method: String, _ url: ResourceURL, status: Int, _ headers: HeaderBlock
    ) -> [ResourceURL] {
        guard !HTTPMethod.isSafe(method), (200...399).contains(status) else { return [] }
        var urls = [url]
        for line in headers.lines
        where headers.isNamed(line, "location") || headers.isNamed(line, "content-location") {
            let place = headers.reference(line)
            // Most servers name the URL of the request itself, which is parsed already.
            guard place != url.text, let other = self.url(place, from: url), other.hasSameOrigin(as: url),
                !urls.contains(where: { $0.text == other.text })
            else { continue }
            urls.append(other)
        }
        return urls
    }

    static func url(_ reference: String, from url: ResourceURL) -> ResourceURL? {
        do throws(URLProblem) { return try url.resolving(reference) } catch { return nil }
    }
}
