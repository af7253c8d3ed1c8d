import TextFormats
package import TransferModel

extension JSONTemplate {
    /// The JSON text with secrets revealed: for the request only.
    package var serialised: [UInt8] { text { $0.revealed } }

    /// The JSON text for people, with `***` for secrets.
    var words: String { String(decoding: text { $0.redacted }, as: UTF8.self) }

    private func text(_ shown: (SecretText) -> String) -> [UInt8] {
        var writer = JSONWriter()
        write(to: &writer, shown)
        return writer.bytes
    }

    private func write(to writer: inout JSONWriter, _ shown: (SecretText) -> String) {
        switch self {
        case .null: writer.null()
        case .boolean(let value): writer.bool(value)
        case .number(let text): writer.raw(Array(text.utf8))
        case .string(let text): writer.string(shown(text))
        case .list(let elements):
            writer.beginArray()
            for element in elements { element.write(to: &writer, shown) }
            writer.endArray()
        case .object(let members):
            writer.beginObject()
            for member in members {
                writer.key(member.name)
                member.value.write(to: &writer, shown)
            }
            writer.endObject()
        }
    }
}
