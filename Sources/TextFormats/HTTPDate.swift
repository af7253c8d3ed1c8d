package import TransferModel

/// Dates of HTTP (RFC 9110, section 5.6.7).
package enum HTTPDate {
    private static let days: [StaticString] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    private static let longDays: [StaticString] = [
        "Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday",
    ]
    private static let months: [StaticString] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// Parses a date in any of the three forms; the name of the day is not checked against the date. A year past the
    /// range of ``WallTime`` becomes its last moment: servers write 9999 for never. The two digits of the obsolete form
    /// mean 1970 to 2069.
    package static func parse(_ text: String) -> WallTime? {
        var text = text
        return text.withUTF8 { bytes in
            var scanner = ASCIIScanner(bytes)
            let seconds = parse(&scanner)
            return scanner.isAtEnd ? seconds.map(time) : nil
        }
    }

    /// Returns the date as `Sun, 06 Nov 1994 08:49:37 GMT`; fractions of a second are cut.
    package static func format(_ time: WallTime) -> String {
        let seconds = floorDivide(Int(time.nanoseconds), 1_000_000_000)
        let day = floorDivide(seconds, 86_400)
        let rest = seconds - day * 86_400
        let date = CivilDate(daysSince1970: day)
        let clock = "\(two(rest / 3600)):\(two(rest / 60 % 60)):\(two(rest % 60))"
        let name = days[CivilDate.weekday(daysSince1970: day)]
        return "\(name), \(two(date.day)) \(months[date.month - 1]) \(date.year) \(clock) GMT"
    }

    private static func two(_ value: Int) -> String { value < 10 ? "0\(value)" : "\(value)" }

    private static func time(_ seconds: Int) -> WallTime {
        let limit = Int(Int64.max / 1_000_000_000)
        return WallTime(nanoseconds: Int64(min(max(seconds, -limit), limit)) * 1_000_000_000)
    }

    private static func parse(_ scanner: inout ASCIIScanner) -> Int? {
        if scanner.take(oneOf: longDays) != nil { return scanner.take(word: ", ") ? obsolete(&scanner) : nil }
        guard scanner.take(oneOf: days) != nil else { return nil }
        return scanner.take(word: ", ") ? current(&scanner) : scanner.take(" ") ? asctime(&scanner) : nil
    }

    /// `06 Nov 1994 08:49:37 GMT`
    private static func current(_ scanner: inout ASCIIScanner) -> Int? {
        guard let day = scanner.digits(2), scanner.take(" "), let month = scanner.take(oneOf: months),
            scanner.take(" "), let year = scanner.digits(4), scanner.take(" "), let clock = clock(&scanner),
            scanner.take(word: " GMT")
        else { return nil }
        return seconds(year, month, day, clock)
    }

    /// `06-Nov-94 08:49:37 GMT`
    private static func obsolete(_ scanner: inout ASCIIScanner) -> Int? {
        guard let day = scanner.digits(2), scanner.take("-"), let month = scanner.take(oneOf: months),
            scanner.take("-"), let year = scanner.digits(2), scanner.take(" "), let clock = clock(&scanner),
            scanner.take(word: " GMT")
        else { return nil }
        return seconds(year < 70 ? 2000 + year : 1900 + year, month, day, clock)
    }

    /// `Nov  6 08:49:37 1994`
    private static func asctime(_ scanner: inout ASCIIScanner) -> Int? {
        guard let month = scanner.take(oneOf: months), scanner.take(" "),
            let day = scanner.take(" ") ? scanner.digit() : scanner.digits(2), scanner.take(" "),
            let clock = clock(&scanner), scanner.take(" "), let year = scanner.digits(4)
        else { return nil }
        return seconds(year, month, day, clock)
    }

    private static func clock(_ scanner: inout ASCIIScanner) -> Int? {
        guard let hour = scanner.digits(2), scanner.take(":"), let minute = scanner.digits(2), scanner.take(":"),
            let second = scanner.digits(2), hour < 24, minute < 60, second <= 60
        else { return nil }
        return hour * 3600 + minute * 60 + second
    }

    /// `month` is an index into ``months``.
    private static func seconds(_ year: Int, _ month: Int, _ day: Int, _ clock: Int) -> Int? {
        let date = CivilDate(year: year, month: month + 1, day: day)
        return date.exists ? date.daysSince1970 * 86_400 + clock : nil
    }
}
