/// A stretch of a source text: lines and columns from 1, columns in Unicode scalars, the end exclusive.
package struct SourceSpan: Hashable, Sendable {
    package var line: Int32
    package var column: Int32
    package var endLine: Int32
    package var endColumn: Int32

    package init(line: Int32, column: Int32, endLine: Int32, endColumn: Int32) {
        self.line = line
        self.column = column
        self.endLine = endLine
        self.endColumn = endColumn
    }

    /// Some columns of one line.
    package init(line: Int, column: Int, length: Int = 1) {
        self.init(line: Int32(line), column: Int32(column), endLine: Int32(line), endColumn: Int32(column + length))
    }
}

/// One thing that is wrong, where it is and what would be right.
package struct Diagnostic: Sendable {
    package enum Severity: String, Sendable {
        case error, warning
    }

    package var severity: Severity
    /// Stable and kebab-case: scripts match on it, so it never changes for the sake of better words.
    package var code: String
    package var message: String
    package var hint: String?
    package var source: SourceText?
    package var span: SourceSpan?

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
}

/// Collects what is found instead of stopping at the first.
package struct DiagnosticList: Sendable {
    /// In the order they were found.
    package private(set) var items: [Diagnostic] = []
    package private(set) var hasErrors = false

    package init() {}

    package mutating func append(_ diagnostic: Diagnostic) {
        items.append(diagnostic)
        if diagnostic.severity == .error { hasErrors = true }
    }

    package mutating func append(contentsOf other: DiagnosticList) {
        items.append(contentsOf: other.items)
        hasErrors = hasErrors || other.hasErrors
    }

    package mutating func error(
        _ code: String, _ message: String, hint: String? = nil, at span: SourceSpan? = nil,
        in source: SourceText? = nil
    ) {
        append(
            Diagnostic(severity: .error, code: code, message: message, hint: hint, source: source, span: span))
    }

    package mutating func warning(
        _ code: String, _ message: String, hint: String? = nil, at span: SourceSpan? = nil,
        in source: SourceText? = nil
    ) {
        append(
            Diagnostic(severity: .warning, code: code, message: message, hint: hint, source: source, span: span))
    }

    /// By file (as first met), line and column; what has no place comes first, and the same thing said twice of one
    /// place (a value that several tasks share) stands once.
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
