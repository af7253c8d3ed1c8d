package import TransferModel

/// A range of a source text: lines and columns from 1, columns in Unicode scalars, the end exclusive.
package struct SourceSpan: Hashable, Sendable {
    /// First line.
    package var line: Int32
    /// Column of the first character in `line`.
    package var column: Int32
    /// Last line.
    package var endLine: Int32
    /// Column after the last character in `endLine`.
    package var endColumn: Int32

    package init(line: Int32, column: Int32, endLine: Int32, endColumn: Int32) {
        self.line = line
        self.column = column
        self.endLine = endLine
        self.endColumn = endColumn
    }

    /// Creates a range within one line.
    package init(line: Int, column: Int, length: Int = 1) {
        self.init(line: Int32(line), column: Int32(column), endLine: Int32(line), endColumn: Int32(column + length))
    }
}

/// One fault of an input, where it is and what would be right.
package struct Diagnostic: Sendable {
    /// Whether the input is unusable (`error`) or only suspicious (`warning`).
    package enum Severity: String, Sendable {
        case error, warning
    }

    /// Whether the fault is an error or a warning.
    package var severity: Severity
    /// Name of the kind of fault, in kebab case. Scripts match it, so it never changes for the sake of better words.
    package var code: String
    /// The fault, as a sentence for people.
    package var message: String
    /// What would be right; `nil` if nothing is known.
    package var hint: String?
    /// The text with the fault; `nil` if the fault belongs to none.
    package var source: SourceText?
    /// Position of the fault in `source`; `nil` if it concerns the whole.
    package var span: SourceSpan?
    /// Names whose values are masked where the diagnostic is rendered.
    package var credentialNames = CredentialNames.standard

    package init(
        severity: Severity, code: String, message: String, hint: String? = nil, source: SourceText? = nil,
        span: SourceSpan? = nil
    ) {
        self.severity = severity
        self.code = code
        self.message = message
        self.hint = hint
        self.source = source
        self.span = span
    }

    /// The message as it is rendered.
    var shownMessage: String { credentialNames.masked(message) }
    /// The hint as it is rendered.
    var shownHint: String? { hint.map { credentialNames.masked($0) } }
}

/// Collects diagnostics, so that checking does not stop at the first fault.
package struct DiagnosticList: Sendable {
    /// The diagnostics in the order in which they were found.
    package private(set) var items: [Diagnostic] = []
    /// Whether any of `items` is an error.
    package private(set) var hasErrors = false

    package init() {}

    /// Adds a diagnostic.
    package mutating func append(_ diagnostic: Diagnostic) {
        items.append(diagnostic)
        if diagnostic.severity == .error { hasErrors = true }
    }

    /// Adds all diagnostics of another list.
    package mutating func append(contentsOf other: DiagnosticList) {
        items.append(contentsOf: other.items)
        hasErrors = hasErrors || other.hasErrors
    }

    /// Has values that belong to these names masked where the diagnostics are rendered.
    package mutating func mask(_ names: CredentialNames) {
        for index in items.indices { items[index].credentialNames = names }
    }

    /// Adds an error.
    package mutating func error(
        _ code: String, _ message: String, hint: String? = nil, at span: SourceSpan? = nil,
        in source: SourceText? = nil
    ) {
        append(
            Diagnostic(severity: .error, code: code, message: message, hint: hint, source: source, span: span))
    }

    /// Adds a warning.
    package mutating func warning(
        _ code: String, _ message: String, hint: String? = nil, at span: SourceSpan? = nil,
        in source: SourceText? = nil
    ) {
        append(
            Diagnostic(severity: .warning, code: code, message: message, hint: hint, source: source, span: span))
    }

    /// Returns the diagnostics ordered by file (as first found), line and column; those without a file come first.
    /// Equal diagnostics of one position (of a value that several tasks share) are returned once.
    package func sorted() -> [Diagnostic] {
        var fileOrder: [String: Int] = [:]
        for case let source? in items.lazy.map(\.source) where fileOrder[source.name] == nil {
            fileOrder[source.name] = fileOrder.count
        }
        func place(_ diagnostic: Diagnostic) -> (Int, Int32, Int32) {
            let file = diagnostic.source.flatMap { fileOrder[$0.name] } ?? -1
            return (file, diagnostic.span?.line ?? 0, diagnostic.span?.column ?? 0)
        }
        let ordered = items.enumerated().sorted { left, right in
            let (before, after) = (place(left.element), place(right.element))
            return before == after ? left.offset < right.offset : before < after
        }
        var seen: Set<Identity> = []
        return ordered.compactMap { seen.insert(Identity($0.element)).inserted ? $0.element : nil }
    }

    private struct Identity: Hashable {
        let file: String?
        let span: SourceSpan?
        let code: String
        let message: String

        init(_ diagnostic: Diagnostic) {
            file = diagnostic.source?.name
            span = diagnostic.span
            code = diagnostic.code
            message = diagnostic.message
        }
    }
}
