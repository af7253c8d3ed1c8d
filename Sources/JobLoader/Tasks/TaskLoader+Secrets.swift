import Diagnostics
import TransferModel
import YAMLTree

/// Finds secrets that a task would take where their `hosts` do not let them go.
extension TaskLoader {
    /// Warns of a header or a body with a secret that may not go to the host that the task asks first: the run refuses
    /// to send it.
    func checkSecrets(_ draft: TaskDraft, _ task: TaskSpecification) {
        guard let url = task.location.url else { return }
        for field in task.options.values.headers where field.value.plain == nil {
            warn(of: field.value, in: "the header `\(field.name)`", url.origin, at: place(of: field, draft))
        }
        guard let body = task.options.values.body, written.has(table.body) else { return }
        for text in body.texts where text.plain == nil {
            warn(of: text, in: "the body", url.origin, at: reader.tree.span(written.key(table.body)))
        }
    }

    private func warn(of text: SecretText, in part: String, _ origin: Origin, at place: SourceSpan) {
        guard let name = text.secretBarred(from: origin) else { return }
        reader.warning(
            "secret-elsewhere",
            "the secret `\(name)` in \(part) may not be sent to `\(text.barredPlace(origin))`: the task would fail",
            hint: "its `hosts` say where it may go", at: place)
    }

    /// Returns where the task says the header; its beginning if `defaults` or the session do.
    private func place(of field: HeaderField, _ draft: TaskDraft) -> SourceSpan {
        let tree = reader.tree
        guard written.has(table.headers), tree.kind(written.value(table.headers)) == .mapping else {
            return reader.beginning(draft.node)
        }
        let entry = tree.entries(written.value(table.headers)).first { key, _ in
            tree.kind(key) == .scalar && HeaderReader.sameHeader(tree.text(key), field.name)
        }
        return entry.map { tree.span($0.value) } ?? reader.beginning(draft.node)
    }
}
