/// Room on the disk that a long body is given in large pieces, before its bytes come.
///
/// ext4 looks for room block by block while a file is written, which is a good part of what writing takes; asked for a
/// piece, it finds all of it at once, and in one place. What a server says of a length is not believed: no more than a piece is
/// taken beyond what has come.
package struct RoomAhead {
    package static let piece: Int64 = 8 << 20
    /// Less is not worth the asking.
    package static let smallest: Int64 = 512 << 10

    /// How long the file becomes, as far as anybody says.
    private var expected: Int64 = 0
    private var isRefused = false
    /// What the file has of the disk, asked for or written.
    private var taken = WrittenAhead()

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

    package mutating func expect(_ length: Int64) { expected = max(0, length) }

    /// Before bytes are written at `range`.
    package mutating func step(to range: Range<Int64>) -> Step {
        guard expected > 0 else { return Step(count: Int64(range.count)) }
        let start = taken.end(around: range.lowerBound) ?? range.lowerBound
        guard start < range.upperBound else { return Step(count: 0) }
        let end = pieceEnd(from: start)
        let isAsked = !isRefused && end - start >= Self.smallest && end >= range.upperBound
        let new = start..<(isAsked ? end : range.upperBound)
        taken.add(new)
        return Step(count: Int64(new.count), asked: isAsked ? new : nil)
    }

    /// Up to the file's end, or to what others who write it have.
    private func pieceEnd(from start: Int64) -> Int64 {
        var end = min(expected, taken.start(after: start) ?? .max)
        if end - start > Self.piece + Self.smallest { end = start + Self.piece }
        return end
    }

    /// The filesystem has no such room, or does not know how to give it: each write sees for itself.
    package mutating func isRefusedRoom() { isRefused = true }

    /// So much of `range` was taken already.
    package func held(of range: Range<Int64>) -> Int64 {
        taken.ranges.reduce(0) { $0 + Int64($1.clamped(to: range).count) }
    }

    /// Whether something was taken beyond `size`.
    package func goesBeyond(_ size: Int64) -> Bool { (taken.ranges.last?.upperBound ?? 0) > size }

    /// The file was cut off.
    package mutating func wasCut(at size: Int64) {
        taken.removeAll()
        if size > 0, expected > 0 { taken.add(0..<size) }
    }
}
