/// Writes `multipart/form-data` (RFC 7578), with names encoded as browsers do (the WHATWG's HTML, 4.10.22.7).
package enum MultipartForm {
    /// Returns the bytes before a part's content: boundary and header lines.
    package static func head(
        name: String, filename: String?, contentType: String?, boundary: String
    ) -> [UInt8] {
        var text = "--\(boundary)\r\nContent-Disposition: form-data; name=\"\(escaped(withNetworkLineEnds(name)))\""
        if let filename { text += "; filename=\"\(escaped(filename))\"" }
        if let contentType { text += "\r\nContent-Type: \(contentType)" }
        return Array(text.utf8) + lineEnd + lineEnd
    }

    /// The bytes after a part's content.
    package static let lineEnd: [UInt8] = [0x0D, 0x0A]

    /// Returns the bytes after the last part: the closing boundary.
    package static func end(boundary: String) -> [UInt8] { Array("--\(boundary)--\r\n".utf8) }

    /// Escapes a name or file name so that it ends neither its quotes nor its line.
    private static func escaped(_ text: String) -> String {
        var bytes: [UInt8] = []
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""): bytes += Array("%22".utf8)
            case 0x0D: bytes += Array("%0D".utf8)
            case 0x0A: bytes += Array("%0A".utf8)
            default: bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Writes every line end in a name as CR LF.
    private static func withNetworkLineEnds(_ text: String) -> String {
        var bytes: [UInt8] = []
        var last: UInt8 = 0
        for byte in text.utf8 {
            if byte == 0x0A, last != 0x0D { bytes.append(0x0D) }
            if last == 0x0D, byte != 0x0A { bytes.append(0x0A) }
            bytes.append(byte)
            last = byte
        }
        if last == 0x0D { bytes.append(0x0A) }
        return String(decoding: bytes, as: UTF8.self)
    }
}
