/// Room on the disk that a body whose length was announced is given before its bytes come.
///
/// ext4 looks for room block by block while a file is written, which is a good part of what writing takes; asked once, it finds
/// all of it, in one place. What a server says of a length is not believed: no more than `most` is asked for.
package struct RoomAhead {
    package static let most: Int64 = 1 << 30
    /// Less is not worth the asking.
    package static let smallest: Int64 = 512 << 10

    /// Length of the whole file, 0 where nobody said it.
    private var expected: Int64 = 0
    /// Offset of the first byte for which the file has no room: what lies before it was given or written.
    private var end: Int64 = 0
    /// Whether room was asked for since the length was announced.
    private var hasAsked = false

    package init() {}

    /// What is done before some bytes are written.
    package struct Step: Equatable {
        /// So many more bytes of the disk are the file's then.
        package let count: Int64
        /// These are to be asked for.
        package let asked: Range<Int64>?

        package init(count: Int64, asked: Range<Int64>? = nil) {
            self.count = count
            self.asked = asked
        }
    }

    package mutating func expect(_ length: Int64) { (expected, hasAsked) = (max(0, length), false) }

    /// Before bytes are written at `range` of a file that is whole up to `size`.
    package mutating func step(to range: Range<Int64>, size: Int64) -> Step {
        let known = max(end, size)
        let needed = min(expected, size + Self.most)
        guard !hasAsked, needed - known >= Self.smallest else { return Step(count: missing(of: range)) }
        (end, hasAsked) = (needed, true)
        return Step(count: needed - known + missing(of: range), asked: known..<needed)
    }

    /// Bytes of it for which the file has no room.
    private func missing(of range: Range<Int64>) -> Int64 { max(0, range.upperBound - max(range.lowerBound, end)) }

    /// The filesystem has no such room, or does not know how to give it: each write sees for itself.
    package mutating func wasRefused(_ asked: Range<Int64>) { end = asked.lowerBound }

    /// For so many bytes of `range` there is room.
    package func held(of range: Range<Int64>) -> Int64 { Int64(range.count) - missing(of: range) }

    /// Whether there is room beyond `size`.
    package func goesBeyond(_ size: Int64) -> Bool { end > size }

    /// The file was cut off.
    package mutating func wasCut(at size: Int64) { end = min(end, size) }
}
