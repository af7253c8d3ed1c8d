import Diagnostics
import TransferModel
import YAMLTree

/// Reads values out of a tree in one scope of names and collects what is wrong with them.
///
/// One reader lives as long as one load, on one thread; rows of the table get it as an argument and keep nothing.
final class Reader {
    let tree: YAMLTree
    let source: SourceText
    let resources: Resources
    /// Absolute, without a `/` at its end unless it is the root: where relative paths start.
    let baseDirectory: String
    var problems = Problems()
    let names: NameStore
    var missingValues = MissingValues.refused
    /// What the job may do; `nil` where nobody asks.
    var access: JobAccess?
    /// Whose values are being read, for `access`.
    var owner = "the job"
    /// What `forEach` binds just now.
    var bindings: [Binding] = []
    /// What a name stands for that nothing else binds, while a `forEach` is wrong in a way that hides its names.
    var unreadName: Value?
    /// Captured values met since the task loader last looked.
    var captureUses: [CaptureUse] = []
    /// What is being read belongs to a task: only there can values be that other tasks capture.
    var isInTask = false
    /// What is being read stands in `defaults`.
    var isInDefaults = false
    /// Names in a map of `defaults` that the task writes itself: nothing is left of what stands there.
    var replacedNames: Set<String> = []
    /// The key whose value is being read, for messages.
    var key: StaticString = ""
    var templates = TemplateCache()
    /// Of long texts that were made of variables.
    var filledBytes = 0
    var urls = URLReader()
    var needLists = NeedLists()
    /// Tasks named by `checksum`. Options that tasks share name theirs once, whoever reads them.
    var checksumTasks: [ChecksumTask] = []
    /// Files and tasks that the `forEach` just read names.
    var fileReads: [FileRead] = []
    /// All files that `forEach` went over, each once.
    var lists: [String] = []
    var forEachTasks: [ChecksumTask] = []
    /// Captured lists that the `forEach` just read names.
    var capturedLists: [CapturedList] = []
    /// What templates became, while a job is read once more; `nil` when it is read for the first time.
    var templateValues: TemplateValues?

    init(tree: YAMLTree, source: SourceText, resources: Resources, baseDirectory: String, names: NameStore) {
        self.tree = tree
        self.source = source
        self.resources = resources
        self.baseDirectory = baseDirectory
        self.names = names
    }

    /// `${tasks.ID.NAME}` somewhere in a task.
    struct CaptureUse {
        let task: String
        let name: String
        let span: SourceSpan
        let isInPath: Bool
        /// It stands in `defaults`, and counts for the tasks in which something is left of it.
        let isDefault: Bool
        /// A value of the list `name`, which `forEach` goes over.
        var isOfList = false
    }

    // MARK: Problems

    func error(_ code: String, _ message: String, hint: String? = nil, at span: SourceSpan) {
        problems.error(code, message, hint: hint, at: span, in: source)
    }

    func warning(_ code: String, _ message: String, hint: String? = nil, at span: SourceSpan) {
        problems.warning(code, message, hint: hint, at: span, in: source)
    }

    func error(_ code: String, _ message: String, hint: String? = nil, _ node: NodeID) {
        error(code, message, hint: hint, at: tree.span(node))
    }

    func notBuilt(_ key: NodeID, _ name: StaticString) {
        problems.isNotBuilt("`\(name)`", at: tree.span(key), in: source)
    }

    /// A map or list reaches over many lines; what is said of it as a whole points at its first character.
    func beginning(_ node: NodeID) -> SourceSpan {
        let span = tree.span(node)
        guard tree.kind(node) != .scalar, span.line != span.endLine else { return span }
        return SourceSpan(line: span.line, column: span.column, endLine: span.line, endColumn: span.column + 1)
    }

    func wrongType(_ node: NodeID, _ shape: Shape, hint: String? = nil) {
        error(
            "wrong-type", "`\(key)` must be \(shape.words), not \(describe(node))", hint: hint ?? typeHint(node, shape),
            at: beginning(node))
    }

