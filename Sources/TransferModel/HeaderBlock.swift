/// A response's header lines as they came, in one piece of memory; strings are made only on demand.
package struct HeaderBlock: Hashable, Sendable {
    /// One line's name and value as ranges of `bytes`.
    package struct Line: Hashable, Sendable {
        /// Offset of the name's first byte.
        package var nameStart: UInt32
        /// Offset after the name's last byte.
        package var nameEnd: UInt32
        /// Offset of the value's first byte, blanks left out.
        package var valueStart: UInt32
        /// Offset after the value's last byte, blanks left out.
        package var valueEnd: UInt32
    }
    /// The lines as they came, but for line breaks within folded values, which became spaces.
    package private(set) var bytes: [UInt8]
    /// The lines that have a name, in the order they came.
    package private(set) var lines: [Line]

    /// A block without lines.
    package static let empty = HeaderBlock()

    package init() {
        bytes = []
        lines = []
    }

    /// Splits what a server sent after its status line. A line without a colon is left out, with all that is
    /// folded after it; a folded line (obsolete, still met) goes to the value before it, its break turned into spaces.
    package init(raw: [UInt8]) {
        bytes = raw
        lines = []
        lines.reserveCapacity(12)
        var start = 0
        var canFold = false
        while start < bytes.count {
            let end = bytes[start...].firstIndex(of: 0x0A) ?? bytes.count
            canFold = appendLine(start, end, canFold: canFold)
            start = end + 1
        }
    }

    package init(_ pairs: [(String, String)]) {
        self.init(raw: pairs.reduce(into: []) { $0 += Array("\($1.0): \($1.1)\r\n".utf8) })
    }

    /// Returns whether the next line may be folded into a value.
    private mutating func appendLine(_ start: Int, _ lineEnd: Int, canFold: Bool) -> Bool {
        var end = lineEnd
        while end > start, isBlank(bytes[end - 1]) { end -= 1 }
        guard start < end else { return canFold }
        if isBlank(bytes[start]) {
            if canFold { fold(start, end) }
            return canFold
        }
        guard let colon = bytes[start..<end].firstIndex(of: 0x3A), colon > start else { return false }
        var value = colon + 1
        while value < end, isBlank(bytes[value]) { value += 1 }
        lines.append(
            Line(nameStart: UInt32(start), nameEnd: UInt32(colon), valueStart: UInt32(value), valueEnd: UInt32(end)))
        return true
    }

    private mutating func fold(_ start: Int, _ end: Int) {
        let index = lines.count - 1
        for place in Int(lines[index].valueEnd)..<start { bytes[place] = 0x20 }
        if lines[index].valueStart == lines[index].valueEnd {
            lines[index].valueStart = UInt32(bytes[start..<end].firstIndex { !isBlank($0) } ?? start)
        }
        lines[index].valueEnd = UInt32(end)
    }

    private func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0D }

    /// Returns the line's name as it was spelled; bytes that are no UTF-8 are replaced.
    package func name(_ line: Line) -> String {
        String(decoding: bytes[Int(line.nameStart)..<Int(line.nameEnd)], as: UTF8.self)
    }
    /// Returns the line's value; bytes that are no UTF-8 are replaced.
    package func value(_ line: Line) -> String {
        String(decoding: bytes[Int(line.valueStart)..<Int(line.valueEnd)], as: UTF8.self)
    }
    /// Returns the line's value, or `nil` if it is no UTF-8.
    package func exactValue(_ line: Line) -> String? {
        String(validating: bytes[Int(line.valueStart)..<Int(line.valueEnd)], as: UTF8.self)
    }

    /// Returns the first value under `name`, which must be given in lower case; `nil` if there is none.
    package func first(_ name: StaticString) -> String? {
        lines.first { isNamed($0, name) }.map { value($0) }
    }

    /// Decides whether a line has this name, which must be given in lower case.
    package func has(_ name: StaticString) -> Bool { lines.contains { isNamed($0, name) } }

    /// Returns every value under `name`, in the order sent; `name` must be given in lower case.
    package func all(_ name: StaticString) -> [String] {
        lines.filter { isNamed($0, name) }.map { value($0) }
    }

    /// Returns the first value under `name` for reading it as a URL, with bytes that are no UTF-8 percent-encoded.
    package func firstReference(_ name: StaticString) -> String? {
        lines.first { isNamed($0, name) }.map { reference($0) }
    }

    /// Returns the line's value for reading it as a URL, with bytes that are no UTF-8 percent-encoded.
    package func reference(_ line: Line) -> String {
        PercentEncoding.encodingStrayBytes(valueBytes(line))
    }

    /// Returns the bytes of the line's value.
    package func valueBytes(_ line: Line) -> ArraySlice<UInt8> { bytes[Int(line.valueStart)..<Int(line.valueEnd)] }

    /// Decides whether the line's name is `name`, which must be given in lower case.
    package func isNamed(_ line: Line, _ name: StaticString) -> Bool {
        let count = Int(line.nameEnd - line.nameStart)
        guard count == name.utf8CodeUnitCount else { return false }
        for offset in 0..<count {
            let byte = bytes[Int(line.nameStart) + offset]
            let lower = (0x41...0x5A).contains(byte) ? byte | 0x20 : byte
            if lower != name.utf8Start[offset] { return false }
        }
        return true
    }
}
