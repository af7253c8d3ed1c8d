package import Diagnostics

/// Reads the maps of a small file, such as a lock or a model of a network, and collects what is wrong with them, each
/// at its place.
package final class FieldReader {
    /// The file's tree.
    package let tree: YAMLTree
    /// What was found wrong.
    package private(set) var problems = DiagnosticList()

    package init(_ tree: YAMLTree, problems: DiagnosticList = DiagnosticList()) {
        self.tree = tree
        self.problems = problems
    }

    /// Adds an error at a node.
    package func error(_ code: String, _ message: String, hint: String? = nil, _ node: YAMLTree.NodeID) {
        problems.error(code, message, hint: hint, at: tree.span(node), in: tree.source)
    }

    /// Calls `body` for each entry of a map; anything else is an error. `what` names the map in messages.
    package func map(
        _ node: YAMLTree.NodeID, _ what: String, _ body: (String, YAMLTree.NodeID, YAMLTree.NodeID) -> Void
    ) {
        guard tree.kind(node) == .mapping else {
            return error("wrong-type", "\(what) must be a map", node)
        }
        for entry in tree.entries(node) { body(tree.text(entry.key), entry.key, entry.value) }
    }

    /// Calls `body` for each entry whose key is known; any other key is an error with the nearest known one.
    package func fields(
        _ node: YAMLTree.NodeID, _ what: String, known: [String], _ body: (String, YAMLTree.NodeID) -> Void
    ) {
        map(node, what) { name, key, value in
            guard known.contains(name) else {
                let near = Spelling.closest(to: name, among: known).map { "did you mean `\($0)`?" }
                return error(
                    "unknown-key", "unknown key `\(name)`",
                    hint: near ?? "known here: \(known.map { "`\($0)`" }.joined(separator: ", "))", key)
            }
            body(name, value)
        }
    }

    /// A text; numbers are taken as written. `nil` after an error.
    package func text(_ node: YAMLTree.NodeID, _ name: String) -> String? {
        guard tree.kind(node) == .scalar, tree.resolve(node) != .null else {
            error("wrong-type", "`\(name)` must be a text", node)
            return nil
        }
        return tree.text(node)
    }

    /// A whole number within bounds; `nil` after an error.
    package func integer(_ node: YAMLTree.NodeID, _ name: String, _ range: ClosedRange<Int64>) -> Int64? {
        guard tree.kind(node) == .scalar, case .integer(let value) = tree.resolve(node) else {
            error("wrong-type", "`\(name)` must be a whole number", node)
            return nil
        }
        guard range.contains(value) else {
            let most = range.upperBound == .max ? "" : " to \(range.upperBound)"
            error("out-of-range", "`\(name)` must be from \(range.lowerBound)\(most), not \(value)", node)
            return nil
        }
        return value
    }

    /// A number within bounds; `nil` after an error.
    package func number(_ node: YAMLTree.NodeID, _ name: String, _ range: ClosedRange<Double>) -> Double? {
        let value: Double? =
            switch tree.kind(node) == .scalar ? tree.resolve(node) : .null {
            case .integer(let value): Double(value)
            case .float(let value): value
            case .null, .boolean, .string: nil
            }
        guard let value else {
            error("wrong-type", "`\(name)` must be a number", node)
            return nil
        }
        guard range.contains(value) else {
            error("out-of-range", "`\(name)` must be from \(range.lowerBound) to \(range.upperBound)", node)
            return nil
        }
        return value
    }
}
