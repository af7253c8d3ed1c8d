/// The ranges of a file that were written beyond its complete beginning, in order; no two of them touch.
struct WrittenAhead {
    private(set) var ranges: [Range<Int64>] = []

    var isEmpty: Bool { ranges.isEmpty }

    mutating func add(_ range: Range<Int64>) {
        guard !range.isEmpty else { return }
        // A new range nearly always continues one of a few.
        let first = ranges.firstIndex { $0.upperBound >= range.lowerBound } ?? ranges.count
        var end = first
        var joined = range
        while end < ranges.count, ranges[end].lowerBound <= range.upperBound {
            joined = min(joined.lowerBound, ranges[end].lowerBound)..<max(joined.upperBound, ranges[end].upperBound)
            end += 1
        }
        ranges.replaceSubrange(first..<end, with: [joined])
    }

    /// Removes and returns up to `most` bytes that begin at `place`; `nil` when there are none.
    mutating func take(from place: Int64, most: Int64) -> Range<Int64>? {
        while let first = ranges.first, first.upperBound <= place { ranges.removeFirst() }
        guard let first = ranges.first, first.lowerBound <= place else { return nil }
        let end = min(first.upperBound, place + most)
        if end == first.upperBound { ranges.removeFirst() } else { ranges[0] = end..<first.upperBound }
        return place..<end
    }

    mutating func removeAll() { ranges = [] }
}
