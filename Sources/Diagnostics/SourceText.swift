import Synchronization

/// The text of an input file, with its lines findable by number.
///
/// Lines end as YAML's reader ends them: LF, CR LF, CR, and the Unicode breaks NEL, LS and PS. A byte-order mark is no
/// part of the first line.
package final class SourceText: Sendable {
    /// Name of the file as the user wrote it.
    package let name: String
    /// The file's bytes; empty if the text is withheld.
    package let bytes: [UInt8]
    /// Whether diagnostics may name positions of the file but show none of its lines.
    package let isWithheld: Bool
    /// Offset in bytes of each line; computed when the first line is needed, so that a file without faults costs
    /// nothing.
    private let lineStarts = Mutex<[Int]?>(nil)
    /// The position that `scalars(ofLine:from:to:)` last reached: a caller with many positions goes forward, so the
    /// next one of a long line is near.
    private let lastPlace = Mutex(Place(line: 0, column: 0, byte: 0))

    private struct Place {
        let line: Int
        var column: Int
        var byte: Int
    }

    package init(name: String, bytes: [UInt8]) {
        self.name = name
        self.bytes = bytes
        isWithheld = false
    }

    /// Creates a text that is withheld: diagnostics name positions in it and show none of its lines.
    package init(withheld name: String) {
        self.name = name
        bytes = []
        isWithheld = true
    }

    /// 3 when the text starts with the UTF-8 byte-order mark, else 0.
    package var byteOrderMarkLength: Int { bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0 }

    /// Returns a line without its line break, counted from 1; bytes that are not UTF-8 become U+FFFD. Empty past the
    /// end.
    package func line(_ number: Int) -> String {
        String(decoding: bytes[byteRange(ofLine: number)], as: UTF8.self)
    }

    /// Returns a line's scalars from column `first` up to, not including, column `end`; columns are counted from 1.
    /// Bytes that are not UTF-8 become U+FFFD.
    package func scalars(ofLine number: Int, from first: Int, to end: Int = .max) -> [Unicode.Scalar] {
        let range = byteRange(ofLine: number)
        let last = lastPlace.withLock { $0 }
        var place = Place(line: number, column: 1, byte: range.lowerBound)
        if last.line == number, last.column <= first { place = last }
        var found: [Unicode.Scalar] = []
        var rest = bytes[place.byte..<range.upperBound].makeIterator()
        var parser = Unicode.UTF8.ForwardParser()
        while place.column < end {
            if place.column == first { lastPlace.withLock { [place] in $0 = place } }
            let scalar: Unicode.Scalar
            switch parser.parseScalar(from: &rest) {
            case .valid(let encoded):
                scalar = Unicode.UTF8.decode(encoded)
                place.byte += encoded.count
            case .error(let length):
                scalar = "\u{FFFD}"
                place.byte += length
            case .emptyInput: return found
            }
            if place.column >= first { found.append(scalar) }
            place.column += 1
        }
        return found
    }

    /// Number of lines; a line break at the end begins another, empty one.
    package var lineCount: Int { withLineStarts { $0.count } }

    /// Returns the bytes of a line without its line break; an empty range at the end of the text if there is no such
    /// line.
    package func byteRange(ofLine number: Int) -> Range<Int> {
        let bounds: Range<Int> = withLineStarts { starts in
            guard number >= 1, number <= starts.count else { return bytes.count..<bytes.count }
            return starts[number - 1]..<(number < starts.count ? starts[number] : bytes.count)
        }
        var end = bounds.upperBound
        while end > bounds.lowerBound, let length = LineBreak.length(endingAt: end, in: bytes) {
            // Each line has one break, and CR LF counts as one.
            end -= length
            break
        }
        return bounds.lowerBound..<end
    }

    /// Returns line and column (Unicode scalars) of a byte, both from 1.
    package func position(ofByte offset: Int) -> (line: Int, column: Int) {
        let line = withLineStarts { starts in starts.partitioningIndex { $0 > offset } }
        let start = byteRange(ofLine: max(line, 1)).lowerBound
        guard offset > start else { return (max(line, 1), 1) }
        let before = String(decoding: bytes[start..<min(offset, bytes.count)], as: UTF8.self)
        return (max(line, 1), before.unicodeScalars.count + 1)
    }

    private func withLineStarts<R: Sendable>(_ body: ([Int]) -> R) -> R {
        lineStarts.withLock { starts in
            if let starts { return body(starts) }
            let found = LineBreak.lineStarts(of: bytes, from: byteOrderMarkLength)
            starts = found
            return body(found)
        }
    }
}

/// The line breaks of YAML 1.1, the version that libyaml reads.
enum LineBreak {
    static func lineStarts(of bytes: [UInt8], from start: Int) -> [Int] {
        var starts = [start]
        bytes.withUnsafeBufferPointer { bytes in
            var index = start
            while index < bytes.count {
                let length = length(startingAt: index, in: bytes)
                index += max(length, 1)
                if length > 0 { starts.append(index) }
            }
        }
        return starts
    }

    @inline(__always)
    private static func length(startingAt index: Int, in bytes: UnsafeBufferPointer<UInt8>) -> Int {
        let byte = bytes[index]
        if byte == 0x0A { return 1 }
        guard byte == 0x0D || byte == 0xC2 || byte == 0xE2 else { return 0 }
        let next = index + 1 < bytes.count ? bytes[index + 1] : 0
        if byte == 0x0D { return next == 0x0A ? 2 : 1 }
        if byte == 0xC2 { return next == 0x85 ? 2 : 0 }
        guard next == 0x80, index + 2 < bytes.count, bytes[index + 2] & 0xFE == 0xA8 else { return 0 }
        return 3
    }

    /// Returns the length of the line break that ends just before `end`; `nil` if there is none.
    static func length(endingAt end: Int, in bytes: [UInt8]) -> Int? {
        func byte(_ back: Int) -> UInt8 { end >= back ? bytes[end - back] : 0 }
        if byte(1) == 0x0A { return byte(2) == 0x0D ? 2 : 1 }
        if byte(1) == 0x0D { return 1 }
        if byte(2) == 0xC2, byte(1) == 0x85 { return 2 }
        if byte(3) == 0xE2, byte(2) == 0x80, byte(1) & 0xFE == 0xA8 { return 3 }
        return nil
    }
}

extension Array {
    /// Returns the first index whose element satisfies a predicate that is false, then true.
    fileprivate func partitioningIndex(where belongsAfter: (Element) -> Bool) -> Int {
        var low = 0
        var high = count
        while low < high {
            let middle = (low + high) / 2
            if belongsAfter(self[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
