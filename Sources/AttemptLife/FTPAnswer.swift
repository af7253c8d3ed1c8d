import HTTPRules
import TextFormats
package import TransferModel

/// What an ftp server tells of a file, in the words of HTTP: its length frames the body, its date and length together
/// are what it is known again by. So resuming, limits and expectations are judged by one set of rules.
package enum FTPAnswer {
    package struct Head: Hashable, Sendable {
        package var status: Int
        package var headers: HeaderBlock
    }

    /// `length` counts from `offset` on.
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
            // The server's word that all was sent comes after the last byte, and libcurl waits for it.
            lines.append(("Transfer-Encoding", "chunked"))
        }
        if let modified { lines.append(("Last-Modified", HTTPDate.format(modified))) }
        // One that may change again within its date's second is known by nothing: then nothing fits what is there.
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
