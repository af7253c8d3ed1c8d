import TextFormats

/// The error messages in a JSON body, in the forms that web frameworks and APIs give them: a message, what is wrong with
/// single fields, or both.
struct JSONMessages {
    /// Members that hold the message, the most telling first: RFC 9457, and what is usual. Letter case is ignored.
    private static let messages = [
        "detail", "message", "msg", "error_description", "error", "title", "reason", "description", "errormessage",
        "errormessages",
    ]
    /// Members that hold, beside the message or without one, what is wrong with single fields.
    private static let lists = ["errors", "details", "violations", "issues", "invalid-params"]
    /// Members of an element of such a list that name the field, and those that replace its message.
    private static let names = ["field", "loc", "param", "parameter", "pointer", "source", "path", "property", "name"]
    private static let codes = ["issue", "code", "type"]
    /// Names of no field, under which frameworks put what is wrong with the whole.
    private static let wholes: Set<String> = ["", "$", "non_field_errors", "__all__", "base"]
    private static let most = 8
    private static let deepest = 6

    /// Where a value stands: in a list of errors, as an element of one, or elsewhere.
    private enum Place { case list, element, elsewhere }

    private var told: [String] = []

    /// Returns the messages as one text; `nil` if there is none for people.
    static func text(_ value: JSONValue) -> String? {
        var found = JSONMessages()
        found.read(value, of: nil)
        let text = found.told.reduce("") { text, next in
            guard let last = text.last else { return next }
            return text + (".!?:;".contains(last) ? " " : "; ") + next
        }
        return text.isEmpty ? nil : text
    }

    private mutating func read(_ value: JSONValue, of field: String?, depth: Int = 0, in place: Place = .elsewhere) {
        guard depth < Self.deepest, told.count < Self.most else { return }
        switch value {
        case .string(let text), .broken(let text): add(text, of: field)
        case .array(let elements):
            for element in elements.prefix(Self.most) { read(element, of: field, depth: depth + 1, in: .element) }
        case .object(let members):
            if Self.areFields(members, in: place) {
                for member in members.prefix(Self.most) {
                    read(member.value, of: Self.path(field, member.name), depth: depth + 1, in: .list)
                }
            } else {
                read(members, of: (place == .element ? Self.name(members) : nil) ?? field, depth, in: place)
            }
        case .null, .boolean, .number: return
        }
    }

    private mutating func read(_ members: [JSONValue.Member], of field: String?, _ depth: Int, in place: Place) {
        let before = told.count
        func value(_ name: String) -> JSONValue? { members.last { $0.name.lowercased() == name }?.value }
        // Amazon's kind of error, as in `com.amazon.coral#ValidationException`.
        var field = field
        if case .string(let type)? = value("__type") { field = type.split(separator: "#").last.map { String($0) } }
        for name in Self.messages where told.count == before {
            if let message = value(name) { read(message, of: field, depth: depth + 1) }
        }
        for name in Self.lists {
            if let list = value(name) { read(list, of: nil, depth: depth + 1, in: .list) }
        }
        guard told.count == before, place == .element || value("__type") != nil else { return }
        for name in Self.codes where told.count == before {
            if let code = value(name) { read(code, of: field, depth: depth + 1) }
        }
        if told.count == before, let field { add(field, of: nil) }
    }

    /// Adds a message, unless what was told says the same of the field.
    private mutating func add(_ text: String, of field: String?) {
        let isTold = told.contains { said in
            said.contains(text) && field.map { said.split { !$0.isLetter && !$0.isNumber }.contains($0[...]) } ?? true
        }
        guard !text.isEmpty, !isTold else { return }
        told.append(field.map { "\($0): \(text)" } ?? text)
    }

    /// Whether an object's members are fields with what is wrong with each: `{"name": ["is too short"]}`. Only where errors
    /// are expected a field may have the name of a member with a meaning, or a text instead of a list.
    private static func areFields(_ members: [JSONValue.Member], in place: Place) -> Bool {
        guard !members.isEmpty, place != .elsewhere || !members.allSatisfy({ isKnown($0.name) }) else { return false }
        return members.allSatisfy { member in
            switch member.value {
            case .string: place == .list && !isKnown(member.name)
            case .array(let elements): elements.allSatisfy { if case .string = $0 { true } else { false } }
            case .object(let inner): areFields(inner, in: place)
            default: false
            }
        }
    }

    private static func isKnown(_ name: String) -> Bool {
        messages.contains(name.lowercased()) || lists.contains(name.lowercased())
    }

    private static func path(_ field: String?, _ name: String) -> String? {
        if wholes.contains(name) { return field }
        return field.map { "\($0).\(name)" } ?? name
    }

    /// The field that an element of a list of errors is about: `body.name` of `"loc": ["body", "name"]`.
    private static func name(_ members: [JSONValue.Member]) -> String? {
        for name in names {
            switch members.last(where: { $0.name.lowercased() == name })?.value {
            case .string(let text)? where !text.isEmpty: return text
            case .array(let parts)?:
                let words = parts.compactMap { part in
                    switch part {
                    case .string(let text), .number(let text): text
                    default: nil
                    }
                }
                if !words.isEmpty { return words.joined(separator: ".") }
            case .object(let inner)?: if let found = self.name(inner) { return found }
            default: continue
            }
        }
        return nil
    }
}
