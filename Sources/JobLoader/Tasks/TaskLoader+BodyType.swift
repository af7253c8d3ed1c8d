import TransferModel
import YAMLTree

/// Settles `contentType` and a header `Content-Type`, which say the same thing: the task's own counts before that of
/// `defaults`, and one map may have only one of them.
extension TaskLoader {
    /// Keeps one of the two. With `ofTask` the task's own map counts before `defaults`; if neither has one, the
    /// session's value stays.
    func settleBodyType(_ values: inout TaskOptions.Values, ofTask: Bool) {
        guard values.contentType != nil, values.headers.contains(where: \.isBodyType) else { return }
        for level in ofTask ? [written, defaults.written] : [defaults.written] {
            switch (level.has(table.contentType), namesBodyType(level)) {
            case (true, true):
                return reader.error(
                    "conflicting-keys", "`contentType` and a header `Content-Type` say the same thing",
                    hint: "keep one of them", at: reader.tree.span(level.key(table.contentType)))
            case (true, false): return values.headers.removeAll(where: \.isBodyType)
            case (false, true): return values.contentType = nil
            case (false, false): continue
            }
        }
    }

    private func namesBodyType(_ level: WrittenKeys) -> Bool {
        let tree = reader.tree
        guard level.has(table.headers), tree.kind(level.value(table.headers)) == .mapping else { return false }
        return tree.entries(level.value(table.headers)).contains { key, value in
            tree.kind(key) == .scalar && !reader.tree.isNull(value)
                && HeaderReader.sameHeader(tree.text(key), "Content-Type")
        }
    }
}

extension HeaderField {
    fileprivate var isBodyType: Bool { isNamed("content-type") }
}
