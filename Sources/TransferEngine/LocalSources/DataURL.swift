import HTTPRules
import TextFormats
import TransferModel

/// `data:[type][;base64],content` (RFC 2397).
struct DataURL {
    let mimeType: String
    let charset: String?
    let bytes: [UInt8]
    /// As a server would say its type.
    var headers: HeaderBlock {
        HeaderBlock([("Content-Type", mimeType + (charset.map { "; charset=\($0)" } ?? ""))])
    }

    init(_ url: ResourceURL) throws(TransferError) {
        let text = url.query.map { "\(url.path)?\($0)" } ?? url.path
        guard let comma = text.firstIndex(of: ",") else {
            throw TransferError(.badURL, "a data URL needs a comma before its content")
        }
        var attributes = text[..<comma].split(separator: ";", omittingEmptySubsequences: false).map(String.init)
        let content = text[text.index(after: comma)...]
        let isBase64 = attributes.count > 1 && attributes.last?.lowercased() == "base64"
        if isBase64 { attributes.removeLast() }
        let type = attributes.first.map { $0.lowercased() } ?? ""
        charset =
            attributes.dropFirst().first { $0.lowercased().hasPrefix("charset=") }.map { String($0.dropFirst(8)) }
            ?? (type.isEmpty ? "US-ASCII" : nil)
        mimeType = type.isEmpty ? "text/plain" : type
        let decoded = PercentEncoding.decodeBytes(content)
        guard isBase64 else {
            bytes = decoded
            return
        }
        let letters = decoded.filter { $0 != 0x20 && $0 != 0x0A && $0 != 0x0D && $0 != 0x09 }
        let padding = (4 - letters.count % 4) % 4
        let padded = letters.last == 0x3D || padding > 2 ? letters : letters + Array(repeating: 0x3D, count: padding)
        guard let bytes = Base64.decode(String(decoding: padded, as: UTF8.self)) else {
            throw TransferError(.badURL, "the data URL's content is not base64")
        }
        self.bytes = bytes
    }
}
