import TestSupport
import Testing
import TextFormats
import TransferModel

/// A window in its time zone, over midnight and over daylight-saving changes.
struct WindowHoursTests {
    private func hours(_ from: Int, _ to: Int, _ days: Set<Int> = [], zone: String? = nil) -> WindowHours {
        var window = TimeWindow(from: from * 60, to: to * 60)
        window.days = days
        return WindowHours(window, zone: zone.flatMap { TimeZoneFile.load($0) })
    }

    private func date(_ text: String) throws -> WallTime { try #require(RFC3339.parse(text)) }

    @Test(arguments: [
        ("2026-11-21T01:00:00Z", true), ("2026-11-21T05:59:59Z", true), ("2026-11-21T06:00:00Z", false),
        ("2026-11-21T00:59:59Z", false), ("1969-12-31T03:00:00Z", true),
    ]) func byDay(_ text: String, _ isOpen: Bool) throws {
        #expect(hours(1, 6).isOpen(at: try date(text)) == isOpen)
    }

    /// Friday is 4: its night ends on Saturday morning.
    @Test(arguments: [
        ("2026-11-20T21:59:00Z", false), ("2026-11-20T22:00:00Z", true), ("2026-11-21T05:59:00Z", true),
        ("2026-11-21T06:00:00Z", false), ("2026-11-21T22:00:00Z", false), ("2026-11-20T05:00:00Z", false),
    ]) func overMidnight(_ text: String, _ isOpen: Bool) throws {
        #expect(hours(22, 6, [4]).isOpen(at: try date(text)) == isOpen)
    }

    @Test func nextChangeIsWhereItSays() throws {
        let night = hours(22, 6, [4])
        let friday = try date("2026-11-20T22:00:00Z")
        #expect(night.nextChange(after: try date("2026-11-15T12:00:00Z")) == friday)
        #expect(night.nextChange(after: friday) == (try date("2026-11-21T06:00:00Z")))
        #expect(hours(0, 0).nextChange(after: friday) == nil)
    }

    @Test func opening_isSaidInTheWindowsZone_andHowLongItIsUntilThen() throws {
        var window = TimeWindow(from: 60, to: 6 * 60)
        window.timezone = "Europe/Berlin"
        let night = WindowHours(window, zone: TimeZoneFile.load("Europe/Berlin"))
        func opening(_ text: String) throws -> String? { night.opening(after: try date(text))?.words }
        #expect(try opening("2026-11-20T20:48:30Z") == "01:00 Europe/Berlin (in 3 h 12 min)")
        #expect(try opening("2026-11-20T23:30:00Z") == "01:00 Europe/Berlin (in 30 min)")
        #expect(try opening("2026-11-20T23:59:57Z") == "01:00 Europe/Berlin (in 3 s)")
        #expect(try opening("2026-11-21T01:00:00Z") == nil, "it is open")
        let sunday = hours(22, 23, [6]).opening(after: try date("2026-11-20T22:00:00Z"))
        #expect(try sunday?.words == "Sunday 22:00 UTC (in 2 days)" && sunday?.at == date("2026-11-22T22:00:00Z"))
        #expect(hours(0, 0).opening(after: try date("2026-11-20T22:00:00Z")) == nil, "it is always open")
    }

    @Test func aComingDate_isSaidWithHowLongItIsUntilThen() throws {
        let now = try date("2026-11-29T07:00:00Z")
        func words(_ text: String) throws -> String? { ComingDate.words(try date(text), from: now) }
        #expect(try words("2026-11-30T03:00:00+09:00") == "2026-11-29 18:00 UTC (in 11 h)")
        #expect(try words("2026-11-29T07:00:00.300Z") == "2026-11-29 07:00:01 UTC (in 1 s)")
        #expect(try words("2026-12-02T07:00:00Z") == "2026-12-02 07:00 UTC (in 3 days)")
        #expect(try words("2026-11-29T07:00:00Z") == nil, "it has come")
    }

    /// In Berlin the clock goes from 02:00 to 03:00 on 29 March 2026 and from 03:00 to 02:00 on 25 October.
    @Test func daylightSaving() throws {
        try #require(TimeZoneFile.load("Europe/Berlin") != nil, "the machine has no zone files")
        let night = hours(1, 4, zone: "Europe/Berlin")
        #expect(night.nextChange(after: try date("2026-03-28T12:00:00Z")) == (try date("2026-03-29T00:00:00Z")))
        #expect(night.nextChange(after: try date("2026-03-29T00:00:00Z")) == (try date("2026-03-29T02:00:00Z")))
        #expect(night.nextChange(after: try date("2026-10-24T12:00:00Z")) == (try date("2026-10-24T23:00:00Z")))
        #expect(night.nextChange(after: try date("2026-10-24T23:00:00Z")) == (try date("2026-10-25T03:00:00Z")))
        // A window inside the hour that does not exist that night.
        var gap = TimeWindow(from: 2 * 60 + 10, to: 2 * 60 + 50)
        gap.timezone = "Europe/Berlin"
        let skipped = WindowHours(gap, zone: TimeZoneFile.load("Europe/Berlin"))
        #expect(skipped.nextChange(after: try date("2026-03-28T12:00:00Z")) == (try date("2026-03-30T00:10:00Z")))
    }

    /// Between two changes it is what it was, and at each it turns.
    @Test func changesAreAllThereAre() throws {
        var random = Seeded("changesAreAllThereAre")
        for _ in 0..<Rounds.scaled(20) {
            let window = hours(
                random.below(24), random.below(24), Set((0..<random.below(4)).map { _ in random.below(7) }),
                zone: random.pick(["Europe/Berlin", "America/New_York", "Asia/Kolkata"]))
            var now = WallTime(nanoseconds: Int64(1_700_000_000 + random.below(90_000_000)) * 1_000_000_000)
            for _ in 0..<4 {
                guard let next = window.nextChange(after: now) else { break }
                let isOpen = window.isOpen(at: now)
                #expect(window.isOpen(at: next) != isOpen)
                let between =
                    now + TimeSpan(nanoseconds: Int64.random(in: 0..<(next - now).nanoseconds, using: &random))
                #expect(window.isOpen(at: between) == isOpen)
                now = next
            }
        }
    }
}
