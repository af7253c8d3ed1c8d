/// The rule for all times after a TZif file's last transition, in POSIX's `TZ` form: `CET-1CEST,M3.5.0,M10.5.0/3`.
struct PosixTimeZone: Equatable, Sendable {
    private let standardOffset: Int
    private var summer: Summer?

    private struct Summer: Equatable, Sendable {
        let offset: Int
        let start, end: Change
    }

    /// A day of the year and a local time of that day, in seconds (negative and past 24 hours too).
    private struct Change: Equatable, Sendable {
        let day: Day
        let time: Int
    }

    private enum Day: Equatable, Sendable {
        /// Day of the year from 1; 29 February is never counted.
        case julian(Int)
        /// Day of the year from 0; 29 February is counted.
        case ordinal(Int)
        /// Weekday of a month's week; week 5 is the last.
        case weekday(month: Int, week: Int, day: Int)
    }

    init?(_ text: some Collection<UInt8>) {
        let parsed = Array(text).withUnsafeBufferPointer { bytes -> (Int, Summer?)? in
            var scanner = ASCIIScanner(bytes)
            guard PosixTimeZone.skipName(&scanner), let west = PosixTimeZone.time(&scanner) else { return nil }
            if scanner.isAtEnd { return (-west, nil) }
            guard let summer = PosixTimeZone.summer(&scanner, standardOffset: -west), scanner.isAtEnd else {
                return nil
            }
            return (-west, summer)
        }
        guard let parsed else { return nil }
        (standardOffset, summer) = parsed
    }

    func offset(at seconds: Int) -> Int {
        guard let summer else { return standardOffset }
        let year = CivilDate(daysSince1970: floorDivide(seconds + standardOffset, 86_400)).year
        let start = PosixTimeZone.seconds(summer.start, in: year) - standardOffset
        let end = PosixTimeZone.seconds(summer.end, in: year) - summer.offset
        // South of the equator, summer is the time outside of the stretch between its end and its start.
        let isSummer = start < end ? seconds >= start && seconds < end : seconds >= start || seconds < end
        return isSummer ? summer.offset : standardOffset
    }

    private static func seconds(_ change: Change, in year: Int) -> Int {
        let newYear = CivilDate(year: year, month: 1, day: 1).daysSince1970
        let day: Int
        switch change.day {
        case .ordinal(let number): day = newYear + number
        case .julian(let number): day = newYear + number - 1 + (CivilDate.isLeap(year) && number >= 60 ? 1 : 0)
        case .weekday(let month, let week, let weekday):
            let first = CivilDate(year: year, month: month, day: 1).daysSince1970
            let offset = floorModulo(weekday - CivilDate.weekday(daysSince1970: first), 7)
            var dayOfMonth = offset + (week - 1) * 7
            while dayOfMonth >= CivilDate.days(inMonth: month, of: year) { dayOfMonth -= 7 }
            day = first + dayOfMonth
        }
        return day * 86_400 + change.time
    }

    // MARK: Parsing

    private static func summer(_ scanner: inout ASCIIScanner, standardOffset: Int) -> Summer? {
        guard skipName(&scanner) else { return nil }
        var offset = standardOffset + 3600
        if scanner.next != UInt8(ascii: ",") {
            guard let west = time(&scanner) else { return nil }
            offset = -west
        }
        guard scanner.take(","), let start = change(&scanner), scanner.take(","), let end = change(&scanner) else {
            return nil
        }
        return Summer(offset: offset, start: start, end: end)
    }

    private static func skipName(_ scanner: inout ASCIIScanner) -> Bool {
        if scanner.take("<") {
            while !scanner.take(">") { guard scanner.skip() else { return false } }
            return true
        }
        var length = 0
        while let byte = scanner.next, (0x61...0x7A).contains(byte | 0x20) {
            length += 1
            _ = scanner.skip()
        }
        return length >= 3
    }

    /// Takes `[+-]h[:m[:s]]` and returns it in seconds.
    private static func time(_ scanner: inout ASCIIScanner) -> Int? {
        let isNegative = scanner.take("-")
        if !isNegative { _ = scanner.take("+") }
        guard let hours = scanner.number(), hours <= 167 else { return nil }
        var seconds = hours * 3600
        for unit in [60, 1] where scanner.take(":") {
            guard let value = scanner.number(), value < 60 else { return nil }
            seconds += value * unit
        }
        return isNegative ? -seconds : seconds
    }

    private static func change(_ scanner: inout ASCIIScanner) -> Change? {
        guard let day = day(&scanner) else { return nil }
        guard scanner.take("/") else { return Change(day: day, time: 7200) }
        return time(&scanner).map { Change(day: day, time: $0) }
    }

    private static func day(_ scanner: inout ASCIIScanner) -> Day? {
        if scanner.take("J") { return scanner.number().flatMap { (1...365).contains($0) ? .julian($0) : nil } }
        guard scanner.take("M") else { return scanner.number().flatMap { $0 <= 365 ? .ordinal($0) : nil } }
        guard let month = scanner.number(), scanner.take("."), let week = scanner.number(), scanner.take("."),
            let day = scanner.number(), (1...12).contains(month), (1...5).contains(week), day <= 6
        else { return nil }
        return .weekday(month: month, week: week, day: day)
    }
}
