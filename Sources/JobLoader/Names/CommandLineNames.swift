import Diagnostics
import TransferModel
import YAMLTree

/// Defines the names that the command line adds: `--set`, `--variables-file`, `--secrets-file`.
struct CommandLineNames {
    let reader: Reader
    private static let fileLimit = 16 << 20

    init(reader: Reader) { self.reader = reader }

    /// Defines the variables of `--set`. A value has the type that it looks like if the job's own value has that type,
    /// else it is text.
    func define(_ pairs: [(name: String, value: String)]) {
        var used: (variables: Set<String>, forEach: Set<String>)?
        for (name, text) in pairs {
            guard Names.isWellFormed(name) else {
                problem("invalid-name", "--set: `\(Reader.short(name))` is no name for a variable")
                continue
            }
            if !reader.names.variableNames.contains(name) {
                let names = used ?? WrittenReferences(tree: reader.tree).usedNames()
                used = names
                guard names.variables.contains(name) else {
                    if names.forEach.contains(name) { refuseForEach(name) } else { refuse(name, names.variables) }
                    continue
                }
            }
            reader.names.define(name, as: typed(text, like: reader.names.variable(name, reader)))
        }
    }

    /// Reports a name that the job neither defines nor uses: setting it would change nothing, so it is a slip.
    private func refuse(_ name: String, _ used: Set<String>) {
        let known = (Set(reader.names.variableNames).union(used)).sorted()
        let close = reader.closest(name, known).map { "did you mean `\($0)`?" }
        let listed = known.prefix(12).map { "`\($0)`" }.joined(separator: ", ")
        reader.problems.error(
            "unknown-name", "--set: the job has no variable `\(Reader.short(name))`",
            hint: close ?? (known.isEmpty ? "it has no variables" : "it has \(listed)"), at: nil, in: nil)
    }

    /// Reports a name that only `forEach` gives values to: they come from its list alone.
    private func refuseForEach(_ name: String) {
        reader.problems.error(
            "unknown-name", "--set: `\(name)` is no variable but a name of `forEach`, whose values are its list's",
            hint: "`--only ID` runs some of its tasks; or write a variable into the list, such as "
                + "`forEach: { \(name): [\"${first}\"] }`, and set that",
            at: nil, in: nil)
    }

    private func typed(_ text: String, like known: Value?) -> Value {
        switch known {
        case .number? where ValueText.number(text) != nil || ValueText.integer(text) != nil: .number(text)
        case .boolean? where text == "true" || text == "false": .boolean(text == "true")
        default: .text(SecretText(text))
        }
    }

    func readVariables(_ path: String) {
        guard let bytes = read(path, "unreadable-file") else { return }
        var problems = DiagnosticList()
        let source = SourceText(name: path, bytes: bytes)
        let tree = YAMLTree.parse(source, into: &problems)
        reader.problems.append(contentsOf: problems)
        guard let tree, let root = tree.root else { return }
        guard tree.kind(root) == .mapping else {
            return reader.problems.error(
                "wrong-type", "a variables file must be a map of name and value", at: tree.span(root), in: source)
        }
        for (key, value) in tree.entries(root) { define(key, value, tree) }
    }

    private func define(_ key: NodeID, _ node: NodeID, _ tree: YAMLTree) {
        let name = tree.text(key)
        guard tree.kind(key) == .scalar, Names.isWellFormed(name) else {
            return reader.problems.error(
                "invalid-name", "`\(Reader.short(name))` is no name for a variable", at: tree.span(key), in: tree.source
            )
        }
        guard tree.kind(node) == .scalar, tree.resolve(node) != .null else {
            return reader.problems.error(
                "wrong-type", "a variable must be text, a number or a boolean", at: tree.span(node), in: tree.source)
        }
        switch tree.resolve(node) {
        case .null, .string: reader.names.define(name, as: .text(SecretText(tree.text(node))))
        case .boolean(let value): reader.names.define(name, as: .boolean(value))
        case .integer, .float: reader.names.define(name, as: .number(tree.text(node)))
        }
    }

    /// Reads `NAME=value` lines, as `SecretLine` describes them.
    func readSecrets(_ path: String) {
        guard let bytes = read(path, "unreadable-secret") else { return reader.names.secrets.lacksFile = true }
        let body = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? bytes.dropFirst(3) : bytes[...]
        // Messages quote no line of the file: any of them may be a secret.
        let source = SourceText(withheld: path)
        var lines: [String: Int] = [:]
        for (index, line) in body.split(separator: 0x0A, omittingEmptySubsequences: false).enumerated() {
            let bare = line.last == 0x0D ? line.dropLast() : line
            let span = SourceSpan(line: index + 1, column: 1)
            guard let text = String(validating: bare, as: UTF8.self) else {
                reader.problems.error("bad-file", "not UTF-8 text", at: span, in: source)
                continue
            }
            do throws(SecretLine.Problem) {
                guard let secret = try SecretLine(text) else { continue }
                if let first = lines.updateValue(index + 1, forKey: secret.name) {
                    reader.problems.error(
                        "duplicate-key", "the secret `\(secret.name)` stands here again, after line \(first)",
                        hint: "keep one of them", at: span, in: source)
                }
                reader.names.secrets.fromFile[secret.name] = secret.value
            } catch {
                reader.problems.error("bad-file", error.message, hint: error.hint, at: span, in: source)
            }
        }
    }

    private func read(_ path: String, _ code: String) -> [UInt8]? {
        let absolute = Paths.absolute(path, in: reader.resources.workingDirectory)
        switch reader.resources.readFile(absolute, Self.fileLimit) {
        case .success(let bytes): return bytes
        case .failure(let reason):
            let hint = reason == .notFound ? reader.resources.fileMeant(by: path, at: absolute) : nil
            reader.problems.error(code, "\(path): \(reason.words)", hint: hint, at: nil, in: nil)
            return nil
        }
    }

    private func problem(_ code: String, _ message: String) {
        reader.problems.error(code, message, at: nil, in: nil)
    }
}
