import JobRunner
import Scheduling
import Testing
import TransferModel

/// A `bandwidth` by time of day as the scheduler asks for it.
struct BandwidthHoursTests {
    /// Noon of Monday, 2026-11-23, in UTC.
    private static let noon = WallTime(nanoseconds: 1_795_435_200_000_000_000)

    private func hours(_ from: Int, _ to: Int, _ days: Set<Int> = [], zone: String = "UTC", rate: Int64)
        -> Bandwidth.Hours
    {
        var window = TimeWindow(from: from * 60, to: to * 60)
        (window.days, window.timezone) = (days, zone)
        return Bandwidth.Hours(window: window, rate: rate)
    }

    private func rate(_ bandwidth: Bandwidth, hoursAfterNoon hours: Int64) -> Int64? {
        RateRule(bandwidth).state(at: Self.noon + .seconds(hours * 3_600)).rate
    }

    @Test func severalEntriesHold_theFirstOneApplies() {
        let both = Bandwidth.byTimeOfDay([hours(8, 18, rate: 1), hours(6, 22, rate: 2)])
        #expect(rate(both, hoursAfterNoon: 0) == 1)
        #expect(rate(both, hoursAfterNoon: 7) == 2)
        #expect(rate(both, hoursAfterNoon: 11) == nil)
        #expect(both.lowest == 1)
    }

    @Test func hoursOverMidnight_belongToTheDayTheyBeganOn() {
        let night = Bandwidth.byTimeOfDay([hours(22, 6, [0], rate: 5)])
        #expect(rate(night, hoursAfterNoon: -8) == nil)
        #expect(rate(night, hoursAfterNoon: 11) == 5)
        #expect(rate(night, hoursAfterNoon: 17) == 5)
        #expect(rate(night, hoursAfterNoon: 18) == nil)
        #expect(rate(night, hoursAfterNoon: 35) == nil)
    }

    @Test func theNextChange_isTheFirstOfAnyEntry() {
        let state = RateRule(.byTimeOfDay([hours(8, 18, rate: 1), hours(13, 14, zone: "Europe/Berlin", rate: 2)]))
            .state(at: Self.noon)
        // 14:00 in Berlin is 13:00 in UTC.
        #expect(state.rate == 1 && state.changesAt == Self.noon + .seconds(3_600))
    }

    @Test func aSteadyRate_neverChanges() {
        let rule = RateRule(.steady(7))
        #expect(rule.steadyRate == 7 && rule.state(at: Self.noon) == RateRule.State(rate: 7, changesAt: nil))
    }
}
