import Diagnostics
import TransferModel
import YAMLTree

/// Checks of tasks with `next`.
extension TaskLoader {
    func checkPages(_ draft: TaskDraft, _ task: TaskSpecification) {
        let values = task.options.values
        guard draft.type != .upload, let next = values.next else { return }
        let isOwn = written.has(table.next)
        let place = isOwn ? reader.tree.span(written.key(table.next)) : reader.beginning(draft.node)
        for (isSet, other, hint) in exclusions(draft, task) where isSet {
            reader.error("conflicting-keys", "`next` and `\(other)` exclude each other", hint: hint, at: place)
        }
        guard draft.type == .download, next.maximum > 1, !writesStandardOutput(draft), !namesObject(draft),
            !reader.scope.isDeferred
        else { return }
        let isNumbered = draft.head.awaitedTo?.pieces.contains { $0.isPage } == true
        if isNumbered || draft.head.to?.hasSuffix("/") == true { return }
        // A faulty `to` was reported.
        guard draft.head.to != nil || draft.head.awaitedTo != nil else { return }
        let row = written.has(table.to) ? written : defaults.written
        reader.error(
            "missing-page", "each page is a file of its own, and `to` names one for all",
            hint: "put `${page}` into it, as in `items-${page}.json`", row.value(table.to))
    }

    private func exclusions(_ draft: TaskDraft, _ task: TaskSpecification) -> [(Bool, String, String)] {
        let values = task.options.values
        return [
            (draft.head.mirrors.count > 1, "urls", "a page names its next one by one URL: keep one of them as `url`"),
            (values.checksum != nil, "checksum", "a checksum is of one file, and each page is one of its own"),
            (draft.head.group != nil, "group", "a group has a fixed number of files"),
            (
                writesStandardOutput(draft), "to: \"-\"",
                "write the pages to files, or leave `to` out: then the report has them"
            ),
            (!values.onResponse.isEmpty, "onResponse", "leave the rules out: `expect` holds for each page"),
            (values.segments > 1, "segments", "pages come one after the other"),
            (
                values.existing == .skip || values.existing == .fail, "existing: \(values.existing.rawValue)",
                "only an answer names the next page: each page is asked for"
            ),
            (values.resume == .adopt, "resume: adopt", "only an answer names the next page: each page is asked for"),
        ]
    }
}
