/// A value spelled out to its last field, through enums, optionals, lists and classes: what `==` is for types that have
/// none.
package enum ValueLines {
    /// One line for each leaf, such as `.kind.attemptFinished.error.message = "lost"`.
    package static func of(_ value: Any) -> [String] {
        var lines: [String] = []
        add(value, ".", &lines)
        return lines
    }

    /// The leaves that hold nothing: no, zero, an empty text or list, or no value at all.
    package static func empty(in value: Any) -> [String] {
        let nothing: Set = ["nil", "false", "0", "\"\"", "[]"]
        return of(value).filter { line in line.range(after: " = ").map { nothing.contains($0) } ?? false }
    }

    private static func add(_ value: Any, _ path: String, _ lines: inout [String]) {
        if let text = leaf(value) {
            lines.append("\(path) = \(text)")
            return
        }
        let mirror = Mirror(reflecting: value)
        let parent = mirror.superclassMirror?.children.map { $0 } ?? []
        let children = parent + mirror.children
        if children.isEmpty {
            // A case without values, or an empty list or struct.
            let isList = mirror.displayStyle == .collection || mirror.displayStyle == .dictionary
            lines.append("\(path) = \(isList ? "[]" : mirror.displayStyle == .optional ? "nil" : "\(value)")")
            return
        }
        if mirror.displayStyle == .dictionary || mirror.displayStyle == .set {
            lines += children.flatMap { of($0.value).map { "\(path)\($0)" } }.sorted()
            return
        }
        for (number, child) in children.enumerated() {
            let isOptional = mirror.displayStyle == .optional
            let name = isOptional ? "" : child.label.map { $0.hasPrefix(".") ? "\(number)" : $0 } ?? "\(number)"
            add(child.value, path + name + (isOptional ? "" : "."), &lines)
        }
    }

    private static func leaf(_ value: Any) -> String? {
        switch value {
        // By its bytes: to Swift, two spellings of one letter are equal.
        case let text as String:
            text.isEmpty ? "\"\"" : "\"\(text.unicodeScalars.map { $0.escaped(asASCII: true) }.joined())\""
        case let bytes as [UInt8]: bytes.isEmpty ? "[]" : "\(bytes)"
        case let number as any BinaryInteger: "\(number)"
        case let flag as Bool: "\(flag)"
        default: nil
        }
    }
}

extension String {
    fileprivate func range(after separator: String) -> String? {
        var rest = self[...]
        while let first = rest.first, !rest.hasPrefix(separator) {
            _ = first
            rest = rest.dropFirst()
        }
        return rest.isEmpty ? nil : String(rest.dropFirst(separator.count))
    }
}
