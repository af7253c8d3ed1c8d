import TransferModel
import YAMLTree

/// Reads `next`.
struct NextPageReader {
    let reader: Reader

    func nextPage(_ node: NodeID, into next: inout NextPage?) {
        var draft = Sections.NextDraft()
        let known = reader.problems.count
        Sections.next.decode(node, into: &draft, reader)
        if let (message, hint) = fault(draft), reader.problems.count == known, reader.tree.kind(node) == .mapping {
            return reader.error("missing-key", message, hint: hint, at: reader.beginning(node))
        }
        guard let way = draft.way else { return }
        next = NextPage(way, maximum: draft.maximum, stopsAtMaximum: draft.stop)
    }

    /// What is missing beside the keys that are written, and what to write.
    private func fault(_ draft: Sections.NextDraft) -> (message: String, hint: String)? {
        if draft.page != nil, draft.until == nil {
            return (
                "`next` with `page` needs `until`",
                "write `until: empty`, `until: { shorterThan: 100 }`, or a JSON path: `until: { json: $.more }`"
            )
        }
        if draft.page == nil, let key = draft.keyOfCount {
            return ("`\(key)` of `next` is for a `page` that counts", "write `page: NAME` beside it, or leave it out")
        }
        if draft.query != nil, draft.json == nil, draft.header == nil {
            return (
                "`query` of `next` needs the place of a cursor",
                "write `json: $.cursor` or `header: NAME` beside it; `page: NAME` counts"
            )
        }
        guard draft.way == nil else { return nil }
        return (
            "`next` needs one of `link`, `json`, `header` and `page`",
            "where an answer says the URL of the next page, or a query parameter that counts"
        )
    }

    func parameterName(_ node: NodeID) -> String? {
        guard let name = reader.text(node) else { return nil }
        if !name.isEmpty { return name }
        return reader.error("invalid-value", "`\(reader.key)` must be the name of a query parameter", node)
    }

    func pageEnd(_ node: NodeID) -> PageCount.End? {
        guard reader.tree.kind(node) == .mapping else {
            let shape = Shape.either([.choice(["empty"]), .object("nextUntil")])
            guard let text = reader.text(node, shape) else { return nil }
            if text == "empty" { return .rowsBelow(1) }
            return reader.invalid(node, shape, text)
        }
        var draft = Sections.UntilDraft()
        Sections.nextUntil.decode(node, into: &draft, reader)
        return draft.json.map { .json($0) } ?? draft.shorterThan.map { .rowsBelow($0) }
    }
}
