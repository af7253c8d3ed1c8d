import Diagnostics
import Testing
import YAMLTree

/// A text read as YAML, and what was said about it.
struct Reading {
    let source: SourceText
    let tree: YAMLTree?
    let diagnostics: DiagnosticList

    init(_ text: String, limits: YAMLTree.Limits = .standard) {
        self.init(bytes: Array(text.utf8), limits: limits)
    }

    init(bytes: [UInt8], limits: YAMLTree.Limits = .standard) {
        source = SourceText(name: "job.yaml", bytes: bytes)
        var found = DiagnosticList()
        tree = YAMLTree.parse(source, limits: limits, into: &found)
        diagnostics = found
    }

    /// `line:column-endLine:endColumn code` of each problem, in the order of the file.
    var problems: [String] {
        diagnostics.sorted().map { item in
            guard let span = item.span else { return item.code }
            return "\(span.line):\(span.column)-\(span.endLine):\(span.endColumn) \(item.code)"
        }
    }

    var hints: [String] { diagnostics.sorted().compactMap(\.hint) }

    /// The tree and the elements of its root.
    func items() throws -> (tree: YAMLTree, items: [YAMLTree.NodeID]) {
        let tree = try #require(tree)
        let root = try #require(tree.root)
        return (tree, tree.children(root).map { $0 })
    }

    /// The tree in one line: text in quotes unless plain, aliases followed, merge keys applied.
    var outline: String? { tree.map { tree in tree.root.map { describe($0, in: tree) } ?? "nothing" } }

    private func describe(_ id: YAMLTree.NodeID, in tree: YAMLTree) -> String {
        switch tree.kind(id) {
        case .scalar: tree.isPlain(id) ? tree.text(id) : "'\(tree.text(id))'"
        case .sequence: "[" + tree.children(id).map { describe($0, in: tree) }.joined(separator: ", ") + "]"
        case .mapping:
            "{"
                + tree.entries(id).map { "\(describe($0.key, in: tree)): \(describe($0.value, in: tree))" }
                .joined(separator: ", ") + "}"
        }
    }
}
