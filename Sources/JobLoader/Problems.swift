import Diagnostics
import TransferModel

/// Collects the problems of a file, each once: a problem of a task that `forEach` makes a thousand times is reported
/// one time.
struct Problems {
    private(set) var list = DiagnosticList()
    private(set) var notBuilt = DiagnosticList()
    private var seen: Set<Place> = []
    var count: Int { seen.count }

    private struct Place: Hashable {
        let code: String
        let file: String?
        let span: SourceSpan?
        /// The message, if it is needed to tell problems of one position apart: several keys may be missing in one map.
        let message: String?
    }

    private mutating func isNew(_ code: String, _ message: String, _ span: SourceSpan?, _ source: SourceText?) -> Bool {
        let isToldApart = span == nil || code == "missing-key"
        let place = Place(code: code, file: source?.name, span: span, message: isToldApart ? message : nil)
        return seen.insert(place).inserted
    }

    mutating func error(
        _ code: String, _ message: String, hint: String? = nil, at span: SourceSpan?, in source: SourceText?
    ) {
        guard isNew(code, message, span, source) else { return }
        list.error(code, message, hint: hint, at: span, in: source)
    }

    mutating func warning(
        _ code: String, _ message: String, hint: String? = nil, at span: SourceSpan?, in source: SourceText?
    ) {
        guard isNew(code, message, span, source) else { return }
        list.warning(code, message, hint: hint, at: span, in: source)
    }

    mutating func isNotBuilt(_ what: String, at span: SourceSpan, in source: SourceText) {
        let message = "\(what) is not built yet"
        guard isNew("not-built-yet", message, span, source) else { return }
        notBuilt.append(
            Diagnostic(
                severity: .error, code: "not-built-yet", message: message, hint: nil, source: source, span: span))
    }

    /// Has values that belong to these names masked where the problems are rendered.
    mutating func mask(_ names: CredentialNames) { list.mask(names) }

    mutating func append(contentsOf parsed: DiagnosticList) { list.append(contentsOf: parsed) }
}
