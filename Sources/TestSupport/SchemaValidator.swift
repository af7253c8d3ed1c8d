package import TextFormats

/// Validates JSON against a schema of draft 2020-12, as far as this project's schemas use it.
package struct SchemaValidator: Sendable {
    /// One fault of a document.
    package struct Problem: Hashable, Sendable, CustomStringConvertible {
        /// Place in the document, as a JSON pointer; empty for the whole.
        package let path: String
        /// What is wrong at that place.
        package let message: String
        package var description: String { "\(path.isEmpty ? "/" : path): \(message)" }
    }

    private let schema: Schema
    private let targets: [String: Schema]

    /// Reads a schema. Throws if it is wrong, uses an unknown keyword, or has a reference that leads nowhere.
    package init(_ schema: JSONValue) throws {
        var reader = SchemaReader(schema)
        self.schema = try reader.readAll()
        targets = reader.targets
    }

    package init(schema bytes: [UInt8]) throws { try self.init(JSONParser.parse(bytes)) }

    /// Returns everything that is wrong with the document; empty if it is valid. Bytes that are not JSON are one
    /// problem.
    package func problems(in bytes: [UInt8]) -> [Problem] {
        do { return problems(in: try JSONParser.parse(bytes)) } catch {
            return [Problem(path: "", message: "no JSON: line \(error.line), column \(error.column): \(error.message)")]
        }
    }

    /// Returns everything that is wrong with a parsed document.
    package func problems(in value: JSONValue) -> [Problem] {
        var found: [Problem] = []
        validate(value, schema, "", &found)
        return found
    }

    private func validate(_ value: JSONValue, _ schema: Schema, _ path: String, _ found: inout [Problem]) {
        for check in schema.checks {
            if let message = message(check, value, path, &found) { found.append(Problem(path: path, message: message)) }
        }
    }

    private func isValid(_ value: JSONValue, _ schema: Schema) -> Bool {
        var found: [Problem] = []
        validate(value, schema, "", &found)
        return found.isEmpty
    }

    /// Returns what is wrong with the value itself; what is wrong inside it is added to `found`.
    private func message(
        _ check: Schema.Check, _ value: JSONValue, _ path: String, _ found: inout [Problem]
    ) -> String? {
        switch check {
        case .never: return "must not be there"
        case .kind(let names):
            return names.contains { value.isKind($0) }
                ? nil : "is \(value.kind), not \(names.joined(separator: " or "))"
        case .oneValueOf(let values):
            return values.contains { $0.isSame(as: value) } ? nil : "\(value.words) is not one of the values allowed"
        case .reference(let pointer):
            validate(value, targets[pointer] ?? .nothing, path, &found)
            return nil
        case .all(let schemas):
            for schema in schemas { validate(value, schema, path, &found) }
            return nil
        case .any(let schemas): return noneFits(value, schemas, path, &found)
        case .exactlyOne(let schemas):
            let fitting = schemas.indices.filter { isValid(value, schemas[$0]) }
            if fitting.count > 1 { return "fits several of `oneOf`: \(fitting)" }
            return fitting.isEmpty ? noneFits(value, schemas, path, &found) : nil
        case .not(let schema): return isValid(value, schema) ? "fits what it must not be" : nil
        case .condition(let condition, let then, let otherwise):
            validate(value, isValid(value, condition) ? then : otherwise, path, &found)
            return nil
        default: return messageByKind(check, value, path, &found)
        }
    }

    /// Reports the problems of the alternative that is least wrong, which most likely was meant.
    private func noneFits(
        _ value: JSONValue, _ schemas: [Schema], _ path: String, _ found: inout [Problem]
    ) -> String? {
        var fewest: [Problem]?
        for schema in schemas {
            var problems: [Problem] = []
            validate(value, schema, path, &problems)
            if problems.isEmpty { return nil }
            if problems.count < fewest?.count ?? .max { fewest = problems }
        }
        found += fewest ?? []
        return "fits none of the alternatives"
    }

    private func messageByKind(
        _ check: Schema.Check, _ value: JSONValue, _ path: String, _ found: inout [Problem]
    ) -> String? {
        switch value {
        case .object(let members): return objectMessage(check, members, path, &found)
        case .array(let elements): return arrayMessage(check, elements, path, &found)
        case .string(let text), .broken(let text): return stringMessage(check, text)
        case .number(let text): return Double(text).flatMap { numberMessage(check, $0) }
        case .null, .boolean: return nil
        }
    }

    private func objectMessage(
        _ check: Schema.Check, _ members: [JSONValue.Member], _ path: String, _ found: inout [Problem]
    ) -> String? {
        switch check {
        case .members(let expected):
            for member in members { validate(member, expected, path, &found) }
            let names = Set(members.map(\.name))
            return names.count == members.count ? nil : "holds a member twice"
        case .required(let names):
            let missing = names.filter { name in !members.contains { $0.name == name } }
            return missing.isEmpty ? nil : "lacks \(missing.joined(separator: ", "))"
        case .memberNames(let schema):
            for member in members { validate(.string(member.name), schema, path + "/" + member.name, &found) }
            return nil
        case .memberCount(let range): return range.contains(members.count) ? nil : "holds \(members.count) members"
        default: return nil
        }
    }

    private func validate(
        _ member: JSONValue.Member, _ expected: Schema.Members, _ path: String, _ found: inout [Problem]
    ) {
        let path = "\(path)/\(member.name)"
        var isKnown = false
        if let schema = expected.named[member.name] {
            validate(member.value, schema, path, &found)
            isKnown = true
        }
        for (pattern, schema) in expected.matching where Self.matches(pattern, member.name) {
            validate(member.value, schema, path, &found)
            isKnown = true
        }
        if !isKnown { validate(member.value, expected.others, path, &found) }
    }

    private func arrayMessage(
        _ check: Schema.Check, _ elements: [JSONValue], _ path: String, _ found: inout [Problem]
    ) -> String? {
        switch check {
        case .elements(let first, let others):
            for (index, element) in elements.enumerated() {
                validate(element, index < first.count ? first[index] : others, "\(path)/\(index)", &found)
            }
            return nil
        case .contains(let schema):
            return elements.contains { isValid($0, schema) } ? nil : "holds no element that must be there"
        case .elementCount(let range): return range.contains(elements.count) ? nil : "holds \(elements.count) elements"
        case .distinctElements:
            let repeats = elements.indices.contains { index in
                elements[..<index].contains { $0.isSame(as: elements[index]) }
            }
            return repeats ? "holds an element twice" : nil
        default: return nil
        }
    }

    private func stringMessage(_ check: Schema.Check, _ text: String) -> String? {
        switch check {
        case .length(let range):
            let length = text.unicodeScalars.count
            return range.contains(length) ? nil : "is \(length) characters long"
        case .pattern(let pattern):
            return Self.matches(pattern, text) ? nil : "\"\(text)\" does not match \(pattern.pattern)"
        default: return nil
        }
    }

    private func numberMessage(_ check: Schema.Check, _ number: Double) -> String? {
        switch check {
        case .atLeast(let limit): number >= limit ? nil : "\(number) is less than \(limit)"
        case .atMost(let limit): number <= limit ? nil : "\(number) is more than \(limit)"
        case .above(let limit): number > limit ? nil : "\(number) is not above \(limit)"
        case .below(let limit): number < limit ? nil : "\(number) is not below \(limit)"
        default: nil
        }
    }

    /// Whether the pattern matches. A match that gives up at a limit counts as none.
    private static func matches(_ pattern: Regex, _ text: String) -> Bool {
        let match = try? pattern.firstMatch(in: Array(text.utf8))
        return match != nil
    }
}

