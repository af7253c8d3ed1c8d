package import TransferModel

/// Whole numbers and durations as decimal digits, appended in place.
package enum DecimalDigits {
    /// Digits of the largest 64-bit number.
    static let longest = 20

    /// Writes the digits at `place`, where `longest` bytes are free, and returns their number.
    static func put(_ value: UInt64, at place: UnsafeMutableRawPointer) -> Int {
        var length = 1
        var limit: UInt64 = 10
        while value >= limit, length < longest {
            length += 1
            limit = length == longest ? .max : limit &* 10
        }
        var rest = value
        for offset in stride(from: length - 1, through: 0, by: -1) {
            let (quotient, digit) = rest.quotientAndRemainder(dividingBy: 10)
            place.storeBytes(of: 0x30 + UInt8(truncatingIfNeeded: digit), toByteOffset: offset, as: UInt8.self)
            rest = quotient
        }
        return length
    }

    /// Appends the digits of `value`, without leading zeros.
    package static func append(_ value: UInt64, to bytes: inout [UInt8]) {
        if value < 10 { return bytes.append(0x30 + UInt8(truncatingIfNeeded: value)) }
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 20) { digits in
            var start = 20
            var rest = value
            while rest > 0 {
                let (quotient, digit) = rest.quotientAndRemainder(dividingBy: 10)
                start -= 1
                digits[start] = 0x30 + UInt8(truncatingIfNeeded: digit)
                rest = quotient
            }
            bytes.append(contentsOf: UnsafeBufferPointer(rebasing: digits[start...]))
        }
    }

    /// Appends a time span as decimal seconds, rounded to the nearest microsecond, without trailing zeros and without
    /// an exponent.
    package static func appendSeconds(_ span: TimeSpan, to bytes: inout [UInt8]) {
        let microseconds = (span.nanoseconds.magnitude + 500) / 1000
        if span.nanoseconds < 0, microseconds > 0 { bytes.append(UInt8(ascii: "-")) }
        append(microseconds / 1_000_000, to: &bytes)
        var fraction = microseconds % 1_000_000
        guard fraction > 0 else { return }
        bytes.append(UInt8(ascii: "."))
        var scale: UInt64 = 100_000
        while fraction > 0 {
            bytes.append(0x30 + UInt8(truncatingIfNeeded: fraction / scale))
            fraction %= scale
            scale /= 10
        }
    }
}
