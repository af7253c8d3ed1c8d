import YAMLTree

/// A text with `${…}` in it, taken apart once and filled in as often as `forEach` asks.
struct Template: Sendable {
    var segments: [Segment]

    enum Segment: Sendable {
        case literal(String)
        case reference(Reference)
    }

    struct Reference: Sendable {
        var name: Name
        var fallback: Fallback?
        /// `${raw:name}`: placed as it is, whatever it stands in.
        var isRaw = false
        /// Which `${` of the scalar it is, from 0: how its place in the file is found again.
        var ordinal: Int
    }

    enum Name: Sendable {
        /// A variable or a name of `forEach`, with a field of it.
        case local(String, field: String?)
        case environment(String)
        case secret(String)
        case capture(task: String, name: String)

        /// As it was written.
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
        /// `:-`
        case standard(Template)
        /// `:?`
        case message(Template)
    }

    /// The one reference that the whole text is, if it is: such a text keeps the value's type.
    var only: Reference? {
        if segments.count == 1, case .reference(let reference) = segments[0] { reference } else { nil }
    }

    /// Whether an `@` is written after a segment with nothing before it that ends a URL's authority.
    func hasAt(after number: Int) -> Bool {
        for case .literal(let text) in segments[(number + 1)...] {
            if let mark = text.first(where: { "@/?#\\".contains($0) }) { return mark == "@" }
        }
        return false
    }

    /// Every name in it, those in fallbacks too.
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

/// The templates of a file's scalars: a task that `forEach` repeats is taken apart once.
struct TemplateCache {
    private var known: [NodeID: Template] = [:]
    /// Only what is met again is worth keeping.
    var isOn = false

    subscript(node: NodeID) -> Template? {
        get { isOn ? known[node] : nil }
        set { if isOn { known[node] = newValue } }
    }
}
