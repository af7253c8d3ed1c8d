import Glibc
import HTTPRules
import TestSupport
import Testing
import TransferModel

/// Dates as servers write them into `Expires`.
struct CookieDateTests {
    /// 2031-04-09 05:06:07 UTC, by `date -u +%s`.
    private static let moment: Int64 = 1_933_477_567

    private func seconds(_ text: String) -> Int64? {
        CookieDate.parse(Array(text.utf8)).map { $0.nanoseconds / 1_000_000_000 }
    }

    @Test(arguments: [
        "Wed, 09 Apr 2031 05:06:07 GMT", "Wednesday, 09-Apr-31 05:06:07 GMT", "Wed Apr  9 05:06:07 2031",
        "9 apr 2031 5:6:7", "05:06:07 09 2031 APRIL", "2031 09 April 05:06:07", "Aprilis 05:06:07 9 31",
        // a zone says nothing
        "Wed, 09 Apr 2031 05:06:07 PST", "Wed, 09 Apr 2031 05:06:07 +0500", "Wed, 09 Apr 2031 05:06:07 GMT-0700 (MST)",
        // nor does a wrong weekday, or what is none
        "Mon, 09 Apr 2031 05:06:07 GMT", "Caturday, 09-Apr-2031 05:06:07", ",,, 09-Apr-2031 05:06:07",
        // any delimiter does
        "Wed,09\"Apr\\2031@05:06:07", "09/Apr/2031;05:06:07", "09\tApr\t2031\t05:06:07", "{09}[Apr]<2031>~05:06:07~",
        // digits may be followed by anything but digits
        "9th Apr 2031AD 05:06:07Z", "09 Apr 2031 05:06:07.999", "09x99 Apr 2031 05:06:07x00",
        // the first of its kind counts
        "09 Apr 2031 05:06:07 23:59:59 Dec", "05:06:07 9 Apr 2031 2032", "09 Apr Mai May 2031 05:06:07",
        // words that are nothing
        "::07 05:06:07 boo:z 9 Apr 2031", "09 Apr 2031 5:6 05:06:07", "09 Apr 123456 2031 05:06:07",
    ]) func aMoment(text: String) {
        #expect(seconds(text) == Self.moment)
    }

    @Test(arguments: [
        ("1 Jan 70 00:00:00", 0), ("1 Jan 1970 00:00:00", 0), ("1 Jan 69 00:00:00", 3_124_224_000),
        ("1 Jan 00 00:00:00", 946_684_800), ("31 Dec 99 23:59:59", 946_684_799), ("1 Jan 0069 00:00:00", 3_124_224_000),
        ("29 Feb 2028 00:00:00", 1_835_395_200), ("28 Feb 1900 12:00:00", -2_203_934_400),
        // past what nanoseconds hold
        ("31 Dec 9999 23:59:59", 9_223_372_036), ("1 Jan 1601 00:00:00", -9_223_372_036),
    ]) func years(text: String, expected: Int64) {
        #expect(seconds(text) == expected)
    }

    @Test(arguments: [
        "", "   ", "never", "0", "09 Apr 2031", "09 Apr 05:06:07", "Apr 2031 05:06:07", "09 2031 05:06:07",
        "32 Apr 2031 05:06:07", "0 Apr 2031 05:06:07", "31 Apr 2031 05:06:07", "29 Feb 2031 05:06:07",
        "29 Feb 1900 05:06:07", "09 Apr 1600 05:06:07", "09 Apr 20311 05:06:07", "09 Apr 999 05:06:07",
        "09 Apr 2031 24:06:07", "09 Apr 2031 05:60:07", "09 Apr 2031 05:06:60", "09 Apr 2031 05:06",
        "09 Apr 2031 5h6m7",
        "09 Apr 2031 005:06:07", "09 Apr 2031 05:06:007", "09 Apr 2031 05:6x:07", "009 Apr 2031 05:06:07",
        "999999999999999999999 Apr 2031 05:06:07", "09 Apr 99999999999999999999999 05:06:07",
        "09 Ap 2031 05:06:07", "09 Avril 2031 05:06:07", "2031-04-09T05:06:07Z", "1933477567",
        // the first time is one, if a wrong one
        "09 Apr 2031 95:06:07 05:06:07",
        // 98 is no day, and there is no other
        "98 Apr 31 05:06:07",
    ]) func noMoment(text: String) {
        #expect(seconds(text) == nil)
    }

    /// Any order, any delimiters, against what the C library makes of the numbers.
    @Test func layouts() {
        var random = Seeded("CookieDateTests.layouts")
        let names = ["jan", "Feb", "MAR", "april", "May", "June", "jul", "auG", "Sept", "oct", "nov", "dec"]
        let delimiters = [" ", "\t", ", ", "-", "/", "; ", "<", "~", "  ", "\""]
        for _ in 0..<Rounds.scaled(3_000) {
            var parts = tm()
            let (year, month, day) = (1970 + random.below(130), random.below(12), 1 + random.below(28))
            let (hour, minute, second) = (random.below(24), random.below(60), random.below(60))
            (parts.tm_year, parts.tm_mon, parts.tm_mday) = (Int32(year - 1900), Int32(month), Int32(day))
            (parts.tm_hour, parts.tm_min, parts.tm_sec) = (Int32(hour), Int32(minute), Int32(second))
            // A year of four digits is never taken for a day, so the order is free.
            var words = [
                "\(hour):\(minute):\(second)", "\(day)", names[month], "\(year)", random.pick(["GMT", "x", "Wed"]),
            ]
            words.shuffle(using: &random)
            let text = words.map { $0 + random.pick(delimiters) }.joined()
            #expect(seconds(text) == Int64(timegm(&parts)), "\(text)")
        }
    }
}
