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

    /// Returns whether the window's `days` include a day. `day` is counted from 1970; 0 in `days` is Monday.
    private func counts(_ day: Int) -> Bool {
        if window.days.isEmpty { return true }
        return window.days.contains(floorModulo(CivilDate.weekday(daysSince1970: day) - 1, 7))
    }
}
