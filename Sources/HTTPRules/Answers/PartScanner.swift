package import TransferModel

/// Splits a `multipart/x-mixed-replace` body as it arrives (RFC 2046, section 5.1): each part replaces the one before.
///
/// It stores no bytes, only the positions of the parts in the bytes so far. A line that only begins like a boundary is
/// part of the body, and lines may end in LF alone, as those of cameras do.
package struct PartScanner: Sendable {
    /// One part, its positions as indices into the bytes so far.
    package struct Part: Sendable {
        /// The part's own headers.
        package let headers: HeaderBlock
        /// Index of the first byte after the headers.
        package let start: Int
        /// Index after the last byte; `nil` until the boundary after the part arrived.
        package fileprivate(set) var end: Int?
    }

    private enum State {
        /// Before the first boundary, or in a part's body.
        case body
        /// In headers that begin at this index.
        case headers(Int)
        case ended
    }

    /// Largest number of parts: each causes an event, whatever its length.
    package static let mostParts = 4096
    private static let longestHeaders = 64 << 10

    private var delimiter: [UInt8]
    /// The delimiter of senders that include its `--` in the boundary that they name, as many cameras do; the first
    /// boundary line decides between the two.
    private var otherDelimiter: [UInt8]?
    /// The parts found so far, in their order.
    package private(set) var parts: [Part] = []
    private var state = State.body
    /// Index of the first byte that was not examined yet.
    private var position = 0
    /// Index where the present body begins: a boundary may stand there without a line end before it.
    private var bodyStart = 0

    package init?(boundary: String) {
        guard !boundary.isEmpty, boundary.utf8.count <= 200 else { return nil }
        delimiter = Array("--\(boundary)".utf8)
        if boundary.utf8.starts(with: "--".utf8), boundary.utf8.count > 2 { otherDelimiter = Array(boundary.utf8) }
    }

    /// Returns the scanner for an answer with these headers; `nil` if its body has no such parts.
    package static func of(_ headers: HeaderBlock) -> PartScanner? {
        guard let text = headers.first("content-type"), text.lowercased().hasPrefix("multipart/x-mixed-replace") else {
            return nil
        }
        let parameters = HeaderParameters(text)
        guard parameters.value.lowercased() == "multipart/x-mixed-replace" else { return nil }
        return parameters["boundary"].flatMap { PartScanner(boundary: $0) }
    }

    /// Whether the closing boundary arrived.
    package var isEnded: Bool { if case .ended = state { true } else { false } }

    /// Examines new bytes; `bytes` is everything that arrived so far.
    package mutating func scan(_ bytes: [UInt8]) throws(TransferError) {
        while try step(bytes) {}
    }

    /// Throws when the body ended without its closing boundary: the end of the body does not prove the end of its last
    /// part.
    package func end() throws(TransferError) {
        guard !isEnded else { return }
        let place = parts.isEmpty ? "before its first part" : "in part \(parts.count)"
        throw TransferError(.networkConnectionLost, "the answer ended \(place), its last boundary never came")
    }

    /// Returns `false` when more bytes are needed.
    private mutating func step(_ bytes: [UInt8]) throws(TransferError) -> Bool {
        switch state {
        case .ended: return false
        case .body: return findBoundary(bytes)
        case .headers(let start): return try readHeaders(bytes, from: start)
        }
    }

    // MARK: Boundaries

    private enum Line {
        case other, incomplete, last
        /// The next part's headers begin at this index.
        case next(Int)
    }

    private mutating func findBoundary(_ bytes: [UInt8]) -> Bool {
        while position < bytes.count {
            if position == bodyStart || bytes[position - 1] == 0x0A {
                switch boundary(bytes) {
                case .other: break
                case .incomplete: return false
                case .last:
                    endPart(bytes)
                    state = .ended
                    return false
                case .next(let start):
                    endPart(bytes)
                    state = .headers(start)
                    position = start
                    return true
                }
            }
            position = (bytes[position...].firstIndex(of: 0x0A) ?? bytes.count - 1) + 1
        }
        return false
    }

    /// Classifies the line that begins at `position`. The first boundary line decides which delimiter the sender uses.
    private mutating func boundary(_ bytes: [UInt8]) -> Line {
        let own = line(bytes, delimiter)
        guard let other = otherDelimiter else { return own }
        if case .other = own {
            let line = line(bytes, other)
            switch line {
            case .other, .incomplete: break
            case .last, .next: (delimiter, otherDelimiter) = (other, nil)
            }
            return line
        }
        if case .incomplete = own {} else { otherDelimiter = nil }
        return own
    }

    private func line(_ bytes: [UInt8], _ delimiter: [UInt8]) -> Line {
        var place = position
        for byte in delimiter {
            if place == bytes.count { return .incomplete }
            guard bytes[place] == byte else { return .other }
            place += 1
        }
        if place < bytes.count, bytes[place] == UInt8(ascii: "-") {
            guard place + 1 < bytes.count else { return .incomplete }
            return bytes[place + 1] == UInt8(ascii: "-") ? .last : .other
        }
        while place < bytes.count, bytes[place] == 0x20 || bytes[place] == 0x09 { place += 1 }
        guard place < bytes.count else { return .incomplete }
        if bytes[place] == 0x0A { return .next(place + 1) }
        guard bytes[place] == 0x0D else { return .other }
        guard place + 1 < bytes.count else { return .incomplete }
        return bytes[place + 1] == 0x0A ? .next(place + 2) : .other
    }

    /// Ends the present part; the line end before a boundary belongs to the boundary.
    private mutating func endPart(_ bytes: [UInt8]) {
        guard let last = parts.indices.last, parts[last].end == nil else { return }
        var end = position
        if end > parts[last].start, bytes[end - 1] == 0x0A { end -= 1 }
        if end > parts[last].start, end < position, bytes[end - 1] == 0x0D { end -= 1 }
        parts[last].end = end
    }

    // MARK: Headers

    private mutating func readHeaders(_ bytes: [UInt8], from start: Int) throws(TransferError) -> Bool {
        while position < bytes.count {
            guard let lineEnd = bytes[position...].firstIndex(of: 0x0A) else { break }
            let isEmpty = lineEnd == position || (lineEnd == position + 1 && bytes[position] == 0x0D)
            if isEmpty {
                try beginPart(HeaderBlock(raw: Array(bytes[start..<position])), at: lineEnd + 1)
                return true
            }
            position = lineEnd + 1
        }
        if bytes.count - start > Self.longestHeaders {
            throw TransferError(.cannotParseResponse, "the headers of part \(parts.count + 1) have no end")
        }
        return false
    }

    private mutating func beginPart(_ headers: HeaderBlock, at start: Int) throws(TransferError) {
        guard parts.count < Self.mostParts else {
            throw TransferError(.dataLengthExceedsMaximum, "the answer has more than \(Self.mostParts) parts")
        }
        parts.append(Part(headers: headers, start: start))
        (position, bodyStart, state) = (start, start, .body)
    }
}
