import TransferModel
import YAMLTree

/// Reads `groups`.
struct GroupReader {
    let reader: Reader

    func groups(_ node: NodeID) -> [GroupSpecification]? {
        reader.named(node, .map(.object("group"))).compactMap { name, key, value in
            guard TaskName.isWellFormed(name) else {
                return reader.error(
                    "invalid-value", "`\(Reader.short(name))` is no name for a group",
                    hint: "letters, digits, `.`, `_` and `-`", key)
            }
            var draft = Sections.GroupDraft()
            Sections.group.decode(value, into: &draft, reader)
            // A fault of `to` was reported already; the group still exists.
            let to = draft.to ?? SecretText(Paths.absolute(name, in: reader.baseDirectory))
            var group = GroupSpecification(name: name, to: to)
            group.extraneous = draft.extraneous
            group.maximumRemovals = draft.maximumRemovals
            if group.extraneous == .remove {
                reader.record(.remove, to.redacted, key)
            } else if draft.maximumRemovals != nil {
                reader.error(
                    "useless-limit", "`maximumRemovals` of `\(name)` limits nothing: the group removes no files",
                    hint: "`extraneous: remove` removes the files that no member names", key)
            }
            return group
        }
    }

    /// Reads a number of files or a share of them.
    func removalLimit(_ node: NodeID) -> GroupSpecification.RemovalLimit? {
        if case .text? = reader.scalar(node, .text) { return percent(node).map { .percent($0) } }
        return reader.integer(node, 0...1_000_000_000).map { .count(Int($0)) }
    }

    /// Reads a share such as `80%`, from 0 to 100.
    func percent(_ node: NodeID) -> Double? {
        let shape = Sections.percentShape
        guard let text = reader.text(node, shape) else { return nil }
        guard text.hasSuffix("%"), let value = ValueText.number(String(text.dropLast())), (0...100).contains(value)
        else {
            return reader.invalid(node, shape, text)
        }
        return value
    }
}
