import HTTPRules
import TextFormats
package import TransferModel

/// Translates what an FTP server says of a file into HTTP: its length frames the body, its date and length together
/// identify its version. So resuming, limits and expectations are judged by one set of rules.
package enum FTPAnswer {
    /// Status and headers that the same answer would have over HTTP.
    package struct Head: Hashable, Sendable {
        /// 200, 206 or 416.
        package var status: Int
        /// Length, date and a made-up `ETag`.
        package var headers: HeaderBlock
    }

    /// Returns the answer to a request from `offset` on; `length` counts from there.
    package static func head(
        length: Int64?, modified: WallTime?, offset: Int64, refusesOffset: Bool, now: WallTime
    ) -> Head {
        let total = length.map { offset + $0 }
        if refusesOffset || offset > 0 && (length ?? 0) <= 0 {
            return Head(status: 416, headers: HeaderBlock([("Content-Range", "bytes */*")]))
        }
        var lines: [(String, String)] = []
        if let length {
            lines.append(("Content-Length", "\(length)"))
        } else {
            // The server confirms after the last byte that all was sent, and libcurl waits for that.
            lines.append(("Transfer-Encoding", "chunked"))
        }
        if let modified { lines.append(("Last-Modified", HTTPDate.format(modified))) }
        // A file that may change again within its date's second has no validator: no partial file fits it.
        let isSettled = modified.map { now - $0 >= .seconds(60) } ?? false
        if let modified, let total, isSettled {
            lines.append(("ETag", "\"ftp-\(modified.nanoseconds / 1_000_000_000)-\(total)\""))
        } else if offset > 0 {
            lines.append(("ETag", "\"ftp-unknown\""))
        }
        guard offset > 0, let total else { return Head(status: 200, headers: HeaderBlock(lines)) }
        lines.append(("Content-Range", "bytes \(offset)-\(total - 1)/\(total)"))
        return Head(status: 206, headers: HeaderBlock(lines))
    }
}
