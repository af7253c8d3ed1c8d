import Diagnostics
import TransferModel
import YAMLTree

/// Reads single values from a tree in one scope of names, and collects the problems.
///
/// One reader lives as long as one load, on one thread; rows of the table get it as an argument and keep nothing. What a
/// section has beyond single values a type of its own reads, such as `CredentialReader`, by means of the reader.
final class Reader {
    let tree: YAMLTree
    let source: SourceText
    let resources: Resources
    /// The folder in which relative paths start: absolute, without a `/` at its end unless it is the root.
    let baseDirectory: String
    var problems = Problems()
    let names: NameStore
    var missingValues: MissingValues { names.secrets.missingValues }
    /// What the job may do; `nil` if the load does not collect that.
    var access: JobAccess?
    /// The room of a job that is not trusted; `nil` of any other.
    var room: JobRoom? { names.secrets.room }
    /// An operator's rules that win over the job's; `nil` without any.
    var held: HeldReading? { names.secrets.held }
    /// The part of the job whose values are being read, for `access`.
    var owner = "the job"
    /// What belongs to the task whose values are being read.
    var scope = TaskScope()
    /// Names of captures that could not be read, which was reported: that the task lacks them follows from that.
    var unreadCaptures: Set<String> = []
    /// Whether a credential could not be read, which was reported.
    var lacksCredential = false
    /// The key whose value is being read, for messages.
    var key: StaticString = ""
    var templates = TemplateCache()
    /// Bytes of long texts made by interpolation so far.
    var filledBytes = 0
    var urls = URLReader()
    var needLists = NeedLists()
    /// Tasks named by `checksum`. Options that tasks share name theirs once for all of them.
    var checksumTasks: [ChecksumTask] = []
    /// Keys of files that `signature` names, by absolute path: many tasks name the same one.
    var minisignKeys: [String: MinisignKey] = [:]
    /// All files that the job reads and runs.
    var usedFiles = UsedFiles()
    /// The values of the templates, while a job is read again; `nil` when it is read for the first time.
    var templateValues: TemplateValues?

    init(tree: YAMLTree, source: SourceText, resources: Resources, baseDirectory: String, names: NameStore) {
        self.tree = tree
        self.source = source
        self.resources = resources
        self.baseDirectory = baseDirectory
        self.names = names
    }

