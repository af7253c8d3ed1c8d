internal import TextFormats
internal import TransferModel

/// Dates of a report: RFC 3339 in UTC.
extension JSONCursor {
    mutating func date() throws(CursorStop) -> WallTime {
        _ = try peek()
        let start = offset
        if let time = try usualDate() { return time }
        offset = start
        let text = try string()
        guard let time = RFC3339.parse(text) else { throw .broken("a date is needed here", at: start) }
        return time
    }

    /// Decodes the spelling that every report of this program uses, `"2026-11-21T07:00:00.123Z"`; returns `nil` for any
    /// other.
    private mutating func usualDate() throws(CursorStop) -> WallTime? {
        guard offset + 26 <= bytes.count else { return nil }
        let text = UnsafeBufferPointer(rebasing: bytes[offset..<offset + 26])
        guard text[0] == UInt8(ascii: "\""), text[5] == UInt8(ascii: "-"), text[8] == UInt8(ascii: "-"),
            text[11] == UInt8(ascii: "T"), text[14] == UInt8(ascii: ":"), text[17] == UInt8(ascii: ":"),
            text[20] == UInt8(ascii: "."), text[24] == UInt8(ascii: "Z"), text[25] == UInt8(ascii: "\"")
        else { return nil }
        func number(_ from: Int, _ count: Int) -> Int? {
            var value = 0
            for index in from..<from + count {
                let digit = text[index] &- 0x30
                guard digit < 10 else { return nil }
                value = value * 10 + Int(digit)
            }
            return value
        }
        guard let year = number(1, 4), let month = number(6, 2), let day = number(9, 2), let hour = number(12, 2),
            let minute = number(15, 2), let second = number(18, 2), let thousandth = number(21, 3),
            (1...12).contains(month), (1...31).contains(day), hour < 24, minute < 60, second < 60,
            (1700...2200).contains(year)
        else { return nil }
        let days = CivilDate(year: year, month: month, day: day).daysSince1970
        let seconds = ((days * 24 + hour) * 60 + minute) * 60 + second
        offset += 26
        return WallTime(nanoseconds: Int64(seconds) * 1_000_000_000 + Int64(thousandth) * 1_000_000)
    }
}
