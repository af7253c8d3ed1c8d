internal import TextFormats

/// A JSON Schema (draft 2020-12) read into checks. Unknown keywords are errors: a keyword that is ignored would make
/// every test that relies on it worthless.
struct Schema: Sendable {
    indirect enum Check: Sendable {
        /// The schema `false`.
        case never
        case kind([String])
        /// `enum`, and `const` as a list of one.
        case oneValueOf([JSONValue])
        case reference(String)
        case all([Schema])
        case any([Schema])
        case exactlyOne([Schema])
        case not(Schema)
        case condition(Schema, then: Schema, else: Schema)
        case members(Members)
        case required([String])
        case memberNames(Schema)
        case memberCount(ClosedRange<Int>)
        /// The first elements one by one, then all others.
        case elements(first: [Schema], others: Schema)
        case contains(Schema)
        case elementCount(ClosedRange<Int>)
        case distinctElements
        /// In Unicode scalars.
        case length(ClosedRange<Int>)
        case pattern(Regex)
        case atLeast(Double)
        case atMost(Double)
        case above(Double)
        case below(Double)
    }

    struct Members: Sendable {
        var named: [String: Schema]
        var matching: [(pattern: Regex, schema: Schema)]
        var others: Schema
    }

    var checks: [Check]
    static let anything = Schema(checks: [])
    static let nothing = Schema(checks: [.never])
}

/// A fault of a schema itself.
package struct SchemaProblem: Error, CustomStringConvertible {
    /// Pointer to the place in the schema, and what is wrong there.
    package let description: String
}

/// Reads schemas. `$ref`s are collected, so that each is known to lead somewhere before a document is validated.
struct SchemaReader {
    private let root: JSONValue
    private(set) var targets: [String: Schema] = [:]
    private var wanted: [String] = []

    init(_ root: JSONValue) { self.root = root }

    mutating func readAll() throws -> Schema {
        let schema = try read(root, "#")
        while let pointer = wanted.popLast() {
            if targets[pointer] != nil { continue }
            guard let value = find(pointer) else { throw problem("`$ref` leads nowhere: \(pointer)", pointer) }
            targets[pointer] = try read(value, pointer)
        }
        return schema
    }

    private func problem(_ message: String, _ place: String) -> SchemaProblem {
        SchemaProblem(description: "\(place): \(message)")
    }

    private func find(_ pointer: String) -> JSONValue? {
        guard pointer.hasPrefix("#") else { return nil }
        return pointer.dropFirst().split(separator: Character("/")).reduce(root as JSONValue?) { value, part in
            if case .array(let elements)? = value {
                return Int(part).flatMap { elements.indices.contains($0) ? elements[$0] : nil }
            }
            return value?[String(part)]
        }
    }

    private mutating func read(_ value: JSONValue, _ place: String) throws -> Schema {
        switch value {
        case .boolean(let isAnything): return isAnything ? .anything : .nothing
        case .object(let members):
            var checks: [Schema.Check] = []
            for member in members {
                checks += try check(member, of: value, "\(place)/\(member.name)").map { [$0] } ?? []
            }
            return Schema(checks: checks)
        default: throw problem("a schema is an object or a boolean", place)
        }
    }

    private mutating func check(
        _ member: JSONValue.Member, of schema: JSONValue, _ place: String
    ) throws -> Schema.Check? {
        let value = member.value
        switch member.name {
        case "$schema", "$id", "$comment", "title", "description", "default", "examples", "deprecated", "format":
            return nil
        case "$defs":
            for definition in try membersOf(value, place) {
                _ = try read(definition.value, "\(place)/\(definition.name)")
            }
            return nil
        case "$ref":
            let pointer = try text(value, place)
            wanted.append(pointer)
            return .reference(pointer)
        case "type": return .kind(try kinds(value, place))
        case "const": return .oneValueOf([value])
        case "enum": return .oneValueOf(try elementsOf(value, place))
        case "allOf": return .all(try schemas(value, place))
        case "anyOf": return .any(try schemas(value, place))
        case "oneOf": return .exactlyOne(try schemas(value, place))
        case "not": return .not(try read(value, place))
        case "if":
            return .condition(
                try read(value, place), then: try read(schema["then"] ?? .boolean(true), place + "/../then"),
                else: try read(schema["else"] ?? .boolean(true), place + "/../else"))
        case "then", "else":
            guard schema["if"] != nil else { throw problem("without `if` it does nothing", place) }
            return nil
        default: return try objectCheck(member, of: schema, place)
        }
    }

