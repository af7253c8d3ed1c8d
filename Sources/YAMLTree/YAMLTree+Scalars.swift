extension YAMLTree {
    /// A scalar's value in YAML 1.2's core schema.
    package enum Scalar: Equatable, Sendable {
        case null
        case boolean(Bool)
        case integer(Int64)
        case float(Double)
        case string
    }

    /// Resolves a scalar. Quoted scalars and those tagged `!!str` or `!` are strings whatever they look like; an
    /// integer that 64 bits cannot hold is a float.
    package func resolve(_ id: NodeID) -> Scalar {
        let node = record(id)
        guard node.form == .scalar else { return .string }
        if node.isPlain { return unsafe withUTF8(id) { unsafe CoreSchema.resolve($0) } }
        guard let tag = tag(id), tag.hasPrefix(CoreSchema.prefix) else { return .string }
        let scalar = unsafe withUTF8(id) { unsafe CoreSchema.resolve($0) }
        switch (tag.dropFirst(CoreSchema.prefix.count), scalar) {
        case ("null", .null), ("bool", .boolean), ("int", .integer), ("float", .float): return scalar
        case ("float", .integer(let value)): return .float(Double(value))
        default: return .string
        }
    }

    /// Whether the scalar is `yes`, `no`, `on`, `off` or the like: booleans in YAML 1.1, strings in 1.2.
    package func isYAML11Boolean(_ id: NodeID) -> Bool {
        guard isPlain(id) else { return false }
        return unsafe withUTF8(id) { unsafe CoreSchema.isYAML11Boolean($0) }
    }

    /// Whether the scalar looks like `0644`: octal in YAML 1.1, decimal 644 in 1.2.
    package func looksOctal(_ id: NodeID) -> Bool {
        guard isPlain(id) else { return false }
        return unsafe withUTF8(id) { unsafe CoreSchema.looksOctal($0) }
    }
}
