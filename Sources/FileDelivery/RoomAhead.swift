/// Room on the disk that is reserved for a body of announced length before its bytes come.
///
/// ext4 looks for room block by block while a file is written, which is a good part of the cost of writing; reserved in
/// one call, it finds all of it in one place. A server's length is not trusted: no more than `most` is reserved.
package struct RoomAhead {
    /// Greatest number of bytes to reserve.
    package static let most: Int64 = 1 << 30
    /// Smallest number of bytes worth reserving.
    package static let smallest: Int64 = 512 << 10

    /// Length of the whole file in bytes, 0 if it was not announced.
    private var expected: Int64 = 0
    /// Offset of the first byte for which the file has no room: everything before it was reserved or written.
    private var end: Int64 = 0
    /// Whether room was requested since the length was announced.
    private var hasAsked = false

    package init() {}

    /// What to do before some bytes are written.
    package struct Step: Equatable {
        /// The number of bytes that the file will take from the disk.
        package let count: Int64
        /// The range to reserve, if any.
        package let asked: Range<Int64>?

        package init(count: Int64, asked: Range<Int64>? = nil) {
            self.count = count
            self.asked = asked
        }
    }

    /// Sets the announced length of the whole file in bytes.
    package mutating func expect(_ length: Int64) { (expected, hasAsked) = (max(0, length), false) }

    /// Returns what to do before bytes are written at `range` of a file that is complete up to `size`.
    package mutating func step(to range: Range<Int64>, size: Int64) -> Step {
        let known = max(end, size)
        let needed = min(expected, size + Self.most)
        guard !hasAsked, needed - known >= Self.smallest else { return Step(count: missing(of: range)) }
        (end, hasAsked) = (needed, true)
        return Step(count: needed - known + missing(of: range), asked: known..<needed)
    }

    /// Returns how many bytes of the range have no room.
    private func missing(of range: Range<Int64>) -> Int64 { max(0, range.upperBound - max(range.lowerBound, end)) }

    /// Notes that the filesystem did not reserve the range: each write has to find room itself.
    package mutating func wasRefused(_ asked: Range<Int64>) { end = asked.lowerBound }

    /// Returns how many bytes of `range` have room.
    package func held(of range: Range<Int64>) -> Int64 { Int64(range.count) - missing(of: range) }

    /// Whether there is room beyond `size`.
    package func goesBeyond(_ size: Int64) -> Bool { end > size }

    /// Notes that the file was cut to `size`.
    package mutating func wasCut(at size: Int64) { end = min(end, size) }
}