    /// Makes the reader of a file beside jobs, in which no `${…}` has a value. `nil` where it is no YAML: `found` says why.
    convenience init?(ofNoJob source: SourceText, _ found: inout DiagnosticList) {
        guard let tree = YAMLTree.parse(source, into: &found) else { return nil }
        let resources = Resources.nothing()
        self.init(
            tree: tree, source: source, resources: resources, baseDirectory: resources.workingDirectory,
            names: NameStore(secrets: SecretStore(resources: resources)))
        problems.append(contentsOf: found)
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

    /// Reports an error and returns `nil`, for a value that cannot be read.
    func error<Value>(_ code: String, _ message: String, hint: String? = nil, at span: SourceSpan) -> Value? {
        error(code, message, hint: hint, at: span)
        return nil
    }

    func error<Value>(_ code: String, _ message: String, hint: String? = nil, _ node: NodeID) -> Value? {
        error(code, message, hint: hint, at: tree.span(node))
        return nil
    }

    func wrongType<Value>(_ node: NodeID, _ shape: Shape, hint: String? = nil) -> Value? {
        wrongType(node, shape, hint: hint)
        return nil
    }

    func invalid<Value>(_ node: NodeID, _ shape: Shape, _ text: String, hint: String? = nil) -> Value? {
        invalid(node, shape, text, hint: hint)
        return nil
    }

    func outOfRange<Value>(_ node: NodeID, _ shape: Shape, _ text: String) -> Value? {
        invalid(node, shape, text, code: "out-of-range")
        return nil
    }

    func notBuilt(_ key: NodeID, _ name: StaticString) {
        problems.isNotBuilt("`\(name)`", at: tree.span(key), in: source)
    }

    /// Returns the position for a problem of a node as a whole: for a map or list of several lines its first character.
    func beginning(_ node: NodeID) -> SourceSpan {
        let span = tree.span(node)
        guard tree.kind(node) != .scalar, span.line != span.endLine else { return span }
        return SourceSpan(line: span.line, column: span.column, endLine: span.line, endColumn: span.column + 1)
    }

    /// Returns the position of a `${…}` in a scalar, by its number among all of them there.
    func referenceSpan(_ node: NodeID, _ ordinal: Int) -> SourceSpan {
        source.span(ofReference: ordinal, within: tree.span(node))
    }

    func wrongType(_ node: NodeID, _ shape: Shape, hint: String? = nil) {
        error(
            "wrong-type", "`\(key)` must be \(shape.words), not \(describe(node))",
            hint: hint ?? typeHint(node, shape) ?? example(node, shape, of: "\(key)"), at: beginning(node))
    }

    /// Returns one correct line for the key, if its value is a map or a list.
    private func example(_ node: NodeID, _ shape: Shape, of key: String) -> String? {
        guard shape.holdsSeveral else { return nil }
        if case .list(let element) = shape, !element.holdsSeveral, tree.kind(node) == .scalar,
            case .string = tree.resolve(node), isWord(tree.text(node))
        {
            return "write `\(key): [\(tree.text(node))]`"
        }
        return KeyExamples.lines[key].map { "such as `\($0)`" }
    }

    /// Returns whether a text can stand in a list as it is, and is one value rather than several.
    private func isWord(_ text: String) -> Bool {
        !text.isEmpty
            && text.utf8.allSatisfy {
                (0x30...0x39).contains($0) || (0x61...0x7A).contains($0 | 0x20) || "._-/".utf8.contains($0)
            }
    }

    func invalid(_ node: NodeID, _ shape: Shape, _ text: String, hint: String? = nil, code: String = "invalid-value") {
        error(code, "`\(key)` must be \(shape.words), not `\(Self.short(text))`", hint: hint, node)
    }

    private func typeHint(_ node: NodeID, _ shape: Shape) -> String? {
        guard tree.kind(node) == .scalar else { return nil }
        if case .either(let shapes) = shape, case .boolean? = shapes.first { return typeHint(node, .boolean) }
        guard case .boolean = shape, tree.isYAML11Boolean(node) else { return quoteHint(node, shape) }
        let isTrue = "yY".contains(tree.text(node).prefix(1)) || tree.text(node).lowercased() == "on"
        return "YAML 1.2 knows `true` and `false` only, `\(tree.text(node))` is text: write `\(isTrue)`"
    }

    /// Returns a hint about quotes: to add them where text is needed, or to remove them where it is not.
    private func quoteHint(_ node: NodeID, _ shape: Shape) -> String? {
        let text = tree.text(node)
        switch shape {
        case .text where tree.isPlain(node) && !tree.isNull(node): return "quote it: \"\(text)\""
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

    /// Returns the text, shortened for a message.
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
            ?? Self.listing(known, near: name)
        error("unknown-key", "unknown key `\(Self.short(name))` in \(place)", hint: hint, node)
    }

    /// Lists the keys of a place, or of a place with many the nearest one and where all are listed.
    private static func listing(_ known: [String], near name: String) -> String {
        if known.count <= 12 { return "it knows \(known.map { "`\($0)`" }.joined(separator: ", "))" }
        let all = "`transfer-run schema` and `man transfer-run-job` list all keys"
        return Spelling.nearest(to: name, among: known).map { "the nearest is `\($0)`; \(all)" } ?? all
    }

    /// Returns whether the node is a map, and reports it if not.
    func expectMap(_ node: NodeID, _ what: String) -> Bool {
        if tree.kind(node) == .mapping { return true }
        let name = what == "a capture" ? "capture" : what.hasPrefix("`") ? String(what.dropFirst().dropLast()) : nil
        let example = name.flatMap { self.example(node, .map(.json), of: $0) }
        error("wrong-type", "\(what) must be a map, not \(describe(node))", hint: example, at: beginning(node))
        return false
    }

    func expectList(_ node: NodeID, _ shape: Shape) -> Bool {
        if tree.kind(node) == .sequence { return true }
        var hint: String?
        if case .list(.object) = shape, tree.kind(node) == .mapping {
            hint = "write `\(key): [{ … }]`, or begin each map in a line of its own with `- `"
        }
        wrongType(node, shape, hint: hint)
        return false
    }

    /// Returns the elements of a list; a single value counts as a list of one.
    func oneOrMore(_ node: NodeID) -> [NodeID] {
        tree.kind(node) == .sequence ? Array(tree.children(node)) : [node]
    }
}