    private mutating func objectCheck(
        _ member: JSONValue.Member, of schema: JSONValue, _ place: String
    ) throws -> Schema.Check? {
        let value = member.value
        switch member.name {
        case "properties": return .members(try members(schema, place))
        case "patternProperties", "additionalProperties":
            // Read together with the first of the three keywords that is present.
            let isFirst =
                schema["properties"] == nil
                && (member.name == "patternProperties" || schema["patternProperties"] == nil)
            return isFirst ? .members(try members(schema, place)) : nil
        case "required": return .required(try elementsOf(value, place).map { try text($0, place) })
        case "propertyNames": return .memberNames(try read(value, place))
        case "minProperties": return .memberCount(try count(value, place)...Int.max)
        case "maxProperties": return .memberCount(0...(try count(value, place)))
        default: return try arrayCheck(member, of: schema, place)
        }
    }

    private mutating func arrayCheck(
        _ member: JSONValue.Member, of schema: JSONValue, _ place: String
    ) throws -> Schema.Check? {
        let value = member.value
        switch member.name {
        case "prefixItems":
            let others = try read(schema["items"] ?? .boolean(true), place + "/../items")
            return .elements(first: try schemas(value, place), others: others)
        case "items":
            return schema["prefixItems"] == nil ? .elements(first: [], others: try read(value, place)) : nil
        case "contains": return .contains(try read(value, place))
        case "minItems": return .elementCount(try count(value, place)...Int.max)
        case "maxItems": return .elementCount(0...(try count(value, place)))
        case "uniqueItems": return value == .boolean(true) ? .distinctElements : nil
        default: return try scalarCheck(member, place)
        }
    }

    private func scalarCheck(_ member: JSONValue.Member, _ place: String) throws -> Schema.Check {
        let value = member.value
        switch member.name {
        case "minLength": return .length(try count(value, place)...Int.max)
        case "maxLength": return .length(0...(try count(value, place)))
        case "pattern": return .pattern(try regex(try text(value, place), place))
        case "minimum": return .atLeast(try number(value, place))
        case "maximum": return .atMost(try number(value, place))
        case "exclusiveMinimum": return .above(try number(value, place))
        case "exclusiveMaximum": return .below(try number(value, place))
        default: throw problem("this validator does not know the keyword", place)
        }
    }

    private mutating func members(_ schema: JSONValue, _ place: String) throws -> Schema.Members {
        var result = Schema.Members(named: [:], matching: [], others: .anything)
        for member in try membersOf(schema["properties"] ?? .object([]), place) {
            result.named[member.name] = try read(member.value, "\(place)/\(member.name)")
        }
        for member in try membersOf(schema["patternProperties"] ?? .object([]), place) {
            let schema = try read(member.value, "\(place)/\(member.name)")
            result.matching.append((try regex(member.name, place), schema))
        }
        if let others = schema["additionalProperties"] { result.others = try read(others, place) }
        return result
    }

    private mutating func schemas(_ value: JSONValue, _ place: String) throws -> [Schema] {
        var schemas: [Schema] = []
        for (index, element) in try elementsOf(value, place).enumerated() {
            schemas.append(try read(element, "\(place)/\(index)"))
        }
        return schemas
    }
}

/// Reading keywords' values.
extension SchemaReader {
    private func kinds(_ value: JSONValue, _ place: String) throws -> [String] {
        let names: [String] =
            if case .string(let name) = value { [name] } else {
                try elementsOf(value, place).map { try text($0, place) }
            }
        let known = ["null", "boolean", "number", "integer", "string", "array", "object"]
        if let odd = names.first(where: { !known.contains($0) }) { throw problem("no type is called `\(odd)`", place) }
        return names
    }

    private func elementsOf(_ value: JSONValue, _ place: String) throws -> [JSONValue] {
        guard case .array(let elements) = value else { throw problem("must be an array", place) }
        return elements
    }

    private func membersOf(_ value: JSONValue, _ place: String) throws -> [JSONValue.Member] {
        guard case .object(let members) = value else { throw problem("must be an object", place) }
        return members
    }

    private func text(_ value: JSONValue, _ place: String) throws -> String {
        guard case .string(let text) = value else { throw problem("must be a string", place) }
        return text
    }

    private func number(_ value: JSONValue, _ place: String) throws -> Double {
        guard case .number(let text) = value, let number = Double(text) else {
            throw problem("must be a number", place)
        }
        return number
    }

    private func count(_ value: JSONValue, _ place: String) throws -> Int {
        guard let count = Int(exactly: try number(value, place)), count >= 0 else {
            throw problem("must be a count", place)
        }
        return count
    }

    private func regex(_ pattern: String, _ place: String) throws -> Regex {
        do { return try Regex(pattern) } catch { throw problem("no regular expression: \(error.message)", place) }
    }
}
