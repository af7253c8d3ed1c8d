internal import TextFormats
package import TransferModel

/// Parses the dates of `Expires` (RFC 6265bis, section 5.1.1). Servers write them in many ways, so a time, a day, a
/// month and a year are found among the words, in any order, and all other words (weekdays, zones) are skipped: every
/// date is UTC.
package enum CookieDate {
    /// `nil` when one of the four is missing or the date does not exist. A year beyond the range of ``WallTime``
    /// becomes its last second.
    package static func parse(_ text: [UInt8]) -> WallTime? { parse(text[...]) }

    static func parse(_ text: ArraySlice<UInt8>) -> WallTime? {
        var found = Found()
        for word in text.split(whereSeparator: isDelimiter) { found.read(word) }
        return found.time
    }

    private static func isDelimiter(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x09, 0x20...0x2F, 0x3B...0x40, 0x5B...0x60, 0x7B...0x7E: true
        default: false
        }
    }

    private static let months: [StaticString] = [
        "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
    ]

    /// The values found so far. A word becomes the first value that it can be and that is still missing.
    private struct Found {
        var clock: (hour: Int, minute: Int, second: Int)?
        var day: Int?
        var month: Int?
        var year: Int?

        mutating func read(_ word: ArraySlice<UInt8>) {
            if clock == nil, let clock = Self.clock(word) {
                self.clock = clock
            } else if day == nil, let day = Self.number(word, digits: 1...2) {
                self.day = day
            } else if month == nil, let month = Self.month(word) {
                self.month = month
            } else if year == nil, let year = Self.number(word, digits: 2...4) {
                self.year = year
            }
        }

        var time: WallTime? {
            guard let clock, let day, let month, var year else { return nil }
            if year < 70 { year += 2000 } else if year < 100 { year += 1900 }
            let date = CivilDate(year: year, month: month, day: day)
            guard year >= 1601, date.exists, clock.hour < 24, clock.minute < 60, clock.second < 60 else { return nil }
            let seconds = date.daysSince1970 * 86_400 + clock.hour * 3600 + clock.minute * 60 + clock.second
            let limit = Int(Int64.max / 1_000_000_000)
            return WallTime(nanoseconds: Int64(min(max(seconds, -limit), limit)) * 1_000_000_000)
        }

        /// Parses `8:49:37`, ignoring anything after its last digit.
        private static func clock(_ word: ArraySlice<UInt8>) -> (Int, Int, Int)? {
            var rest = word
            guard let hour = number(&rest, digits: 1...2), rest.popFirst() == UInt8(ascii: ":"),
                let minute = number(&rest, digits: 1...2), rest.popFirst() == UInt8(ascii: ":"),
                let second = number(&rest, digits: 1...2)
            else { return nil }
            return (hour, minute, second)
        }

        private static func number(_ word: ArraySlice<UInt8>, digits: ClosedRange<Int>) -> Int? {
            var rest = word
            return number(&rest, digits: digits)
        }

        /// Removes and returns a number of this many digits that no further digit follows.
        private static func number(_ rest: inout ArraySlice<UInt8>, digits: ClosedRange<Int>) -> Int? {
            var (value, count) = (0, 0)
            while let digit = rest.first, (0x30...0x39).contains(digit) {
                count += 1
                guard count <= digits.upperBound else { return nil }
                value = value * 10 + Int(digit - 0x30)
                rest.removeFirst()
            }
            return count >= digits.lowerBound ? value : nil
        }

        /// Parses `Nov`, `november` or `novel`.
        private static func month(_ word: ArraySlice<UInt8>) -> Int? {
            let start = word.prefix(3).lazy.map { $0 | 0x20 }
            let index = months.firstIndex { name in name.withUTF8Buffer { $0.elementsEqual(start) } }
            return index.map { $0 + 1 }
        }
    }
}
