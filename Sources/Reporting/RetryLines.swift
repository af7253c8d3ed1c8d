internal import TextFormats
internal import TransferModel

/// Chooses which failed attempts get a line where there is no live part: the first that fails for a reason at a host, and
/// one a minute after that while it goes on failing so.
struct RetryLines {
    private static let interval = TimeSpan.seconds(60)
    /// When the last line about a reason at a place was printed.
    private var told: [String: WallTime] = [:]

    /// Returns the words for an attempt that another will follow: `the server answered 503; tried again in 1.30s, until
    /// 10:24:03 UTC at most`; `nil` where no line is due.
    mutating func words(_ record: AttemptRecord, at time: WallTime) -> String? {
        guard let error = record.error, let pause = record.backoff else { return nil }
        let place = record.url.split(separator: "/", maxSplits: 2).prefix(2).joined(separator: "//")
        let key = "\(place) \(TransferError.commonWords(error.message, of: error.name))"
        if let last = told[key], time >= last, time - last < Self.interval { return nil }
        told[key] = time
        let bound = record.retriesUntil.map { ", until \(Self.clock($0)) UTC at most" } ?? ""
        let again = record.isTriedOnceMore ? "tried once more" : "tried again"
        return "\(PeopleText.message(error.message)); \(again) in \(HumanText.duration(pause))\(bound)"
    }

    /// The time of day: `10:24:03`.
    private static func clock(_ time: WallTime) -> String {
        var date: [UInt8] = []
        RFC3339.append(time, to: &date)
        return String(decoding: date.dropFirst(11).prefix(8), as: UTF8.self)
    }
}

extension AttemptRecord {
    /// Whether exactly one more attempt follows: the content was wrong, and a cache may have caused that.
    var isTriedOnceMore: Bool { retriesUntil == nil && (error?.name.isOfContent ?? false) }
}
