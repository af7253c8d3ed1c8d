import Diagnostics
import YAMLTree

/// Finds tasks in a job's file by their line, which is all that a loaded job knows of their position.
struct TaskPlaces {
    private let tree: YAMLTree?
    private var nodes: [Int32: YAMLTree.NodeID] = [:]

    init(_ text: SourceText) {
        var told = DiagnosticList()
        tree = YAMLTree.parse(text, into: &told)
        guard let tree, let root = tree.root else { return }
        for (key, value) in tree.entries(root) where tree.text(key, is: "tasks") {
            for node in tree.children(value) { nodes[tree.span(node).line] = node }
        }
    }

    /// Returns the span of a key's value in the task of that line, or the task's beginning; `nil` where no task begins.
    func span(ofTask line: Int32, _ key: StaticString?) -> SourceSpan? {
        guard let tree, let node = nodes[line] else { return nil }
        let said = key.flatMap { key in tree.entries(node).first { tree.text($0.key, is: key) }?.value }
        let span = tree.span(said ?? node)
        if span.line == span.endLine { return span }
        return SourceSpan(line: span.line, column: span.column, endLine: span.line, endColumn: span.column + 1)
    }
}
