/// Bytes from the system that are no UTF-8: a file name, a path, a variable. No `String` can stand for them: with
/// U+FFFD in their place it would name another file or send another value.
package struct NotText: Error, Hashable, Sendable {
    /// The bytes as the system gave them.
    package let bytes: [UInt8]

    package init(_ bytes: some Sequence<UInt8>) { self.bytes = Array(bytes) }

    /// The bytes for people: text stays, stray bytes and control characters become `\xff`.
    package var escaped: String { Self.escaped(bytes) }

    /// Returns the bytes for people: text stays, stray bytes and control characters become `\xff`.
    package static func escaped(_ bytes: [UInt8]) -> String {
        var shown = ""
        var parser = Unicode.UTF8.ForwardParser()
        var rest = bytes.makeIterator()
        var place = 0
        while true {
            switch parser.parseScalar(from: &rest) {
            case .valid(let encoded):
                let scalar = Unicode.UTF8.decode(encoded)
                if scalar.properties.generalCategory == .control {
                    shown += encoded.map(escape).joined()
                } else {
                    shown.unicodeScalars.append(scalar)
                }
                place += encoded.count
            case .error(let length):
                shown += bytes[place..<place + length].map(escape).joined()
                place += length
            case .emptyInput: return shown
            }
        }
    }

    private static func escape(_ byte: UInt8) -> String {
        (byte < 16 ? "\\x0" : "\\x") + String(byte, radix: 16)
    }
}
