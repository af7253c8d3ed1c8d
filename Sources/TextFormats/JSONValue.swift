internal import TransferModel

/// A JSON value as it was sent: numbers keep their text, members their order and their repetitions.
package indirect enum JSONValue: Equatable, Sendable {
    /// A member of an object.
    package struct Member: Equatable, Sendable {
        /// The member's name, unescaped.
        package var name: String
        /// The member's value.
        package var value: JSONValue

        package init(name: String, value: JSONValue) {
            self.name = name
            self.value = value
        }

        /// Compares names by their bytes: no Unicode normalization.
        package static func == (left: Member, right: Member) -> Bool {
            left.name.isExactly(right.name) && left.value == right.value
        }
    }

    case null
    case boolean(Bool)
    case number(String)
    case string(String)
    /// A string with an escape for half of a surrogate pair, which no `String` can hold: U+FFFD stands in its place.
    case broken(String)
    case array([JSONValue])
    case object([Member])

    /// The value of an object's member; of several with one name the last, as in JavaScript. `nil` if there is none or
    /// the value is no object.
    package subscript(_ name: String) -> JSONValue? {
        guard case .object(let members) = self else { return nil }
        return members.last { $0.name.isExactly(name) }?.value
    }

    /// Compares as written: numbers by their text, members in their order. `1` and `1.0` differ.
    package static func == (left: JSONValue, right: JSONValue) -> Bool {
        switch (left, right) {
        case (.null, .null): true
        case (.boolean(let left), .boolean(let right)): left == right
        case (.number(let left), .number(let right)): left == right
        case (.string(let left), .string(let right)): left.isExactly(right)
        case (.broken(let left), .broken(let right)): left.isExactly(right)
        case (.array(let left), .array(let right)): left == right
        case (.object(let left), .object(let right)): left == right
        default: false
        }
    }

    /// Appends the value's JSON to `writer`.
    package func append(to writer: inout JSONWriter) {
        switch self {
        case .null: writer.null()
        case .boolean(let value): writer.bool(value)
        case .number(let text): writer.raw(Array(text.utf8))
        case .string(let text), .broken(let text): writer.string(text)
        case .array(let elements):
            writer.beginArray()
            for element in elements { element.append(to: &writer) }
            writer.endArray()
        case .object(let members):
            writer.beginObject()
            for member in members {
                writer.key(member.name)
                member.value.append(to: &writer)
            }
            writer.endObject()
        }
    }
}

/// A fault in a JSON text and its position.
package struct JSONProblem: Error, Equatable, Sendable {
    /// The fault, for people.
    package let message: String
    /// Offset of the fault in bytes.
    package let offset: Int
    /// Line of the fault, from 1.
    package let line: Int
    /// Column of the fault in Unicode scalars, from 1.
    package let column: Int

    init(_ message: String, at offset: Int, in bytes: UnsafeBufferPointer<UInt8>) {
        self.message = message
        self.offset = offset
        let before = bytes[..<min(offset, bytes.count)]
        let lineStart = (before.lastIndex(of: 0x0A) ?? -1) + 1
        line = before.reduce(1) { $1 == 0x0A ? $0 + 1 : $0 }
        column = String(decoding: before[lineStart...], as: UTF8.self).unicodeScalars.count + 1
    }
}
