import TextFormats

/// JSON Schema's constraints on a value of some shape: its possible types, and the constraints of each.
private struct ValueFacets {
    var types: [String] = []
    var isAnything = false
    var takesAnyText = false
    var takesInterpolation = false
    var words: [String] = []
    var patterns: [String] = []
    var minimum: Double?
    var maximum: Double?
    var items: Shape?
    var members: Shape?
    var section: String?

    init(_ shape: Shape) { add(shape) }

    private mutating func allow(_ names: String...) {
        for name in names where !types.contains(name) { types.append(name) }
    }

    private mutating func add(_ shape: Shape) {
        switch shape {
        case .json: isAnything = true
        case .object(let name):
            allow("object")
            section = name
        case .list(let element):
            allow("array")
            items = element
        case .map(let element):
            allow("object")
            members = element
        case .either(let shapes): for shape in shapes { add(shape) }
        case .headerValue: add(.either([.scalar, .list(.scalar)]))
        case .text, .path, .regex, .timeZone:
            allow("string", "number")
            takesAnyText = true
        case .scalar:
            allow("string", "number", "boolean")
            takesAnyText = true
        default: addScalar(shape)
        }
    }

    /// Adds a shape's text, which interpolation may also make.
    private mutating func addScalar(_ shape: Shape) {
        takesInterpolation = true
        allow("string")
        switch shape {
        case .boolean: allow("boolean")
        case .integer(let range):
            allow("integer")
            (minimum, maximum) = (Double(range.lowerBound), range.upperBound == .max ? nil : Double(range.upperBound))
            // The number may be quoted if a word may stand in its place.
            if range == 1...1 { patterns.append("^1$") }
        case .number(let range):
            allow("number")
            (minimum, maximum) = (range.lowerBound, range.upperBound)
        case .pattern(let pattern, _):
            allow("number")
            patterns.append(pattern)
        case .duration:
            allow("number")
            minimum = 0
            patterns.append(Self.duration)
        case .size:
            allow("number")
            minimum = 0
            patterns.append("^[0-9]+(\\.[0-9]+)?([kMGT]B|[KMGT]iB|B)?$")
        case .rate: patterns.append("^[0-9]+(\\.[0-9]+)?([kMGT]B|[KMGT]iB|B)?/s$")
        case .moment:
            allow("number")
            minimum = 0
            patterns.append("^[0-9]")
        case .choice(let values):
            words += values
            // `1.2` without quotes is a number, and read as it is written.
            if values.contains(where: { Double($0) != nil }) { allow("number") }
        case .fileMode:
            // `0o644` is a number to YAML.
            allow("integer")
            (minimum, maximum) = (0, 0o7777)
            patterns.append("^(0o)?[0-7]{1,5}$")
        default: addText(shape)
        }
    }

    private mutating func addText(_ shape: Shape) {
        switch shape {
        case .statuses:
            allow("integer", "array")
            (minimum, maximum) = (100, 999)
            items = .statuses
            patterns.append(Self.status)
        case .url: patterns.append(":")
        case .hostPattern:
            allow("number")
            patterns.append("^(\\*|(\\*\\.)?[^*/]+)(:[0-9]+)?$")
        case .jsonPath: patterns.append("^\\$")
        case .timeOfDay: patterns.append("^([01][0-9]|2[0-3]):[0-5][0-9]$")
        default: takesAnyText = true
        }
    }

    static let status = "^([1-9][0-9]{2}|[1-9][xX]{2}|[1-9][0-9]{2}-[1-9][0-9]{2})$"
    private static let duration =
        "^([0-9]+(\\.[0-9]+)?|([0-9]+(\\.[0-9]+)?d)?([0-9]+(\\.[0-9]+)?h)?([0-9]+(\\.[0-9]+)?m)?([0-9]+(\\.[0-9]+)?s)?"
        + "([0-9]+(\\.[0-9]+)?ms)?)$"
}

extension SchemaWriter {
    /// Matches text with `${…}` in it, which is read as the key's type once it is filled in.
    static let interpolation = "\\$\\{"

    /// Writes the keywords of a value into an object that is open already.
    mutating func writeKeywords(_ shape: Shape, mayBeNull: Bool) {
        let facets = ValueFacets(shape)
        guard !facets.isAnything else { return }
        let types = facets.types + (mayBeNull ? ["null"] : [])
        if types.count == 1 { json.member("type", types[0]) } else { strings("type", types) }
        writeText(facets, mayBeNull: mayBeNull)
        if let minimum = facets.minimum { json.member("minimum", minimum) }
        if let maximum = facets.maximum { json.member("maximum", maximum) }
        if let items = facets.items {
            json.key("items")
            json.beginObject()
            if case .statuses = items { writeStatus() } else { writeKeywords(items, mayBeNull: false) }
            json.endObject()
        }
        if let section = facets.section { json.member("$ref", "#/$defs/\(section)") }
        if let members = facets.members { writeMembers(members) }
    }

    private mutating func writeStatus() {
        strings("type", ["integer", "string"])
        json.member("minimum", 100)
        json.member("maximum", 999)
        json.member("pattern", "\(Self.interpolation)|(?:\(ValueFacets.status))")
    }

    private mutating func writeMembers(_ element: Shape) {
        switch element {
        case .headerValue: writeHeaderNames(without: SchemaWords.reservedHeaders)
        case .regex: writeHeaderNames(without: [])
        default: break
        }
        json.key("additionalProperties")
        json.beginObject()
        writeKeywords(element, mayBeNull: true)
        json.endObject()
    }

    private mutating func writeHeaderNames(without reserved: [String]) {
        json.key("propertyNames")
        json.beginObject()
        json.member("pattern", SchemaWords.token)
        if !reserved.isEmpty {
            json.key("not")
            json.beginObject()
            json.key("anyOf")
            json.beginArray()
            json.beginObject()
            strings("enum", reserved)
            json.endObject()
            json.beginObject()
            json.member("pattern", "^[Pp]roxy-")
            json.endObject()
            json.endArray()
            json.endObject()
        }
        json.endObject()
    }

    private mutating func writeText(_ facets: ValueFacets, mayBeNull: Bool) {
        guard facets.types.contains("string"), !facets.takesAnyText else { return }
        let isWordAlone = facets.patterns.isEmpty && facets.types.allSatisfy { ["string", "number"].contains($0) }
        if !facets.words.isEmpty { strings("examples", facets.words) }
        if !facets.words.isEmpty, isWordAlone, facets.minimum == nil {
            return writeWords(facets.words, mayBeNull: mayBeNull)
        }
        var words = facets.words.isEmpty ? [] : ["^(?:\(facets.words.joined(separator: "|")))$"]
        // Beside words a number may be quoted.
        if !words.isEmpty, facets.minimum != nil { words.append("^[-+0-9.eE]+$") }
        let patterns = (facets.patterns + words).map { "(?:\($0))" }
        json.member("pattern", ([Self.interpolation] + patterns).joined(separator: "|"))
    }

    /// Writes the words one by one, for an editor to offer; only text with interpolation may differ.
    private mutating func writeWords(_ words: [String], mayBeNull: Bool) {
        json.key("if")
        json.beginObject()
        json.member("type", "string")
        json.member("pattern", Self.interpolation)
        json.endObject()
        json.key("else")
        json.beginObject()
        json.key("enum")
        json.beginArray()
        for word in words {
            json.string(word)
            if let number = Double(word) { json.number(number) }
        }
        if mayBeNull { json.null() }
        json.endArray()
        json.endObject()
    }
}
