internal import TransferModel

/// A date as text, rendered again only if its second differs from that of the date before.
struct DateText: Sendable {
    /// Length of `"2026-11-21T07:00:00.123Z"`, quotes included.
    static let quotedLength = 26

    private var second = Int64.min
    private var thousandth = 0
    /// `2026-11-21T07:00:00`, and the millisecond's `.` as the last byte.
    private var text: (UInt64, UInt64, UInt32) = (0, 0, 0)

    mutating func set(_ time: WallTime) {
        let milliseconds = floorDivide(Int(time.nanoseconds), 1_000_000)
        let second = Int64(floorDivide(milliseconds, 1000))
        thousandth = milliseconds - Int(second) * 1000
        if second == self.second { return }
        self.second = second
        var bytes: [UInt8] = []
        bytes.reserveCapacity(24)
        RFC3339.append(WallTime(nanoseconds: second * 1_000_000_000), to: &bytes)
        bytes.withUnsafeBytes {
            text = (
                $0.loadUnaligned(as: UInt64.self), $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self),
                $0.loadUnaligned(fromByteOffset: 16, as: UInt32.self)
            )
        }
    }

    /// Writes the date in quotes, `quotedLength` bytes, and returns that length.
    func putQuoted(_ place: UnsafeMutableRawPointer) -> Int {
        place.storeBytes(of: UInt8(ascii: "\""), as: UInt8.self)
        place.storeBytes(of: text.0, toByteOffset: 1, as: UInt64.self)
        place.storeBytes(of: text.1, toByteOffset: 9, as: UInt64.self)
        place.storeBytes(of: text.2, toByteOffset: 17, as: UInt32.self)
        place.storeBytes(of: UInt8(truncatingIfNeeded: 0x30 + thousandth / 100), toByteOffset: 21, as: UInt8.self)
        place.storeBytes(of: UInt8(truncatingIfNeeded: 0x30 + thousandth / 10 % 10), toByteOffset: 22, as: UInt8.self)
        place.storeBytes(of: UInt8(truncatingIfNeeded: 0x30 + thousandth % 10), toByteOffset: 23, as: UInt8.self)
        place.storeBytes(of: UInt8(ascii: "Z"), toByteOffset: 24, as: UInt8.self)
        place.storeBytes(of: UInt8(ascii: "\""), toByteOffset: 25, as: UInt8.self)
        return Self.quotedLength
    }
}
