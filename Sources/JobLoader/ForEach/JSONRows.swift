import TextFormats
import TransferModel

/// Parses a JSON file into values; numbers keep their text.
enum JSONRows {
    static func parse(_ bytes: [UInt8]) throws(TableFiles.Problem) -> Value {
        do {
            return value(try JSONParser.parse(bytes))
        } catch {
            throw TableFiles.Problem(message: error.message, line: error.line)
        }
    }

    /// Converts a parsed value. The parser has limited the depth, and accepts no broken string.
    private static func value(_ json: JSONValue) -> Value {
        switch json {
        case .null: .null
        case .boolean(let value): .boolean(value)
        case .number(let text): .number(text)
        case .string(let text), .broken(let text): .text(SecretText(text))
        case .array(let elements): .list(elements.map { value($0) })
        case .object(let members): .map(members.map { (key: $0.name, value: value($0.value)) })
        }
    }
}
