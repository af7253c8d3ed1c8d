/// Collects the one line of a request, wherever it is cut on its way.
package struct RequestReader {
    /// Whether the line is complete.
    package enum Progress: Hashable, Sendable {
        case more
        /// The line, without its line feed.
        case line([UInt8])
        case tooLong
    }
    /// Greatest length of a line in bytes, without its line feed.
    package static let limit = 64 << 10
    private var bytes: [UInt8] = []

    package init() {}

    /// Takes the next bytes; bytes after the line feed are ignored.
    package mutating func take(_ piece: some Collection<UInt8>) -> Progress {
        if let end = piece.firstIndex(of: 0x0A) {
            bytes += piece[..<end]
            return bytes.count > Self.limit ? .tooLong : .line(bytes)
        }
        bytes += piece
        return bytes.count > Self.limit ? .tooLong : .more
    }

    /// Returns the line at the end of the stream, though it has no line feed; `nil` if nothing came.
    package func end() -> [UInt8]? { bytes.isEmpty ? nil : bytes }
}