extension JSONValue {
    fileprivate var kind: String {
        switch self {
        case .null: "null"
        case .boolean: "boolean"
        case .number: isWhole ? "integer" : "number"
        case .string, .broken: "string"
        case .array: "array"
        case .object: "object"
        }
    }

    /// 1.0 is an integer.
    private var isWhole: Bool {
        guard case .number(let text) = self, let number = Double(text) else { return false }
        return number.rounded(.towardZero) == number
    }

    fileprivate func isKind(_ name: String) -> Bool { kind == name || (name == "number" && kind == "integer") }

    fileprivate var words: String {
        switch self {
        case .string(let text): "\"\(text)\""
        case .number(let text): text
        case .boolean(let value): "\(value)"
        default: "this \(kind)"
        }
    }

    /// As JSON Schema compares: 1 and 1.0 are the same, the order of members does not count.
    fileprivate func isSame(as other: JSONValue) -> Bool {
        switch (self, other) {
        case (.number(let left), .number(let right)): left == right || Double(left) == Double(right)
        case (.array(let left), .array(let right)):
            left.count == right.count && zip(left, right).allSatisfy { $0.isSame(as: $1) }
        case (.object(let left), .object(let right)):
            left.count == right.count
                && left.allSatisfy { member in other[member.name].map { $0.isSame(as: member.value) } ?? false }
                && right.allSatisfy { self[$0.name] != nil }
        default: self == other
        }
    }
}
