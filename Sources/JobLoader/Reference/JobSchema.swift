import TextFormats

/// The job language as a JSON Schema (draft 2020-12), written from the table: what an editor checks while one types.
package enum JobSchema {
    package static func json() -> [UInt8] {
        var schema = SchemaWriter()
        schema.writeDocument()
        return schema.finish()
    }
}

private struct SchemaWriter {
    private var json = JSONWriter(reserving: 1 << 16)

    /// With line breaks, so that a change to it can be read.
    func finish() -> [UInt8] { JSONLayout.indented(json.bytes) }

    mutating func writeDocument() {
        json.beginObject()
        json.member("$schema", "https://json-schema.org/draft/2020-12/schema")
        json.member("title", "transfer-run job")
        json.member(
            "description", "A batch of transfers. The same table of keys writes this, the reference and the loader.")
        json.member("$ref", "#/$defs/job")
        json.key("$defs")
        json.beginObject()
        writeInterpolated()
        for section in Catalog.sections { write(section) }
        json.endObject()
        json.endObject()
    }

    /// A value of any other type may be written as text that interpolation turns into one.
    private mutating func writeInterpolated() {
        json.key("interpolated")
        json.beginObject()
        json.member("description", "Text with `${…}` in it, read as the key's type when it is filled in.")
        json.member("type", "string")
        json.member("pattern", "\\$\\{")
        json.endObject()
    }

    private mutating func write(_ section: SectionDocument) {
        json.key(section.name)
        json.beginObject()
        if !section.introduction.isEmpty { json.member("description", section.introduction) }
        json.member("type", "object")
        json.key("properties")
        json.beginObject()
        for key in section.keys {
            json.key(key.name.description)
            write(key, in: section)
        }
        json.endObject()
        json.member("additionalProperties", false)
        let required = section.keys.filter { $0.isRequired && $0.types == .all }.map(\.name.description)
        if !required.isEmpty, section.name != "defaults" { strings("required", required) }
        write(section.rules)
        json.endObject()
    }

    private mutating func strings(_ name: StaticString, _ values: [String]) {
        json.key(name)
        json.beginArray()
        for value in values { json.string(value) }
        json.endArray()
    }

    private mutating func write(_ rules: [SectionDocument.Rule]) {
        for rule in rules {
            switch rule {
            case .exactlyOne(let names):
                json.key("oneOf")
                json.beginArray()
                for name in names {
                    json.beginObject()
                    strings("required", [name])
                    json.endObject()
                }
                json.endArray()
            case .atMostOne(let names):
                json.key("not")
                json.beginObject()
                strings("required", names)
                json.endObject()
            }
        }
    }

    private mutating func write(_ key: KeyDocument, in section: SectionDocument) {
        json.beginObject()
        var words = key.meaning
        if !key.isRequired { words += " (default: \(key.standard))" }
        if key.types != .all { words += "; for: \(key.types.words)" }
        switch key.state {
        case .built: break
        case .partly(let built): words += "; built so far: \(built)"
        case .later: words += "; not built yet"
        }
        json.member("description", words)
        json.key("anyOf")
        json.beginArray()
        for shape in alternatives(key.shape) { write(shape) }
        if !key.isRequired {
            json.beginObject()
            json.member("type", "null")
            json.endObject()
        }
        json.endArray()
        json.endObject()
    }

    private func alternatives(_ shape: Shape) -> [Shape] {
        if case .either(let shapes) = shape { return shapes.flatMap { alternatives($0) } }
        return [shape]
    }

    // MARK: Shapes

    private mutating func write(_ shape: Shape) {
        switch shape {
        case .json:
            json.beginObject()
            json.endObject()
        case .object(let name): reference(name)
        case .list(let element): write(listOf: element)
        case .map(let element): write(mapOf: element)
        case .either(let shapes):
            json.beginObject()
            json.key("anyOf")
            json.beginArray()
            for shape in shapes { write(shape) }
            json.endArray()
            json.endObject()
        case .statuses: writeStatuses()
        case .headerValue:
            write(.either([.scalar, .list(.scalar)]))
        default: writeScalar(shape)
        }
    }

    private mutating func reference(_ name: String) {
        json.beginObject()
        json.member("$ref", "#/$defs/\(name)")
        json.endObject()
    }

    private mutating func write(listOf element: Shape) {
        json.beginObject()
        json.member("type", "array")
        json.key("items")
        write(element)
        json.endObject()
    }

    private mutating func write(mapOf element: Shape) {
        json.beginObject()
        json.member("type", "object")
        json.key("additionalProperties")
        json.beginObject()
        json.key("anyOf")
        json.beginArray()
        for shape in alternatives(element) { write(shape) }
        json.beginObject()
        json.member("type", "null")
        json.endObject()
        json.endArray()
        json.endObject()
        json.endObject()
    }

