import Diagnostics

/// Collects the problems of a document as diagnostics; a limit ends the reading, all other problems let it continue.
struct ProblemCollector {
    private let source: SourceText
    private(set) var list = DiagnosticList()
    /// Whether a limit was exceeded, or the list of problems is full.
    private(set) var isFatal = false

    /// Problems that are listed, at most: a file that is wrong everywhere gets a thousand, not a million.
    private static let most = 1000

    init(source: SourceText) { self.source = source }

    mutating func add(_ code: String, _ message: String, hint: String? = nil, at span: SourceSpan?) {
        guard !isFatal else { return }
        list.error(code, message, hint: hint, at: span?.clamped(to: source), in: source)
        if list.items.count >= ProblemCollector.most {
            list.error("too-many-problems", "the file has too many problems to list them all", in: source)
            isFatal = true
        }
    }

    mutating func fatal(_ code: String, _ message: String, hint: String? = nil, at span: SourceSpan?) {
        add(code, message, hint: hint, at: span)
        isFatal = true
    }

    // MARK: Limits

    mutating func tooLarge(_ limit: Int) {
        let hint = "split it into several jobs, and run them one by one"
        fatal("file-too-large", "the file is larger than \(limit >> 20) MiB", hint: hint, at: nil)
    }

    mutating func tooDeep(_ limit: Int, at span: SourceSpan) {
        fatal("too-deep", "lists and maps are nested more than \(limit) deep", at: span)
    }

    mutating func tooManyNodes(_ limit: Int, at span: SourceSpan) {
        let hint = "aliases that repeat aliases multiply; write fewer of them"
        fatal(
            "too-many-nodes", "with its aliases written out the file has more than \(limit) nodes", hint: hint, at: span
        )
    }

    // MARK: Anchors and merge keys

    mutating func badAlias(_ name: String, at span: SourceSpan, isOpen: Bool, known: [String]) {
        if isOpen {
            add("recursive-alias", "`*\(name)` stands inside the value that it repeats", at: span)
        } else {
            let near = Spelling.closest(to: name, among: known.sorted())
            let hint = near.map { "did you mean `*\($0)`?" } ?? "an anchor is set with `&\(name)` before it is used"
            add("unknown-anchor", "no anchor `&\(name)` stands before this alias", hint: hint, at: span)
        }
    }

    mutating func mergeNotMapping(at span: SourceSpan) {
        add("bad-merge", "`<<` merges maps, and this is none", hint: "write `<<: *anchor` or `<<: [*a, *b]`", at: span)
    }

    // MARK: Keys

    mutating func keyNotScalar(at span: SourceSpan) {
        let hint = "a key is a word; a text that begins with `{` or `[` needs quotes"
        add("key-not-scalar", "a list or a map stands where a key is wanted", hint: hint, at: span)
    }

    mutating func duplicateKey(_ key: String, at span: SourceSpan, first: SourceSpan) {
        let hint = key == "<<" ? "merge several maps with one list: `<<: [*a, *b]`" : "remove one of the two"
        let place = first.line == span.line ? "column \(first.column)" : "line \(first.line)"
        add(
            "duplicate-key", "the key `\(key)` stands twice in this map; it was first set in \(place)", hint: hint,
            at: span)
    }

    // MARK: Tags

    mutating func checkTag(_ tag: String, form: NodeRecord.Form, text: [UInt8], at span: SourceSpan) {
        guard let kind = CoreSchema.Tag(tag) else {
            let hint = "YAML's own tags are `!!str`, `!!int`, `!!float`, `!!bool`, `!!null`, `!!map` and `!!seq`"
            return add("unknown-tag", "unknown tag `\(tag)`", hint: hint, at: span)
        }
        guard !kind.fits(form, text: text) else { return }
        add("tag-mismatch", "the value does not fit its tag `\(kind.shorthand)`", at: span)
    }
}

extension SourceSpan {
    /// The span within the text: where a text does not end in a line break, libyaml reports its end on a line after the
    /// last.
    func clamped(to source: SourceText) -> SourceSpan {
        guard endLine > source.lineCount else { return self }
        let last = source.lineCount
        let end = source.line(last).unicodeScalars.count + 1
        var span = self
        if line > last { (span.line, span.column) = (Int32(last), Int32(end)) }
        (span.endLine, span.endColumn) = (Int32(last), Int32(end))
        return span
    }
}
