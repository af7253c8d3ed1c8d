/// Gathers the one line that a caller says, however it is cut up on its way.
package struct RequestReader {
    package enum Progress: Hashable, Sendable {
        case more
        /// Without its end.
        case line([UInt8])
        case tooLong
    }
    /// Of a line, without its end.
    package static let limit = 64 << 10
    private var bytes: [UInt8] = []

    package init() {}

    package mutating func take(_ piece: some Collection<UInt8>) -> Progress {
        if let end = piece.firstIndex(of: 0x0A) {
            bytes += piece[..<end]
            return bytes.count > Self.limit ? .tooLong : .line(bytes)
        }
        bytes += piece
        return bytes.count > Self.limit ? .tooLong : .more
    }

    /// Nothing more comes: what is there is the line, if it is anything.
    package func end() -> [UInt8]? { bytes.isEmpty ? nil : bytes }
}
