package import TransferModel

/// Dates as the report and the job file write them: `2026-11-21T07:00:00.123Z`.
package enum RFC3339 {
    /// Parses a date with any offset and any number of fraction digits (past nanoseconds they are dropped). Returns
    /// `nil` for a day that does not exist. A date outside of ``WallTime`` becomes its first or last moment: people
    /// write the year 9999 for never. A leap second counts as the second after it.
    package static func parse(_ text: String) -> WallTime? {
        var text = text
        return text.withUTF8 { parse($0) }
    }

    /// Parses a date from ASCII bytes, as `parse(_: String)` does.
    package static func parse(_ text: UnsafeBufferPointer<UInt8>) -> WallTime? {
        var scanner = ASCIIScanner(text)
        guard let year = scanner.digits(4), scanner.take("-"), let month = scanner.digits(2), scanner.take("-"),
            let day = scanner.digits(2), scanner.take(anyOf: "Tt "), let hour = scanner.digits(2), scanner.take(":"),
            let minute = scanner.digits(2), scanner.take(":"), let second = scanner.digits(2)
        else { return nil }
        let date = CivilDate(year: year, month: month, day: day)
        guard date.exists, hour < 24, minute < 60, second <= 60 else { return nil }
        guard let fraction = fraction(&scanner), let offset = offset(&scanner), scanner.isAtEnd else { return nil }
        let seconds = date.daysSince1970 * 86_400 + hour * 3600 + minute * 60 + second - offset
        // A leap second is only ever the last of a day in UTC.
        if second == 60, floorModulo(seconds, 86_400) != 0 { return nil }
        return WallTime(seconds: seconds, nanoseconds: fraction)
    }

    /// Appends the date in the form of every report: UTC, with milliseconds (cut, not rounded).
    package static func append(_ time: WallTime, to bytes: inout [UInt8]) {
        let milliseconds = floorDivide(Int(time.nanoseconds), 1_000_000)
        let seconds = floorDivide(milliseconds, 1000)
        let days = floorDivide(seconds, 86_400)
        let date = CivilDate(daysSince1970: days)
        let secondOfDay = seconds - days * 86_400
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 24) { out in
            put(date.year, digits: 4, at: 0, in: out, then: "-")
            put(date.month, digits: 2, at: 5, in: out, then: "-")
            put(date.day, digits: 2, at: 8, in: out, then: "T")
            put(secondOfDay / 3600, digits: 2, at: 11, in: out, then: ":")
            put(secondOfDay / 60 % 60, digits: 2, at: 14, in: out, then: ":")
            put(secondOfDay % 60, digits: 2, at: 17, in: out, then: ".")
            put(milliseconds - seconds * 1000, digits: 3, at: 20, in: out, then: "Z")
            bytes.append(contentsOf: UnsafeBufferPointer(out))
        }
    }

    private static func put(
        _ value: Int, digits: Int, at offset: Int, in out: UnsafeMutableBufferPointer<UInt8>, then: Unicode.Scalar
    ) {
        var rest = value
        for place in stride(from: offset + digits - 1, through: offset, by: -1) {
            out[place] = UInt8(truncatingIfNeeded: 0x30 + rest % 10)
            rest /= 10
        }
        out[offset + digits] = UInt8(ascii: then)
    }

    /// Takes the fraction of a second, in nanoseconds; 0 without one, `nil` if it is malformed.
    private static func fraction(_ scanner: inout ASCIIScanner) -> Int? {
        guard scanner.take(".") else { return 0 }
        var value = 0
        var count = 0
        while let digit = scanner.digit() {
            if count < 9 { value = value * 10 + digit }
            count += 1
        }
        guard count > 0 else { return nil }
        for _ in count..<max(count, 9) { value *= 10 }
        return value
    }

    /// Takes the offset in seconds east of UTC; `nil` if it is malformed.
    private static func offset(_ scanner: inout ASCIIScanner) -> Int? {
        if scanner.take(anyOf: "Zz") { return 0 }
        let isWest = scanner.take("-")
        guard isWest || scanner.take("+"), let hours = scanner.digits(2), scanner.take(":"),
            let minutes = scanner.digits(2), hours < 24, minutes < 60
        else { return nil }
        return (isWest ? -1 : 1) * (hours * 3600 + minutes * 60)
    }
}

extension WallTime {
    /// Creates the nearest time that 64 bits of nanoseconds can hold, in the years 1677 to 2262.
    init(seconds: Int, nanoseconds: Int) {
        let (scaled, tooLarge) = Int64(seconds).multipliedReportingOverflow(by: 1_000_000_000)
        let (sum, stillTooLarge) = scaled.addingReportingOverflow(Int64(nanoseconds))
        self.init(nanoseconds: tooLarge || stillTooLarge ? (seconds < 0 ? .min : .max) : sum)
    }
}
