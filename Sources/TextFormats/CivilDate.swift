/// A day of the proleptic Gregorian calendar; months and days count from 1.
package struct CivilDate: Hashable, Sendable {
    /// Year; 0 is 1 BC, as in ISO 8601.
    package var year: Int
    /// Month, 1 to 12 if the date exists.
    package var month: Int
    /// Day of the month, from 1.
    package var day: Int

    package init(year: Int, month: Int, day: Int) {
        self.year = year
        self.month = month
        self.day = day
    }

    /// Creates the date that is `days` days after 1970-01-01. Years are counted from March, so that the leap day is a
    /// year's last, and in eras of 400 years, which all have the same length.
    package init(daysSince1970 days: Int) {
        let shifted = days + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    }

    /// Days from 1970-01-01 to the date; negative before.
    package var daysSince1970: Int {
        let yearFromMarch = month <= 2 ? year - 1 : year
        let era = (yearFromMarch >= 0 ? yearFromMarch : yearFromMarch - 399) / 400
        let yearOfEra = yearFromMarch - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    /// Day of the week; 0 is Sunday, as in POSIX and in HTTP dates.
    package var weekday: Int { CivilDate.weekday(daysSince1970: daysSince1970) }

    /// Returns the weekday of the day `days` days after 1970-01-01; 0 is Sunday.
    package static func weekday(daysSince1970 days: Int) -> Int { floorModulo(days + 4, 7) }

    /// Whether the calendar has this day: it has no 30 February.
    package var exists: Bool {
        (1...12).contains(month) && day >= 1 && day <= CivilDate.days(inMonth: month, of: year)
    }

    /// Returns whether the year has a 29 February.
    package static func isLeap(_ year: Int) -> Bool { year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) }

    /// Returns the number of days of a month, 1 to 12.
    package static func days(inMonth month: Int, of year: Int) -> Int {
        switch month {
        case 2: isLeap(year) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }
}

/// Divides and rounds down. With `floorModulo`, whose result is never negative, it serves times before 1970.
func floorDivide(_ value: Int, _ divisor: Int) -> Int {
    let quotient = value / divisor
    return value % divisor < 0 ? quotient - 1 : quotient
}

func floorModulo(_ value: Int, _ divisor: Int) -> Int {
    let remainder = value % divisor
    return remainder < 0 ? remainder + divisor : remainder
}
