import Diagnostics
import TransferModel
import YAMLTree

extension Reader {
    func closest(_ text: String, _ known: [String]) -> String? { Spelling.closest(to: text, among: known) }

    func statuses(_ node: NodeID, mayBeNone: Bool = false) -> StatusSet? {
        if !mayBeNone, tree.kind(node) == .sequence, tree.count(node) == 0 {
            return error("invalid-value", "`\(key)` names no status: no answer has that", at: beginning(node))
        }
        var ranges: [ClosedRange<UInt16>] = []
        var isWhole = true
        for element in oneOrMore(node) {
            guard let text = text(element, .statuses) else {
                isWhole = false
                continue
            }
            guard let range = StatusSet.range(text) else {
                isWhole = false
                let isNumber = ValueText.integer(text) != nil
                invalid(element, .statuses, text, code: isNumber ? "out-of-range" : "invalid-value")
                continue
            }
            ranges.append(range)
        }
        return isWhole ? StatusSet(ranges) : nil
    }

    func hostPattern(_ node: NodeID) -> HostPattern? {
        guard let text = text(node, .hostPattern) else { return nil }
        guard let pattern = HostPattern(text) else {
            let hint = text.contains("/") ? "a host pattern is a name alone, without scheme and path" : nil
            return invalid(node, .hostPattern, text, hint: hint)
        }
        return pattern
    }

    func hostPatterns(_ node: NodeID) -> [HostPattern]? { elements(node, .hostPatterns) { hostPattern($0) } }

    /// Reads a command: a program and its arguments; no shell is involved.
    func command(_ node: NodeID) -> [SecretText]? {
        guard expectList(node, .words) else { return nil }
        let words = tree.children(node).compactMap { child in
            secretText(child, place: .word, runEnds: !scope.isInTask && key.description == "onFinish").map { word in
                warnOfSecret(word, child)
                return word
            }
        }
        if tree.count(node) == 0 { return error("empty-command", "`\(key)` must name a program", node) }
        guard words.count == tree.count(node) else {
            record(.command, "one that a missing value is a part of", node)
            return nil
        }
        recordCommand(words, node)
        return words
    }

    private func warnOfSecret(_ word: SecretText, _ node: NodeID) {
        for case .secret(let name, _, _) in word.pieces {
            return warning(
                "secret-in-command",
                "whoever may list the processes of this machine can read the secret `\(name)` in this command",
                hint: "let the program take it from its environment or from a file", at: tree.span(node))
        }
    }

    func badName(_ name: String, _ key: NodeID, _ what: String) {
        error(
            "invalid-name", "`\(Self.short(name))` is no name for \(what)",
            hint: "a letter or `_`, then letters, digits, `_` and `-`", key)
    }

    func texts(_ node: NodeID, _ shape: Shape) -> [String]? {
        guard expectList(node, shape) else { return nil }
        let texts = tree.children(node).compactMap { text($0) }
        return texts.count == tree.count(node) ? texts : nil
    }

    /// Reads every element of a list; what cannot be read is left out.
    func elements<Value>(_ node: NodeID, _ shape: Shape, _ read: (NodeID) -> Value?) -> [Value]? {
        expectList(node, shape) ? tree.children(node).compactMap(read) : nil
    }

    /// Reads every map of a list with a section.
    func maps<Target>(_ node: NodeID, _ section: Section<Target>, _ blank: @autoclosure () -> Target) -> [Target]? {
        guard expectList(node, .list(.object(section.name))) else { return nil }
        return tree.children(node).map { element in
            var target = blank()
            section.decode(element, into: &target, self)
            return target
        }
    }

    /// Returns the entries of a map whose keys are names that the job's author chose. The keys are not interpolated.
    func named(_ node: NodeID, _ shape: Shape = .map(.scalar)) -> [(name: String, key: NodeID, value: NodeID)] {
        guard tree.kind(node) == .mapping else {
            wrongType(node, shape)
            return []
        }
        var result: [(name: String, key: NodeID, value: NodeID)] = []
        for (key, value) in tree.entries(node) {
            guard tree.kind(key) == .scalar else {
                error("wrong-type", "a name in `\(self.key)` must be text, not \(describe(key))", at: beginning(key))
                continue
            }
            result.append((tree.text(key), key, value))
        }
        return result
    }
}