    func invalid(_ node: NodeID, _ shape: Shape, _ text: String, hint: String? = nil) {
        error("invalid-value", "`\(key)` must be \(shape.words), not `\(Self.short(text))`", hint: hint, node)
    }

    func outOfRange(_ node: NodeID, _ shape: Shape, _ text: String) {
        error("out-of-range", "`\(key)` must be \(shape.words), not `\(Self.short(text))`", node)
    }

    private func typeHint(_ node: NodeID, _ shape: Shape) -> String? {
        guard tree.kind(node) == .scalar else { return nil }
        if case .either(let shapes) = shape, case .boolean? = shapes.first { return typeHint(node, .boolean) }
        guard case .boolean = shape, tree.isYAML11Boolean(node) else { return quoteHint(node, shape) }
        let isTrue = "yY".contains(tree.text(node).prefix(1)) || tree.text(node).lowercased() == "on"
        return "YAML 1.2 knows `true` and `false` only, `\(tree.text(node))` is text: write `\(isTrue)`"
    }

    /// Quotes make text of anything; text is asked for where they are missing, and not where they are.
    private func quoteHint(_ node: NodeID, _ shape: Shape) -> String? {
        let text = tree.text(node)
        switch shape {
        case .text where tree.isPlain(node) && !isNull(node): return "quote it: \"\(text)\""
        case .boolean where !tree.isPlain(node) && (text == "true" || text == "false"),
            .integer where !tree.isPlain(node) && ValueText.integer(text) != nil,
            .number where !tree.isPlain(node) && ValueText.number(text) != nil:
            return "leave the quotes out: \(text)"
        default: return nil
        }
    }

    func describe(_ node: NodeID) -> String {
        switch tree.kind(node) {
        case .sequence: return "a list"
        case .mapping: return "a map"
        case .scalar:
            switch tree.resolve(node) {
            case .null: return "nothing"
            case .boolean, .integer, .float: return "`\(Self.short(tree.text(node)))`"
            case .string: return "\(tree.isPlain(node) ? "" : "the text ")`\(Self.short(tree.text(node)))`"
            }
        }
    }

    /// Messages quote values, but not whole pages.
    static func short(_ text: String) -> String {
        text.unicodeScalars.count <= 60
            ? text : String(String.UnicodeScalarView(text.unicodeScalars.prefix(57))) + "..."
    }

    func unknownKey(_ node: NodeID, in place: String, known: [String]) {
        guard tree.kind(node) == .scalar else {
            return error("wrong-type", "a key in \(place) must be text, not \(describe(node))", at: beginning(node))
        }
        let name = tree.text(node)
        if let reason = ForeignKeys.notOffered[name] {
            return error("not-offered", "`\(name)` is not offered", hint: reason, node)
        }
        let hint =
            ForeignKeys.hint(name, known: known)
            ?? "it knows \(known.map { "`\($0)`" }.joined(separator: ", "))"
        error("unknown-key", "unknown key `\(Self.short(name))` in \(place)", hint: hint, node)
    }

    // MARK: Nodes

    func isNull(_ node: NodeID) -> Bool {
        guard tree.isPlain(node), tree.kind(node) == .scalar else { return false }
        return tree.resolve(node) == .null
    }

    /// `false`, and said so, when the node is no map.
    func expectMap(_ node: NodeID, _ what: String) -> Bool {
        if tree.kind(node) == .mapping { return true }
        error("wrong-type", "\(what) must be a map, not \(describe(node))", at: beginning(node))
        return false
    }

    func expectList(_ node: NodeID, _ shape: Shape) -> Bool {
        if tree.kind(node) == .sequence { return true }
        wrongType(node, shape)
        return false
    }

    /// The elements of a list that may be written as its only element.
    func oneOrMore(_ node: NodeID) -> [NodeID] {
        tree.kind(node) == .sequence ? Array(tree.children(node)) : [node]
    }
}
