import Glibc
import YAMLTree

/// Questions about nodes that need no reader.
extension YAMLTree {
    func isNull(_ node: NodeID) -> Bool {
        guard isPlain(node), kind(node) == .scalar else { return false }
        return resolve(node) == .null
    }

    /// Returns whether the scalar with this text is an unquoted boolean; checks the length first, which is cheap.
    func isBoolean(_ node: NodeID, _ text: String) -> Bool {
        guard (4...5).contains(text.utf8.count), isPlain(node) else { return false }
        if case .boolean = resolve(node) { return true } else { return false }
    }

    func isWord(_ node: NodeID, _ word: StaticString) -> Bool { kind(node) == .scalar && text(node, is: word) }

    /// Returns whether the scalar contains a `$`, before any other work is done for interpolation.
    func hasDollar(_ node: NodeID) -> Bool {
        withUTF8(node) { text in
            guard let start = text.baseAddress else { return false }
            return memchr(start, 0x24, text.count) != nil
        }
    }

    /// Returns whether any scalar in the node contains a `$`. Keeps a list of open nodes instead of recursing.
    func hasDollarBelow(_ node: NodeID) -> Bool {
        var rest = [node]
        while let next = rest.popLast() {
            switch kind(next) {
            case .scalar: if hasDollar(next) { return true }
            case .sequence: rest += children(next)
            case .mapping: for (_, value) in entries(next) { rest.append(value) }
            }
        }
        return false
    }

    /// Returns a key's value in a map; `nil` where it is missing or null.
    func value(_ key: StaticString, in node: NodeID) -> NodeID? {
        guard kind(node) == .mapping else { return nil }
        for (name, value) in entries(node) where text(name, is: key) {
            return isNull(value) ? nil : value
        }
        return nil
    }

    func rootValue(_ key: StaticString) -> NodeID? { root.flatMap { value(key, in: $0) } }
}
