import Diagnostics
import TransferModel
import YAMLTree

/// Checks the other keys of a task with `to: "-"`.
extension TaskLoader {
    /// Returns whether the task writes to standard output. A file of that name is `./-`.
    func writesStandardOutput(_ draft: TaskDraft) -> Bool { bringsFile(draft) && draft.head.to == "-" }

    /// Returns whether the task's `to` counts: a download's, or one that an upload writes itself. What `defaults` say of
    /// files is meant for downloads.
    func bringsFile(_ draft: TaskDraft) -> Bool {
        draft.type == .download || draft.type == .upload && written.has(table.to)
    }

    /// Checks an upload whose answer is saved.
    func checkSavedAnswer(_ draft: TaskDraft, _ options: TaskOptions) {
        let to = reader.beginning(written.value(table.to))
        if meansObject(draft) {
            reader.error(
                "not-for-type", "the answer to an upload cannot become an object of a store",
                hint: "save it as a file, and let a task that needs this one send that", at: to)
        }
        if draft.head.group != nil {
            reader.error(
                "conflicting-keys", "an upload with `to` and `group` exclude each other",
                hint: "only downloads are members of a group", at: to)
        }
        if let existing = options.values.ownExisting, existing == .skip || existing == .revalidate {
            reader.error(
                "conflicting-keys", "`existing: \(existing.rawValue)` of an upload and `to` exclude each other",
                hint: "an upload that is not sent brings no answer to save", at: to)
        }
        if case .file(let path)? = options.values.body, let own = draft.head.to, let sent = path.plain,
            Paths.resolvingDots(Paths.absolute(own, in: reader.baseDirectory)).isExactly(Paths.resolvingDots(sent))
        {
            reader.error(
                "conflicting-keys", "the answer would replace the file that is sent", hint: "choose another `to`",
                at: to)
        }
    }

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
        if draft.type == .download, options.values.existing != .revalidate {
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
