import Diagnostics
import TransferModel
import YAMLTree

/// Checks the other keys of a task with `to: "-"`.
extension TaskLoader {
    /// Returns whether the task writes to standard output. A file of that name is `./-`.
    func writesStandardOutput(_ draft: TaskDraft) -> Bool { draft.type == .download && draft.head.to == "-" }

    func checkOutput(_ draft: TaskDraft, _ options: TaskOptions) {
        if isBackground(draft.session) {
            reader.error(
                "background-restriction", "a background session has no standard output",
                hint: "write to a file, or use another session", at: reader.beginning(value(table.to)))
        }
        if draft.head.group != nil {
            reader.error(
                "conflicting-keys", "`to: \"-\"` and `group` exclude each other",
                hint: "what goes to standard output is no file of a folder", at: reader.beginning(value(table.group)))
        }
        if options.values.existing != .revalidate {
            reader.error(
                "conflicting-keys",
                "`to: \"-\"` and `existing: \(options.values.existing.rawValue)` exclude each other",
                hint: "nothing is there already: leave `existing` out", at: reader.beginning(value(table.existing)))
        }
        if options.values.mode != nil {
            reader.error(
                "conflicting-keys", "`to: \"-\"` and `mode` exclude each other",
                hint: "no file is left that could have a mode", at: reader.beginning(value(table.mode)))
        }
    }

    /// Returns the value of a row, from the task or from `defaults`.
    private func value(_ row: Int) -> NodeID { (written.has(row) ? written : defaults.written).value(row) }
}
