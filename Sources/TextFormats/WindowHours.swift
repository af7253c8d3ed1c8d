package import TransferModel

/// The opening hours of a `window` in its time zone: whether it is open at a date, and when that changes next.
package struct WindowHours: Sendable {
    private let window: TimeWindow
    /// The zone's rules; `nil` stands for UTC, on a machine without zone files.
    private let zone: TimeZoneRules?
    private static let minute = 60_000_000_000

    package init(_ window: TimeWindow, zone: TimeZoneRules?) {
        self.window = window
        self.zone = zone
    }

    /// Returns whether the window is open at a date.
    package func isOpen(at date: WallTime) -> Bool {
        let offset = zone?.offset(at: date) ?? 0
        let local = floorDivide(Int(date.nanoseconds), 1_000_000_000) + offset
        let day = floorDivide(local, 86_400)
        let minute = floorModulo(local, 86_400) / 60
        if window.from < window.to { return counts(day) && minute >= window.from && minute < window.to }
        // Over midnight: the hours after it belong to the day on which they began.
        return minute >= window.from && counts(day) || minute < window.to && counts(day - 1)
    }

    /// Returns when the window opens or closes next, or `nil` if it is always open or never. Looks minute by minute, so
    /// that no daylight-saving change is missed.
    package func nextChange(after date: WallTime) -> WallTime? {
        let isOpen = isOpen(at: date)
        var next = (floorDivide(Int(date.nanoseconds), Self.minute) + 1) * Self.minute
        for _ in 0..<(9 * 24 * 60) {
            if self.isOpen(at: WallTime(nanoseconds: Int64(next))) != isOpen {
                return WallTime(nanoseconds: Int64(next))
            }
            next += Self.minute
        }
        return nil
    }

    /// Returns when the window opens next, in words: `01:00 Europe/Berlin (in 3 h 12 min)`, with the weekday where that is
    /// more than a day away. `nil` while it is open, and if it never opens.
    package func opening(after date: WallTime) -> (at: WallTime, words: String)? {
        guard !isOpen(at: date), let opens = nextChange(after: date) else { return nil }
        let local = floorDivide(Int(opens.nanoseconds), 1_000_000_000) + (zone?.offset(at: opens) ?? 0)
        let minute = floorModulo(local, 86_400) / 60
        let time = [minute / 60, minute % 60].map { ($0 < 10 ? "0" : "") + "\($0)" }.joined(separator: ":")
        let days = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"]
        let isFar = opens - date > .seconds(86_400)
        let day = isFar ? days[CivilDate.weekday(daysSince1970: floorDivide(local, 86_400))] + " " : ""
        let place = window.timezone ?? (zone == nil ? "UTC" : "local time")
        return (opens, "\(day)\(time) \(place) (in \(Self.words(opens - date)))")
    }

    /// `3 s`, `12 min`, `3 h 12 min`, `2 days 4 h`: rounded up, so that nobody comes too early.
    fileprivate static func words(_ span: TimeSpan) -> String {
        let seconds = (span.nanoseconds + 999_999_999) / 1_000_000_000
        if seconds < 60 { return "\(seconds) s" }
        let minutes = (Int(span.nanoseconds) + minute - 1) / minute
        func joined(_ first: String, _ rest: Int, _ unit: String) -> String {
            rest == 0 ? first : "\(first) \(rest) \(unit)"
        }
        if minutes < 60 { return "\(minutes) min" }
        if minutes < 48 * 60 { return joined("\(minutes / 60) h", minutes % 60, "min") }
        return joined("\(minutes / 1440) days", minutes % 1440 / 60, "h")
    }

    /// Returns whether the window's `days` include a day. `day` is counted from 1970; 0 in `days` is Monday.
    private func counts(_ day: Int) -> Bool {
        if window.days.isEmpty { return true }
        return window.days.contains(floorModulo(CivilDate.weekday(daysSince1970: day) - 1, 7))
    }
}

/// A date that a task waits for.
package enum ComingDate {
    /// Returns a date to come in words: `2026-11-29 18:00 UTC (in 11 h)`, with seconds where it has some, rounded up to
    /// whole ones; `nil` once it has come.
    package static func words(_ date: WallTime, from now: WallTime) -> String? {
        guard date > now else { return nil }
        let second = Int64(1_000_000_000)
        let rest = floorModulo(Int(date.nanoseconds), Int(second))
        let whole = rest == 0 ? date : date + TimeSpan(nanoseconds: second - Int64(rest))
        var bytes: [UInt8] = []
        RFC3339.append(whole, to: &bytes)
        let text = String(decoding: bytes, as: UTF8.self)
        let time = text.dropFirst(11).prefix(8)
        let shown = time.hasSuffix(":00") ? time.prefix(5) : time
        return "\(text.prefix(10)) \(shown) UTC (in \(WindowHours.words(date - now)))"
    }
}
