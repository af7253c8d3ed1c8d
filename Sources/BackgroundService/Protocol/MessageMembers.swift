import TextFormats

/// Takes the members of a message one by one; each error names the message, the member and what would be right.
struct MessageMembers {
    let type: String
    private var members: [String: JSONValue] = [:]
    private var known: [String] = []

    init(_ frame: [UInt8]) throws(ServiceProblem) {
        let value: JSONValue
        // The depth and number of values are bounded as well as the length: a hostile text must not make a large tree.
        let limits = JSONParser.Limits(bytes: ServiceProtocol.maximumFrame, depth: 4, values: 8192)
        do throws(JSONProblem) {
            value = try JSONParser.parse(frame, limits: limits)
        } catch {
            throw ServiceProblem("a frame is no JSON: \(error.message) (byte \(error.offset))")
        }
        guard case .object(let all) = value, case .string(let type)? = value["type"] else {
            throw ServiceProblem("a message is an object with a `type`")
        }
        self.type = type
        for member in all where member.name != "type" {
            guard members.updateValue(member.value, forKey: member.name) == nil else {
                throw ServiceProblem("`\(type)` has `\(member.name)` twice")
            }
        }
    }

    /// Refuses members that no call has read: this message does not have them.
    func refuseUnknown() throws(ServiceProblem) {
        guard let stray = members.keys.filter({ !known.contains($0) }).min() else { return }
        let list = known.isEmpty ? "nothing" : known.map { "`\($0)`" }.joined(separator: ", ")
        throw ServiceProblem("`\(type)` has no `\(stray.prefix(64))`: it has \(list)")
    }

    private mutating func read(_ name: String) -> JSONValue? {
        known.append(name)
        let value = members[name]
        return value == .null ? nil : value
    }

    private func problem(_ name: String, _ wanted: String) -> ServiceProblem {
        ServiceProblem("`\(name)` of `\(type)` must be \(wanted)")
    }

    mutating func text(_ name: String, limit: Int = ServiceProtocol.maximumFrame) throws(ServiceProblem) -> String {
        if let text = try textIfAny(name, limit: limit) { return text }
        throw problem(name, "text")
    }

    mutating func textIfAny(
        _ name: String, limit: Int = ServiceProtocol.maximumFrame
    ) throws(ServiceProblem) -> String? {
        guard let value = read(name) else { return nil }
        guard case .string(let text) = value, text.utf8.count <= limit else {
            throw problem(name, "text of at most \(limit) bytes")
        }
        return text
    }

    mutating func identifierIfAny() throws(ServiceProblem) -> String? {
        guard let value = read("identifier") else { return nil }
        guard case .string(let text) = value, (1...ServiceProtocol.maximumIdentifier).contains(text.utf8.count) else {
            throw problem("identifier", "a session's identifier of 1 to \(ServiceProtocol.maximumIdentifier) bytes")
        }
        return text
    }

    mutating func identifier() throws(ServiceProblem) -> String {
        if let identifier = try identifierIfAny() { return identifier }
        throw problem("identifier", "a session's identifier")
    }

    /// Returns a whole number that is not negative.
    mutating func number<Number: FixedWidthInteger>(_ name: String, _: Number.Type) throws(ServiceProblem) -> Number {
        if let number = try numberIfAny(name, Number.self) { return number }
        throw problem(name, "a whole number from 0 to \(Number.max)")
    }

    mutating func numberIfAny<Number: FixedWidthInteger>(
        _ name: String, _: Number.Type
    ) throws(ServiceProblem) -> Number? {
        guard let value = read(name) else { return nil }
        guard case .number(let digits) = value, let number = Number(digits), number >= 0 else {
            throw problem(name, "a whole number from 0 to \(Number.max)")
        }
        return number
    }

    mutating func flag(_ name: String) throws(ServiceProblem) -> Bool {
        switch read(name) {
        case nil: return false
        case .boolean(let flag)?: return flag
        default: throw problem(name, "`true` or `false`")
        }
    }

    mutating func texts(_ name: String, maximum: Int = .max) throws(ServiceProblem) -> [String] {
        guard let elements = try elements(name) else { return [] }
        guard elements.count <= maximum else { throw problem(name, "a list of at most \(maximum)") }
        var texts: [String] = []
        for element in elements {
            guard case .string(let text) = element, !text.isEmpty else { throw problem(name, "a list of texts") }
            texts.append(text)
        }
        return texts
    }

    mutating func elements(_ name: String) throws(ServiceProblem) -> [JSONValue]? {
        guard let value = read(name) else { return nil }
        guard case .array(let elements) = value else { throw problem(name, "a list") }
        return elements
    }

    mutating func object(_ name: String) -> JSONValue? { read(name) }
}

extension JSONValue {
    func text(_ name: String) -> String? { if case .string(let text)? = self[name] { text } else { nil } }

    func whole<Number: FixedWidthInteger>(_ name: String) -> Number? {
        if case .number(let digits)? = self[name] { Number(digits) } else { nil }
    }
}
