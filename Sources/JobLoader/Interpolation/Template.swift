import YAMLTree

/// A text with `${…}` in it, parsed once and filled in for each task that `forEach` makes.
struct Template: Sendable {
    var segments: [Segment]

    enum Segment: Sendable {
        case literal(String)
        case reference(Reference)
    }

    struct Reference: Sendable {
        var name: Name
        var fallback: Fallback?
        /// Whether it is `${raw:name}`, whose value is placed without encoding.
        var isRaw = false
        /// Number of its `${` in the scalar, from 0, to find its position in the file again.
        var ordinal: Int

        /// Whether the value is known only in mid-run, where the name has not another meaning.
        var isLate: Bool {
            switch name {
            case .capture: true
            case .local("run", let field): field != nil
            case .local, .environment, .secret: false
            }
        }
    }

    enum Name: Sendable {
        /// A variable or a name of `forEach`, perhaps with a field of its value.
        case local(String, field: String?)
        case environment(String)
        case secret(String)
        case capture(task: String, name: String)

        /// The name as it was written.
        var text: String {
            switch self {
            case .local(let name, let field): field.map { "\(name).\($0)" } ?? name
            case .environment(let name): "env.\(name)"
            case .secret(let name): "secret.\(name)"
            case .capture(let task, let name): "tasks.\(task).\(name)"
            }
        }
    }

    indirect enum Fallback: Sendable {
        /// `:-`: the value if the name has none.
        case standard(Template)
        /// `:?`: the message if the name has no value.
        case message(Template)
    }

    /// The reference, if the whole text is a single one; the text then keeps the value's type.
    var only: Reference? {
        if segments.count == 1, case .reference(let reference) = segments[0] { reference } else { nil }
    }

    /// Returns whether an `@` follows a segment in the same authority of a URL, with nothing between that ends the
    /// authority.
    func hasAt(after number: Int) -> Bool {
        for case .literal(let text) in segments[(number + 1)...] {
            if let mark = text.first(where: { "@/?#\\".contains($0) }) { return mark == "@" }
        }
        return false
    }

    /// Returns whether the text cannot be made without a value for the reference: it stands in no default and has none.
    func isNeeded(_ reference: Reference) -> Bool {
        segments.contains { segment in
            guard case .reference(let own) = segment, own.ordinal == reference.ordinal else { return false }
            if case .standard? = own.fallback { return false }
            return true
        }
    }

    /// Every reference in the template, those in fallbacks included.
    var references: [Reference] {
        var found: [Reference] = []
        var rest = [self]
        while let template = rest.popLast() {
            for case .reference(let reference) in template.segments {
                found.append(reference)
                switch reference.fallback {
                case .standard(let inner), .message(let inner): rest.append(inner)
                case nil: break
                }
            }
        }
        return found
    }
}

/// The templates of a file's scalars, so that a task that `forEach` repeats is parsed once.
struct TemplateCache {
    private var known: [NodeID: Template] = [:]
    /// Whether templates are kept: only while scalars are read repeatedly.
    var isOn = false

    subscript(node: NodeID) -> Template? {
        get { isOn ? known[node] : nil }
        set { if isOn { known[node] = newValue } }
    }
}
