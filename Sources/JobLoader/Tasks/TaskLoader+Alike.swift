import TransferModel
import YAMLTree

// Many tasks of a file write the same options and differ only in the file that they send. Their options are read once,
// and the tasks share them, so that later stages also do their work on options once.

extension TaskLoader {
    /// The options that a task wrote of its own, if all but the body are scalars without interpolation.
    struct OwnOptions {
        let session: SessionIndex
        let present: UInt64
        let nulls: UInt64
        let words: [(row: Int, value: NodeID)]
        let options: TaskOptions
    }

    func ownOptions(_ session: SessionIndex, over base: TaskOptions) -> TaskOptions {
        let (present, nulls) = (written.present & ~table.headRows, written.nulls & ~table.headRows)
        if let last, last.session == session, last.present == present, last.nulls == nulls,
            last.words.allSatisfy({ isSame($0.value, written.value($0.row)) }), let options = alike(last)
        {
            return options
        }
        let known = reader.problems.count
        let options = TaskOptions(readOptions(session, over: base.values))
        // Options with problems are not shared, so that the problems are reported for each task.
        last = reader.problems.count == known ? plain(session, present, nulls, options) : nil
        return options
    }

    private func alike(_ last: OwnOptions) -> TaskOptions? {
        guard written.has(table.body) else { return last.options }
        guard !reader.tree.hasDollarBelow(written.value(table.body)) else { return nil }
        var values = last.options.values
        apply(table.body, written, to: &values)
        guard case .file? = values.body else { return TaskOptions(values) }
        return TaskOptions(consume values, like: last.options)
    }

    private func plain(
        _ session: SessionIndex, _ present: UInt64, _ nulls: UInt64, _ options: TaskOptions
    ) -> OwnOptions? {
        // Interpolated defaults differ from task to task, whatever the task writes.
        guard defaults.dynamic & ~table.headRows == 0 else { return nil }
        var words: [(Int, NodeID)] = []
        for row in Bits(present & ~bit(table.body)) {
            let value = written.value(row)
            guard reader.tree.kind(value) == .scalar, !reader.tree.hasDollarBelow(value) else { return nil }
            words.append((row, value))
        }
        if written.has(table.body) {
            guard case .file? = options.values.body, !reader.tree.hasDollarBelow(written.value(table.body)) else {
                return nil
            }
        }
        return OwnOptions(session: session, present: present, nulls: nulls, words: words, options: options)
    }

    private func isSame(_ one: NodeID, _ other: NodeID) -> Bool {
        let tree = reader.tree
        guard tree.kind(other) == .scalar, tree.isPlain(one) == tree.isPlain(other), tree.tag(one) == tree.tag(other)
        else { return false }
        return unsafe tree.withUTF8(one) { one in
            unsafe tree.withUTF8(other) { other in unsafe one.elementsEqual(other) }
        }
    }
}
