import TextFormats

/// A message as it goes over the socket: four bytes of length, then the JSON.
package enum Frame {
    static let lengthBytes = 4

    /// Returns a frame in which `body` writes the members after `type`. Callers bound what they write, so that no frame
    /// exceeds the length that the other side accepts.
    static func write(_ type: StaticString, _ body: (inout JSONWriter) -> Void) -> [UInt8] {
        var writer = JSONWriter()
        writer.bytes = [0, 0, 0, 0]
        writer.beginObject()
        writer.member("type", "\(type)")
        body(&writer)
        writer.endObject()
        return withLength(writer.bytes)
    }

    /// Returns a frame around JSON text that is already encoded.
    package static func around(_ json: [UInt8]) -> [UInt8] { withLength([0, 0, 0, 0] + json) }

    private static func withLength(_ bytes: [UInt8]) -> [UInt8] {
        var bytes = bytes
        let length = UInt32(bytes.count - lengthBytes)
        for place in 0..<lengthBytes { bytes[place] = UInt8(truncatingIfNeeded: length >> UInt32(24 - 8 * place)) }
        return bytes
    }
}

/// Joins received pieces into frames, wherever they were cut. The reader never holds more than has come: an announced
/// length alone allocates nothing.
package struct FrameReader: Sendable {
    /// What one piece of bytes completed.
    package struct Progress: Hashable, Sendable {
        /// The JSON of each complete frame, in order.
        package var frames: [[UInt8]] = []
        /// Why the bytes after `frames` can be no frame; the caller must read nothing more. `nil` if all is well.
        package var problem: ServiceProblem?
    }

    private var bytes: [UInt8] = []

    package init() {}

    /// Whether no part of an incomplete frame is held.
    package var isBetweenFrames: Bool { bytes.isEmpty }

    /// Takes the next bytes from the socket and returns the frames that they complete.
    package mutating func receive(_ piece: [UInt8]) -> Progress {
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
        // Release the buffer between frames, so that a silent connection holds no memory.
        bytes = offset == bytes.count ? [] : Array(bytes[offset...])
        return progress
    }
}
