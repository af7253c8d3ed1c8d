import TransferModel

/// Reads header lines for the caching rules: lists, names that other headers name, and copies with lines left out.
extension HeaderBlock {
    /// The members of a list-valued field (RFC 9110, section 5.6.1) over all of its lines; empty ones are left out.
    func members(_ name: StaticString) -> [[UInt8]] {
        lines.filter { isNamed($0, name) }.flatMap { HeaderBlock.members(of: value($0)) }
    }

    /// All values of a name that is known only at run time; it must be in lower case.
    func all(named name: String) -> [String] {
        lines.filter { lowerName($0) == name }.map { value($0) }
    }

    func lowerName(_ line: Line) -> String { name(line).lowercased() }

    /// A copy of the lines for which `isKept` holds, byte for byte.
    func keeping(_ isKept: (Line) -> Bool) -> HeaderBlock {
        var raw: [UInt8] = []
        for line in lines where isKept(line) { append(line, to: &raw) }
        return HeaderBlock(raw: raw)
    }

    /// A copy of the lines for which `isKept` holds, followed by the lines of `other` for which `isAdded` holds.
    func keeping(_ isKept: (Line) -> Bool, adding other: HeaderBlock, _ isAdded: (Line) -> Bool) -> HeaderBlock {
        var raw: [UInt8] = []
        // A line has four bytes beside its name and value: `: ` and CR LF.
        raw.reserveCapacity(bytes.count + other.bytes.count + 4 * (lines.count + other.lines.count))
        for line in lines where isKept(line) { append(line, to: &raw) }
        for line in other.lines where isAdded(line) { other.append(line, to: &raw) }
        return HeaderBlock(raw: raw)
    }

    private func append(_ line: Line, to raw: inout [UInt8]) {
        raw += bytes[Int(line.nameStart)..<Int(line.nameEnd)]
        raw += [0x3A, 0x20]
        raw += bytes[Int(line.valueStart)..<Int(line.valueEnd)]
        raw += [0x0D, 0x0A]
    }

    /// The members of one line; a comma inside a quoted string does not separate. A quote without a closing one is an
    /// ordinary character: it must not hide the members behind it.
    static func members(of text: String) -> [[UInt8]] {
        let bytes = Array(text.utf8)
        var members: [[UInt8]] = []
        var start = 0
        var place = 0
        while place < bytes.count {
            if bytes[place] == UInt8(ascii: "\""), let end = endOfQuoted(bytes, from: place) {
                place = end
            } else if bytes[place] == UInt8(ascii: ",") {
                members.append(bytes[start..<place].trimmed())
                start = place + 1
            }
            place += 1
        }
        members.append(bytes[min(start, bytes.count)...].trimmed())
        return members.filter { !$0.isEmpty }
    }

    /// Index of the quote that closes the one at `start`; `nil` without one.
    private static func endOfQuoted(_ bytes: [UInt8], from start: Int) -> Int? {
        var place = start + 1
        while place < bytes.count {
            if bytes[place] == UInt8(ascii: "\"") { return place }
            place += bytes[place] == UInt8(ascii: "\\") ? 2 : 1
        }
        return nil
    }
}
