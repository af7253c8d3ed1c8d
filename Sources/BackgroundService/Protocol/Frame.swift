import TextFormats

/// A message as it goes over the socket: its length, then its JSON.
package enum Frame {
    static let lengthBytes = 4

    /// `body` writes the members after `type`. A frame that would be too long for the other side is our own mistake.
    static func write(_ type: StaticString, _ body: (inout JSONWriter) -> Void) -> [UInt8] {
        var writer = JSONWriter()
        writer.bytes = [0, 0, 0, 0]
        writer.beginObject()
        writer.member("type", "\(type)")
        body(&writer)
        writer.endObject()
        return withLength(writer.bytes)
    }

    /// The same around a text that is there already.
    package static func around(_ json: [UInt8]) -> [UInt8] { withLength([0, 0, 0, 0] + json) }

    private static func withLength(_ bytes: [UInt8]) -> [UInt8] {
        var bytes = bytes
        let length = UInt32(bytes.count - lengthBytes)
        for place in 0..<lengthBytes { bytes[place] = UInt8(truncatingIfNeeded: length >> UInt32(24 - 8 * place)) }
        return bytes
    }
}

/// Puts frames together, however they were cut up on their way. It never holds more than has come: a length that is
/// only announced costs nothing.
package struct FrameReader: Sendable {
    package struct Progress: Hashable, Sendable {
        /// The JSON of each that is whole.
        package var frames: [[UInt8]] = []
        /// What came after them can be no frame: nothing more is to be read.
        package var problem: ServiceProblem?
    }

    private var bytes: [UInt8] = []

    package init() {}

    /// Nothing of a frame has come that is not whole.
    package var isBetweenFrames: Bool { bytes.isEmpty }

    package mutating func take(_ piece: [UInt8]) -> Progress {
        var progress = Progress()
        bytes += piece
        var offset = 0
        while bytes.count - offset >= Frame.lengthBytes {
            let length = bytes[offset..<offset + Frame.lengthBytes].reduce(0) { $0 << 8 | Int($1) }
            guard (1...ServiceProtocol.maximumFrame).contains(length) else {
                progress.problem = ServiceProblem(
                    "a frame of \(length) bytes: it must have 1 to \(ServiceProtocol.maximumFrame)")
                bytes = []
                return progress
            }
            let start = offset + Frame.lengthBytes
            guard bytes.count - start >= length else { break }
            progress.frames.append(Array(bytes[start..<start + length]))
            offset = start + length
        }
        // A connection that says nothing holds nothing.
        bytes = offset == bytes.count ? [] : Array(bytes[offset...])
        return progress
    }
}