    private mutating func writeStatuses() {
        json.beginObject()
        json.key("anyOf")
        json.beginArray()
        writeStatus()
        json.beginObject()
        json.member("type", "array")
        json.key("items")
        writeStatus()
        json.endObject()
        json.endArray()
        json.endObject()
    }

    private mutating func writeStatus() {
        json.beginObject()
        json.key("anyOf")
        json.beginArray()
        typed("integer", low: 100, high: 999)
        pattern("^([1-9][0-9]{2}|[1-9][xX]{2}|[1-9][0-9]{2}-[1-9][0-9]{2})$")
        reference("interpolated")
        json.endArray()
        json.endObject()
    }

    private mutating func typed(_ type: String, low: Double? = nil, high: Double? = nil) {
        json.beginObject()
        json.member("type", type)
        if let low { json.member("minimum", low) }
        if let high { json.member("maximum", high) }
        json.endObject()
    }

    private mutating func pattern(_ pattern: String) {
        json.beginObject()
        json.member("type", "string")
        json.member("pattern", pattern)
        json.endObject()
    }

    private mutating func oneOfTypes(_ types: [String]) {
        json.beginObject()
        strings("type", types)
        json.endObject()
    }

    private mutating func writeScalar(_ shape: Shape) {
        switch shape {
        case .text, .path, .url, .hostPattern, .jsonPath, .regex, .timeZone: oneOfTypes(["string", "number"])
        case .scalar: oneOfTypes(["string", "number", "boolean"])
        default:
            json.beginObject()
            json.key("anyOf")
            json.beginArray()
            writeLiteral(shape)
            reference("interpolated")
            json.endArray()
            json.endObject()
        }
    }

    private mutating func writeLiteral(_ shape: Shape) {
        switch shape {
        case .pattern(let text, _):
            json.beginObject()
            strings("type", ["string", "number"])
            json.member("pattern", text)
            json.endObject()
        case .boolean: typed("boolean")
        case .integer(let range):
            typed(
                "integer", low: Double(range.lowerBound),
                high: range.upperBound == .max ? nil : Double(range.upperBound))
        case .number(let range): typed("number", low: range.lowerBound, high: range.upperBound)
        case .duration:
            typed("number", low: 0)
            pattern(
                "^([0-9]+(\\.[0-9]+)?|([0-9]+(\\.[0-9]+)?d)?([0-9]+(\\.[0-9]+)?h)?([0-9]+(\\.[0-9]+)?m)?([0-9]+(\\.[0-9]+)?s)?([0-9]+(\\.[0-9]+)?ms)?)$"
            )
        case .size:
            typed("integer", low: 0)
            pattern("^[0-9]+(\\.[0-9]+)?([kMGT]B|[KMGT]iB|B)?$")
        case .rate: pattern("^[0-9]+(\\.[0-9]+)?([kMGT]B|[KMGT]iB|B)?/s$")
        case .fileMode: pattern("^(0o)?[0-7]{1,5}$")
        case .timeOfDay: pattern("^([01][0-9]|2[0-3]):[0-5][0-9]$")
        case .moment:
            typed("number", low: 0)
            pattern("^[0-9]")
        case .choice(let values):
            json.beginObject()
            strings("enum", values)
            json.endObject()
        default: typed("string")
        }
    }
}

/// Compact JSON laid out in lines.
enum JSONLayout {
    static func indented(_ compact: [UInt8]) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(compact.count * 2)
        var depth = 0
        var isInString = false
        var isEscaped = false
        func newLine() {
            result.append(0x0A)
            for _ in 0..<depth { result += [0x20, 0x20] }
        }
        for (index, byte) in compact.enumerated() {
            if isInString {
                result.append(byte)
                if byte == UInt8(ascii: "\""), !isEscaped { isInString = false }
                isEscaped = byte == UInt8(ascii: "\\") && !isEscaped
                continue
            }
            switch byte {
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                result.append(byte)
                let isEmpty = index + 1 < compact.count && compact[index + 1] == byte + 2
                depth += 1
                if !isEmpty { newLine() }
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                depth -= 1
                if compact[index - 1] != byte - 2 { newLine() }
                result.append(byte)
            case UInt8(ascii: ","):
                result.append(byte)
                newLine()
            case UInt8(ascii: ":"): result += [byte, 0x20]
            default:
                if byte == UInt8(ascii: "\"") { isInString = true }
                result.append(byte)
            }
        }
        result.append(0x0A)
        return result
    }
}
